"""`leverframe unit plan`: what would be sent to units so that they become what a file says."""

import asyncio
from pathlib import Path
from typing import NamedTuple

import msgspec

from leverframe.config import Config
from leverframe.engine.engine import Engine
from leverframe.engine.what_if import TriedChange, WhatIf
from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO, NOT_DONE
from leverframe.plain_text import print_lines, print_warnings
from leverframe.process.json_lines import print_json
from leverframe.simulation.what_if import futures, print_futures
from leverframe.storage.datafolder import folder_with_store
from leverframe.units.client import paced_client
from leverframe.units.plan_making import plan_for_file
from leverframe.units.plan_text import plan_as_curl, plan_in_words
from leverframe.units.pulling import pull_unit
from leverframe.units.targets import MAX_AT_ONCE, Logins, Selection, TargetUnit
from leverframe.units.unit_plan import UnitPlan, write_plans


class PlannedUnits(NamedTuple):
    plans: list[UnitPlan]
    #: Why there is no plan for a unit, in its order.
    failed: list[str]


async def plan_units(
    file: Path,
    units: list[str],
    inventory: Path | None,
    group: str | None,
    user: str | None,
    ca_file: str | None,
    curl: bool,
    as_json: bool,
    out: Path | None,
    scenario: Path | None,
    readings: Path | None,
    for_s: float,
) -> int:
    """Print the plans; the answer is no where something that is wanted is not reached."""
    selection = Selection.of(file, inventory)
    logins = Logins(user, selection.inventory)
    found = await planned(selection.targets(units, group, logins), ca_file)
    for plan in found.plans:
        if as_json:
            print_json(shown(plan))
        else:
            lines = plan_as_curl(plan, user) if curl else plan_in_words(plan)
            print_lines(lines)
        if scenario is not None or readings is not None:
            _print_futures(_futures(plan, scenario, readings, for_s), as_json=as_json)
    if out is not None:
        write_plans(out, found.plans)
    print_warnings(found.failed)
    if found.failed:
        return NOT_DONE
    return NO if any(plan.left_out for plan in found.plans) else DONE


async def planned(wanted: list[TargetUnit], ca_file: str | None) -> PlannedUnits:
    """Read units and plan for them, some at a time; a plan that is not proven is no plan."""
    turns = asyncio.Semaphore(MAX_AT_ONCE)

    async def one(target: TargetUnit) -> UnitPlan | str:
        async with turns:
            try:
                async with paced_client(target.address, target.login, ca_file) as client:
                    pulled = await pull_unit(client)
                wanted = target.wanted(pulled.profile)
                return await plan_for_file(target.name, pulled, wanted)
            except ErrorForPeople as error:
                return f"{target.name}: {error}"

    results = await asyncio.gather(*map(one, wanted))
    return PlannedUnits(
        [result for result in results if isinstance(result, UnitPlan)],
        [result for result in results if isinstance(result, str)],
    )


def shown(plan: UnitPlan) -> dict[str, object]:
    """Return a plan as others may see it."""
    return {
        "event": "planned",
        "unit": plan.unit,
        "address": plan.address,
        "hw": plan.hw,
        "sw": plan.sw,
        "digest": plan.digest,
        "steps": [
            {
                "does": step.words(plan.profile),
                "request": msgspec.to_builtins(step.shown_request(plan.profile)),
                "changes": [str(change) for change in step.changes],
            }
            for step in plan.steps
        ],
        "left_out": msgspec.to_builtins(plan.left_out),
        "unreadable": [str(one) for one in plan.unreadable],
    }


def _futures(plan: UnitPlan, scenario: Path | None, readings: Path | None, for_s: float) -> WhatIf:
    """Compare what will be with and without the plan, by plants or by recorded readings."""
    engine = Engine(plan.profile, plan.settings_before(), Config().zone(), {})
    change = TriedChange(plan.settings_after())
    if readings is None:
        return futures(engine, change, for_s, None, scenario)
    with folder_with_store(readings) as folder:
        return futures(engine, change, for_s, folder.history_path, scenario)


def _print_futures(result: WhatIf, *, as_json: bool) -> None:
    if as_json:
        print_json(msgspec.to_builtins(result))
    else:
        print_futures(result, Config().zone())
