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

from leverframe.engine import actions
from leverframe.engine.actuator import is_overridden
from leverframe.engine.engine import wall_of_local
from leverframe.engine.journal import Cause
from leverframe.engine.labels import ENERGIES
from leverframe.engine.machine import Machine
from leverframe.engine.tree import MASK
from leverframe.storage.audit import (
    ACTION_PREFIX,
    MAX_ENTRIES,
    AuditChange,
    AuditEntry,
    AuditTrail,
    entry_of,
    row_name,
)
from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.writer import Commit, Writer

#: How long an entry may wait for others to be written with.
GATHER_S = 1.0
#: What cannot be written is tried again after pauses that double, up to this one.
LONGEST_PAUSE_S = 300.0

#: What is done rather than set, by what it is called in the trail.
_DONE = {
    actions.NextOneWireId: "next 1-Wire ID",
    actions.RaiseRestartFlag: "restart flag",
    actions.ForgetCounters: "counters and remembered states",
    actions.SendTest: "test message",
    actions.ModemCommand: "modem command",
    actions.ResumeWatchdog: "watchdog",
    actions.Restart: "restart",
    actions.StartBootloader: "bootloader",
}


class ActionAudit:
    def __init__(
        self,
        writer: Writer,
        trail: AuditTrail,
        kept: Mapping[str, Any],
        gather_s: float = GATHER_S,
    ) -> None:
        """Continue from the entries in the store."""
        self._writer = writer
        self._gather_s = gather_s
        self._pause_s = gather_s
        self._trail = trail
        self._entries: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)
        self._unwritten: deque[AuditEntry] = deque(maxlen=MAX_ENTRIES)
        #: Rows on disk, oldest first, and how many entries each has.
        self._batches: deque[tuple[str, int]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        for name, entries in stored_actions(kept).items():
            self._batches.append((name, len(entries)))
            self._entries.extend(entries)

    def note(
        self, machine: Machine, done: Iterable[actions.Action], wall: float, cause: Cause
    ) -> None:
        """Remember what these actions are about to change; no change, no entry."""
        changes = _changes(machine, done, wall)
        if not changes:
            return
        number = self._trail.next_number()
        entry = entry_of(number, wall, cause, changes)
        self._entries.append(entry)
        self._unwritten.append(entry)
        if self._timer is None:
            self._write_soon()

    def entries(self) -> dict[int, msgspec.Raw]:
        return _by_number(self._entries)

    def write(self) -> None:
        """Send what is not on disk yet on its way."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._unwritten:
            return
        entries, self._unwritten = list(self._unwritten), deque(maxlen=MAX_ENTRIES)
        name = row_name(ACTION_PREFIX, entries[-1].number)
        outlived = self._outlived(len(entries))
        rows: dict[str, Any] = {name: msgspec.json.encode(entries).decode()}
        rows |= dict.fromkeys(outlived, DELETED)
        on_committed = partial(self._on_committed, name, entries, outlived)
        self._writer.commit(Changes(kept=rows), on_committed)

    def _on_committed(
        self,
        name: str,
        entries: Sequence[AuditEntry],
        outlived: Sequence[str],
        _: Sequence[Commit],
        error: StoreUnavailable | None,
    ) -> None:
        if error is None:
            self._batches = deque(batch for batch in self._batches if batch[0] not in outlived)
            self._batches.append((name, len(entries)))
            self._pause_s = self._gather_s
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._unwritten = deque((*entries, *self._unwritten), maxlen=MAX_ENTRIES)
            self._write_soon()

    def _outlived(self, added: int) -> list[str]:
        """List the oldest rows that are no longer needed once so many entries are added."""
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
    """Return the stored entries by row, oldest first."""
    names = sorted(name for name in kept if name.startswith(ACTION_PREFIX))
    return {name: msgspec.json.decode(kept[name], type=list[AuditEntry]) for name in names}


def stored_entries(kept: Mapping[str, Any]) -> list[msgspec.Raw]:
    """Return the whole stored audit trail, of settings and of actions."""
    by_number = AuditTrail(kept).entries()
    for entries in stored_actions(kept).values():
        by_number |= _by_number(entries)
    return [by_number[number] for number in sorted(by_number)]


def _by_number(entries: Iterable[AuditEntry]) -> dict[int, msgspec.Raw]:
    return {entry.number: msgspec.Raw(msgspec.json.encode(entry)) for entry in entries}


def _changes(
    machine: Machine, done: Iterable[actions.Action], wall: float
) -> tuple[AuditChange, ...]:
    found: list[AuditChange] = []
    switched: dict[str, int] = {}
    for action in done:
        if type(action) is actions.Switch:
            label = action.label
            old = switched.get(label)
            if old is None:
                old = 1 if machine.values[label] else 0
            new = int(actions.after_switching(action.value, old == 1))
            if new != old:
                switched[label] = new
                found.append(AuditChange(label, old, new))
        elif type(action) is actions.FollowSetting:
            if is_overridden(machine, action.action):
                found.append(AuditChange(action.action, "overridden", "as set"))
        else:
            found.append(_done(machine, action, wall))
    return tuple(found)


def _done(machine: Machine, action: actions.Action, wall: float) -> AuditChange:
    if isinstance(action, actions.SetEnergy):
        label = ENERGIES[action.index]
        return AuditChange(label, machine.values[label], action.value)
    if isinstance(action, actions.ChangeClock):
        return AuditChange("clock", wall, wall_of_local(action.local_seconds, machine.timezone))
    if isinstance(action, actions.SendTest):
        return AuditChange(_DONE[actions.SendTest], None, action.channel)
    # A modem command may hold a PIN.
    told = MASK if isinstance(action, actions.ModemCommand) else "done"
    return AuditChange(_DONE[type(action)], None, told)
