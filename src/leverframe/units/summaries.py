"""The outcome of a command on many units, on one screen: equal units share their lines."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple, Protocol, TypeVar

from leverframe.core.errors import ErrorForPeople, print_json, print_warnings
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.client import open_paced_client
from leverframe.units.comparison import UnitDifference
from leverframe.units.execution import RolledOut
from leverframe.units.inventory import InventoryUnit, count_units, name_units
from leverframe.units.presentation import (
    StepWords,
    lines_of_left_out,
    not_restorable_in_words,
    plan_in_words,
    steps_in_words,
)
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_plan import LeftOutSetting, UnitPlan
from leverframe.units.unit_reader import pull_unit

#: Maximum number of lines of steps or differences for all groups together, and the minimum number
#: for each group.
MAX_LINES, MIN_LINES = 16, 3
_Unit = TypeVar("_Unit")


def group_alike(units: Iterable[_Unit], key: Callable[[_Unit], Hashable]) -> list[list[_Unit]]:
    """Group the units by key, the largest group first."""
    groups: dict[Hashable, list[_Unit]] = {}
    for unit in units:
        groups.setdefault(key(unit), []).append(unit)
    return sorted(groups.values(), key=len, reverse=True)


def failures_in_words(failed: Sequence[tuple[str, str]], total: int, action: str) -> Iterator[str]:
    """Yield the number of failed units, and a line for each problem with its units."""
    yield f"{len(failed)} of {count_units(total)} could not be {action}:"
    for group in group_alike(failed, lambda one: one[1]):
        yield f"{name_units([name for name, _ in group])}: {group[0][1]}"


# --- plans ----------------------------------------------------------------------------------------


def plans_in_words(
    plans: Sequence[UnitPlan], failed: int = 0, *, verbose: bool = False
) -> Iterator[str]:
    """Yield the lines of plans: in full if there is only one or if requested."""
    if verbose or len(plans) + failed < 2:
        for plan in plans:
            yield from plan_in_words(plan)
        return
    groups = group_alike(plans, _shape_of)
    parts = [f"{count_units(len(group))}: {_steps_of(group)}" for group in groups]
    yield "; ".join([*parts, *([f"{failed} unreachable or without a plan"] if failed else [])])
    shown = max(MIN_LINES, MAX_LINES // max(1, len(groups)))
    for group in groups:
        yield from _group_in_words(group, shown)


def _shape_of(plan: UnitPlan) -> Hashable:
    """Return a key; it is equal for plans that differ only in values other than true and false."""
    return tuple(
        tuple(
            (change.path, change.new if isinstance(change.new, bool) else None)
            for change in step.changes
        )
        for step in plan.steps
    )


def _steps_of(group: Sequence[UnitPlan]) -> str:
    count = len(group[0].steps)
    if not count:
        return "nothing to send"
    if len(group) == 1:
        return "1 step" if count == 1 else f"{count} steps"
    return "the same step" if count == 1 else f"the same {count} steps"


def _group_in_words(group: Sequence[UnitPlan], shown: int) -> Iterator[str]:
    names = name_units([plan.unit for plan in group])
    yield f"{names}:" if group[0].steps else f"{names}: nothing to send"
    words = [list(steps_in_words(plan)) for plan in group]
    for number, alike in enumerate(zip(*words, strict=True), start=1):
        if number > shown:
            yield f"      and {len(group[0].steps) - shown} more"
            break
        yield f"{number:4}. {_step_of_all(alike, group[0].unit)}"
    for lines_of in (_unreadable_in_words, not_restorable_in_words, lines_of_left_out):
        yield from _notes(group, lines_of)


def _unreadable_in_words(plan: UnitPlan) -> Iterator[str]:
    # Without the version, which may differ between the units.
    for unknown in plan.unreadable:
        yield f"   ?  not readable: {unknown}"


def _step_of_all(steps: Sequence[StepWords], first: str) -> str:
    line = steps[0].line
    is_same = all(step.line == line for step in steps)
    return line if is_same else f"{line} (on {first}; differs by unit)"


def _notes(
    group: Sequence[UnitPlan], lines_of: Callable[[UnitPlan], Iterator[str]]
) -> Iterator[str]:
    """Yield warnings: each line once, with its units."""
    units: dict[str, list[str]] = {}
    for plan in group:
        for line in lines_of(plan):
            units.setdefault(line, []).append(plan.unit)
    for line, names in units.items():
        yield line if len(names) == len(group) else f"{line} ({name_units(names)})"


# --- results --------------------------------------------------------------------------------------


def results_in_words(
    results: Sequence[RolledOut],
    not_restored: Mapping[str, Sequence[LeftOutSetting]],
    *,
    verbose: bool = False,
) -> Iterator[str]:
    """Yield which units are done and which were not started, and what a rollback left."""
    succeeded = [one.unit for one in results if one.is_begun and not one.trouble]
    for unit in succeeded:
        if unit in not_restored:
            yield f"{unit}: rolled back, except for:"
            yield from (f"   -  {left}" for left in not_restored[unit])
    for words, found in (
        ("done", [unit for unit in succeeded if unit not in not_restored]),
        ("not started", [one.unit for one in results if not one.is_begun]),
    ):
        if verbose or len(found) == 1:
            yield from (f"{unit}: {words}." for unit in found)
        elif found:
            yield f"{count_units(len(found))} {words}: {name_units(found)}."


# --- differences ----------------------------------------------------------------------------------


def differences_in_words(results: Sequence[UnitDifference], failed: int) -> Iterator[str]:
    """Yield the differences between units and their files; equal ones together."""
    same = sum(one.is_same for one in results)
    counts = {
        "different from their file": len(results) - same,
        "equal to their file": same,
        "unreachable or not comparable": failed,
    }
    yield "; ".join(f"{count_units(count)} {words}" for words, count in counts.items() if count)
    groups = group_alike((one for one in results if not one.is_same), _lines_of)
    shown = max(MIN_LINES, MAX_LINES // max(1, len(groups)))
    for group in groups:
        lines = _lines_of(group[0])
        yield f"{name_units([one.first for one in group])}:"
        yield from (f"  {line}" for line in lines[:shown])
        if len(lines) > shown:
            yield f"  and {len(lines) - shown} more"


def _lines_of(result: UnitDifference) -> tuple[str, ...]:
    return tuple(str(one) for one in (*result.differences, *result.cannot_hold))


# Visit several units in parallel, each with one request at a time; report failures last.

#: Units visited in parallel; each has one connection.
MAX_PARALLEL = 8


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_VisitedUnit = TypeVar("_VisitedUnit", bound=_Named)
_Result = TypeVar("_Result")


class FailedUnit(NamedTuple):
    name: str
    problem: str

    def __str__(self) -> str:
        # Many problems begin with the address, which is also the name of a nameless unit.
        where = self.name.partition("://")[2] or self.name
        return self.problem if where in self.problem else f"{self.name}: {self.problem}"


async def visit_units(
    units: Sequence[_VisitedUnit], visit: Callable[[_VisitedUnit], Awaitable[_Result]]
) -> tuple[list[_Result], list[FailedUnit]]:
    """Visit units; return the results, and the failed units, both in the order of the units."""
    turns = asyncio.Semaphore(MAX_PARALLEL)
    with _progress(len(units)) as advance:

        async def one(unit: _VisitedUnit) -> tuple[_Result] | FailedUnit:
            async with turns:
                try:
                    return (await visit(unit),)
                except ErrorForPeople as error:
                    return FailedUnit(unit.name, str(error))
                finally:
                    advance(1)

        found = await asyncio.gather(*map(one, units))
    results = [one[0] for one in found if not isinstance(one, FailedUnit)]
    return results, [one for one in found if isinstance(one, FailedUnit)]


def _progress(count: int) -> AbstractContextManager[Callable[[int], None]]:
    """Show a progress bar for several units."""
    if count < 2:
        return nullcontext(lambda visited: None)
    # Imported here: the import takes as long as a request to a unit.
    from leverframe.host.terminal import progress_bar

    return progress_bar("reading", count)


async def read_unit(
    unit: InventoryUnit, login: UnitLogin | None, ca_file: str | None
) -> PulledUnit:
    """Read the settings of a unit; reject another unit at its address."""
    async with open_paced_client(unit.address, login, ca_file) as client:
        return await pull_unit(client, mac=unit.mac)


def print_failures(
    failed: Sequence[FailedUnit], total: int, action: str, *, as_json: bool = False
) -> None:
    """Report the failed units on standard error, with --json also as JSON objects."""
    if as_json:
        for one in failed:
            print_json({"event": "failed", "unit": one.name, "problem": one.problem})
    if len(failed) == total == 1:
        print_warnings(map(str, failed))
    elif failed:
        print_warnings(failures_in_words(failed, total, action))
