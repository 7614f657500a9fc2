"""The built-in pages: static files of the package, and their headers.

The files of a page are also available below a path that contains their version. Browsers cache
files below it permanently, so a reload fetches only the page and its data. The front page has its
own such path, below which the modules of its first view are joined in one file, and its styles in
another one.
"""

import asyncio
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Set
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import leverframe
from leverframe.interface.table.refusals import Refusal
from leverframe.server.http.messages import Headers, Reply, Request
from leverframe.server.routes.headers import PAGE_HEADERS, PART_HEADERS, CompressedReply

# The modules of the first view as one file: a slow phone requests one instead of forty.
#
# The pages are modules without a build step: they are joined when they are served. Each module
# becomes a function, placed after the modules that it imports; modules that are not joined import
# from the joined file. Only the forms that the pages use are supported: imports of names or of a
# whole module at the top, exports of declarations, and a list of exported names at the end of a
# vendored module.

# Kept as text, which `re` compiles at first use, so that startup does not wait for it.
_IMPORT = r'(?m)^import (\{[^}]*\}|\* as \w+) from "(\.[^"]+)";$'
_EXPORT = r"(?m)^export (?=(?:async )?(?:function\*?|class|const) (\w+))"
_EXPORTED_LIST = r"export\{([^}]*)\};\s*(?://.*\s*)?\Z"
_LATE_IMPORT = r"\bimport\(([\"`])(\.[^\"`]*)"
_OWN_ADDRESS = "import.meta.url"
#: Whole lines of comment: a quarter of the bytes on a slow line. Licences stay.
_COMMENT = r"(?m)^[ \t]*(?://.*|/\*\*(?!\s*\* @license)(?:[^*]|\*(?!/))*\*/[ \t]*)\n"
#: Later imports of a joined module do not fetch it again.
_BEGIN = """export const firstView = {};
const fetched = async (path) => firstView[path.slice(2)] ?? import(path);"""


def join_modules(text_of: Callable[[str], str], start: str, first: Set[str]) -> str:
    """Return the start module together with the modules of the first view."""
    parts = (_part(module, text_of(module)) for module in _in_order(text_of, start, first))
    return "\n".join([_BEGIN, *parts, ""])


def without_comments(text: str) -> str:
    """Return a module without the comments that fill whole lines."""
    return re.sub(_COMMENT, "", text)


def beside_joined(path: str, text: str, start: str, first: Set[str]) -> str:
    """Return a module that is requested separately, adapted to the joined modules."""
    if path in first:
        return _reexport(path, text, start)
    return _late(path, text, start, {start, *first})


def _in_order(text_of: Callable[[str], str], start: str, first: Set[str]) -> list[str]:
    """Order the modules so that each comes after its imports; the start module is the last."""
    ordered: dict[str, None] = {}

    def add(path: str) -> None:
        if path not in ordered:
            for _, needed in _imports(path, text_of(path)):
                add(needed)
            ordered[path] = None

    for path in sorted(first):
        add(path)
    add(start)
    return list(ordered)


def _imports(path: str, text: str) -> Iterator[tuple[str, str]]:
    return ((match[1], _resolve(path, match[2])) for match in re.finditer(_IMPORT, text))


def _resolve(path: str, relative: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), relative))


def _part(path: str, text: str) -> str:
    """Turn a module into a function that returns the exports of the module."""
    names, body = _exports(text)
    body = re.sub(
        _IMPORT, lambda match: _import_from_joined(match[1], _resolve(path, match[2])), body
    )
    body = re.sub(
        _LATE_IMPORT, lambda match: f"fetched({match[1]}./{_resolve(path, match[2])}", body
    )
    body = body.replace(_OWN_ADDRESS, f'new URL("{path}", {_OWN_ADDRESS})')
    return f'firstView["{path}"] = (() => {{\n{body}\nreturn {{ {names} }};\n}})();'


def _exports(text: str) -> tuple[str, str]:
    """Return the exports of a module in object syntax, and its text without the exports."""
    if listed := re.search(_EXPORTED_LIST, text):
        pairs = (one.split(" as ") for one in listed[1].split(","))
        return ", ".join(f"{own[-1]}: {own[0]}" for own in pairs), text[: listed.start()]
    return ", ".join(re.findall(_EXPORT, text)), re.sub(_EXPORT, "", text)


def _import_from_joined(clause: str, path: str) -> str:
    """Read the imported names from a joined module."""
    names = clause.replace("* as ", "").replace(" as ", ": ")
    return f'const {names} = firstView["{path}"];'


def _late(path: str, text: str, start: str, wanted: Set[str]) -> str:
    """Rewrite a later module to import from the joined modules."""
    if not any(needed in wanted for _, needed in _imports(path, text)):
        return text
    place = posixpath.relpath(start, posixpath.dirname(path))

    def replace_import(match: re.Match[str]) -> str:
        needed = _resolve(path, match[2])
        return _import_from_joined(match[1], needed) if needed in wanted else match[0]

    return (
        f'import {{ firstView }} from "{_relative(place)}"; {re.sub(_IMPORT, replace_import, text)}'
    )


def _reexport(path: str, text: str, start: str) -> str:
    """Return a joined module at its own path, for imports by that path."""
    names = ", ".join(name.partition(":")[0] for name in _exports(text)[0].split(", "))
    place = posixpath.relpath(start, posixpath.dirname(path))
    return (
        f'import {{ firstView }} from "{_relative(place)}";\n'
        f'export const {{ {names} }} = firstView["{path}"];\n'
    )


def _relative(place: str) -> str:
    return place if place.startswith(".") else f"./{place}"


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
    ".woff2": "font/woff2",
}
#: Everything except the front page is below this path.
PREFIX = "/web/"
_VERSION_LETTERS = 12
#: The parts that all pages share: their head, and what they show until their script is loaded. Each
#: page has a placeholder for each part, `<!-- NAME -->`.
_SHARED = ("head.html", "unstarted.html")
_FRONT, _START = "index.html", "app.js"
#: The styles of all pages, sent as one file: browsers open only six connections, and the front page
#: needs one of them for its words.
_STYLES = ("style.css", "styles/views.css")
#: The front page lists here the modules that its first view needs besides its start module.
_FIRST = rf'<link rel="modulepreload" href="{PREFIX}([^"]+)">\n'


class PageUnreadable(Refusal):
    status = 503
    title = "Page unreadable"


class PageFiles:
    """The files of the pages; each is read when it is requested."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.kinds = dict(_kinds(folder, ""))
        self._digests = {name: sha256(self._bytes(name)).digest() for name in self.kinds}
        front = self._text(_FRONT)
        self._first_view = frozenset(re.findall(_FIRST, front))
        for name in _SHARED:
            del self.kinds[name]
        self.version = _version(self._digests)
        # The code that joins modules counts as part of the content.
        own = {**self._digests, "": sha256(Path(__file__).read_bytes()).digest()}
        self.version_of_front = _version(own)

    def part(self, name: str) -> CompressedReply:
        """Return a file unchanged."""
        kind = self.kinds[name]
        headers = PART_HEADERS if kind in (_SCRIPT, _STYLE) else PAGE_HEADERS
        return _reply(kind, self._read(name), headers)

    def page(self, name: str) -> CompressedReply:
        """Return a page with the shared parts, linked to its version."""
        text = self._text(name)
        for shared in _SHARED:
            text = text.replace(f"<!-- {shared} -->\n", self._text(shared))
        version = self.version
        if name == _FRONT:
            text, version = re.sub(_FIRST, "", text), self.version_of_front
            for joined in _STYLES[1:]:
                text = text.replace(f'<link rel="stylesheet" href="{PREFIX}{joined}">\n', "")
        linked = text.replace(f'"{PREFIX}', f'"{PREFIX}{version}/')
        return _reply(_HTML, linked.encode(), PAGE_HEADERS)

    def start_of_front(self) -> CompressedReply:
        """Return the modules of the first view as one file."""
        whole = join_modules(self._text, _START, self._first_view)
        return _reply(_SCRIPT, without_comments(whole).encode(), PART_HEADERS)

    def styles_of_front(self) -> CompressedReply:
        """Return the styles of all pages as one file."""
        whole = "".join(map(self._text, _STYLES))
        return _reply(_STYLE, whole.encode(), PART_HEADERS)

    def beside_start(self, name: str) -> CompressedReply:
        """Return a module for the front page."""
        written = beside_joined(name, self._text(name), _START, self._first_view)
        return _reply(_SCRIPT, without_comments(written).encode(), PART_HEADERS)

    def _text(self, name: str) -> str:
        return self._read(name).decode()

    def _read(self, name: str) -> bytes:
        """Read a file; refuse it if it has changed since startup.

        Browsers would keep the new content permanently under the address of the old one.
        """
        try:
            found = self._bytes(name)
        except OSError as error:
            raise PageUnreadable(f"A page file cannot be read: {error.strerror}. Retry.") from error
        if sha256(found).digest() != self._digests[name]:
            raise PageUnreadable(
                "The page files have changed since the controller started; restart it."
            )
        return found

    def _bytes(self, name: str) -> bytes:
        return (self._folder / name).read_bytes()


class Pages(Mapping[str, CompressedReply]):
    """The replies by path, each created at its first request, and then kept.

    An idle controller keeps none of them, which saves 1.5 MB.
    """

    def __init__(self, files: PageFiles) -> None:
        self._files = files
        self._made: dict[str, CompressedReply] = {}
        self._versioned = f"{PREFIX}{files.version}/"
        self._of_front = f"{PREFIX}{files.version_of_front}/"

    def is_made(self, path: str) -> bool:
        return path in self._made

    def __contains__(self, path: object) -> bool:
        return isinstance(path, str) and self._place_of(path) is not None

    def __getitem__(self, path: str) -> CompressedReply:
        if path not in self._made:
            place = self._place_of(path)
            if place is None:
                raise KeyError(path)
            self._made[path] = self._make(*place)
        return self._made[path]

    def __iter__(self) -> Iterator[str]:
        for name, kind in self._files.kinds.items():
            if kind == _HTML:
                yield "/" if name == _FRONT else PREFIX + name
            else:
                yield from (place + name for place in (PREFIX, self._versioned, self._of_front))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _place_of(self, path: str) -> tuple[str, str] | None:
        """Return the folder and the file that a path names; None if there is no such file."""
        if path == "/":
            return PREFIX, _FRONT
        for place in (self._of_front, self._versioned, PREFIX):
            if path.startswith(place):
                name = path.removeprefix(place)
                kind = self._files.kinds.get(name)
                is_there = place == PREFIX and name != _FRONT if kind == _HTML else kind is not None
                return (place, name) if is_there else None
        return None

    def _make(self, place: str, name: str) -> CompressedReply:
        if self._files.kinds[name] == _HTML:
            return self._files.page(name)
        if place == PREFIX:
            return self._files.part(name)
        if place == self._of_front and name == _START:
            return self._files.start_of_front().with_lasting_address()
        if place == self._of_front and name == _STYLES[0]:
            return self._files.styles_of_front().with_lasting_address()
        if place == self._of_front and self._files.kinds[name] == _SCRIPT:
            return self._files.beside_start(name).with_lasting_address()
        return self._files.part(name).with_lasting_address()


@lru_cache(maxsize=1)
def pages() -> Pages:
    """Return the pages; reads all files once to compute the version in their paths."""
    return Pages(PageFiles(Path(leverframe.__file__).parent / "web"))


async def page_reply(path: str, request: Request) -> Reply:
    """Answer with a page or a part of one; build it off the event loop if necessary."""
    found = pages()
    if not found.is_made(path):
        await asyncio.to_thread(found.__getitem__, path)
    return found[path].reply_to(request)


def _reply(kind: str, body: bytes, headers: Headers) -> CompressedReply:
    # Browsers accept compressed replies, so those are kept while the process runs, but not the
    # plain ones.
    return CompressedReply(kind, body, headers, keeps_plain=False)


def _kinds(folder: Path, path: str) -> Iterator[tuple[str, str]]:
    """List the files that browsers may request: the path below the folder, and the content type."""
    for item in sorted(folder.iterdir()):
        kind = _KINDS.get(item.suffix)
        if item.is_dir() and not item.name.startswith("_"):
            yield from _kinds(item, f"{path}{item.name}/")
        elif kind is not None:
            yield path + item.name, kind


def _version(digests: dict[str, bytes]) -> str:
    """Return a version for the content of all files: a change of one changes the path of all."""
    whole = sha256()
    for name, digest in digests.items():
        whole.update(name.encode() + b"\0" + digest)
    return whole.hexdigest()[:_VERSION_LETTERS]
