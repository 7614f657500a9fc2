"""The controllers that run at a node, reconciled with the database.

Controllers that the node has taken are started. Controllers that another node is to have are
stopped, handed over and released. Removed controllers are dropped. A controller is reloaded if a
change was stored that the controller does not know of.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import Any, Protocol, TypeVar

from msgspec import Struct

from leverframe.core.engine.portable_state import changes_of
from leverframe.core.runtime.event_loop import in_turns
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.settings import Settings
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.heartbeat import DatabaseThread
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.cluster.membership import Placed, fair_shares, put_live
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.lifecycle import Failed, Running
from leverframe.fleet.member import Member
from leverframe.fleet.metrics import MemberFigures
from leverframe.fleet.node import FleetNode
from leverframe.host.controller.hand_over import SavedLive, export_live, settings_digest
from leverframe.storage.lanes.postgres_connection import SharedConnection, first_line
from leverframe.storage.lanes.postgres_lane import Claim, PostgresLane

# The live state of a node's controllers, saved at intervals for the nodes that take them over.
#
# Only changed controllers are exported and written, many in one statement, and the database need
# not sync them to disk. If both the node and the database crash, the controllers start as after a
# power cut.

log = logging.getLogger(__name__)

#: Number of controllers written in one statement.
WRITTEN_AT_A_TIME = 500
#: Number of journal entries saved; the whole journal would be most of the written data.
SAVED_ENTRIES = 20
#: Unchanged state is saved again after this time, so that it does not count as too old.
SAVE_AGAIN_S = 60.0
_NOT_WAITED_FOR = "SET synchronous_commit = off"


class _Known(Struct):
    """The last saved state of a controller."""

    changes: tuple[int, ...]
    settings: Settings
    digest: str
    at: float


class LiveSaver:
    def __init__(
        self, address: str, node: FleetNode, lease: NodeLease, claim: Callable[[], Claim]
    ) -> None:
        self._node = node
        self._lease = lease
        self._claim = claim
        self._database = SharedConnection(address, _NOT_WAITED_FOR)
        self._known: dict[int, _Known] = {}
        self._throttle = LogThrottle(log)
        #: Held while exported state is not yet written.
        self.writing = asyncio.Lock()

    async def run(self, every_s: float) -> None:
        """Save changed state, in a loop."""
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            due = max(due + every_s, loop.time())
            await asyncio.sleep(due - loop.time())
            if self._lease.is_in_doubt:
                continue
            try:
                await self.save()
            except Exception as error:
                # The next save tries again.
                reason = first_line(error) or type(error).__name__
                self._throttle.warning(
                    "database",
                    "saving",
                    "live state could not be saved; next attempt with the next save: %s",
                    reason,
                )

    async def save(self) -> int:
        """Save the controllers that have changed; return their number."""
        now = time.monotonic()
        due = [one for one in self._node.members.values() if self._is_due(one, now)]
        for begin in range(0, len(due), WRITTEN_AT_A_TIME):
            async with self.writing:
                await self._write(due[begin : begin + WRITTEN_AT_A_TIME])
        return len(due)

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget the saved state of controllers that this node no longer has."""
        for number in numbers:
            self._known.pop(number, None)

    def close(self) -> None:
        self._database.close()

    def _is_due(self, member: Member, now: float) -> bool:
        known = self._known.get(member.number)
        if known is None or now - known.at >= SAVE_AGAIN_S:
            return True
        engine = member.controller.engine
        return known.changes != changes_of(engine) or known.settings is not engine.settings

    async def _write(self, members: Sequence[Member]) -> None:
        live: dict[int, SavedLive] = {}
        saved: dict[int, _Known] = {}
        async for member in in_turns(members):
            controller = member.controller
            if controller.bootloader_until is None:
                known = self._fingerprint(member)
                export = export_live(controller, known.digest, SAVED_ENTRIES)
                if export is not None:
                    live[member.number], saved[member.number] = export, known
        if live:
            claim = self._claim()
            await _finish(
                asyncio.to_thread(
                    self._database.use, lambda connection: put_live(connection, claim, live)
                )
            )
            self._known |= saved

    def _fingerprint(self, member: Member) -> _Known:
        """Return the state that saving a controller now would record."""
        engine, known = member.controller.engine, self._known.get(member.number)
        settings = engine.settings
        if known is not None and known.settings is settings:
            digest = known.digest
        else:
            digest = settings_digest(member.controller.profile, settings)
        return _Known(changes_of(engine), settings, digest, time.monotonic())


async def _finish(write: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of a write, even if cancelled, so that nothing is written later."""
    writing = asyncio.ensure_future(write)
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise


#: A controller that failed to start is retried after this time.
RETRY_S = 5.0
#: Number of controllers started together; each batch begins with those that clients wait for.
STARTED_AT_A_TIME = 200


class OwnControllers:
    def __init__(
        self,
        node: FleetNode,
        lane: PostgresLane,
        registry: ClusterRegistry,
        saver: LiveSaver,
        thread: DatabaseThread,
        claim: Callable[[], Claim],
        figures: MemberFigures,
    ) -> None:
        self._node = node
        node.roster.retry_s = RETRY_S
        self._lane = lane
        self._registry = registry
        self._saver = saver
        self._thread = thread
        self._claim = claim
        self._figures = figures
        #: Live state of controllers that could not be released, or were not started yet.
        self._live: dict[int, SavedLive] = {}
        self._stored_late: set[int] = set()

    @property
    def running(self) -> tuple[Member, ...]:
        return tuple(self._node.members.values())

    @property
    def present(self) -> tuple[Member, ...]:
        """Return all controllers of this node, the failed ones last, so that they move first."""
        failed = (one for one in self._node.roster.list_failed() if isinstance(one.state, Failed))
        return (*self.running, *(one for one in failed if one.is_stored))

    @property
    def is_unsettled(self) -> bool:
        """Whether work is left that no notification will announce again."""
        return bool(self._stored_late) or self._lane.is_unclear or self._node.roster.any_due()

    def note_stored_late(self, controllers: Collection[int]) -> None:
        self._stored_late.update(controllers)

    async def end_doubt(self) -> None:
        """Find out which changes were stored, and reload controllers that lack them."""
        if self._lane.is_unclear:
            await self._lane.look_again()
        late, self._stored_late = self._stored_late, set()
        if not late:
            return
        members = [one for one in self.running if one.number in late]
        log.warning(
            "restarting %d controllers: changes that were in doubt turned out to be stored",
            len(members),
        )
        await self._node.drop(members)
        self._lane.clear(late)
        await self._start(sorted(one.number for one in members), {})

    async def drop_removed(self, placed: Sequence[Placed]) -> None:
        """Drop controllers whose removal was not confirmed, because the connection broke."""
        missing = self._registry.records.keys() - {one.number for one in placed}
        missed = [one for one in self.running if one.number in missing]
        if not missed:
            return
        # Controllers that were created after the last look still exist.
        there = await self._registry.locate([one.number for one in missed])
        numbers = {one.number for one in there}
        removed = [one for one in missed if one.number not in numbers and not one.has_left]
        if removed:
            names = ", ".join(one.name for one in removed)
            log.warning(
                "stopped controllers that were removed while the database was unreachable: %s",
                names,
            )
            await self.drop(removed)

    async def drop(self, members: Sequence[Member]) -> None:
        """Stop controllers that this node no longer has, and forget them."""
        await self._node.drop(members)
        self._forget([member.number for member in members])

    def list_unstarted(self, own: Iterable[Placed]) -> list[Placed]:
        """Return the controllers that this node has, but has never tried to start."""
        known = {member.number for member in self.present}
        return [one for one in own if one.number not in known]

    async def give_back(self, placed: Sequence[Placed]) -> set[int]:
        """Release controllers that were not started here; return their numbers."""
        numbers = [one.number for one in placed]
        await self._release(numbers, {})
        self._forget(numbers)
        return set(numbers)

    async def start(
        self,
        own: Sequence[Placed],
        awaited: Collection[str],
        is_outdated: Callable[[], bool],
    ) -> bool:
        """Start controllers of this node that do not run yet; return whether all were tried.

        Each batch begins with the controllers that clients are waiting for. Once the assignments
        are outdated, no further batch is started.
        """
        running = {member.number for member in self.running}
        roster = self._node.roster
        roster.keep_stored({one.number for one in own})
        due = {
            one.number: one.name
            for one in own
            if one.number not in running and roster.may_start(one.number)
        }
        while due:
            urgent = [one for one, name in due.items() if name in awaited] if awaited else []
            batch = list(islice(dict.fromkeys([*urgent, *due]), STARTED_AT_A_TIME))
            for one in batch:
                del due[one]
            await self._registry.take(batch)
            self._live |= await self._registry.take_live(batch)
            await self._start(batch, self._live)
            if due and is_outdated():
                return False
        return True

    async def _start(self, numbers: Sequence[int], live: Mapping[int, SavedLive]) -> None:
        """Start controllers; log each cause of a failure once."""
        known = self._node.roster.reasons_by_number(numbers)
        failed = await self._node.start_some(numbers, live=live)
        for number in numbers:
            if number not in failed:
                self._live.pop(number, None)
        for number, reason in failed.items():
            if reason != known.get(number):
                log.error("%s", reason)

    async def give_up(self, members: Sequence[Member]) -> set[int]:
        """Stop controllers cleanly and release them; return their numbers."""
        numbers = [member.number for member in members]
        running = [member for member in members if isinstance(member.state, Running)]
        failed = [member.number for member in members if isinstance(member.state, Failed)]
        # Remove the records of failed controllers first, so that nothing starts these here before
        # their release.
        self._node.roster.forget_stored(failed)
        self._registry.let_go(failed)
        # The saver must not write older state after the state that the next node resumes from.
        async with self._saver.writing:
            live = await self._node.hand_over(running)
            self._live |= live
            await self._release(numbers, live)
        self._forget(numbers)
        return set(numbers)

    async def _release(self, numbers: Sequence[int], live: Mapping[int, SavedLive]) -> None:
        await self._thread.run(
            partial(membership.release, claim=self._claim(), numbers=numbers, live=live)
        )
        self._figures.releases += len(numbers)

    def _forget(self, numbers: Sequence[int]) -> None:
        self._saver.forget(numbers)
        self._registry.let_go(numbers)
        for number in numbers:
            self._live.pop(number, None)


class _Numbered(Protocol):
    @property
    def number(self) -> int: ...


Own = TypeVar("Own", bound=_Numbered)


def choose_leaving(
    me: str, members: Sequence[Own], placed: Sequence[Placed], capacities: Mapping[str, int]
) -> list[Own]:
    """Choose controllers of this node that other nodes are to have, the last ones first.

    The choice depends on all assignments and on the capacities of the nodes.
    """
    others = {name for name in capacities if name != me}
    if not others:
        return []
    wanted = {one.number: one.wanted for one in placed}
    leaving = [one for one in members if wanted.get(one.number) in others]
    share = fair_shares(len(placed), capacities).get(me, 0)
    # While a controller has no node, wait: it is about to get one.
    if all(one.node is not None for one in placed):
        above = len(members) - len(leaving) - share
        movable = [one for one in members if wanted.get(one.number) is None or me not in capacities]
        leaving += movable[len(movable) - max(0, above) :] if above > 0 else []
    return list({one.number: one for one in leaving}.values())
