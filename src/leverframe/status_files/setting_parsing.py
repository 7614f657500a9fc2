"""Parse the settings in a status file: the way back from what `Keys.show` writes.

A pattern is a path of the tree with `*` for every place of a list, or `4-5` for some of them. The
places that a version has are those of its factory settings.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.engine.factory_settings import defaults
from leverframe.profile import Profile

#: Lists of entries, which are written whole; they have no leaves while they are empty.
ENTRY_LISTS = ("rules", "schedule", "access.users")


class ReadSetting(Struct, frozen=True):
    """What a file shows of one place of the tree."""

    path: str
    value: Any
    #: What may be lost in it.
    loss: str = ""


class UnreadSetting(Struct, frozen=True):
    path: str
    #: The end of a sentence that begins with the name of the key.
    why: str


class SettingParser(Struct, frozen=True):
    """The settings that keys show, and how they are read from the texts in the order of names.

    Anything but a text is what a unit may say instead; None where it says nothing.
    """

    patterns: tuple[str, ...]
    read: Callable[[Sequence[object], Profile], Iterable[ReadSetting | UnreadSetting]]


@lru_cache(maxsize=1024)
def places(patterns: tuple[str, ...], profile: Profile) -> tuple[str, ...]:
    """Return the paths that patterns stand for in a version."""
    return tuple(
        path for pattern in patterns for path in _expand(defaults(profile), pattern.split("."))
    )


def _expand(tree: Any, steps: list[str], path: str = "") -> Iterator[str]:
    if not steps:
        yield path
        return
    step, rest = steps[0], steps[1:]
    if isinstance(tree, tuple):
        for index in range(len(tree))[part_of(step)]:
            yield from _expand(tree[index], rest, f"{path}.{index}")
    else:
        yield from _expand(getattr(tree, step), rest, f"{path}.{step}" if path else step)


def is_place(step: str) -> bool:
    return step == "*" or step[0].isdigit()


def part_of(step: str) -> slice:
    """Return the part of a list that a step of a pattern stands for."""
    if step == "*":
        return slice(None)
    first, _, last = step.partition("-")
    return slice(int(first), int(last or first) + 1)


def leaf_of(place: str) -> str:
    """Return the leaf that a place is in; items of a list of values have none of their own."""
    branch, _, last = place.rpartition(".")
    return branch if last.isdigit() and branch not in ENTRY_LISTS else place
