"""`leverframe unit plan`: plan the commands that bring units to the settings of a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.what_if import TriedChange, WhatIf
from leverframe.core.errors import DONE, NO, NOT_DONE, print_json, print_line, print_lines
from leverframe.host.configuration import Config
from leverframe.host.what_if import futures, print_futures
from leverframe.storage.datafolder import folder_with_store
from leverframe.units.client import open_paced_client
from leverframe.units.file_keys import key_of
from leverframe.units.presentation import plan_as_curl, steps_in_words
from leverframe.units.proof import plan_for_file
from leverframe.units.summaries import FailedUnit, plans_in_words, print_failures, visit_units
from leverframe.units.targets import Logins, Selection, TargetUnit
from leverframe.units.unit_plan import BadPlan, UnitPlan, read_plans, write_plans
from leverframe.units.unit_reader import pull_unit


class PlannedUnits(NamedTuple):
    plans: list[UnitPlan]
    #: Reasons why a unit has no plan, in the order of the units.
    failed: list[FailedUnit]


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
    only: str | None,
    verbose: bool,
) -> int:
    """Print the plans; return 1 if a wanted setting is not reached."""
    selection = Selection.of(file, inventory, only)
    logins = Logins(user, selection.inventory)
    targets = selection.targets(units, group, logins)
    found = await make_plans(targets, ca_file)
    if curl and not as_json:
        print_lines(line for plan in found.plans for line in plan_as_curl(plan, user))
    else:
        print_plans(found.plans, len(found.failed), as_json=as_json, verbose=verbose)
    for plan in found.plans:
        if scenario is not None or readings is not None:
            if len(targets) > 1 and not as_json:
                print_line(f"{plan.unit}:")
            _print_futures(_futures(plan, scenario, readings, for_s), as_json=as_json)
    if out is not None:
        write_plans(out, found.plans)
    if found.failed:
        print_failures(found.failed, len(targets), "planned for", as_json=as_json)
        return NOT_DONE
    return NO if any(plan.left_out for plan in found.plans) else DONE


def show_plans(file: Path, units: list[str], user: str | None, curl: bool, as_json: bool) -> None:
    """Print the plans of units in a plan file, each in full."""
    plans = select_plans(read_plans(file), units)
    if curl and not as_json:
        print_lines(line for plan in plans for line in plan_as_curl(plan, user))
    else:
        print_plans(plans, as_json=as_json, verbose=True)


def select_plans(plans: Sequence[UnitPlan], units: Sequence[str]) -> list[UnitPlan]:
    """Return the plans of these units, by name or address; by default all."""
    known = {name for plan in plans for name in (plan.unit, plan.address)}
    for unit in units:
        if unit not in known:
            about = ", ".join(plan.unit for plan in plans)
            raise BadPlan(f"The plan does not include {unit}; it includes {about}.")
    return [plan for plan in plans if not units or {plan.unit, plan.address} & set(units)]


def print_plans(
    plans: Sequence[UnitPlan], failed: int = 0, *, as_json: bool, verbose: bool
) -> None:
    """Print plans as JSON, or as a short text about what is sent to which units."""
    if as_json:
        for plan in plans:
            print_json(plan_as_json(plan))
    else:
        print_lines(plans_in_words(plans, failed, verbose=verbose))


async def make_plans(wanted: list[TargetUnit], ca_file: str | None) -> PlannedUnits:
    """Read units and make their plans, several in parallel; reject a plan that is not verified."""

    async def one(target: TargetUnit) -> UnitPlan:
        async with open_paced_client(target.address, target.login, ca_file) as client:
            pulled = await pull_unit(client, mac=target.mac)
        return await plan_for_file(target.name, pulled, target.wanted(pulled.profile))

    return PlannedUnits(*await visit_units(wanted, one))


def plan_as_json(plan: UnitPlan) -> dict[str, object]:
    """Return a plan without secrets."""
    return {
        "event": "planned",
        "unit": plan.unit,
        "address": plan.address,
        "mac": plan.mac,
        "hw": plan.hw,
        "sw": plan.sw,
        "digest": plan.digest,
        "steps": [
            {
                "does": words.does,
                "request": msgspec.to_builtins(step.mask_request(plan.profile)),
                "changes": [str(change) for change in step.changes],
            }
            for step, words in zip(plan.steps, steps_in_words(plan), strict=True)
        ],
        "left_out": [{"path": key_of(one.path), "reason": one.reason} for one in plan.left_out],
        "unreadable": [str(one) for one in plan.unreadable],
        "cannot_be_undone": [key_of(path) for path in plan.not_restorable],
    }


def _futures(plan: UnitPlan, scenario: Path | None, readings: Path | None, for_s: float) -> WhatIf:
    """Compare the future with and without the plan, on simulated plants or recorded readings."""
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
