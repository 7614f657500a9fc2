"""The action part of the audit trail: all actions that do not change a setting, such as switching.

A switching request is answered before anything is written to disk. Therefore these entries are
collected in memory and written a moment later and at the stop, one row per batch. If the process is
killed, the entries that were not yet written are lost. These entries have separate space, because a
client that switches all day must displace neither the entries about settings nor those about other
accounts. Both parts are numbered together, so that they can be read as one trail. Memory holds only
entries that are not on disk; the rest is read from the store on request.
"""

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain, takewhile
from operator import attrgetter
from typing import Any

import msgspec

from leverframe.core.engine import calls
from leverframe.core.engine.actuator import SWITCHES, is_overridden
from leverframe.core.engine.engine import wall_of_local
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import ENERGIES, OUTPUTS
from leverframe.core.tree import MASK
from leverframe.storage.audit import (
    ACTION_PREFIX,
    MAX_ENTRIES,
    AuditChange,
    AuditEntry,
    AuditTrail,
    entry_of,
    newest_entries,
    row_name,
)
from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.writer import Commit, Writer

log = logging.getLogger(__name__)

#: How many seconds an entry may wait, so that several entries are written together.
GATHER_S = 1.0
#: Failed writes are retried after pauses that double, up to this length.
LONGEST_PAUSE_S = 300.0
#: Number of entries on disk, including expired ones; beyond it, the entries to keep are rewritten
#: as one row.
MAX_ON_DISK = 2 * MAX_ENTRIES

#: Switching off and on, by label; created once, because no action is more frequent.
_SWITCHED = {label: (AuditChange(label, 1, 0), AuditChange(label, 0, 1)) for label in SWITCHES}

#: Actions other than settings, and their names in the trail.
_DONE = {
    calls.NextOneWireId: "next 1-Wire ID",
    calls.RaiseRestartFlag: "restart flag",
    calls.ForgetCounters: "counters and remembered states",
    calls.SendTest: "test message",
    calls.ModemCommand: "modem command",
    calls.ResumeWatchdog: "watchdog",
    calls.Restart: "restart",
    calls.StartBootloader: "bootloader",
}


class ActionAudit:
    __slots__ = (
        "_gather_s",
        "_has_ended",
        "_on_disk",
        "_pause_s",
        "_sent_up_to",
        "_thinning",
        "_timer",
        "_trail",
        "_waiting",
        "_writer",
    )

    def __init__(
        self,
        writer: Writer,
        trail: AuditTrail,
        names: Iterable[str] = (),
        gather_s: float = GATHER_S,
    ) -> None:
        """Continue after the stored rows of the trail."""
        self._writer = writer
        self._gather_s = gather_s
        self._pause_s = gather_s
        self._trail = trail
        #: Entries that are not known to be on disk.
        self._waiting = EntriesByAccount()
        #: All entries up to this number are on disk or being written.
        self._sent_up_to = 0
        #: Entries on disk, some of which are expired; None until they have been counted.
        is_new = not any(name.startswith(ACTION_PREFIX) for name in names)
        self._on_disk: int | None = 0 if is_new else None
        self._timer: asyncio.TimerHandle | None = None
        self._thinning: asyncio.Task[None] | None = None
        self._has_ended = False

    def note(
        self, machine: Machine, done: Iterable[calls.Action], wall: float, cause: Cause
    ) -> None:
        """Record the changes that these actions will cause; without a change, add no entry."""
        changes = _changes(machine, done, wall)
        if not changes:
            return
        self._waiting.add(entry_of(self._trail.next_number(), wall, cause, changes))
        self._trail.entry_count += 1
        if self._timer is None:
            self._write_soon()

    async def entries(self) -> dict[int, msgspec.Raw]:
        """Return the newest entries by number, including those that are not on disk yet."""
        waiting = self._waiting.since(0)
        rows = await self._writer.store.audit(ACTION_PREFIX)
        return await asyncio.to_thread(_newest, rows, waiting)

    def write(self) -> None:
        """Start writing the entries that are not on disk yet."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        entries = self._waiting.since(self._sent_up_to)
        if not entries:
            return
        before, self._sent_up_to = self._sent_up_to, entries[-1].number
        name = row_name(ACTION_PREFIX, self._sent_up_to)
        rows = {name: msgspec.json.encode(entries).decode()}
        on_committed = partial(self._on_committed, len(entries), before, self._sent_up_to)
        self._writer.commit(Changes(kept=rows), on_committed)

    def end(self) -> None:
        """Write the remaining entries without a retry; the next run removes surplus entries."""
        self._has_ended = True
        if self._thinning is not None:
            self._thinning.cancel()
        self.write()

    def _on_committed(
        self,
        count: int,
        sent_before: int,
        sent_up_to: int,
        _: Sequence[Commit],
        error: StoreUnavailable | None,
    ) -> None:
        if error is None:
            self._waiting.forget_up_to(sent_up_to)
            self._pause_s = self._gather_s
            if self._on_disk is not None:
                self._on_disk += count
            if self._on_disk is None or self._on_disk > MAX_ON_DISK:
                self._thin_soon()
        else:
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)
            self._sent_up_to = min(self._sent_up_to, sent_before)
            self._write_soon()

    def _write_soon(self) -> None:
        if self._timer is None and not self._has_ended:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self._pause_s, self.write)

    def _thin_soon(self) -> None:
        is_under_way = self._thinning is not None and not self._thinning.done()
        if not (is_under_way or self._has_ended):
            self._thinning = asyncio.get_running_loop().create_task(self._thin())

    async def _thin(self) -> None:
        """Count the stored entries; if there are too many, store the entries to keep as one row."""
        try:
            while self._on_disk is None or self._on_disk > MAX_ON_DISK:
                # Entries written in the meantime are also counted; the next round handles them.
                self._on_disk = 0
                left = await self._thin_rows()
                self._on_disk += left
        except ErrorForPeople as error:
            # The next entry triggers another attempt.
            self._on_disk = None
            log.warning("the audit trail could not be pruned: %s", error)

    async def _thin_rows(self) -> int:
        """Remove surplus entries from the disk; return the number of remaining entries."""
        rows = await self._writer.store.audit(ACTION_PREFIX)
        count, staying = await asyncio.to_thread(_count_entries, rows)
        if count <= MAX_ON_DISK:
            return count
        thinned: dict[str, Any] = dict.fromkeys(rows, DELETED)
        thinned[max(rows)] = msgspec.json.encode(staying).decode()
        await self._writer.commit(Changes(kept=thinned))
        return len(staying)


class EntriesByAccount:
    """The newest entries, where no account can displace the entries of others.

    If there are too many entries, an account with more than its share loses its oldest entries.
    Requests without an account count as one account.
    """

    __slots__ = ("_by_account", "_count")

    def __init__(self) -> None:
        self._by_account: defaultdict[str, deque[AuditEntry]] = defaultdict(deque)
        self._count = 0

    def add(self, entry: AuditEntry) -> None:
        own = self._by_account[entry.account]
        own.append(entry)
        if self._count < MAX_ENTRIES:
            self._count += 1
        elif len(own) * len(self._by_account) > MAX_ENTRIES:
            own.popleft()
        else:
            max(self._by_account.values(), key=len).popleft()

    def forget_up_to(self, number: int) -> None:
        """Drop the entries up to this number."""
        for account, entries in list(self._by_account.items()):
            while entries and entries[0].number <= number:
                entries.popleft()
                self._count -= 1
            if not entries:
                del self._by_account[account]

    def since(self, number: int) -> list[AuditEntry]:
        """List the entries after this number, oldest first."""
        newer: list[AuditEntry] = []
        for entries in self._by_account.values():
            newer += takewhile(lambda entry: entry.number > number, reversed(entries))
        return sorted(newer, key=attrgetter("number"))


def parse_actions(rows: Mapping[str, str]) -> list[AuditEntry]:
    """Return all entries of the stored rows, oldest first."""
    names = sorted(name for name in rows if name.startswith(ACTION_PREFIX))
    each = (msgspec.json.decode(rows[name], type=list[AuditEntry]) for name in names)
    return sorted(chain.from_iterable(each), key=attrgetter("number"))


def parse_entries(rows: Mapping[str, str]) -> list[msgspec.Raw]:
    """Return the complete stored audit trail of settings and actions."""
    by_number = newest_entries(rows) | _newest(rows, ())
    return [by_number[number] for number in sorted(by_number)]


def _count_entries(rows: Mapping[str, str]) -> tuple[int, list[AuditEntry]]:
    entries = parse_actions(rows)
    staying = EntriesByAccount()
    for entry in entries:
        staying.add(entry)
    return len(entries), staying.since(0)


def _newest(rows: Mapping[str, str], waiting: Sequence[AuditEntry]) -> dict[int, msgspec.Raw]:
    newest = EntriesByAccount()
    by_number = {entry.number: entry for entry in (*parse_actions(rows), *waiting)}
    for entry in by_number.values():
        newest.add(entry)
    return _by_number(newest.since(0))


def _by_number(entries: Iterable[AuditEntry]) -> dict[int, msgspec.Raw]:
    return {entry.number: msgspec.Raw(msgspec.json.encode(entry)) for entry in entries}


def _changes(
    machine: Machine, done: Iterable[calls.Action], wall: float
) -> tuple[AuditChange, ...]:
    found: list[AuditChange] = []
    switched: dict[str, bool] = {}
    for action in done:
        if type(action) is calls.Switch:
            label = action.label
            was_on = switched.get(label, bool(machine.values[label]))
            is_on = calls.after_switching(action.value, was_on)
            if is_on is not was_on:
                switched[label] = is_on
                found.append(_SWITCHED[label][is_on])
        elif type(action) is calls.FollowSetting:
            if is_overridden(machine, action.action):
                found.append(AuditChange(action.action, "overridden", "as set"))
        elif type(action) is calls.FollowDuty:
            duty = DUTIES[action.index]
            if machine.values[duty] != machine.settings.pwm[action.index].duty:
                found.append(AuditChange(duty, machine.values[duty], "as set"))
        else:
            found.append(_change_by(machine, action, wall))
    return tuple(found)


def _change_by(machine: Machine, action: calls.Action, wall: float) -> AuditChange:
    if isinstance(action, calls.SetEnergy):
        label = ENERGIES[action.index]
        return AuditChange(label, machine.values[label], action.value)
    if isinstance(action, calls.Pulse):
        label = OUTPUTS[action.index]
        return AuditChange(label, machine.values[label], f"on for {action.seconds} s")
    if isinstance(action, calls.WriteToModule):
        kind = "coil" if action.type == "coil" else "register"
        return AuditChange(
            f"Modbus slot {action.slot} {kind} {action.register}", None, action.value
        )
    if isinstance(action, calls.ChangeClock):
        return AuditChange("clock", wall, wall_of_local(action.local_seconds, machine.timezone))
    if isinstance(action, calls.SendTest):
        return AuditChange(_DONE[calls.SendTest], None, action.channel)
    # A modem command may contain a PIN.
    shown = MASK if isinstance(action, calls.ModemCommand) else "done"
    return AuditChange(_DONE[type(action)], None, shown)
