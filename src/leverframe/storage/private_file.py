"""Files that are for their owner alone, such as keys: whole and on disk, or as they were before."""

import os
from pathlib import Path


def write_private(path: Path, content: bytes) -> None:
    """Write a file whole, for its owner alone, and on disk when this returns."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    # A system call may write less than it is given; a file object goes on until all is written.
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    beside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
