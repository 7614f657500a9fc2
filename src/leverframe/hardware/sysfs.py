"""Files of the kernel's device tree: read and written whole, failures reported as sentences."""

import os
from pathlib import Path

from leverframe.hardware.troubles import Unusable, os_error_text


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def read_number(path: Path) -> float:
    text = read_text(path)
    try:
        return float(text)
    except ValueError:
        raise Unusable(f"{path} contains {text[:20]!r}, which is not a number.") from None


def write_text(path: Path, text: str) -> None:
    try:
        descriptor = _open_to_write(path)
        try:
            os.ftruncate(descriptor, 0)
            os.write(descriptor, text.encode("ascii"))
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def check_writable(path: Path) -> None:
    """Raise Unusable where `write_text` would fail; nothing is written."""
    try:
        os.close(_open_to_write(path))
    except OSError as error:
        raise Unusable(os_error_text(error, str(path))) from error


def _open_to_write(path: Path) -> int:
    # Not to read as well: the kernel refuses that for files that can only be written, as `export`.
    # And without making a file where there is none.
    return os.open(path, os.O_WRONLY)
