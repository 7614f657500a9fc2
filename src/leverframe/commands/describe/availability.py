"""Which versions have what, in words: for descriptions, documents and examples.

Everything that differs by version is found by asking: a field is asked on every hardware family and
at every software version that something in the table begins or ends with, and neighbours that
answer alike are joined. So a limit that changes in whatever way a type computes it is told right.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

from leverframe.commands.table.bodies import FormBody, ListBody
from leverframe.commands.table.codes import CodeTable
from leverframe.commands.table.matching import TABLE
from leverframe.commands.table.params import (
    Changed,
    Depends,
    ListOf,
    Param,
    Position,
    Record,
    Trailing,
    Word,
    has_field,
)
from leverframe.commands.table.row import Row
from leverframe.commands.table.shape import Item
from leverframe.profile import (
    HARDWARE,
    HW30,
    HW35,
    HW35_TO_38,
    HW39,
    Profile,
    VersionSpan,
    version,
)

NEWEST = Profile()
FIRST_SOFTWARE = "1.00"
#: Revisions within a family never differ.
FAMILIES = (HW39, HW35_TO_38, HW30)

_DEPRECATED = re.compile(r"Deprecated since SW (\S+?);")
_OLDER_FORM = "the older form"


class Variant(NamedTuple):
    """What some versions answer."""

    spans: tuple[VersionSpan, ...]
    text: str


def is_deprecated(row: Row, profile: Profile) -> bool:
    """Has this version something better? The row's own sentence says so."""
    if found := _DEPRECATED.search(row.doc):
        return profile.since(found[1])
    return _OLDER_FORM in row.doc and any(
        other.offered(profile) and _OLDER_FORM not in other.doc and _shares_name(row, other)
        for other in TABLE
    )


def _shares_name(row: Row, other: Row) -> bool:
    if row.form.path != other.form.path or not row.form.items or not other.form.items:
        return False
    return row.form.items[0].name.literals[0] == other.form.items[0].name.literals[0]


def offered_fields(item: Item, params: Mapping[str, Param], profile: Profile) -> tuple[str, ...]:
    """The holes of an item, without those that this version does not have."""
    return tuple(letter for letter in item.holes if has_field(params[letter], profile))


def newest_with(row: Row) -> Profile:
    """The newest version that has the row."""
    return next(
        profile
        for hw in FAMILIES
        for sw in reversed(software_versions())
        if row.offered(profile := Profile(hw[-1], sw))
    )


@lru_cache(maxsize=1)
def software_versions() -> tuple[str, ...]:
    """Every version at which something in the table begins or ends, oldest first."""
    found = {FIRST_SOFTWARE, NEWEST.sw}
    for span in _all_spans():
        found |= {sw for sw in (span.since, span.until) if sw}
    return tuple(sorted(found, key=version))


def _all_spans() -> Iterator[VersionSpan]:
    for row in TABLE:
        yield from row.when
        for param in params_of(row).values():
            for inner in inner_params(param):
                match inner:
                    case Changed(versions):
                        yield from (span for spans, _ in versions for span in spans)
                    case Trailing(when=spans):
                        yield from spans
                    case Position(taken=taken):
                        yield from (span for _, spans in taken for span in spans)
                    case Word(table):
                        yield from (span for code in table.codes for span in code.when)


def params_of(row: Row) -> Mapping[str, Param]:
    """The fields of a row, or of its body."""
    match row.body:
        case ListBody(_, params):
            return params
        case FormBody(fields):
            return fields
        case _:
            return row.params


def inner_params(param: Param) -> Iterator[Param]:
    """A type and all types inside it."""
    yield param
    match param:
        case Changed(versions):
            parts: tuple[Param, ...] = tuple(part for _, part in versions)
        case Depends(_, cases):
            parts = tuple(part for _, part in cases)
        case Record(fields):
            parts = tuple(part for _, part in fields)
        case ListOf(item):
            parts = (item,)
        case Trailing(inner):
            parts = (inner,)
        case _:
            parts = ()
    for part in parts:
        yield from inner_params(part)


def tables_in(param: Param) -> list[CodeTable]:
    """The code tables that a field takes its numbers from."""
    found = [inner.table for inner in inner_params(param) if isinstance(inner, Word)]
    return list({id(table): table for table in found}.values())


def variants(ask: Callable[[Profile], str | None]) -> list[Variant]:
    """What the versions answer, newest first; None is no answer.

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
    """Hardware families that answer alike in all versions are one."""
    new, middle, old = ([*_runs(ask, hw[0])] for hw in FAMILIES)
    if new == middle == old:
        return [(HARDWARE, new)]
    if new == middle:
        return [(HW35, new), (HW30, old)]
    return [(HW39, new), (HW35_TO_38, middle), (HW30, old)]


def _runs(ask: Callable[[Profile], str | None], hw: str) -> Iterator[_Run]:
    """(since, until, answer) of one hardware, newest first."""
    answers = [(sw, ask(Profile(hw, sw))) for sw in software_versions()]
    until: str | None = None
    for text, group in groupby(reversed(answers), key=lambda answer: answer[1]):
        since = [*group][-1][0]
        if text is not None:
            yield (None if since == FIRST_SOFTWARE else since), until, text
        until = since


@lru_cache(maxsize=1)
def all_profiles() -> tuple[Profile, ...]:
    """One of every version that differs from its neighbours, newest first."""
    return tuple(Profile(hw[-1], sw) for hw in FAMILIES for sw in reversed(software_versions()))
