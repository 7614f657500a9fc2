"""Reading of a TOML file that a person wrote; any mistake in it is reported as a sentence."""

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
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise refused(f"{path} is not valid TOML: {error}.") from None


def _content(path: Path, refused: type[ErrorForPeople]) -> bytes:
    with path.open("rb") as file:
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise refused(f"{path} is not read: it has more than {MAX_BYTES} bytes.")
    return content
