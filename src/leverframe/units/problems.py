"""Mistakes in a unit file or an inventory, with their lines and the allowed values."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from leverframe.errors import ErrorForPeople

#: Similarity from 0 to 1: that of `hw` to `hardware`.
LIKE_ENOUGH = 0.4


class FileLine(NamedTuple):
    """A line of a file, counted from 1."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.number}"


class FileProblem(NamedTuple):
    """One mistake in a file."""

    line: FileLine
    #: Its key, such as outputs.OUT0.name; empty for the whole file.
    key: str
    #: The mistake and the allowed values; never a secret.
    sentence: str

    def __str__(self) -> str:
        return f"{self.line}: {self.sentence}"


class BadUnitFile(ErrorForPeople, ValueError):
    """A file with mistakes, one line for each."""

    def __init__(self, problems: Sequence[FileProblem] | str) -> None:
        self.problems = () if isinstance(problems, str) else tuple(problems)
        super().__init__(problems if isinstance(problems, str) else "\n".join(map(str, problems)))


def unknown(name: str, known: Iterable[str], what: str = "key") -> str:
    """Report an unknown name with a suggestion or all known names."""
    names = list(known)
    sentence = f"Unknown {what} `{name}`."
    if not names:
        return f"{sentence} None exist."
    if len(names) > 1 and names == [*map(str, range(1, len(names) + 1))]:
        return f"{sentence} Allowed: 1 to {len(names)}."
    # Only the last part of a key is compared.
    likeness = _likeness_to(name.rpartition(".")[2] if what == "key" else name)
    names.sort(key=likeness, reverse=True)
    if likeness(names[0]) >= LIKE_ENOUGH:
        sentence += f" Did you mean `{names[0]}`?"
    return f"{sentence} Allowed: {', '.join(names)}."


def _likeness_to(word: str) -> Callable[[str], float]:
    # Imported here: a file without mistakes needs no suggestions.
    from difflib import SequenceMatcher

    return lambda name: SequenceMatcher(None, word, name).ratio()
