"""The built-in pages: static files of the package, read once, with what browsers must obey."""

from functools import lru_cache
from pathlib import Path

import leverframe
from leverframe.servers.routes.compressed import CompressedReply
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
def pages() -> dict[str, CompressedReply]:
    """Read every file; gives its reply by path."""
    root = Path(leverframe.__file__).parent / "web"
    found = dict(_files(root, PREFIX))
    found["/"] = found.pop(f"{PREFIX}index.html")
    return found


def _files(folder: Path, path: str) -> list[tuple[str, CompressedReply]]:
    found = []
    for item in folder.iterdir():
        kind = _KINDS.get(item.suffix)
        if item.is_dir() and not item.name.startswith("_"):
            found += _files(item, f"{path}{item.name}/")
        elif kind is not None:
            # Browsers take them compressed, and they are kept for as long as the process runs.
            reply = CompressedReply(kind, item.read_bytes(), PAGE_HEADERS, keeps_plain=False)
            found.append((path + item.name, reply))
    return found
