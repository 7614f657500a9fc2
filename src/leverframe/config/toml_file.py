"""Reading of a TOML file that a person wrote; any mistake in it is reported as a sentence."""

import re
from pathlib import Path
from typing import Any

from leverframe.errors import ErrorForPeople

#: No person writes more; a device that never ends gives more.
MAX_BYTES = 1 << 20


def read_toml(path: Path, refused: type[ErrorForPeople]) -> tuple[str, dict[str, Any]]:
    """Return the text of a file, for finding lines in it, and its content; raise `refused`."""
    # Imported here: most controllers have no file.
    import tomllib

    try:
        # Some editors begin a file with a byte order mark, which TOML does not know.
        text = _content(path, refused).decode("utf-8-sig").replace("\r\n", "\n")
        return text, tomllib.loads(text)
    except OSError as error:
        raise refused(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        line = 1 + error.object.count(b"\n", 0, error.start)
        raise refused(f"{path}, line {line} is not text in UTF-8; save it as UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise refused(_invalid(path, text, str(error))) from None
    except RecursionError:
        raise refused(f"{path} is not valid TOML: too many brackets within brackets.") from None
    except ValueError:
        # What the operating system never gets to see.
        raise refused(f"{str(path)!r} cannot be read: a file name has no NUL character.") from None


def _invalid(path: Path, text: str, error: str) -> str:
    """Put the line, which the parser names last, where all other mistakes have it."""
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
        raise refused(f"{path} is not read: it has more than {MAX_BYTES} bytes.")
    return content
