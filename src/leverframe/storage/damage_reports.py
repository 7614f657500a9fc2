"""Damaged files that are kept for support, with reports that outlast restarts.

Each is a folder `damaged-N` in the data folder, with `report.txt` in it. The report is shown for as
long as the folder is there.
"""

import logging
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from leverframe.storage.private_file import create_private, hand_to_folder_owner, write_private

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
    """Copy damaged files to a folder of their own; None where the disk does not allow it."""
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
    """Write down what happened to damaged files, beside them."""
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
