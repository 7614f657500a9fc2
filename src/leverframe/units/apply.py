"""`leverframe unit apply`: carry out plans on units."""

import signal
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from leverframe.core.errors import (
    DONE,
    INTERRUPTED,
    NO,
    NOT_DONE,
    print_json,
    print_line,
    print_lines,
    print_warnings,
)
from leverframe.host.terminal import progress_bar
from leverframe.units.client import open_paced_client
from leverframe.units.execution import Applier, Canary, RolledOut, choose_canaries, roll_out
from leverframe.units.inventory import Inventory
from leverframe.units.journal import (
    ApplyJournal,
    count_confirmed_steps,
    find_unfinished,
    plan_beside,
    read_journal,
    refuse_unfinished,
    reopen_journal,
    speaks_when_interrupted,
)
from leverframe.units.plan import make_plans, print_plans, select_plans
from leverframe.units.presentation import overview
from leverframe.units.summaries import results_in_words
from leverframe.units.targets import Logins, Selection, inventory_at
from leverframe.units.unit_lock import unit_held
from leverframe.units.unit_plan import BadPlan, UnitPlan, read_plans


class ApplyOrder(Struct, frozen=True):
    """The options for carrying out plans."""

    logins: Logins
    ca_file: str | None
    #: Send without confirmation.
    yes: bool
    #: The folder of the journals.
    folder: Path
    #: Units that are changed first, one after the other; a group takes precedence.
    canary: Canary = 0
    canary_units: frozenset[str] | None = None
    #: The number of units at a time after the first units.
    batch: int = 1
    as_json: bool = False
    #: Show each unit in full, even if there are several.
    verbose: bool = False
    #: Start no further unit after a failure.
    stops_at_failure: bool = True

    @property
    def options(self) -> tuple[str, ...]:
        """Return the options of a command that continues or reverts this work."""
        certificate = () if self.ca_file is None else ("--ca-file", str(self.ca_file))
        return (*self.logins.options, *certificate)


@speaks_when_interrupted
async def apply_plans(
    file: Path | None,
    units: list[str],
    inventory: Path | None,
    group: str | None,
    user: str | None,
    ca_file: str | None,
    yes: bool,
    canary: Canary,
    canary_group: str | None,
    batch: int,
    journal: Path,
    resume: bool,
    as_json: bool,
    only: str | None,
    verbose: bool,
) -> int:
    """Show plans, ask for confirmation, and carry them out; or resume interrupted plans."""
    if canary and canary_group is not None:
        raise BadPlan("--canary and --canary-group exclude each other; use one of them.")
    if as_json and not yes:
        raise BadPlan("--json cannot ask for confirmation; add --yes to send the plans.")
    if resume:
        if file is not None:
            raise BadPlan("--resume reads the plans from the journal; leave the file out.")
        logins = Logins(user, inventory_at(inventory))
        order = ApplyOrder(
            logins, ca_file, yes, journal, batch=batch, as_json=as_json, verbose=verbose
        )
        return await _resume(order)
    if file is None:
        raise BadPlan("Name a plan, a unit file or an inventory, or use --resume.")
    refuse_unfinished(journal)
    if _is_plan(file):
        if only is not None:
            raise BadPlan(f"{file} is a plan; use --only with `unit plan` to make a smaller plan.")
        known = inventory_at(inventory)
        logins = Logins(user, known)
        plans = select_plans(read_plans(file), units)
    else:
        selection = Selection.of(file, inventory, only)
        known = selection.inventory
        logins = Logins(user, known)
        found = await make_plans(selection.targets(units, group, logins), ca_file)
        if found.failed:
            raise BadPlan("\n".join((*map(str, found.failed), "Nothing was sent to any unit.")))
        plans = found.plans
    canary_units = None if canary_group is None else _units_in(canary_group, known, plans)
    order = ApplyOrder(logins, ca_file, yes, journal, canary, canary_units, batch, as_json, verbose)
    return await carry_out(plans, order)


def _units_in(group: str, inventory: Inventory | None, plans: Sequence[UnitPlan]) -> frozenset[str]:
    """Return the names and addresses of a group; reject a group without a plan."""
    if inventory is None:
        raise BadPlan("--canary-group needs the group of an inventory; add --inventory FILE.")
    chosen = inventory.select(group=group)
    units = frozenset(name for unit in chosen for name in (unit.name, unit.address))
    if not choose_canaries(plans, 0, units):
        raise BadPlan(f"No unit of the group {group} has a plan; nothing was sent.")
    return units


def refuse_other_listing(unit: str, address: str, mac: str, logins: Logins) -> None:
    """Raise `BadPlan` if the inventory lists a unit with another MAC address than its plan."""
    listed = logins.mac_at(address)
    if listed and listed != mac:
        planned_for = f"the MAC address {mac}" if mac else "no MAC address"
        raise BadPlan(
            f"The plan of {unit} names {planned_for}, but the inventory lists {listed} at"
            f" {address}. Nothing was sent to the unit."
        )


def _is_plan(file: Path) -> bool:
    return file.read_bytes().lstrip()[:1] == b"{"


async def carry_out(plans: Sequence[UnitPlan], order: ApplyOrder) -> int:
    """Show plans, ask for confirmation, and send them."""
    print_plans(plans, as_json=order.as_json, verbose=order.verbose)
    if order.as_json:
        for plan in plans:
            if not plan.steps:
                print_json(_result_for_scripts("done", plan, None))
    is_all_reached = not any(plan.left_out for plan in plans)
    plans = [plan for plan in plans if plan.steps]
    if not plans:
        return DONE if is_all_reached else NO
    if not order.yes and not _agrees(f"Send {overview(plans)}?"):
        print_line("Nothing was sent.")
        return NO
    status = await _apply_all([(plan, None) for plan in plans], order)
    return NO if status == DONE and not is_all_reached else status


async def _resume(order: ApplyOrder) -> int:
    works = [(plan_beside(path), path) for path in find_unfinished(order.folder)]
    if not works:
        print_line("There is no unfinished change.")
        return DONE
    for plan, path in works if not order.as_json else ():
        done = f"{count_confirmed_steps(read_journal(path))} of {len(plan.steps)} steps are done"
        print_line(f"{plan.unit}, {plan.profile}: {done}.")
    if not order.yes and not _agrees(f"Continue with {overview([plan for plan, _ in works])}?"):
        return NO
    return await _apply_all(works, order)


async def _apply_all(works: Sequence[tuple[UnitPlan, Path | None]], order: ApplyOrder) -> int:
    """Carry out plans; a plan with a journal was interrupted, and is resumed."""
    paths = {plan.unit: path for plan, path in works}
    journals: dict[str, ApplyJournal | None] = {plan.unit: None for plan, _ in works}
    plans = [plan for plan, _ in works]

    def may_continue(left: int) -> bool:
        return order.yes or _agrees(
            f"The first units succeeded. Continue with the remaining {left}?"
        )

    with progress_bar("sending", sum(len(plan.steps) for plan in plans)) as advance:

        async def one(plan: UnitPlan) -> None:
            refuse_other_listing(plan.unit, plan.address, plan.mac, order.logins)
            login = order.logins.at(plan.address)
            with unit_held(plan):
                path = paths[plan.unit]
                if path is not None:
                    # Another process may have finished the plan since the question was asked.
                    plan_beside(path)
                journal = reopen_journal(path) if path else ApplyJournal.begin(order.folder, plan)
                journals[plan.unit] = journal
                try:
                    async with open_paced_client(plan.address, login, order.ca_file) as client:
                        step_done = partial(advance, 1)
                        await Applier(plan, client, journal, step_done, order.options).run()
                finally:
                    journal.close()

        canaries = choose_canaries(plans, order.canary, order.canary_units)
        results = await roll_out(
            plans,
            one,
            canaries=canaries,
            batch=order.batch,
            may_continue=may_continue,
            stops_at_failure=order.stops_at_failure,
        )
    if order.as_json:
        _print_results_as_json(results, plans, journals)
    return _print_results(results, plans, order)


def _print_results_as_json(
    results: Sequence[RolledOut],
    plans: Sequence[UnitPlan],
    journals: Mapping[str, ApplyJournal | None],
) -> None:
    known = {plan.unit: plan for plan in plans}
    for one in results:
        event = "not_begun" if not one.is_begun else "stopped" if one.trouble else "done"
        problem = one.trouble if one.is_begun else ""
        print_json(_result_for_scripts(event, known[one.unit], journals[one.unit], problem))


def _result_for_scripts(
    event: str, plan: UnitPlan, journal: ApplyJournal | None, problem: str = ""
) -> dict[str, object]:
    return {
        "event": event,
        "unit": plan.unit,
        "address": plan.address,
        "steps": len(plan.steps),
        "confirmed": 0 if journal is None else journal.confirmed,
        "journal": None if journal is None else str(journal.path),
        "problem": problem,
    }


def _print_results(
    results: Sequence[RolledOut], plans: Sequence[UnitPlan], order: ApplyOrder
) -> int:
    not_restored = {plan.unit: plan.left_out for plan in plans if plan.undoes and plan.left_out}
    if not order.as_json:
        print_lines(results_in_words(results, not_restored, verbose=order.verbose))
    stopped = [one for one in results if one.is_begun and one.trouble]
    if stopped:
        print_warnings([*(one.trouble for one in stopped), f"the journals are in {order.folder}."])
    if any(one.is_interrupted for one in results):
        return INTERRUPTED
    if stopped:
        return NOT_DONE
    is_all_done = all(one.is_begun for one in results)
    return DONE if is_all_done and not any(plan.left_out for plan in plans) else NO


def _agrees(question: str) -> bool:
    if not sys.stdin.isatty():
        raise BadPlan("There is no terminal to confirm at; use --yes to send the plan.")
    # With asyncio's own handler, Ctrl-C would take effect only after the answer.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        print_line("")
        return False
    finally:
        signal.signal(signal.SIGINT, before)
