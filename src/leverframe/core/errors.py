"""Errors that users can correct, exit statuses, and safe output of untrusted text."""

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

# The base class of all errors that users can understand and correct.
#
# The command line prints their text, one line per error, and exits; any other exception is a bug of
# the program and is shown with its traceback.


class ErrorForPeople(Exception):
    """An error that users can correct; it says what is wrong, what is allowed, and what to do."""

    #: The field of the error if its text begins with `Field NAME: `. The command line replaces this
    #: name by the name of its option.
    field: str | None = None


# Exit statuses, the same for every command; they follow grep and diff.

#: Success, or the answer is yes.
DONE = 0
#: The answer is no: a difference, damage, or a missing or wrong item.
NO = 1
#: The command failed or is invalid; a line on standard error gives the reason.
NOT_DONE = 2
INTERRUPTED = 130
#: Standard output was closed early, as in `leverframe commands | head`.
OUTPUT_CLOSED = 141


# Safe output of untrusted text: the name of a unit, for example, cannot affect a terminal or a log.
#
# Characters with an effect on the output are written as escapes such as `\u001b`: control
# characters (C0, DEL, C1) and with them all ANSI sequences, line and paragraph separators, marks
# that change the direction of text, invisible characters, and unpaired surrogates. The escapes are
# valid in JSON and TOML, so a document keeps its meaning.
#
# Only this module decides which characters are safe. Commands about units print with `print_lines`,
# errors and log lines use `printable`, JSON uses `printable_json`.

#: Harmless spaces, although Python counts them as not printable.
_SPACES = frozenset("\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
_LARGEST_OF_FOUR_DIGITS = 0xFFFF


def printable(text: str) -> str:
    """Return a text as one line that cannot affect a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if _is_shown(letter) else _escape(letter) for letter in text)


def printable_json(document: str) -> str:
    """Return a JSON document with the same meaning that cannot affect a terminal."""
    if document.isprintable():
        return document
    # A line break in the document is always between values, never inside a text.
    return "".join(
        letter if letter == "\n" or _is_shown(letter) else _escape_in_json(letter)
        for letter in document
    )


def print_lines(lines: Iterable[str], *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print each text as exactly one line, by default on standard output."""
    for line in lines:
        print(printable(line), file=file, flush=flush)


def print_line(text: str, *, flush: bool = False) -> None:
    print_lines([text], flush=flush)


def print_json(document: Mapping[str, Any]) -> None:
    """Print a document as one line of JSON Lines."""
    # Imported here: this module also reports that a package is missing.
    import msgspec

    print(printable_json(msgspec.json.encode(document).decode()), flush=True)


def print_warnings(sentences: Iterable[str]) -> None:
    """Print sentences on standard error, each marked as a warning of the program."""
    print_lines((f"leverframe: {sentence}" for sentence in sentences), file=sys.stderr)


def _is_shown(letter: str) -> bool:
    return letter.isprintable() or letter in _SPACES


def _escape(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number <= _LARGEST_OF_FOUR_DIGITS else f"\\U{number:08x}"


def _escape_in_json(letter: str) -> str:
    number = ord(letter)
    if number <= _LARGEST_OF_FOUR_DIGITS:
        return _escape(letter)
    # JSON escapes have four digits, so a character above U+FFFF needs a surrogate pair.
    halves = letter.encode("utf-16-be")
    return "".join(f"\\u{halves[at : at + 2].hex()}" for at in (0, 2))


# Kinds of reasons for which a file is rejected.


class BadUpload(ErrorForPeople):
    """An uploaded file was rejected; the message says which check failed and what to do."""
