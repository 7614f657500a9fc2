"""The other half of the audit trail: what was switched, set or done without a setting changing.

Switching is answered before anything goes to the disk, so these entries are gathered in memory and
written in batches, one row each, a moment later and at the stop. A sudden end loses that moment.
They have a ring of their own: a client that switches all day must not push out who changed the
settings. Numbers are shared with the trail of settings, so that both read as one.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from leverframe.engine import actions as act
from leverframe.engine.actuator import is_overridden
from leverframe.engine.engine import wall_of_local
from leverframe.engine.journal import Cause
from leverframe.engine.labels import ENERGIES
from leverframe.engine.machine import Machine
from leverframe.engine.tree import MASK
from leverframe.storage.audit import (
    DEED_PREFIX,
    MAX_ENTRIES,
    AuditChange,
    AuditEntry,
    AuditTrail,
    entry_of,
    row_name,
)
from leverframe.storage.store import DELETED, Changes, Store, StoreUnavailable

#: How long an entry may wait for others to be written with.
GATHER_S = 1.0
#: What cannot be written is tried again after pauses that double, up to this one.
LONGEST_PAUSE_S = 300.0

#: What is done rather than set, by what it is called in the trail.
_DONE = {
    act.NextOneWireId: "next 1-Wire ID",
    act.RaiseRestartFlag: "restart flag",
    act.ForgetCounters: "counters and remembered states",
    act.SendTest: "test message",
    act.ModemCommand: "modem command",
    act.ResumeWatchdog: "watchdog",
    act.Restart: "restart",
    act.StartBootloader: "bootloader",
}


class ActionAudit:
    def __init__(
        self,
        store: Store,
        trail: AuditTrail,
        kept: Mapping[str, Any],
        gather_s: float = GATHER_S,
    ) -> None:
        """Go on with what the store remembers."""
        self._store = store
        self._gather_s = gather_s
        self._pause_s = gather_s
        self._trail = trail
        self._deeds: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)
        self._unwritten: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)
        #: Rows on disk, oldest first, and how many entries each has.
        self._batches: deque[tuple[str, int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        for name, action_audit in stored_actions(kept).items():
            self._batches.append((name, len(action_audit)))
            self._deeds.extend(action_audit)

    def note(
        self, machine: Machine, actions: Iterable[act.Action], wall: float, cause: Cause
    ) -> None:
        """Remember what these actions are about to change; no change, no entry."""
        changes = _changes(machine, actions, wall)
        if not changes:
            return
        number = self._trail.next_number()
        deed = entry_of(number, wall, cause, changes)
        self._deeds.append(deed)
        self._unwritten.append(deed)
        if self._timer is None:
            self._write_soon()

    def entries(self) -> dict[int, msgspec.Raw]:
        return _by_number(self._deeds)

    def write(self) -> None:
        """Send what is not on disk yet on its way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._unwritten:
            return
        action_audit, self._unwritten = list(self._unwritten), deque(maxlen=MAX_ENTRIES)
        name = row_name(DEED_PREFIX, action_audit[-1].number)
        outlived = self._outlived(len(action_audit))
        rows: dict[str, Any] = {name: msgspec.json.encode(action_audit).decode()}
        rows |= dict.fromkeys(outlived, DELETED)
        follow = partial(self._written, name, action_audit, outlived)
        self._store.commit(Changes(kept=rows), follow)

    def _written(
        self,
        name: str,
        action_audit: Sequence[AuditEntry],
        outlived: Sequence[str],
        error: StoreUnavailable | None,
    ) -> None:
        if error is None:
            self._batches = deque(batch for batch in self._batches if batch[0] not in outlived)
            self._batches.append((name, len(action_audit)))
            self._pause_s = self._gather_s
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._unwritten = deque((*action_audit, *self._unwritten), maxlen=MAX_ENTRIES)
            self._write_soon()

    def _outlived(self, added: int) -> list[str]:
        """The oldest rows that are not needed any more once so many entries are added."""
        total = added + sum(count for _, count in self._batches)
        outlived = []
        for name, count in self._batches:
            total -= count
            if total < MAX_ENTRIES:
                break
            outlived.append(name)
        return outlived

    def _write_soon(self) -> None:
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._pause_s, self.write)


def stored_actions(kept: Mapping[str, Any]) -> dict[str, list[AuditEntry]]:
    """What the store remembers, by row, oldest first."""
    names = sorted(name for name in kept if name.startswith(DEED_PREFIX))
    return {name: msgspec.json.decode(kept[name], type=list[AuditEntry]) for name in names}


def stored_entries(kept: Mapping[str, Any]) -> list[msgspec.Raw]:
    """The whole trail, of settings and of actions, as the store remembers it."""
    entries = AuditTrail(kept).entries()
    for action_audit in stored_actions(kept).values():
        entries |= _by_number(action_audit)
    return [entries[number] for number in sorted(entries)]


def _by_number(action_audit: Iterable[AuditEntry]) -> dict[int, msgspec.Raw]:
    return {deed.number: msgspec.Raw(msgspec.json.encode(deed)) for deed in action_audit}


def _changes(
    machine: Machine, actions: Iterable[act.Action], wall: float
) -> tuple[AuditChange, ...]:
    found: list[AuditChange] = []
    switched: dict[str, int] = {}
    for action in actions:
        if type(action) is act.Switch:
            label = action.label
            old = switched.get(label)
            if old is None:
                old = 1 if machine.values[label] else 0
            new = int(act.after_switching(action.value, old == 1))
            if new != old:
                switched[label] = new
                found.append(AuditChange(label, old, new))
        elif type(action) is act.FollowSetting:
            if is_overridden(machine, action.action):
                found.append(AuditChange(action.action, "overridden", "as set"))
        else:
            found.append(_done(machine, action, wall))
    return tuple(found)


def _done(machine: Machine, action: act.Action, wall: float) -> AuditChange:
    if isinstance(action, act.SetEnergy):
        label = ENERGIES[action.index]
        return AuditChange(label, machine.values[label], action.value)
    if isinstance(action, act.ChangeClock):
        return AuditChange("clock", wall, wall_of_local(action.local_seconds, machine.timezone))
    if isinstance(action, act.SendTest):
        return AuditChange(_DONE[act.SendTest], None, action.channel)
    # A modem command may hold a PIN.
    told = MASK if isinstance(action, act.ModemCommand) else "done"
    return AuditChange(_DONE[type(action)], None, told)
