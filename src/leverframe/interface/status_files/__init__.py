"""The status files: the controller's state, with the keys, order and scales that clients expect.

`build` returns the content of a file, `describe` the reference of all files. A file consists of
keys (`keys.py`), which are defined in the module of their feature; `catalogue.py` lists the keys of
each file. Each `Keys` is a segment of its files (`segments.py`).
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
