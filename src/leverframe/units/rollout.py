"""Plans carried out on many units: some first, and the others only if all went well there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import NamedTuple

from leverframe.units.applying import ApplyStopped
from leverframe.units.unit_plan import UnitPlan


class RolledOut(NamedTuple):
    """What became of a unit: empty if its plan was carried through, else why not."""

    unit: str
    trouble: str
    is_begun: bool = True


def waves(
    plans: Sequence[UnitPlan], canary: int, batch: int
) -> Iterator[tuple[Sequence[UnitPlan], bool]]:
    """Yield what is done at a time, and whether it is the last of those that are tried first."""
    for number, plan in enumerate(plans[:canary], start=1):
        yield [plan], number == min(canary, len(plans))
    rest = plans[canary:]
    for start in range(0, len(rest), batch):
        yield rest[start : start + batch], False


async def roll_out(
    plans: Sequence[UnitPlan],
    apply_one: Callable[[UnitPlan], Awaitable[None]],
    *,
    canary: int = 0,
    batch: int = 1,
    may_go_on: Callable[[int], bool] = lambda left: True,
) -> list[RolledOut]:
    """Carry plans out; after a wave in which one failed, the others are not begun."""
    found: list[RolledOut] = []
    for wave, is_last_canary in waves(plans, canary, batch):
        results = await asyncio.gather(*map(apply_one, wave), return_exceptions=True)
        for plan, result in zip(wave, results, strict=True):
            if isinstance(result, BaseException) and not isinstance(result, ApplyStopped):
                raise result
            found.append(RolledOut(plan.unit, str(result or "")))
        left = len(plans) - len(found)
        if any(one.trouble for one in found) or (is_last_canary and left and not may_go_on(left)):
            break
    begun = len(found)
    return found + [RolledOut(plan.unit, "not begun", False) for plan in plans[begun:]]
