"""What is wrong in a unit file or an inventory: where it stands, and what is allowed."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from leverframe.errors import ErrorForPeople

#: From 0 to 1: `hw` is as like as this to `hardware`.
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


def unknown(name: str, known: Iterable[str], what: str = "key") -> str:
    """Report an unknown name with the one that was probably meant, and all of them."""
    names = list(known)
    sentence = f"Unknown {what} `{name}`."
    if not names:
        return f"{sentence} There are none."
    if len(names) > 1 and names == [*map(str, range(1, len(names) + 1))]:
        return f"{sentence} Allowed: 1 to {len(names)}."
    # Of a key, the last part alone is looked up.
    likeness = _likeness_to(name.rpartition(".")[2] if what == "key" else name)
    names.sort(key=likeness, reverse=True)
    if likeness(names[0]) >= LIKE_ENOUGH:
        sentence += f" Did you mean `{names[0]}`?"
    return f"{sentence} Allowed: {', '.join(names)}."


def _likeness_to(word: str) -> Callable[[str], float]:
    # Imported here: a file without mistakes needs no guesses.
    from difflib import SequenceMatcher

    return lambda name: SequenceMatcher(None, word, name).ratio()
