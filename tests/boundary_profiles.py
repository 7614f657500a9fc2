"""The profiles at which something changes, found in the table and not typed again.

`PROFILES` holds, for each hardware family, every software version that some span of the command
table names, and one before them all. `profiles_that_change(row)` are those of them at which that
row is no longer the same: offered or not, with other limits, codes or list lengths.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from leverframe.core.profile import HARDWARE, Profile, VersionSpan, is_offered, version, withdrawn
from leverframe.interface.table.codes import CodeTable
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import Trailing
from leverframe.interface.table.row import Row

#: One of each family; 3.6 to 3.8 are like 3.5.
FAMILIES = ("3.0", "3.5", "3.9")
BEFORE_ALL = "1.10"
NEWEST = Profile()


def spans_in(thing: Any) -> Iterator[VersionSpan]:
    """Every span anywhere inside a row, a parameter, a body or a code table."""
    if isinstance(thing, VersionSpan):
        yield thing
    elif isinstance(thing, CodeTable):
        yield from spans_in(thing.codes)
    elif isinstance(thing, Mapping):
        yield from spans_in(tuple(thing.values()))
    elif isinstance(thing, tuple | list):
        for part in thing:
            yield from spans_in(part)
    elif isinstance(thing, Struct):
        for name in thing.__struct_fields__:
            yield from spans_in(getattr(thing, name))


def versions_in(thing: Any) -> set[str]:
    ends = {end for span in spans_in(thing) for end in (span.since, span.until)}
    return {end for end in ends if end is not None}


VERSIONS = tuple(sorted({BEFORE_ALL, NEWEST.sw} | versions_in(TABLE), key=version))
PROFILES = tuple(Profile(hw, sw) for hw in FAMILIES for sw in VERSIONS)
ALL_HARDWARE = tuple(Profile(hw, sw) for hw in HARDWARE for sw in VERSIONS)


def _appearance(row: Row, profile: Profile) -> str:
    """All that a profile makes of a row, as text."""
    if not row.is_offered(profile):
        return f"withdrawn {withdrawn(row.when, profile)}"
    params = {
        letter: param.schema(profile)
        for letter, param in row.params.items()
        if not isinstance(param, Trailing) or is_offered(param.when, profile)
    }
    return repr((params, row.body.describe(profile) if row.body else None))


@lru_cache(maxsize=256)
def profiles_that_change(number: int) -> tuple[Profile, ...]:
    """The first profile of each appearance of row `number` of the table; families may share one."""
    row = TABLE[number]
    chosen = []
    known: set[tuple[str, str]] = set()
    for hw in FAMILIES:
        before = None
        for sw in VERSIONS:
            appearance = _appearance(row, Profile(hw, sw))
            if appearance != before and (sw, appearance) not in known:
                chosen.append(Profile(hw, sw))
                known.add((sw, appearance))
            before = appearance
    return tuple(chosen)
