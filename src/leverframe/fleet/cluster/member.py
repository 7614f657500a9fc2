"""A node of a cluster: it sends heartbeats, watches its peers, and runs its controllers.

Four activities run in parallel. One thread renews the lease with a heartbeat every half second.
Another thread reads all nodes just as often, declares silent nodes dead, and takes free controllers
up to the fair share. A task reconciles the controllers that run here with the database: it starts
controllers that the node has taken, and stops and releases those that another node is to have.
Another task notifies watchers when the lease comes into doubt, and when it is clear again.

While the lease is in doubt, requests are refused; controllers keep running. A node that was
declared dead drops all its controllers without writing, and starts another life.
"""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Iterable, Sequence
from contextlib import closing, suppress
from typing import Any, TypeVar

import psycopg
from msgspec import Struct
from msgspec.structs import replace

from leverframe.devices.wire.prometheus import Family
from leverframe.fleet.cluster import membership
from leverframe.fleet.cluster.database_setup import NameTaken, OpenedCluster, begin_life
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.heartbeat import BeatResult, DatabaseThread, Heartbeat
from leverframe.fleet.cluster.lease import BEAT_S, LEASE_S, PeerWatch, SeenNode
from leverframe.fleet.cluster.membership import ClaimedJob, Placed
from leverframe.fleet.cluster.node_calls import AskingNode, NodeCaller
from leverframe.fleet.cluster.own_controllers import (
    LiveSaver,
    Own,
    OwnControllers,
    choose_leaving,
)
from leverframe.fleet.member import Member
from leverframe.fleet.metrics import BatchRate, MemberFigures, cluster_families
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import ClusterReport, DatabaseReport, PeerReport
from leverframe.fleet.records import NoSuchController
from leverframe.interface.table.refusals import BadValue
from leverframe.storage.lanes.lane import LaneUnavailable
from leverframe.storage.lanes.postgres_connection import (
    PATIENCE_S,
    Connection,
    connect_until,
    first_line,
    is_broken,
    why_refused_for_all,
)
from leverframe.storage.lanes.postgres_lane import IN_DOUBT, Fenced, InDoubt
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

Result = TypeVar("Result")

#: Assignments are read again after this number of beats, even if no change was notified.
LOOK_AT_ALL_BEATS = 10
#: Number of controllers released in one step. After each step all nodes read the assignments.
GIVEN_UP_AT_A_TIME = 50
#: Number of controllers released in one step when the node leaves. Larger steps stop the node
#: sooner, but leave controllers without a node for somewhat longer.
LEFT_AT_A_TIME = 200
#: Longest wait for the outcome of a requested start; other starts may come first.
START_NOW_S = 30.0
_DATABASE = "database"


class ClusterView(Struct, frozen=True):
    """The result of one read of the database."""

    nodes: list[SeenNode]
    #: None if nothing has changed since the last step.
    placed: list[Placed] | None
    jobs: list[ClaimedJob]


class ClusterMember(AskingNode):
    """The life of a node, from its registration until it resigns."""

    def __init__(self, opened: OpenedCluster, node: FleetNode, caller: NodeCaller) -> None:
        super().__init__(node, opened.registry, opened.directory, opened.lease, caller)
        self.identity = opened.identity
        self._address = opened.address
        self._claim = opened.claim
        self._lane = opened.lane
        self._saver = LiveSaver(opened.address, node, opened.lease, lambda: self._claim)
        self._live_state_every = opened.live_state_every
        self._watch = PeerWatch(self.identity.name)
        self._heart = Heartbeat(opened.address, opened.lease)
        self._thread = DatabaseThread("membership", opened.address, self._hear_of_news)
        # Only the thread uses it.
        self._beats_until_all = -1
        self._changed = asyncio.Event()
        #: Notified after each reconciliation of the controllers that run here.
        self._settled = asyncio.Condition()
        #: Set once the node has tried to start all controllers that it had at startup.
        self._has_settled = asyncio.Event()
        self._is_fenced = False
        self._tasks: list[asyncio.Task[None]] = []
        self._is_leaving = False
        self._is_doubt_known = False
        self.figures = MemberFigures()
        self._own = OwnControllers(
            *(node, opened.lane, opened.registry, self._saver, self._thread),
            *(lambda: self._claim, self.figures),
        )
        self._database = DatabaseReport()
        self._batch_rate = BatchRate()
        self._loop = asyncio.get_running_loop()
        node.watchers.add(opened.directory.wake)
        opened.lane.on_end = self._report_end
        opened.lane.on_stored_late = self._report_late

    # --- life -------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Announce the node, take and start a share of the controllers, and maintain the share."""
        address = self.identity.address
        await self._thread.run(lambda it: membership.announce(it, self._claim, address))
        await self._beat_once()
        await self._look_once()
        self._changed.set()
        loop = asyncio.get_running_loop()
        # Send heartbeats before the controllers start: thousands of starts take longer than a
        # lease.
        steps = (self._beat_once, self._look_once, self._notify_of_doubt_once)
        self._tasks = [loop.create_task(self._repeat(step)) for step in steps]
        self._tasks.append(loop.create_task(self._act()))
        if self._live_state_every is not None:
            self._tasks.append(loop.create_task(self._saver.run(self._live_state_every)))
        await self._has_settled.wait()

    async def leave(self) -> None:
        """Release all controllers and resign; other nodes take over immediately."""
        self._is_leaving = True
        beating, others = self._tasks[:1], self._tasks[1:]
        await _end_tasks(others)
        try:
            if await self._is_certain():
                with suppress(psycopg.Error, StoreUnavailable):
                    await self._give_up(self._own.running, LEFT_AT_A_TIME)
                    await self._thread.run(lambda it: membership.resign(it, self._claim))
        finally:
            # Heartbeats continue until now: stopping thousands of controllers takes longer than a
            # lease.
            await _end_tasks(beating)
            self._heart.close()
            self._thread.close()
            self._saver.close()

    async def _is_certain(self) -> bool:
        """Return whether the lease is valid; wait for a heartbeat if a busy loop delayed it."""
        until = self._loop.time() + LEASE_S
        while self.lease.is_in_doubt and _DATABASE not in self._node.troubles:
            if self.lease.ended is not None or self._is_fenced or self._loop.time() >= until:
                return False
            await asyncio.sleep(BEAT_S / 10)
        return not self.lease.is_in_doubt

    async def _repeat(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            try:
                await step()
            except asyncio.CancelledError:
                raise
            except Exception:
                log.exception("a cluster membership update failed")
                await asyncio.sleep(BEAT_S)

    async def _act(self) -> None:
        while True:
            await self._changed.wait()
            self._changed.clear()
            if await self._settle_if_possible():
                self._has_settled.set()
            async with self._settled:
                self._settled.notify_all()

    async def _settle_if_possible(self) -> bool:
        """Reconcile the controllers that run here; log errors instead of raising them."""
        try:
            return await self._settle()
        except asyncio.CancelledError:
            raise
        except (psycopg.Error, StoreUnavailable) as error:
            log.warning("controllers cannot move between nodes now: %s", first_line(error))
        except Exception:
            log.exception("controllers could not move between nodes")
        return True

    # --- requests of users -----------------------------------------------------------------------

    async def move(self, names: Sequence[str], to: str | None) -> None:
        """Pin controllers to a node while it is alive; None unpins them."""
        if to is not None:
            self._require(to, [one.name for one in self.nodes if one.is_alive])
        missing = await self._ask_once(lambda it: membership.want(it, names, to))
        if missing is not None:
            raise NoSuchController(f"There is no controller {missing[:40]!r}.", field="name")

    async def start_now(self, numbers: Collection[int]) -> dict[int, str]:
        """Retry failed controllers of this node immediately; return the reason for each failure."""
        roster = self._node.roster
        roster.retry_now(numbers)
        self._changed.set()
        # While the lease is in doubt, no start is tried.
        with suppress(TimeoutError):
            async with asyncio.timeout(START_NOW_S), self._settled:
                await self._settled.wait_for(lambda: not roster.any_due(numbers))
        return roster.reasons_by_number(numbers)

    async def drain(self, name: str, *, undo: bool) -> None:
        """Drain a node, also across restarts, or let it accept controllers again."""
        self._require(name, [one.name for one in self.nodes if one.is_alive or undo])
        await self._ask_once(lambda it: membership.set_drained(it, name, is_drained=not undo))

    async def forget(self, name: str) -> None:
        """Remove a dead node from the list; a later start registers it as new."""
        gone = [one.name for one in self.nodes if not one.is_alive]
        if not await self._ask_once(lambda it: membership.forget(it, name)):
            raise BadValue(
                f"There is no stopped node {name[:40]!r}.",
                field="node",
                allowed=", ".join(gone),
            )

    def _require(self, name: str, among: list[str]) -> None:
        if name not in among:
            raise BadValue(
                f"No running node is named {name[:40]!r}.",
                field="node",
                allowed=", ".join(among),
            )

    def report(self) -> ClusterReport:
        counts = Counter(one.node for one in self._placed)
        return ClusterReport(
            [
                PeerReport(
                    name=one.name,
                    is_alive=one.is_alive,
                    inner=one.address,
                    capacity=one.capacity,
                    controllers=counts[one.name],
                    epoch=one.epoch,
                    is_this=one.name == self.identity.name,
                    is_drained=one.is_drained,
                    silent_s=self._silent_s(one),
                    batch=one.batch,
                    version=one.version,
                    has_resigned=one.has_resigned,
                )
                for one in self.nodes
            ],
            counts[None],
            self.lease.seconds_left,
            self.lease.is_in_doubt,
            self._lane.batch,
            replace(
                self._database,
                is_reachable=_DATABASE not in self._node.troubles,
                batches_s=self._batch_rate.per_second,
                last_doubt=self._lane.figures.last_doubt,
            ),
        )

    def _silent_s(self, node: SeenNode) -> int:
        if node.name == self.identity.name:
            return int(self.lease.age_s)
        return int(self._watch.silence_s(node.name, self.lease.now())) if node.is_alive else 0

    def families(self) -> Iterable[Family]:
        doors = self._directory.figures
        return cluster_families(self.report(), self.figures, doors, self.lease.age_s)

    async def _ask_once(self, work: Callable[[Connection], Result]) -> Result:
        """Carry out a user's request on a separate connection: the thread may be waiting."""

        def ask() -> Result:
            # Clients of a node do not get the address of the database.
            with closing(connect_until(self._address, time.monotonic() + PATIENCE_S)) as connection:
                try:
                    return work(connection)
                except psycopg.Error as error:
                    why = None if is_broken(connection) else why_refused_for_all(error)
                    if why is None:
                        raise InDoubt(IN_DOUBT) from error
                    raise StoreUnavailable(why) from error

        return await asyncio.to_thread(ask)

    # --- keeping the lease ------------------------------------------------------------------------

    async def _beat_once(self) -> None:
        """Send a heartbeat when it is due, and record the result."""
        claim, lane, began = self._claim, self._lane, time.monotonic()
        was_connected = self._heart.is_connected
        loop = asyncio.get_running_loop()
        # A database that hangs does not break the connection, but must be reported as well.
        hangs = loop.call_later(LEASE_S, self._note_away, StoreUnavailable("it does not answer"))
        try:
            pulse = await self._heart.beat(claim, lambda: lane.batch, BEAT_S)
        except (psycopg.Error, StoreUnavailable) as error:
            self._note_away(error)
            # A broken connection is replaced immediately, before peers miss the session twice.
            if not was_connected:
                await asyncio.sleep(BEAT_S)
            return
        finally:
            hangs.cancel()
        was_away = self._node.troubles.pop(_DATABASE, None) is not None
        if was_away or time.monotonic() - began > LEASE_S:
            # Starts that were waiting for the database need not wait any longer.
            self._node.roster.retry_now()
        if pulse is BeatResult.WENT_BACK:
            lane.note_lost()
        # If the heartbeat belonged to an earlier life, its result says nothing about the present
        # one.
        elif pulse is BeatResult.LIFE_IS_OVER and claim == self._claim:
            self._is_fenced = True
            self._changed.set()

    async def _look_once(self) -> None:
        """Wait for a notification or the time of the next look, then read the changes."""
        was_connected = self._thread.is_connected
        try:
            seen = await self._thread.run(self._look_and_claim)
        except (psycopg.Error, StoreUnavailable):
            self._watch.forget()
            if not was_connected:
                await asyncio.sleep(BEAT_S)
            return
        self.nodes = seen.nodes
        self._batch_rate.note(sum(one.batch for one in seen.nodes), time.monotonic())
        if seen.placed is not None:
            self._take_placement(seen.placed)
            self._registry.take_jobs(seen.jobs)
            with suppress(psycopg.Error, StoreUnavailable):
                await self._registry.load_accounts()
                await self._node.look_at_accounts()
        if seen.placed is not None or self._own.is_unsettled:
            self._changed.set()

    def _note_away(self, error: Exception) -> None:
        if _DATABASE not in self._node.troubles:
            log.error("the database cannot be reached: %s", first_line(error))
        self._node.troubles[_DATABASE] = (
            "The database cannot be reached. Controllers keep running with their present "
            "settings; nothing can be changed until it is back."
        )

    async def _notify_of_doubt_once(self) -> None:
        """Notify the watchers of all controllers when the lease comes into doubt, or is clear."""
        await asyncio.sleep(BEAT_S)
        is_in_doubt = self.lease.is_in_doubt
        if is_in_doubt is self._is_doubt_known:
            return
        self._is_doubt_known = is_in_doubt
        for name in tuple(self._node.members):
            # Notifying thousands of controllers takes seconds. These pauses let heartbeats be
            # counted in the meantime; a controller may leave during a pause.
            await asyncio.sleep(0)
            if (member := self._node.members.get(name)) is not None:
                member.controller.tell_findings()

    def _take_placement(self, placed: list[Placed]) -> None:
        self._placed = placed
        self._names = {one.number: (one.name, one.tenant) for one in placed}
        # Another node may have created a controller that this node failed to create from its file.
        self._node.roster.forget_unmade([one.name for one in placed])
        places = {one.name: _place(one) for one in self.nodes if one.is_alive and one.address}
        self._directory.replace({one.name: one.node for one in placed}, places)

    def _hear_of_news(self, connection: Connection) -> None:
        connection.execute(f"LISTEN {membership.CHANNEL}")
        self._beats_until_all = -1

    def _look_and_claim(self, connection: Connection) -> ClusterView:
        """Read the changes, and take free controllers, in the thread."""
        pause = 0.0 if self._beats_until_all < 0 else BEAT_S
        has_news = any(True for _ in connection.notifies(timeout=pause, stop_after=1))
        nodes = membership.read_nodes(connection)
        for dead in self._watch.look(nodes, self.lease.now()):
            if not self.lease.is_in_doubt and membership.declare_dead(connection, dead):
                log.warning("node %s is dead; its controllers are free", dead.name)
                self.figures.takeovers += 1
                has_news = True
        self._beats_until_all -= 1
        if not (has_news or self._beats_until_all < 0):
            return ClusterView(nodes, None, [])
        # Notifications that arrive while the lease is in doubt are processed when it is clear.
        is_in_doubt = self.lease.is_in_doubt
        is_soon_clear = is_in_doubt and self.lease.ended is None
        self._beats_until_all = 0 if is_soon_clear else LOOK_AT_ALL_BEATS
        if not (is_in_doubt or self._is_leaving):
            nodes = membership.read_nodes(connection)
            self.figures.claims += len(membership.claim_free(connection, self._claim, nodes))
            membership.claim_jobs(connection, self._claim, nodes)
        self._database = membership.about_database(connection)
        # Read the jobs last, so that they include every job of which a controller that was just
        # taken has a row.
        return ClusterView(nodes, membership.read_places(connection), membership.jobs(connection))

    # --- reconciling ------------------------------------------------------------------------------

    async def _settle(self) -> bool:
        """Start and stop controllers as the database says; return False if changes interrupt it."""
        if self.lease.ended is not None:
            # The node serves no clients until it is restarted: continuing would hide the loss of
            # changes.
            return True
        if self._is_fenced:
            await self._restart_life()
            return True
        if self.lease.is_in_doubt:
            return True
        await self._own.end_doubt()
        await self._own.drop_removed(self._placed)
        await self._give_back_unstarted()
        if not await self._own.start(self._list_own(), self._directory.awaited, self._is_outdated):
            return False
        await self._node.jobs_taken()
        leaving = self._choose_leaving(self._own.present)
        await self._give_up(leaving[:GIVEN_UP_AT_A_TIME])
        return True

    def _list_own(self) -> list[Placed]:
        return [one for one in self._placed if one.node == self.identity.name]

    def _is_outdated(self) -> bool:
        """Return whether the assignments may be outdated, so that no more controllers may start."""
        return self._changed.is_set() or self._is_fenced or self.lease.is_in_doubt

    def _choose_leaving(self, own: Sequence[Own]) -> list[Own]:
        capacities = membership.capacities_of(self.nodes)
        return choose_leaving(self.identity.name, own, self._placed, capacities)

    async def _give_back_unstarted(self) -> None:
        """Release controllers that other nodes are to have, instead of starting them here first."""
        unstarted = self._own.list_unstarted(self._list_own())
        if unstarted:
            own: list[Member | Placed] = [*self._own.present, *unstarted]
            leaving = self._choose_leaving(own)
            given = [one for one in leaving if isinstance(one, Placed)]
            if given:
                self._note_released(await self._own.give_back(given))

    async def _give_up(
        self, members: Sequence[Member], at_a_time: int = GIVEN_UP_AT_A_TIME
    ) -> None:
        for begin in range(0, len(members), at_a_time):
            batch = members[begin : begin + at_a_time]
            self._note_released(await self._own.give_up(batch))

    def _note_released(self, numbers: Collection[int]) -> None:
        self._placed = [
            replace(one, node=None) if one.number in numbers else one for one in self._placed
        ]

    # --- doubt and death --------------------------------------------------------------------------

    def _report_end(self, error: LaneUnavailable) -> None:
        self._loop.call_soon_threadsafe(self._lane_ended, error)

    def _report_late(self, controllers: Collection[int]) -> None:
        self._loop.call_soon_threadsafe(self._note_late, tuple(controllers))

    def _note_late(self, controllers: Collection[int]) -> None:
        self._own.note_stored_late(controllers)
        self._changed.set()

    def _lane_ended(self, error: LaneUnavailable) -> None:
        if isinstance(error, Fenced):
            self._is_fenced = True
            self._changed.set()
        else:
            self._stay_out("database went back", error)

    def _stay_out(self, part: str, error: Exception) -> None:
        """Refuse all requests until this node is restarted."""
        log.critical("%s", error)
        self.lease.ended = str(error)
        self._node.troubles[part] = str(error)

    async def _restart_life(self) -> None:
        """Drop all controllers, which other nodes may have by now, and register again."""
        log.warning("this node was declared dead; it drops its controllers and restarts")
        # Stop the jobs before the next life can write anything.
        await self._node.jobs_lost()
        self.figures.fenced += 1
        await self._own.drop(self._own.running)
        try:
            self._claim = await self._thread.run(lambda it: begin_life(it, self.identity))
        except NameTaken as error:
            # If both nodes continued, they would end each other's lives forever.
            self._stay_out("name of the node", error)
            return
        self._registry.renew(self._claim)
        await self._lane.renew(self._claim)
        self._is_fenced = False


async def _end_tasks(tasks: Collection[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait for their end."""
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)


def _place(node: SeenNode) -> Place:
    host, _, port = node.address.rpartition(":")
    return Place(node.name, host, int(port))
