"""`leverframe unit rollback`: revert changes of units from their journals.

The changes of a unit are reverted together, by one plan for the state before the oldest change.
Settings that no journal contains, such as passwords, are listed, and the exit status is 1.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from leverframe.core.errors import DONE, INTERRUPTED, NO, NOT_DONE, print_lines, print_warnings
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, difference, leaves, settings_from_leaves, with_value
from leverframe.units.apply import ApplyOrder, carry_out, refuse_other_listing
from leverframe.units.client import open_paced_client
from leverframe.units.file_keys import is_part_of
from leverframe.units.journal import (
    SUFFIX,
    JournalLine,
    abandon_others,
    read_journal,
    speaks_when_interrupted,
)
from leverframe.units.proof import plan_for_settings
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.summaries import MAX_PARALLEL, visit_units
from leverframe.units.targets import Logins, inventory_at
from leverframe.units.unit_plan import BadPlan, LeftOutSetting, UnitPlan
from leverframe.units.unit_reader import pull_unit

_LOST = "No journal contains the previous value of this setting; set the value yourself."


class JournalledChange(NamedTuple):
    """A change of a unit, as its journal records it."""

    path: Path
    begun: JournalLine
    #: The number of steps that were sent, whatever the outcome of the last.
    sent: int

    @property
    def lost(self) -> list[str]:
        """Return the settings that the sent steps have overwritten although they were unread."""
        return [path for path, step in self.begun.lost.items() if step <= self.sent]


class ChangedUnit(NamedTuple):
    """A unit with the changes to revert, newest first."""

    name: str
    changes: list[JournalledChange]


class ChosenChanges(NamedTuple):
    """The changes to revert, by unit, and remarks about the rest."""

    units: list[ChangedUnit]
    remarks: list[str]
    #: Journals that cannot be read.
    failed: list[str]


class Restorable(NamedTuple):
    """The previous settings to restore."""

    settings: Settings
    #: Settings that the changes set and whose previous values are known, even if now hidden.
    named: tuple[str, ...]
    #: Settings that no journal contains.
    lost: tuple[LeftOutSetting, ...]


@speaks_when_interrupted
async def roll_back(
    journals: list[Path],
    inventory: Path | None,
    user: str | None,
    ca_file: str | None,
    yes: bool,
) -> int:
    """Plan the rollback of journals, ask for confirmation, and carry it out on each unit."""
    chosen = choose_changes(journals)
    print_lines(chosen.remarks)
    if not chosen.units:
        print_warnings(chosen.failed)
        return NOT_DONE if chosen.failed else DONE
    folder = chosen.units[0].changes[0].path.parent
    logins = Logins(user, inventory_at(inventory))
    order = ApplyOrder(logins, ca_file, yes, folder, batch=MAX_PARALLEL, stops_at_failure=False)
    plans, unplanned = await visit_units(chosen.units, partial(_plan_unit_back, order))
    failed = [*chosen.failed, *map(str, unplanned)]
    status = await carry_out(plans, order)
    for plan in plans:
        if not plan.steps:
            # The unit has its previous settings, so there is nothing to resume.
            abandon_others(folder, plan.mac or plan.address)
    print_warnings(failed)
    if status == INTERRUPTED:
        return INTERRUPTED
    if failed or status == NOT_DONE:
        return NOT_DONE
    return NO if any(plan.left_out for plan in plans) else status


async def _plan_unit_back(order: ApplyOrder, unit: ChangedUnit) -> UnitPlan:
    """Read a unit and plan its rollback."""
    begun = unit.changes[0].begun
    login = order.logins.at(begun.address)
    refuse_other_listing(begun.unit, begun.address, begun.mac, order.logins)
    async with open_paced_client(begun.address, login, order.ca_file) as client:
        pulled = await pull_unit(client, mac=begun.mac)
    plan = await plan_back(unit.changes, pulled)
    return replace(plan, undoes=tuple(one.path.name for one in unit.changes))


async def plan_back(changes: Sequence[JournalledChange], pulled: PulledUnit) -> UnitPlan:
    unit, old = changes[0].begun.unit, settings_to_restore(changes, pulled)
    plan = await plan_for_settings(unit, pulled, old.settings, old.named, old.lost)
    blocked = tuple(_find_blocked_entries(plan, changes, old))
    if not blocked:
        return plan
    # Restoring an entry matters more than its hidden part.
    hidden = [path for path in blocked if pulled.why_unread(path) is not None]
    lost = dict.fromkeys((*old.lost, *(LeftOutSetting(path, _LOST) for path in hidden)))
    return await plan_for_settings(unit, pulled, old.settings, (*old.named, *blocked), list(lost))


def _find_blocked_entries(
    plan: UnitPlan, changes: Sequence[JournalledChange], old: Restorable
) -> Iterator[str]:
    """Yield settings of entries that a plan does not reach because a part is hidden."""
    lost = {one.path for one in old.lost}
    touched = {_entry_of(path) for change in changes for path in change.begun.changed}
    blocked = {_entry_of(one.path) for one in plan.left_out if one.path not in lost} & touched
    for path, _ in leaves(old.settings):
        if _entry_of(path) in blocked - {""}:
            yield path


def _entry_of(path: str) -> str:
    """Return the list entry of a setting, such as `rules.0`; empty for settings outside lists."""
    branch, place, *_ = (*path.split("."), "")
    return f"{branch}.{place}" if place.isdigit() else ""


def choose_changes(named: Sequence[Path]) -> ChosenChanges:
    """Return the changes in journals, or in the journals of a folder.

    With several journals, rollbacks and changes that were already rolled back are skipped.
    """
    paths = list(_journals(named))
    folders = {path.parent.resolve() for path in paths}
    if len(folders) > 1:
        raise BadPlan("The journals are in several folders; roll back those of one folder first.")
    if named[0].is_file() and len(paths) == 1:
        change = _read(paths[0])
        remarks = (
            []
            if change.sent
            else [(f"{change.path}: nothing was sent, so there is nothing to roll back.")]
        )
        units = [ChangedUnit(change.begun.unit, [change])] if change.sent else []
        return ChosenChanges(units, remarks, [])
    failed: list[str] = []
    found: list[JournalledChange] = []
    for path in dict.fromkeys(paths):
        try:
            found.append(_read(path))
        except BadPlan as error:
            failed.append(str(error))
    undone = _undone_in(found if not folders else _all_in(folders.pop()))
    left = [one for one in found if one.sent and not one.begun.undoes]
    chosen = [one for one in left if one.path.name not in undone]
    remarks = []
    if len(chosen) < len(left):
        remarks.append(f"Already rolled back, and skipped: {len(left) - len(chosen)}.")
    if not chosen:
        remarks.append("No change is left to roll back.")
    return ChosenChanges(list(_by_unit(chosen)), remarks, failed)


def _journals(named: Sequence[Path]) -> Iterator[Path]:
    for path in named:
        if path.is_dir():
            found = sorted(path.glob(f"*{SUFFIX}"))
            if not found:
                raise BadPlan(f"There are no journals (*{SUFFIX}) in {path}.")
            yield from found
        elif path.exists():
            yield path
        else:
            raise BadPlan(
                f"Journal {path} does not exist; name a journal, or a folder of journals."
            )


def _read(path: Path) -> JournalledChange:
    lines = read_journal(path)
    return JournalledChange(path, lines[0], max(line.step for line in lines))


def _all_in(folder: Path) -> Iterator[JournalledChange]:
    for path in folder.glob(f"*{SUFFIX}"):
        try:
            yield _read(path)
        except BadPlan:
            continue


def _undone_in(changes: Iterable[JournalledChange]) -> set[str]:
    """Return the names of journals whose changes another journal has completely reverted."""
    undone: set[str] = set()
    for one in sorted(changes, key=lambda one: one.begun.at, reverse=True):
        # A rollback that was itself rolled back has reverted nothing.
        is_done = read_journal(one.path)[-1].event == "done"
        if is_done and one.path.name not in undone:
            undone |= set(one.begun.undoes)
    return undone


def _by_unit(changes: Sequence[JournalledChange]) -> Iterator[ChangedUnit]:
    units: dict[str, list[JournalledChange]] = {}
    for one in sorted(changes, key=lambda one: one.begun.at, reverse=True):
        units.setdefault(one.begun.device, []).append(one)
    for found in units.values():
        yield ChangedUnit(found[0].begun.unit, found)


def settings_to_restore(changes: Sequence[JournalledChange], pulled: PulledUnit) -> Restorable:
    """Return the settings of a unit before its changes, which come newest first."""
    settings = pulled.settings
    named: dict[str, None] = {}
    lost: dict[str, None] = {}
    for change in changes:
        begun = change.begun
        _refuse_another_version(begun, pulled)
        settings = _settings_before(begun, settings)
        known = [path for path in lost if not is_part_of(path, begun.unread)]
        for path in known:
            del lost[path]
        changed = [path for path in begun.changed if not is_part_of(path, begun.unread)]
        named |= dict.fromkeys((*known, *changed, *_find_newly_hidden(begun, pulled)))
        lost |= dict.fromkeys(change.lost)
    return Restorable(
        settings,
        tuple(path for path in named if path not in lost),
        tuple(LeftOutSetting(path, _LOST) for path in lost),
    )


def _find_newly_hidden(begun: JournalLine, pulled: PulledUnit) -> Iterator[str]:
    """Yield settings that were readable before, but no longer are, such as a regulated duty."""
    for path, _ in leaves(pulled.settings):
        if pulled.why_unread(path) is not None and not is_part_of(path, begun.unread):
            yield path


def _refuse_another_version(begun: JournalLine, pulled: PulledUnit) -> None:
    profile = Profile(begun.hw, begun.sw)
    if pulled.profile != profile:
        raise BadPlan(
            f"{begun.unit} is {pulled.profile} now, but the journal is of {profile}; settings of"
            " another version cannot be restored."
        )


def _settings_before(begun: JournalLine, present: Settings) -> Settings:
    """Return the settings in a journal, completed by present settings that the journal lacks."""
    profile = Profile(begun.hw, begun.sw)
    before, _ = settings_from_leaves(profile, dict(begun.before))
    wanted = with_value(before, "profile", present.profile)
    for path, old, value in difference(wanted, present):
        is_there = old is not MISSING and value is not MISSING
        if is_there and is_part_of(path, begun.unread):
            wanted = with_value(wanted, path, value)
    return wanted
