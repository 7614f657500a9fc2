"""Files that are for their owner alone, such as keys, and damaged files kept for support."""

import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# Files that are for their owner alone, such as keys: whole and on disk, or as they were before.
#
# What is made in a folder belongs to the owner of the folder, also when root makes it: a service
# that runs under a user of its own could not read files of root. SQLite does the same with what
# it puts beside its files.

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
        # A user who can write to the folder must not use a link to choose the file that root
        # writes.
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
    """Change the owner of a file that root has just created to the owner of its folder."""
    owner = _folder_owner(path)
    if owner is not None:
        os.chown(path, *owner, follow_symlinks=False)


def _folder_owner(path: Path) -> tuple[int, int] | None:
    """Return user and group of the folder if we are root and another user owns it."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    folder = path.parent.stat()
    return (folder.st_uid, folder.st_gid) if folder.st_uid != 0 else None


# Damaged files that are kept for support, with reports that outlast restarts.
#
# Each is a folder `damaged-N` in the data folder, with `report.txt` in it. The report is shown
# for as long as the folder is there.

log = logging.getLogger(__name__)

_REPORT = "report.txt"
#: More reports than that are counted only.
_SHOWN = 3


def new_folder(data_folder: Path) -> Path:
    """Create a folder for damaged files."""
    number = 1
    while (aside := data_folder / f"damaged-{number}").exists():
        number += 1
    aside.mkdir(mode=0o700)
    hand_to_folder_owner(aside)
    return aside


def keep_copies(data_folder: Path, files: Iterable[Path]) -> Path | None:
    """Copy damaged files to a folder of their own; None if the disk does not allow it."""
    # Imported here: a store is hardly ever damaged.
    import shutil

    aside = None
    try:
        aside = new_folder(data_folder)
        for file in files:
            if file.exists():
                with open(create_private(aside / file.name), "wb") as copy, file.open("rb") as one:
                    shutil.copyfileobj(one, copy)
    except OSError as error:
        log.error("The damaged files in %s cannot be copied: %s.", data_folder, error.strerror)
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)
        return None
    return aside


def report_damage(sentence: str, aside: Path | None) -> str:
    """Log a sentence about damage and keep it with the files; return it with where they are."""
    if aside is None:
        sentence = f"{sentence} No copy of the damaged files could be kept."
    else:
        sentence = f"{sentence} A copy of the damaged files is in {aside}."
        keep_report(aside, sentence)
    log.error("%s", sentence)
    return sentence


def keep_report(aside: Path, sentence: str) -> None:
    """Write a report on damaged files next to them."""
    with suppress(OSError):
        write_private(aside / _REPORT, sentence.encode())


def read_reports(data_folder: Path) -> list[str]:
    """Read the reports of all damaged files that are still there, newest first."""
    folders = sorted(data_folder.glob("damaged-*"), key=_number, reverse=True)
    reports = []
    for folder in folders:
        with suppress(OSError):
            text = (folder / _REPORT).read_text(encoding="utf-8", errors="replace")
            reports.append(f"{text} Remove {folder} to clear this message at the next startup.")
    hidden = len(reports) - _SHOWN
    shown = reports[:_SHOWN]
    if hidden > 0:
        shown[-1] = f"{shown[-1]} {hidden} older reports are in {data_folder}."
    return shown


def _number(folder: Path) -> int:
    tail = folder.name.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
