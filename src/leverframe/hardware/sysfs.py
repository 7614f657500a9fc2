"""Files of the kernel's device tree: read and written whole, failures told as sentences."""

from pathlib import Path

from leverframe.hardware.troubles import Unusable, told


def read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        raise Unusable(told(error, str(path))) from error


def read_number(path: Path) -> float:
    text = read_text(path)
    try:
        return float(text)
    except ValueError:
        raise Unusable(f"{path} holds {text[:20]!r}, which is no number.") from None


def write_text(path: Path, text: str) -> None:
    try:
        # Not `write_text`, which would make a file where there is none.
        with path.open("r+", encoding="ascii") as file:
            file.write(text)
            file.truncate()
    except OSError as error:
        raise Unusable(told(error, str(path))) from error
