"""The status files: the controller's state in the words, order and scales that clients know.

`build` gives the bytes of a file, `describe` the reference of all of them. Files are made of keys
(`keys.py`), which stand in the file of their feature; `catalogue.py` says which file has which.
Each `Keys` is a segment of its files (`segments.py`).
"""

from leverframe.interface.status_files.catalogue import (
    FILES,
    PATHS,
    File,
    KeyDescription,
    build,
    content_type,
    describe,
    layout_of,
    names_of,
)
from leverframe.interface.status_files.keys import View
from leverframe.interface.status_files.states import bootloader_reply, command_reply

__all__ = [
    "FILES",
    "PATHS",
    "File",
    "KeyDescription",
    "View",
    "bootloader_reply",
    "build",
    "command_reply",
    "content_type",
    "describe",
    "layout_of",
    "names_of",
]
