"""Errors that users can correct, exit statuses, and untrusted text made safe to show."""

import sys
from collections.abc import Iterable
from typing import TextIO

# The base class of all errors that users can understand and correct.
#
# The command line ends with their text, one line for each mistake; any other exception is a fault
# of the program and shows where it happened.


class ErrorForPeople(Exception):
    """An error whose text says what is wrong, what is allowed, and what to do."""

    #: The field concerned, if the text begins with `Field NAME: `. The command line shows it as its
    #: own argument.
    field: str | None = None


# Exit statuses, the same for every command; they follow grep and diff.

#: Success, or the answer is yes.
DONE = 0
#: The answer is no: a difference, damage, or something missing or wrong.
NO = 1
#: Failed, or the command line is wrong; a line on standard error gives the reason.
NOT_DONE = 2
INTERRUPTED = 130
#: Standard output was closed early, as in `leverframe commands | head`.
OUTPUT_CLOSED = 141


# Text of strangers that is shown: the name of a unit cannot affect a terminal or a log.
#
# Whatever acts instead of standing there is written as an escape such as `\u001b`: control
# characters (C0, DEL, C1) and with them all ANSI sequences, line and paragraph separators, marks
# that turn the direction of writing, invisible letters, halves of surrogate pairs. The escapes
# are those of JSON and TOML, so a document that is made printable still means the same.
#
# This is the one place that decides it. Commands about units print by `print_lines`, errors and
# log lines come through `printable`, JSON through `printable_json`.

#: Python does not call them printable, but they are spaces and nothing else.
_SPACES = frozenset("\u00a0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))))
_LARGEST_OF_FOUR_DIGITS = 0xFFFF


def printable(text: str) -> str:
    """Return a text as one line in which nothing acts on a terminal."""
    if text.isprintable():
        return text
    return "".join(letter if _is_shown(letter) else _escape(letter) for letter in text)


def printable_json(document: str) -> str:
    """Return a JSON document, of one line or several, that means the same and acts on nothing."""
    if document.isprintable():
        return document
    # A line break of the document itself stands between values, never in a text.
    return "".join(
        letter if letter == "\n" or _is_shown(letter) else _escape_in_json(letter)
        for letter in document
    )


def print_lines(lines: Iterable[str], *, file: TextIO | None = None, flush: bool = False) -> None:
    """Print each text as exactly one line, on standard output unless another file is named."""
    for line in lines:
        print(printable(line), file=file, flush=flush)


def print_line(text: str, *, flush: bool = False) -> None:
    print_lines([text], flush=flush)


def print_warnings(sentences: Iterable[str]) -> None:
    """Print sentences on the error output, each marked as one of the program."""
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
    # JSON has four digits only: two halves stand for a letter beyond them.
    halves = letter.encode("utf-16-be")
    return "".join(f"\\u{halves[at : at + 2].hex()}" for at in (0, 2))


# Why a file is refused.


class BadUpload(ErrorForPeople):
    """One sentence: which check failed, and what to do."""
