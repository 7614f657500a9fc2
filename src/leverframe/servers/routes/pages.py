"""The built-in pages: static files of the package, read once, with what browsers must obey.

The files that a page is made of also stand below a path that names their version. A browser keeps
those for good and asks for none of them again: a reload costs the page itself and its data. The
front page has such a path of its own, below which the modules of its first view are one file.
"""

import re
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import leverframe
from leverframe.servers.http.messages import Headers
from leverframe.servers.routes.compressed import CompressedReply
from leverframe.servers.routes.joined_modules import joined
from leverframe.servers.routes.page_headers import PAGE_HEADERS, PART_HEADERS

_HTML = "text/html"
_SCRIPT = "text/javascript"
_STYLE = "text/css"
_KINDS = {
    ".html": _HTML,
    ".js": _SCRIPT,
    ".css": _STYLE,
    ".json": "application/json",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}
#: Everything but the front page stands under this path.
PREFIX = "/web/"
_VERSION_LETTERS = 12
#: What the heads of all pages have in common, and where it stands in each.
_HEAD, _HEAD_PLACE = "head.html", b"<!-- head.html -->\n"
_FRONT, _START = "index.html", "app.js"
#: The front page names here what its first view needs besides its start.
_FIRST = re.compile(rf'<link rel="modulepreload" href="{PREFIX}([^"]+)">\n')


@lru_cache(maxsize=1)
def pages() -> dict[str, CompressedReply]:
    """Read every file; gives its reply by path."""
    files = _files(Path(leverframe.__file__).parent / "web", "")
    _, head = files.pop(_HEAD)
    front = files[_FRONT][1].decode()
    scripts = {name: body.decode() for name, (kind, body) in files.items() if kind == _SCRIPT}
    of_front = joined(scripts, _START, _FIRST.findall(front))
    files[_FRONT] = _HTML, _FIRST.sub("", front).encode()
    versioned = f"{PREFIX}{_version(files)}/"
    start = _SCRIPT, of_front[_START].encode()
    of_front_versioned = f"{PREFIX}{_version({**files, _START: start})}/"
    found = {}
    for name, (kind, body) in files.items():
        if kind == _HTML:
            whole = body.replace(_HEAD_PLACE, head)
            place = of_front_versioned if name == _FRONT else versioned
            linked = whole.replace(f'"{PREFIX}'.encode(), f'"{place}'.encode())
            found[PREFIX + name] = _reply(kind, linked, PAGE_HEADERS)
            continue
        headers = PART_HEADERS if kind in (_SCRIPT, _STYLE) else PAGE_HEADERS
        reply = _reply(kind, body, headers)
        found[PREFIX + name], found[versioned + name] = reply, reply.kept_for_good()
        own = of_front.get(name, "").encode()
        found[of_front_versioned + name] = (
            _reply(kind, own, headers).kept_for_good()
            if own not in (b"", body)
            else found[versioned + name]
        )
    found["/"] = found.pop(PREFIX + _FRONT)
    return found


def _reply(kind: str, body: bytes, headers: Headers) -> CompressedReply:
    # Browsers take them compressed, and they are kept for as long as the process runs.
    return CompressedReply(kind, body, headers, keeps_plain=False)


def _files(folder: Path, path: str) -> dict[str, tuple[str, bytes]]:
    """Read what browsers may have, by its path below the folder: kind and content."""
    found: dict[str, tuple[str, bytes]] = {}
    for item in sorted(folder.iterdir()):
        kind = _KINDS.get(item.suffix)
        if item.is_dir() and not item.name.startswith("_"):
            found |= _files(item, f"{path}{item.name}/")
        elif kind is not None:
            found[path + item.name] = kind, item.read_bytes()
    return found


def _version(files: dict[str, tuple[str, bytes]]) -> str:
    """Name the content of all files: a change of one changes the path of all."""
    digest = sha256()
    for name, (_, body) in files.items():
        digest.update(name.encode() + b"\0" + sha256(body).digest())
    return digest.hexdigest()[:_VERSION_LETTERS]
