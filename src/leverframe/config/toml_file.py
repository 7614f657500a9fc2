"""Read a TOML file written by a user; every mistake in it is reported in a sentence."""

import re
from pathlib import Path
from typing import Any

from leverframe.errors import ErrorForPeople

#: More than any handwritten file; protects against endless devices.
MAX_BYTES = 1 << 20


def read_toml(path: Path, refused: type[ErrorForPeople]) -> tuple[str, dict[str, Any]]:
    """Return the text of a file, for finding lines in it, and its content; raise `refused`."""
    # Imported here: most controllers have no configuration file.
    import tomllib

    try:
        # Some editors begin a file with a byte order mark, which TOML does not allow.
        text = _content(path, refused).decode("utf-8-sig").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except OSError as error:
        advice = "; check the path" if isinstance(error, FileNotFoundError) else ""
        raise refused(f"{path} cannot be read: {error.strerror}{advice}.") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise refused(f"{path}, line {line} is not text in UTF-8; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise refused(_invalid(path, text, str(error))) from None
    except RecursionError:
        raise refused(f"{path} is not valid TOML: brackets are nested too deeply.") from None
    except ValueError:
        # Python rejects such a path before the operating system sees it.
        raise refused(
            f"{str(path)!r} cannot be read: a file name must not contain a NUL character."
        ) from None


def _invalid(path: Path, text: str, error: str) -> str:
    """Move the line, which the parser names last, to the place where all messages have it."""
    found = re.fullmatch(r"(.*) \(at line (\d+), (column \d+)\)", error, re.DOTALL)
    if found is None:
        line = 1 + text.rstrip("\n").count("\n")
        return f"{path}, line {line} is not valid TOML: {error}."
    reason, line_number, column = found.groups()
    return f"{path}, line {line_number} is not valid TOML: {reason} ({column})."


def _content(path: Path, refused: type[ErrorForPeople]) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise refused(f"{path} is too large: at most {MAX_BYTES:,} bytes are allowed.")
    return content
