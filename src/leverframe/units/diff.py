"""`leverframe unit diff`: what differs between two units, by what it means."""

from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import asdict

from leverframe.exit_codes import DONE, NO
from leverframe.plain_text import print_lines
from leverframe.process.json_lines import print_json
from leverframe.recording.asked_login import asked_login
from leverframe.recording.replayer import UnitLogin
from leverframe.units.sides import is_unit_file, side_of, side_of_file
from leverframe.units.unit_comparison import ComparedUnit, UnitDifference, compared

#: So many parts that a side cannot tell are named, and the rest is counted.
MAX_NAMED = 8


async def diff(
    first: str, second: str, user: str | None, ca_file: str | None, as_json: bool
) -> int:
    """Print what differs; return whether anything does, as an exit code."""
    sides = await compared_sides(first, second, asked_login(user), ca_file)
    result = compared(*sides)
    if as_json:
        print_json({"same": result.is_same, **asdict(result)})
    else:
        print_lines(lines_of(result))
    return DONE if result.is_same else NO


async def compared_sides(
    first: str, second: str, login: UnitLogin | None, ca_file: str | None
) -> tuple[ComparedUnit, ComparedUnit]:
    """Read both sides; a unit file without a version is taken as of that of the other side."""
    sides = {
        named: await side_of(named, login, ca_file)
        for named in (first, second)
        if not is_unit_file(named)
    }
    profile = next((side.profile for side in sides.values()), None)
    for named in (first, second):
        if named not in sides:
            sides[named] = side_of_file(Path(named), profile)
    return sides[first], sides[second]


def lines_of(result: UnitDifference) -> Iterator[str]:
    """Yield the lines that tell people what differs."""
    yield f"- {result.first}, {result.first_version}"
    yield f"+ {result.second}, {result.second_version}"
    yield from (str(one) for one in (*result.differences, *result.cannot_hold))
    for unknown in result.cannot_tell:
        named = ", ".join(unknown.keys[:MAX_NAMED])
        more = len(unknown.keys) - MAX_NAMED
        yield (
            f"{unknown.side} cannot tell {named}"
            f"{f' and {more} more' if more > 0 else ''}: {unknown.reason}"
        )
    count = len(result.differences) + len(result.cannot_hold)
    known = " as far as both can tell" if result.cannot_tell else ""
    yield f"{_counted(count)}." if count else f"The same{known}."


def _counted(count: int) -> str:
    return f"{count} {'difference' if count == 1 else 'differences'}"
