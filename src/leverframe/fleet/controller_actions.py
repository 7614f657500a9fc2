"""Operations on running controllers besides commands: time, copies, faults.

A fork of a controller in virtual time resumes from its current state; in real time it starts with
its settings, as after a power cut.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from leverframe.core.durations import MAX_ADVANCE_S, text_from_seconds
from leverframe.devices.simulated.fault_catalogue import FAULTS, BadFault, fault_from_text
from leverframe.fleet.bulk import BulkReport, each
from leverframe.fleet.groups import (
    WINDOW_S,
    MoveCancelled,
    advance_together,
    bring_together,
    due_within,
    next_step_s,
)
from leverframe.fleet.member import Member, NewController, no_such_name, why_not_started
from leverframe.fleet.node import FleetNode
from leverframe.fleet.records import MemberRecord, NotRunning, TenantRecord
from leverframe.host.controller.faults import MAX_FAULTS
from leverframe.host.controller.snapshot import go_back, take_snapshot
from leverframe.interface.table.refusals import BadValue, Conflict, Refusal

MAX_RATE = 1000.0
#: Interval at which running time advances.
PACE_S = 0.05
NONE = "none"
#: Tolerance when wall times are compared: seconds since 1970 leave few digits for the fraction.
SAME_S = 0.001
#: Rows that belong to a single controller, and are not copied.
_OWN_ROWS = ("identity.", "snmp.boots", "profile.", "job.")


class GroupTime:
    """The time of a node's controllers: it is advanced by hand, runs at a rate, or is frozen.

    An advance of a tenant's controllers waits for other advances of this tenant, but not for those
    of other tenants.
    """

    def __init__(self, node: FleetNode) -> None:
        self._node = node
        #: The locks of tenants, while the time of their controllers is advanced.
        self._moving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._running: asyncio.Task[None] | None = None
        #: How far one controller may be ahead of the others during an advance.
        self.window_s = WINDOW_S
        #: Seconds of virtual time per second; 0 while time is frozen.
        self.rate = 0.0

    async def advance(
        self, members: Sequence[Member], seconds: float, *, of_all: bool = True
    ) -> None:
        """Advance controllers.

        With `of_all`, also advance the common time, if these are all controllers of the node.
        """
        self._require_virtual()
        _check_distance(seconds)
        async with self._hold_time_of(members):
            await self._advance(members, seconds, of_all=of_all)

    async def _advance(self, members: Sequence[Member], seconds: float, *, of_all: bool) -> None:
        clock, are_all = self._node.clock, of_all and len(members) == len(self._node.members)
        try:
            await advance_together([one.controller for one in members], seconds, self.window_s)
        except MoveCancelled as cancelled:
            if are_all:
                clock.move_to(clock.now() + cancelled.moved_s)
            raise
        if are_all:
            clock.move_to(clock.now() + seconds)

    async def advance_to(
        self, members: Sequence[Member], wall: float, *, of_all: bool = True
    ) -> None:
        """Advance each controller to one moment, even if their times differ; refuse the past."""
        self._require_virtual()
        async with self._hold_time_of(members):
            clock = self._node.clock
            _check_that_it_comes(wall, members, clock.wall())
            times = [one.controller.clock.wall() for one in members]
            _check_distance(wall - min(times, default=clock.wall()))
            are_all = of_all and len(members) == len(self._node.members)
            try:
                await bring_together([one.controller for one in members], wall, self.window_s)
            except MoveCancelled:
                if are_all:
                    self._set_common(max(one.controller.clock.wall() for one in members))
                raise
            if are_all:
                self._set_common(wall)

    def _set_common(self, wall: float) -> None:
        """Set the common time, also backwards: new controllers start at the time of the others."""
        clock = self._node.clock
        clock.move_to(clock.now() + wall - clock.wall())
        clock.set_wall(wall)

    async def step(self, members: Sequence[Member], *, of_all: bool = True) -> int:
        """Advance controllers to their next deadline; return the number of those due then."""
        self._require_virtual()
        controllers = [one.controller for one in members]
        async with self._hold_time_of(members):
            seconds = next_step_s(controllers)
            if seconds is None:
                return 0
            _check_distance(seconds)
            due = due_within(controllers, seconds)
            await self._advance(members, seconds, of_all=of_all)
        return due

    @asynccontextmanager
    async def _hold_time_of(self, members: Sequence[Member]) -> AsyncIterator[None]:
        """Lock the time of the tenants whose controllers are advanced.

        An advance of several tenants' controllers waits until all of these tenants are free, and
        blocks none of them while it waits for another.
        """
        locks = [self._lock_of(tenant) for tenant in {one.record.tenant for one in members}]
        while (taken := next((one for one in locks if one.locked()), None)) is not None:
            async with taken:
                pass
        async with AsyncExitStack() as held:
            for lock in locks:
                # The lock is free, so this does not yield to the event loop.
                await held.enter_async_context(lock)
            yield

    def _lock_of(self, tenant: str) -> asyncio.Lock:
        return self._moving.setdefault(tenant, asyncio.Lock())

    def _is_moved(self, tenant: str) -> bool:
        lock = self._moving.get(tenant)
        return lock is not None and lock.locked()

    async def run_at(self, rate: float) -> None:
        """Run the time of all controllers at a rate in seconds per second; 0 freezes it."""
        self._require_virtual()
        if not 0 <= rate <= MAX_RATE:
            raise BadValue(
                f"{rate:g} is not a valid rate.", field="rate", allowed=f"0 to {MAX_RATE:g}"
            )
        await self.freeze()
        if rate:
            self.rate = rate
            self._running = asyncio.get_running_loop().create_task(self._run())

    async def freeze(self) -> None:
        running, self._running, self.rate = self._running, None, 0.0
        if running is not None:
            running.cancel()
            await asyncio.wait([running])

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(PACE_S)
            now = loop.time()
            members = tuple(self._node.members.values())
            # Controllers of other tenants need not wait for a tenant whose time is being advanced
            # by hand.
            moved = {one.record.tenant for one in members if self._is_moved(one.record.tenant)}
            free = [one for one in members if one.record.tenant not in moved]
            async with self._hold_time_of(free):
                seconds = (now - last) * self.rate
                await advance_together([one.controller for one in free], seconds, self.window_s)
                self._node.clock.move_to(self._node.clock.now() + seconds)
            last = now

    def _require_virtual(self) -> None:
        if not self._node.is_virtual:
            raise Conflict(
                "This node runs in real time. Restart it with --virtual-time to advance its time."
            )


def _check_distance(seconds: float) -> None:
    """Refuse an advance that is too long for one request."""
    if seconds > MAX_ADVANCE_S:
        raise BadValue(
            f"Time cannot move by {text_from_seconds(seconds)} in one request.",
            allowed=f"up to {text_from_seconds(MAX_ADVANCE_S)}; send several requests",
        )


def _check_that_it_comes(wall: float, members: Sequence[Member], common: float) -> None:
    """Refuse a moment that has passed for a controller or, if there is none, for the node."""
    ahead = [one.name for one in members if one.controller.clock.wall() > wall + SAME_S]
    if not ahead and (members or common <= wall + SAME_S):
        return
    others = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
    whom = f" for {ahead[0]}{others}" if 0 < len(ahead) < len(members) else ""
    raise BadValue(f"This moment has passed{whom}.", field="to", allowed="a later one")


async def fork(
    node: FleetNode,
    member: Member,
    records: Sequence[MemberRecord],
    within: TenantRecord | None = None,
) -> list[Member]:
    """Create controllers of the same tenant that resume from another controller's state."""
    controller = member.controller
    await controller.writer.flush()
    snapshot = await take_snapshot(controller) if node.is_virtual else None
    stored = node.lane.store(member.number).load()
    kept = {name: value for name, value in stored.kept.items() if not name.startswith(_OWN_ROWS)}
    of_version = [
        msgspec.structs.replace(
            record,
            hw=controller.profile.hw,
            sw=controller.profile.sw,
            tenant=member.record.tenant,
        )
        for record in records
    ]
    made = await node.add(
        [NewController(one, controller.profile, stored.settings, kept) for one in of_version],
        within,
    )
    if snapshot is not None:
        for one in made:
            await go_back(one.controller, snapshot)
    return made


async def set_fault(members: Sequence[Member], text: str, seed: int) -> BulkReport:
    """Set a fault on controllers, each with its own seed; `none` ends all faults."""
    try:
        fault = None if text == NONE else fault_from_text(text)
    except BadFault as error:
        raise BadValue(
            error.detail, field="fault", value=error.value or None, allowed=error.allowed
        ) from None

    async def act(member: Member) -> None:
        faults = member.controller.faults
        if faults is None:
            raise Conflict("This board is not simulated.")
        if fault is None:
            faults.clear()
            return
        if len(faults.report()) >= MAX_FAULTS:
            raise Conflict(f"There are {MAX_FAULTS} faults already; `none` ends them.")
        if "seed" in FAULTS[fault.kind].scopes and "seed" not in fault.given:
            faults.add(fault.within(seed=(seed + member.number) % 2**31))
        else:
            faults.add(fault)

    return await each(members, act)


# Create the controllers in a fleet file, and restart failed controllers at another place.


async def make_new(
    node: FleetNode, new: Sequence[NewController], administrator: dict[str, Any]
) -> dict[str, str]:
    """Create controllers of a fleet file; record and return the reason for each failure."""
    refusals = await node.refusals_of(new)
    made = [
        replace(one, leaves={**one.leaves, **administrator})
        for one in new
        if one.record.name not in refusals
    ]
    try:
        await node.add(made)
    except Refusal:
        # If one controller is refused, the others are still created.
        for one in made:
            try:
                await node.add([one])
            except Refusal as refusal:
                refusals[one.record.name] = refusal
    by_name = {one.record.name: one for one in new}
    reasons = {name: why_not_started(name, why, by_name[name]) for name, why in refusals.items()}
    for name, reason in reasons.items():
        member = node.roster.expect(by_name[name].record)
        member.start()
        node.roster.note_failed(member, reason)
    return reasons


async def place_and_start(
    node: FleetNode, number: int, address: str | None, port: int | None
) -> Member:
    """Assign another address and port to a failed controller, and start it.

    If the controller could not be reached there, it keeps its previous address and port.
    """
    async with node.changing:
        before = node.registry.records.get(number)
        if before is None or node.by_number([number]):
            raise Conflict(
                "Another request has started or removed the controller. Nothing was done. Try"
                " again."
            )
        record = node.with_place(before, address, port)
        await node.door.check_place(record.name, address, port)
        await node.registry.put({number: record})
        node.roster.expect(record, number)
    why = await node.start_failed([number])
    if why:
        raise NotRunning(f"The address and port are set. {why[number]}")
    if record.name not in node.members:
        # The controller was removed in the meantime.
        raise no_such_name(record.name)
    return node.members[record.name]
