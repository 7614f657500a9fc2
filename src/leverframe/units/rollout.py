"""Carry out plans on many units: a few first, and the rest only if all of these succeeded."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Literal, NamedTuple

from leverframe.errors import ErrorForPeople
from leverframe.profile import Profile
from leverframe.units.applying import ApplyInterrupted, ApplyStopped
from leverframe.units.unit_plan import UnitPlan

#: The number of units that come first, or one of each version.
Canary = int | Literal["versions"]


class RolledOut(NamedTuple):
    """The outcome of a unit: empty if its plan was carried out, else the reason."""

    unit: str
    trouble: str
    is_begun: bool = True
    #: The operator stopped it.
    is_interrupted: bool = False


def choose_canaries(
    plans: Sequence[UnitPlan], canary: Canary, group: Collection[str] | None = None
) -> list[UnitPlan]:
    """Return the plans that come first: a number, one of each version, or those of a group."""
    if group is not None:
        return [plan for plan in plans if {plan.unit, plan.address} & set(group)]
    if canary == "versions":
        first: dict[Profile, UnitPlan] = {}
        for plan in plans:
            first.setdefault(plan.profile, plan)
        return list(first.values())
    return list(plans[:canary])


def waves(
    canaries: Sequence[UnitPlan], rest: Sequence[UnitPlan], batch: int
) -> Iterator[tuple[Sequence[UnitPlan], bool]]:
    """Yield the waves, and whether a wave is the last of the first units."""
    for number, plan in enumerate(canaries, start=1):
        yield [plan], number == len(canaries)
    for start in range(0, len(rest), batch):
        yield rest[start : start + batch], False


async def roll_out(
    plans: Sequence[UnitPlan],
    apply_one: Callable[[UnitPlan], Awaitable[None]],
    *,
    canaries: Sequence[UnitPlan] = (),
    batch: int = 1,
    may_continue: Callable[[int], bool] = lambda left: True,
    stops_at_failure: bool = True,
) -> list[RolledOut]:
    """Carry out plans; after a wave with a failure, the rest is usually not started."""
    found: list[RolledOut] = []
    is_stopped = False
    tried_first = {plan.unit for plan in canaries}
    rest = [plan for plan in plans if plan.unit not in tried_first]
    for wave, is_last_canary in waves(canaries, rest, batch):
        results, is_stopped = await _results(apply_one, wave)
        for plan, result in zip(wave, results, strict=True):
            if isinstance(result, BaseException) and not isinstance(result, ErrorForPeople):
                raise result
            is_interrupted = isinstance(result, ApplyInterrupted)
            trouble = result.words if isinstance(result, ApplyStopped) else str(result or "")
            found.append(RolledOut(plan.unit, trouble, is_interrupted=is_interrupted))
        left = len(plans) - len(found)
        failed = is_stopped or (stops_at_failure and any(one.trouble for one in found))
        if failed or (is_last_canary and left and not may_continue(left)):
            break
    left_over = [*canaries, *rest][len(found) :]
    return found + [RolledOut(plan.unit, "not started", False, is_stopped) for plan in left_over]


async def _results(
    apply_one: Callable[[UnitPlan], Awaitable[None]], wave: Sequence[UnitPlan]
) -> tuple[list[BaseException | None], bool]:
    """Carry out the plans of a wave; return the outcomes, and whether the operator stopped it."""
    tasks = [asyncio.ensure_future(apply_one(plan)) for plan in wave]
    is_stopped = False
    try:
        await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        is_stopped = True
    results = [
        ApplyInterrupted(f"{plan.unit}: interrupted. Nothing was sent to it.")
        if task.cancelled()
        else task.exception()
        for plan, task in zip(wave, tasks, strict=True)
    ]
    return results, is_stopped
