"""The live state of a node's controllers, saved at intervals for the nodes that take them over.

Only changed controllers are exported and written, all in one statement, and the database need not
sync it to disk. If both crash, the controllers start as after a power cut.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from msgspec import Struct

from leverframe.controller.hand_over import SavedLive, export_live, settings_digest
from leverframe.engine.portable_state import changes_of
from leverframe.engine.settings import Settings
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.cluster.live_rows import put_live
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.log_throttle import LogThrottle
from leverframe.loop_shares import in_turns
from leverframe.storage.fleet.postgres_connection import SharedConnection, first_line
from leverframe.storage.fleet.postgres_lane import Claim

log = logging.getLogger(__name__)

#: Controllers that are written in one statement.
WRITTEN_AT_A_TIME = 500
#: Journal entries that are saved; the whole journal would be most of what is written.
SAVED_ENTRIES = 20
#: Unchanged state is saved again after this, so that it does not count as too old.
SAVE_AGAIN_S = 60.0
_NOT_WAITED_FOR = "SET synchronous_commit = off"


class _Known(Struct):
    """What was last saved of a controller."""

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
        self._told = LogThrottle(log)
        #: Held while something is exported that is not written yet.
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
                # It is tried again with the next one.
                reason = first_line(error) or type(error).__name__
                self._told.warning(
                    "database",
                    "saving",
                    "live state could not be saved; next attempt with the next save: %s",
                    reason,
                )

    async def save(self) -> int:
        """Save the controllers that have changed; return how many."""
        now = time.monotonic()
        due = [one for one in self._node.members.values() if self._is_due(one, now)]
        for begin in range(0, len(due), WRITTEN_AT_A_TIME):
            async with self.writing:
                await self._write(due[begin : begin + WRITTEN_AT_A_TIME])
        return len(due)

    def forget(self, numbers: Iterable[int]) -> None:
        """Forget what was saved of controllers that this node no longer has."""
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
        """Return what a save of a controller now would record."""
        engine, known = member.controller.engine, self._known.get(member.number)
        settings = engine.settings
        if known is not None and known.settings is settings:
            digest = known.digest
        else:
            digest = settings_digest(member.controller.profile, settings)
        return _Known(changes_of(engine), settings, digest, time.monotonic())


async def _finish(write: Coroutine[Any, Any, None]) -> None:
    """Wait for the end of a write even when cancelled: nothing is written after that."""
    writing = asyncio.ensure_future(write)
    try:
        await asyncio.shield(writing)
    except asyncio.CancelledError:
        await asyncio.wait([writing])
        raise
