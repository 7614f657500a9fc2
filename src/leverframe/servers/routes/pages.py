"""The built-in pages: static files of the package, read once, with what browsers must obey.

The files that a page is made of also stand below a path that names their version. A browser keeps
those for good and asks for none of them again: a reload costs the page itself and its data. The
front page has such a path of its own, below which the modules of its first view are one file.
"""

import re
from collections.abc import Iterator, Set
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path

import leverframe
from leverframe.servers.http.messages import Headers
from leverframe.servers.routes.compressed import CompressedReply, LateReply
from leverframe.servers.routes.joined_modules import beside_joined, joined
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
#: What all pages have in common: their head, and what they say while their script is missing. Each
#: page has a place for it, `<!-- NAME -->`.
_SHARED = ("head.html", "unstarted.html")
_FRONT, _START = "index.html", "app.js"
#: The front page names here what its first view needs besides its start.
_FIRST = re.compile(rf'<link rel="modulepreload" href="{PREFIX}([^"]+)">\n')


@lru_cache(maxsize=1)
def pages() -> dict[str, CompressedReply | LateReply]:
    """Read every file; gives its reply by path.

    Each file is read, compressed and let go: all at once would take twice the memory, of which the
    process would give hardly anything back. Modules that take from the joined ones are written
    for whoever asks first: that would be half of the work, and few are ever asked for.
    """
    folder = Path(leverframe.__file__).parent / "web"
    kinds = dict(_kinds(folder, ""))
    shared = {f"<!-- {name} -->\n".encode(): (folder / name).read_bytes() for name in _SHARED}
    for name in _SHARED:
        del kinds[name]
    front = (folder / _FRONT).read_bytes().decode()
    first_view = frozenset(_FIRST.findall(front))

    def content(name: str) -> bytes:
        return _FIRST.sub("", front).encode() if name == _FRONT else (folder / name).read_bytes()

    digests: dict[str, bytes] = {}
    replies: dict[str, CompressedReply] = {}
    for name, kind in kinds.items():
        body = content(name)
        digests[name] = sha256(body).digest()
        if kind != _HTML:
            headers = PART_HEADERS if kind in (_SCRIPT, _STYLE) else PAGE_HEADERS
            replies[name] = _reply(kind, body, headers)
    whole_start = joined(lambda name: content(name).decode(), _START, first_view).encode()
    versioned = f"{PREFIX}{_version(digests)}/"
    own_digests = {**digests, _START: sha256(whole_start).digest()}
    of_front_versioned = f"{PREFIX}{_version(own_digests)}/"
    found: dict[str, CompressedReply | LateReply] = {}
    for name, reply in replies.items():
        for_good = reply.kept_for_good()
        found[PREFIX + name], found[versioned + name] = reply, for_good
        found[of_front_versioned + name] = (
            LateReply(partial(_beside_joined, name, for_good, first_view))
            if kinds[name] == _SCRIPT
            else for_good
        )
    own_start = _reply(_SCRIPT, whole_start, PART_HEADERS)
    found[of_front_versioned + _START] = own_start.kept_for_good()
    for name in kinds.keys() - replies.keys():
        whole = content(name)
        for mark, part in shared.items():
            whole = whole.replace(mark, part)
        place = of_front_versioned if name == _FRONT else versioned
        linked = whole.replace(f'"{PREFIX}'.encode(), f'"{place}'.encode())
        found[PREFIX + name] = _reply(_HTML, linked, PAGE_HEADERS)
    found["/"] = found.pop(PREFIX + _FRONT)
    return found


def _beside_joined(name: str, own: CompressedReply, first_view: Set[str]) -> CompressedReply:
    """Return a module as the front page takes it, which may be as it is."""
    text = own.plain().decode()
    written = beside_joined(name, text, _START, first_view)
    if written == text:
        return own
    return _reply(_SCRIPT, written.encode(), PART_HEADERS).kept_for_good()


def _reply(kind: str, body: bytes, headers: Headers) -> CompressedReply:
    # Browsers take them compressed, and they are kept for as long as the process runs.
    return CompressedReply(kind, body, headers, keeps_plain=False)


def _kinds(folder: Path, path: str) -> Iterator[tuple[str, str]]:
    """List what browsers may have: its path below the folder, and its kind."""
    for item in sorted(folder.iterdir()):
        kind = _KINDS.get(item.suffix)
        if item.is_dir() and not item.name.startswith("_"):
            yield from _kinds(item, f"{path}{item.name}/")
        elif kind is not None:
            yield path + item.name, kind


def _version(digests: dict[str, bytes]) -> str:
    """Name the content of all files: a change of one changes the path of all."""
    whole = sha256()
    for name, digest in digests.items():
        whole.update(name.encode() + b"\0" + digest)
    return whole.hexdigest()[:_VERSION_LETTERS]
