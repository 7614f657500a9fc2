"""Templates as clients send them: a settings backup in JSON or TOML, read at a bounded cost.

Reading JSON takes a time that grows with its size. The parser of TOML takes a time that grows with
the square of the parts of a key, and is slow. So its input is checked before, in linear time, and
it runs on a thread, one text at a time. A text is bounded by its size and by its structure: the
text without strings, comments and repeated spaces. So no text holds more than a few megabytes of
memory, or takes more than a fraction of a second.
"""

import asyncio
import re
import tomllib

import msgspec

from leverframe.commands.table.refusals import BadValue
from leverframe.storage.backup import BackupFile

#: A whole backup has 60 KB with factory settings, and 12 KB of structure.
MAX_BYTES = 256 << 10
MAX_STRUCTURE_BYTES = 64 << 10
#: `settings."outputs.0.name"` has two.
MAX_KEY_PARTS = 4

# Strings and comments of TOML, and strings of JSON, as `tomllib` finds them up to the first mistake
# of a text. Each alternative matches wherever it begins, also without an end, and never backtracks:
# the time is linear for any text.
_STRINGS_AND_COMMENTS = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*+"{0,5}+'
    r"|'''(?:[^']|'(?!''))*+'{0,5}+"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?+'
    r"|'[^'\n]*+'?+"
    r"|\#[^\n]*+",
    re.DOTALL,
)
_SPACES = re.compile(r"[ \t\r\n]++")
_PART = r"[A-Za-z0-9_\-]++ ?+"
#: A key of too many parts, where strings are letters and spaces are one.
_LONG_KEY = re.compile(rf"(?<![A-Za-z0-9_\-]){_PART}(?:\. ?+{_PART}){{{MAX_KEY_PARTS}}}")
#: In place of a string, which may be a part of a key.
_STRING = "s"


class TemplateReader:
    """The reader of the templates that all clients of a node send."""

    def __init__(self) -> None:
        self._turn = asyncio.Semaphore(1)

    async def read(self, body: bytes) -> BackupFile:
        """Read a template, or refuse it with the reason."""
        text = _text_of(body)
        is_json = text.lstrip().startswith("{")
        check_structure(text, is_json=is_json)
        try:
            if is_json:
                return msgspec.json.decode(text, type=BackupFile)
            async with self._turn:
                return await asyncio.to_thread(_from_toml, text)
        except (ValueError, OverflowError, RecursionError) as error:
            raise BadValue(
                f"The template is not a backup in JSON or TOML: {error}.", field="template"
            ) from None


def check_structure(text: str, *, is_json: bool) -> None:
    """Refuse a text with more structure than a backup has, in linear time."""
    structure = _SPACES.sub(" ", _STRINGS_AND_COMMENTS.sub(_STRING, text))
    if len(structure) > MAX_STRUCTURE_BYTES:
        raise BadValue(
            f"Without strings and comments the template has {len(structure)} characters.",
            field="template",
            allowed=f"up to {MAX_STRUCTURE_BYTES} characters",
        )
    if not is_json and _LONG_KEY.search(structure):
        raise BadValue(
            f"A key of the template has more than {MAX_KEY_PARTS} parts.",
            field="template",
            allowed='each path as one text, such as "outputs.0.name" = "Pump"',
        )


def _text_of(body: bytes) -> str:
    if len(body) > MAX_BYTES:
        raise BadValue(
            f"The template has {len(body)} bytes.",
            field="template",
            allowed=f"up to {MAX_BYTES} bytes",
        )
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise BadValue("The template is not UTF-8 text.", field="template") from None


def _from_toml(text: str) -> BackupFile:
    # By way of JSON: dates, and numbers that JSON cannot hold, are then refused or accepted alike.
    document = msgspec.json.encode(tomllib.loads(text))
    return msgspec.json.decode(document, type=BackupFile)
