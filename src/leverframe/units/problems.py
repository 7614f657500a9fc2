"""What is wrong in a unit file or an inventory: where it stands, and what is allowed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from leverframe.config.described import nearest
from leverframe.errors import ErrorForPeople


class FileLine(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


class FileProblem(NamedTuple):
    """One mistake in a file."""

    line: FileLine
    #: The key that it is about, such as outputs.OUT0.name; empty for the file.
    key: str
    #: What is wrong and what is allowed; never a secret.
    sentence: str

    def __str__(self) -> str:
        return f"{self.line}: {self.sentence}"


class BadUnitFile(ErrorForPeople, ValueError):
    """A file with mistakes, one line for each."""

    def __init__(self, problems: Sequence[FileProblem] | str) -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        super().__init__(problems if isinstance(problems, str) else "\n".join(map(str, problems)))


def unknown(key: str, known: Iterable[str]) -> str:
    """Report an unknown key: the one that was probably meant, or all of them, nearest first."""
    names = list(known)
    written = key.rpartition(".")[2]
    meant = nearest(written, names)
    if meant:
        return f"{key} is unknown; did you mean {meant}?"
    if not names:
        return f"{key} is unknown; there are none."
    if len(names) > 1 and names == [*map(str, range(1, len(names) + 1))]:
        return f"{key} is unknown; known are 1 to {len(names)}."
    return f"{key} is unknown; known are {', '.join(_nearest_first(written, names))}."


def _nearest_first(word: str, names: list[str]) -> list[str]:
    """Sort by likeness; what is as near as another stays in its order."""
    # Imported here: a file without mistakes needs no guesses.
    from difflib import SequenceMatcher

    return sorted(names, key=lambda name: -SequenceMatcher(None, word, name).ratio())
