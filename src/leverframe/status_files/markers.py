"""Markers in the pages of an uploaded web site: `<--#dsid-->` stands for the value of `dsid`.

Every key of the JSON status files is a marker, except those of the files that only the
administrator may read. Where several files have the key, the first in `MARKER_FILES` counts. A name
that no file has stays as it is. Values are written so that they stay text wherever they stand;
`marker_contexts` knows how.
"""

import re
from collections.abc import Mapping

from leverframe.status_files.catalogue import FILES, show_file
from leverframe.status_files.marker_contexts import READERS, TextReader
from leverframe.status_files.view import View
from leverframe.uploads.site_names import ending_of

MARKER_FILES = tuple(
    file.path
    for file in FILES.values()
    if file.path.startswith("/json/") and not file.is_for_administrator
)
_MARKER = re.compile(rb"<--#(\w{1,40})-->", re.ASCII)


def with_values(page: bytes, name: str, view: View) -> bytes:
    """Return the page with its markers filled in; the same object where it has none."""
    reader = READERS.get(ending_of(name))
    if reader is None or not _MARKER.search(page):
        return page
    return fill_markers(page, reader(), marker_values(view))


def fill_markers(page: bytes, reader: TextReader, values: Mapping[str, str]) -> bytes:
    """Write the values in place of the markers, each as its place needs it."""
    written: list[bytes] = []
    end = 0
    for found in _MARKER.finditer(page):
        text = values.get(found[1].decode())
        before = page[end : found.start() if text is not None else found.end()]
        # Bytes that are no UTF-8 are some other encoding; all that matters to a reader is ASCII.
        reader.read(before.decode("latin-1"))
        written.append(before)
        end = found.end()
        if text is not None:
            write = reader.write_here()
            written.append(found[0] if write is None else write(text).encode("utf-8", "replace"))
    return b"".join((*written, page[end:]))


def marker_values(view: View) -> dict[str, str]:
    """Return all markers with their present values."""
    values: dict[str, str] = {}
    for path in MARKER_FILES:
        for name, text in (show_file(path, view) or {}).items():
            if isinstance(text, str):
                values.setdefault(name, text)
    return values
