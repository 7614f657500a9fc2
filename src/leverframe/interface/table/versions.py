"""The versions that differ from each other, according to the spans in the table.

Tests name them `3.5/1.49`, `3.5` with its newest software, `newest`, `hardware` or `all`.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from leverframe.core.profile import (
    HARDWARE,
    HW30,
    HW35_TO_38,
    HW39,
    Profile,
    VersionSpan,
    existing,
    newest_software,
    version,
)
from leverframe.interface.table.bodies import FormBody, ListBody
from leverframe.interface.table.lookup import TABLE
from leverframe.interface.table.params import (
    Changed,
    Depends,
    ListOf,
    Param,
    Position,
    Record,
    Trailing,
    Word,
)
from leverframe.interface.table.row import Row

NEWEST = Profile()
FIRST_SOFTWARE = "1.00"
#: Revisions within a family never differ.
FAMILIES = (HW39, HW35_TO_38, HW30)


@lru_cache(maxsize=1)
def all_profiles() -> tuple[Profile, ...]:
    """Return one profile for each version that differs from its neighbours, newest first."""
    return tuple(Profile(hw[-1], sw) for hw in FAMILIES for sw in reversed(software_versions()))


@lru_cache(maxsize=1)
def software_versions() -> tuple[str, ...]:
    """Return every version at which something in the table begins or ends, oldest first."""
    found = {FIRST_SOFTWARE, NEWEST.sw}
    for span in _all_spans():
        found |= {sw for sw in (span.since, span.until) if sw}
    return tuple(sorted(found, key=version))


def _all_spans() -> Iterator[VersionSpan]:
    for row in TABLE:
        yield from (*row.when, *row.replaced_when)
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
    """Return the fields of a row, or of its body."""
    match row.body:
        case ListBody(_, params):
            return params
        case FormBody(fields):
            return fields
        case _:
            return row.params


def inner_params(param: Param) -> Iterator[Param]:
    """Yield a type and all types that it contains."""
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


def profile_from(text: str) -> Profile:
    """Return the version that a text such as `3.5/1.49` or `3.5` names."""
    if text == "newest":
        return Profile()
    hw, _, sw = text.strip().partition("/")
    # Refuse an unknown hardware version before looking up its newest software.
    Profile(hw)
    return existing(hw, sw or newest_software(hw))


def version_parameters(text: str) -> dict[str, str]:
    """Return the version as parameters of a twin."""
    profile = profile_from(text)
    return {"hw": profile.hw, "sw": profile.sw}


def versions_from(text: str) -> list[str]:
    """Return the versions in a comma-separated list, or the versions that a word stands for."""
    if text == "all":
        return [
            f"{one.hw}/{one.sw}"
            for one in all_profiles()
            if version(one.sw) <= version(newest_software(one.hw))
        ]
    if text == "hardware":
        return [f"{hw}/{newest_software(hw)}" for hw in HARDWARE]
    profiles = [profile_from(one) for one in text.split(",")]
    return [f"{one.hw}/{one.sw}" for one in profiles]
