"""Markers in the pages of an uploaded web site: `<--#dsid-->` stands for the value of `dsid`.

Every key of the JSON status files is a marker, except those of the files that only the
administrator may read. Where several files have the key, the first in `MARKER_FILES` counts. A name
that no file has stays as it is. Values are written so that they stay text: as HTML in pages, as the
inside of a string in scripts and JSON.
"""

import re
from collections.abc import Callable

import msgspec

from leverframe.status_files.catalogue import FILES, shown
from leverframe.status_files.view import View
from leverframe.status_files.writing import escaped

MARKER_FILES = tuple(
    file.path
    for file in FILES.values()
    if file.path.startswith("/json/") and not file.is_for_administrator
)
_MARKER = re.compile(rb"<--#(\w{1,40})-->", re.ASCII)


def _inside_string(text: str) -> str:
    quoted = msgspec.json.encode(text).decode()[1:-1]
    # Neither the end of a script nor of a template or of a text in single quotes.
    return quoted.replace("<", "\\u003c").replace("'", "\\u0027").replace("`", "\\u0060")


def _plain(text: str) -> str:
    return text


#: How values are written, by the end of the name of the file.
_WRITTEN: dict[str, Callable[[str], str]] = {
    **dict.fromkeys(("html", "htm", "xml", "svg"), escaped),
    **dict.fromkeys(("js", "mjs", "json"), _inside_string),
    "txt": _plain,
}


def with_values(page: bytes, name: str, view: View) -> bytes:
    """Return the page with its markers filled in; the same object where it has none."""
    written = _WRITTEN.get(name.rpartition(".")[2].lower())
    if written is None or not _MARKER.search(page):
        return page
    values = marker_values(view)

    def value(found: re.Match[bytes]) -> bytes:
        text = values.get(found[1].decode())
        return found[0] if text is None else written(text).encode("utf-8", "replace")

    return _MARKER.sub(value, page)


def marker_values(view: View) -> dict[str, str]:
    """Return all markers with their present values."""
    values: dict[str, str] = {}
    for path in MARKER_FILES:
        for name, text in (shown(path, view) or {}).items():
            if isinstance(text, str):
                values.setdefault(name, text)
    return values
