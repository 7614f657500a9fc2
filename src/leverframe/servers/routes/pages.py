"""The page and its parts: static files of the package, read once, with what browsers must obey."""

from functools import lru_cache
from pathlib import Path

import leverframe
from leverframe.servers.routes.packed import Packed
from leverframe.servers.routes.page_headers import PAGE_HEADERS

_KINDS = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
#: Everything but the front page stands under this path.
PREFIX = "/web/"


@lru_cache(maxsize=1)
def pages() -> dict[str, Packed]:
    """Path -> reply, of every file of the page."""
    root = Path(leverframe.__file__).parent / "web"
    found = dict(_files(root, PREFIX))
    found["/"] = found.pop(f"{PREFIX}index.html")
    return found


def _files(folder: Path, path: str) -> list[tuple[str, Packed]]:
    found = []
    for item in folder.iterdir():
        kind = _KINDS.get(item.name[item.name.rfind(".") :])
        if item.is_dir() and not item.name.startswith("_"):
            found += _files(item, f"{path}{item.name}/")
        elif kind is not None:
            found.append((path + item.name, Packed(kind, item.read_bytes(), PAGE_HEADERS)))
    return found
