"""The versions that have something, in words: for descriptions, documents and examples.

Everything that differs by version is found by asking: a field is asked on every hardware family and
at every software version that something in the table begins or ends with, and neighbours that
answer alike are joined. So a limit that changes in whatever way a type computes it is described
correctly.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import groupby

from msgspec import Struct

from leverframe.commands.table.codes import CodeTable
from leverframe.commands.table.matching import TABLE
from leverframe.commands.table.params import Param, Word, has_field
from leverframe.commands.table.row import Row
from leverframe.commands.table.shape import Item
from leverframe.commands.table.versions import (
    FAMILIES,
    FIRST_SOFTWARE,
    inner_params,
    software_versions,
)
from leverframe.profile import (
    HARDWARE,
    HW30,
    HW35,
    HW35_TO_38,
    HW39,
    Profile,
    VersionSpan,
    is_offered,
)


class Variant(Struct, frozen=True):
    """An answer, and the versions that give it."""

    spans: tuple[VersionSpan, ...]
    text: str


def is_deprecated(row: Row, profile: Profile) -> bool:
    """Return whether this version has, and prefers, the form that replaces the row."""
    return is_offered(row.replaced_when, profile) and any(
        other.line == row.replaced_by and other.is_offered(profile) for other in TABLE
    )


def list_offered_fields(
    item: Item, params: Mapping[str, Param], profile: Profile
) -> tuple[str, ...]:
    """Return the holes of an item, without those that this version does not have."""
    return tuple(letter for letter in item.holes if has_field(params[letter], profile))


def newest_with(row: Row) -> Profile:
    """Return the newest version that has the row."""
    return next(
        profile
        for hw in FAMILIES
        for sw in reversed(software_versions())
        if row.is_offered(profile := Profile(hw[-1], sw))
    )


def tables_in(param: Param) -> list[CodeTable]:
    """List the code tables that a field takes its numbers from."""
    found = [inner.table for inner in inner_params(param) if isinstance(inner, Word)]
    return list({id(table): table for table in found}.values())


def variants(ask: Callable[[Profile], str | None]) -> list[Variant]:
    """Join the answers of all versions, newest first; None is no answer.

    Each version that answers is in the spans of exactly one variant.
    """
    spans: dict[str, list[VersionSpan]] = {}
    for hw, runs in _runs_by_hardware(ask):
        for since, until, text in runs:
            spans.setdefault(text, []).append(VersionSpan(hw, since, until))
    return [Variant(tuple(found), text) for text, found in spans.items()]


_Run = tuple[str | None, str | None, str]


def _runs_by_hardware(
    ask: Callable[[Profile], str | None],
) -> list[tuple[tuple[str, ...], list[_Run]]]:
    """Combine hardware families that answer alike in all versions."""
    new, middle, old = ([*_runs(ask, hw[0])] for hw in FAMILIES)
    if new == middle == old:
        return [(HARDWARE, new)]
    if new == middle:
        return [(HW35, new), (HW30, old)]
    return [(HW39, new), (HW35_TO_38, middle), (HW30, old)]


def _runs(ask: Callable[[Profile], str | None], hw: str) -> Iterator[_Run]:
    """Yield (since, until, answer) of one hardware, newest first."""
    answers = [(sw, ask(Profile(hw, sw))) for sw in software_versions()]
    until: str | None = None
    for text, group in groupby(reversed(answers), key=lambda answer: answer[1]):
        since = [*group][-1][0]
        if text is not None:
            yield (None if since == FIRST_SOFTWARE else since), until, text
        until = since
