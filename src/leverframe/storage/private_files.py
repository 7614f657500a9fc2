"""Files that only their owner can access, such as keys, and folders of damaged files."""

import logging
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

# Files that only their owner can access, such as keys. A file is replaced completely, or not at
# all.
#
# A new file belongs to the owner of its folder, even if root creates it, because a service with its
# own account could not read root's files. SQLite does the same with its files.

#: Without this flag, Windows changes line endings.
_BINARY = getattr(os, "O_BINARY", 0)


def write_private(path: Path, content: bytes) -> None:
    """Write a complete file that only its owner can access; it is on disk when this returns."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    descriptor = create_private(beside)
    # A single system call may write only a part; a file object repeats the call until all is
    # written.
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    beside.replace(path)
    if sys.platform == "win32":
        return  # folders cannot be opened there
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def create_private(path: Path) -> int:
    """Create a file that only the owner of its folder can access; return it open for reading and
    writing.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o600)
    try:
        hand_to_folder_owner(path)
    except BaseException:
        os.close(descriptor)
        path.unlink()
        raise
    return descriptor


def open_private(path: Path) -> int:
    """Open a file for reading and writing; create it if it does not exist."""
    try:
        return create_private(path)
    except FileExistsError:
        # A user who can write to the folder must not redirect root's writes to another file by a
        # link.
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
    """Transfer a file that root has just created to the owner of its folder."""
    owner = _folder_owner(path)
    if owner is not None:
        os.chown(path, *owner, follow_symlinks=False)


def _folder_owner(path: Path) -> tuple[int, int] | None:
    """Return user and group of the folder if we are root and another user owns it."""
    if sys.platform == "win32" or os.geteuid() != 0:
        return None
    folder = path.parent.stat()
    return (folder.st_uid, folder.st_gid) if folder.st_uid != 0 else None


# Damaged files that are kept for support, with reports that are shown even after restarts.
#
# Each set of files is in a folder `damaged-N` in the data folder, with a `report.txt`. The report
# is shown as long as the folder exists.

log = logging.getLogger(__name__)

_REPORT = "report.txt"
#: Further reports are only counted.
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
    """Copy damaged files to a separate folder; return None if the disk does not allow it."""
    # Imported here, because a store is hardly ever damaged.
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
    """Log a sentence about damage and store it with the files; return it with their location."""
    if aside is None:
        sentence = f"{sentence} No copy of the damaged files could be kept."
    else:
        sentence = f"{sentence} A copy of the damaged files is in {aside}."
        keep_report(aside, sentence)
    log.error("%s", sentence)
    return sentence


def keep_report(aside: Path, sentence: str) -> None:
    """Write a report about damaged files into their folder."""
    with suppress(OSError):
        write_private(aside / _REPORT, sentence.encode())


def read_reports(data_folder: Path) -> list[str]:
    """Read the reports of all damaged files that still exist, newest first."""
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
