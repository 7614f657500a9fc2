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
    """Report an unknown key, and which one was probably meant."""
    names = list(known)
    meant = nearest(key.rpartition(".")[2], names)
    advice = f"did you mean {meant}?" if meant else f"known are {_listed(names)}."
    return f"{key} is unknown; {advice}"


def _listed(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 12 else f"{names[0]} to {names[-1]}"
