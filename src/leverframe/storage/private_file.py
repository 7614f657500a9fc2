"""Files that are for their owner alone, such as keys: whole and on disk, or as they were before.

What is made in a folder belongs to the owner of the folder, also when root makes it: a service that
runs under a user of its own could not read files of root. SQLite does the same with what it puts
beside its files.
"""

import os
import sys
from pathlib import Path

#: Without it Windows changes the ends of lines.
_BINARY = getattr(os, "O_BINARY", 0)


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole, for its owner alone, and on disk when this returns."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = create_private(beside)
    # A system call may write less than it is given; a file object continues until all is written.
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    beside.replace(path)
    if sys.platform == "win32":
        return  # opens no folders
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def create_private(path: Path) -> int:
    """Create a file for the owner of its folder alone; return it open to read and write."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    try:
        hand_to_folder_owner(path)
    except BaseException:
        os.close(descriptor)
        path.unlink()
        raise
    return descriptor


def open_private(path: Path) -> int:
    """Open a file to read and write; create it where it is missing."""
    try:
        return create_private(path)
    except FileExistsError:
        # A user who can write to the folder must not choose by a link what root writes to.
        safely = os.O_NOFOLLOW if _folder_owner(path) is not None else os.O_CREAT
        return os.open(path, os.O_RDWR | safely, 0o600)


def ensure_private(path: Path) -> None:
    """Create a missing file; restrict an existing one to its owner."""
    descriptor = open_private(path)
    try:
        os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def hand_to_folder_owner(path: Path) -> None:
    """Give what root has just made to the owner of the folder that it is in."""
    owner = _folder_owner(path)
    if owner is not None:
        os.chown(path, *owner, follow_symlinks=False)


def _folder_owner(path: Path) -> tuple[int, int] | None:
    """Return user and group of the folder if we are root and another user owns it."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    folder = path.parent.stat()
    return (folder.st_uid, folder.st_gid) if folder.st_uid != 0 else None
