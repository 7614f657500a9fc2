"""Nodes on one database through a random schedule of faults, with all kinds of work at the same
time.

    make soak ARGS="--fleet --minutes 30 --seed 1"

Clients count in every controller, as in `tests/fleet/faults/`. Besides, settings are changed in
bulk, backups are restored, sites are uploaded, versions are changed and controllers are moved.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import psycopg

from leverframe.interface.uploads.site import pack_site
from tests.fleet.faults.clients import CHANGES, DIRECT, MESSAGES, CountingClient
from tests.fleet.faults.judging import UNDER_WAY_S
from tests.fleet.faults.kinds import FROZEN_NODE_S, KINDS, Fault, stop_in_order
from tests.fleet.faults.promotion import promote_standby
from tests.fleet.faults.scene import FaultScene, Size, fault_scene
from tests.postgres_server import postgres_server
from tests.postgres_standby import standby_of
from tests.soak.controller import Gone
from tests.soak.ledger import Ledger

SIZE = Size(nodes=3, controllers=24, untagged=6, pause_s=0.2)
#: Between two faults, and between two pieces of work.
CALM_S, WORK_EVERY_S = (0.5, 5.0), (0.2, 2.0)
VERSIONS = ("1.74", "1.75")
_PAGE = "<title>site {number}</title>"


async def break_off(scene: FaultScene) -> None:
    """Break the connections of a node off whose last bytes arrive after it has made new ones."""
    scene.proxy.cut()
    await asyncio.sleep(scene.chance.uniform(0, 0.3))
    scene.proxy.break_off()
    await asyncio.sleep(scene.chance.uniform(0, 2.0))
    scene.proxy.restore()
    await scene.wait_until_served(scene.clients, time.monotonic())


FAULTS: dict[str, Fault] = {
    **KINDS,
    "stop in order": stop_in_order,
    "break off": break_off,
    "promote": promote_standby,
}


class FleetStory:
    def __init__(
        self,
        scene: FaultScene,
        seed: int,
        kinds: Collection[str] = FAULTS,
        calm_s: tuple[float, float] = CALM_S,
        work_every_s: tuple[float, float] = WORK_EVERY_S,
    ) -> None:
        self._kinds = sorted(kinds)
        self.ledger = scene.ledger
        self._calm_s = calm_s
        self._work_every_s = work_every_s
        self._scene = scene
        self._schedule = Random(seed)
        self._dice = Random(seed + 1)
        self._bulk = 0
        #: Uploads by controller: numbers that may be there.
        self._sites: dict[str, set[int]] = {}

    async def run(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        over = asyncio.Event()
        working = asyncio.create_task(self._work(over))
        # Each kind comes once before any comes again, and all of them at least once.
        waiting = self._order()
        while waiting or time.monotonic() < until:
            waiting = waiting or self._order()
            kind = waiting.pop()
            await asyncio.sleep(self._schedule.uniform(*self._calm_s))
            self.ledger.counts[f"fault: {kind}"] += 1
            began = time.monotonic()
            await FAULTS[kind](self._scene)
            took = time.monotonic() - began
            print(f"{self.ledger.line()}; {kind} took {took:.1f} s", flush=True)
        over.set()
        await working
        verdict = await self._scene.end()
        for name in verdict.__struct_fields__:
            self.ledger.counts[f"in all: {name.replace('_', ' ')}"] = getattr(verdict, name)
        self.ledger.counts["requests"] = verdict.acknowledged
        for what, times in self._scene.measured.items():
            self.ledger.note(f"s until {what}", max(times))

    def _order(self) -> list[str]:
        return self._schedule.sample(self._kinds, len(self._kinds))

    # --- work ---------------------------------------------------------------------------------

    async def _work(self, over: asyncio.Event) -> None:
        kinds: tuple[Callable[[], Awaitable[None]], ...] = (
            self._change_many,
            self._restore,
            self._upload,
            self._change_version,
            self._move,
        )
        while not over.is_set():
            work = self._dice.choice(kinds)
            try:
                await work()
                self.ledger.counts[f"work: {work.__name__.strip('_').replace('_', ' ')}"] += 1
            except (Gone, psycopg.Error):
                self.ledger.counts["work that a fault kept from being done"] += 1
            await asyncio.sleep(self._dice.uniform(*self._work_every_s))

    def _choose(self) -> CountingClient:
        """Choose one of the controllers that no bulk change is for."""
        return self._scene.clients[self._dice.choice(self._scene.untagged)]

    async def _change_many(self) -> None:
        self._bulk += 1
        await self._scene.bulk_change(self._bulk)

    async def _restore(self) -> None:
        """Restore what a backup has just saved; nothing else is changed in between."""
        one = self._choose()
        async with one.lock:
            for place in (CHANGES, MESSAGES, DIRECT):
                message = one.changes[place]
                if message.last and message.last not in message.acknowledged:
                    # What is not known may be in the controller and not in its backup.
                    raise Gone
            backup = await one.client.ask("/dev_settings.bin")
            if backup.status != 200:
                raise Gone
            try:
                answer = await one.client.ask("/post.cgi?settingsupload", "POST", backup.body)
            except Gone:
                # What is counted while it is under way would be set back, perhaps in one batch with
                # it, so that no one has ever seen it stored.
                await asyncio.sleep(FROZEN_NODE_S * self._scene.size.shorten + UNDER_WAY_S)
                raise
            self._judge(answer.status, f"restoring {one.name}", answer.body)

    async def _upload(self) -> None:
        one = self._choose()
        async with one.lock:
            known = self._sites.setdefault(one.name, {0})
            number = max(known) + 1
            site = pack_site({"index.html": _PAGE.format(number=number).encode()})
            try:
                answer = await one.client.ask("/post.cgi?wwwfileupload", "POST", site)
            except Gone:
                known.add(number)
                raise
            if answer.status == 200:
                known.clear()
            if answer.status in (200, 503):
                known.add(number)
            self._judge(answer.status, f"an upload to {one.name}", answer.body)
            shown = await one.client.ask("/")
            # Without the database, a node that has not read it yet shows the pages of its own.
            is_troubled = self.ledger.is_troubled("database", "node")
            if shown.status == 200 and 0 not in known and not is_troubled:
                pages = [_PAGE.format(number=number).encode() for number in known]
                self.ledger.require(
                    any(page in shown.body for page in pages),
                    f"{one.name} does not show an upload of {sorted(known)}: {shown.body[:80]!r}",
                )

    def _judge(self, status: int, what: str, body: bytes) -> None:
        self.ledger.counts[f"answered {status}"] += 1
        self.ledger.require(
            status in (200, 421, 503, 507), f"{what} was answered {status}: {body[:200]!r}"
        )
        if status != 200:
            raise Gone

    async def _change_version(self) -> None:
        """Let a controller be another version, which it becomes when it starts elsewhere."""
        name, version = self._choose().name, self._dice.choice(VERSIONS)
        query = (
            "UPDATE controller SET record = jsonb_set(record::jsonb, '{sw}', %s::jsonb)::text"
            " WHERE name = %s"
        )
        await asyncio.to_thread(self._scene.fleet.ask, query, json.dumps(version), name)
        await self._move_to_another(name)

    async def _move(self) -> None:
        await self._move_to_another(self._dice.choice(sorted(self._scene.clients)))

    async def _move_to_another(self, name: str) -> None:
        fleet = self._scene.fleet
        nodes = [node.name for node in fleet.nodes.values() if node.is_open]
        if not nodes:
            # The only other one is just being killed.
            return
        self._scene.is_moving = True
        await self._scene.post(f"move?name={name}&node={self._dice.choice(nodes)}")
        try:
            await asyncio.sleep(1.0)
        finally:
            await self._scene.post(f"move?name={name}")


@asynccontextmanager
async def fleet_story(folder: Path, seed: int) -> AsyncIterator[FleetStory]:
    ledger = Ledger(f"fleet, seed {seed}")
    with postgres_server() as server, standby_of(server, synchronous=True) as standby:
        async with fault_scene(server, folder, ledger, SIZE, seed, standby) as scene:
            yield FleetStory(scene, seed)


@asynccontextmanager
async def short_fleet_story(
    folder: Path, size: Size, kinds: Collection[str]
) -> AsyncIterator[FleetStory]:
    """The same with some faults and without pauses, for a test."""
    ledger = Ledger("fleet")
    with postgres_server() as server, standby_of(server, synchronous=True) as standby:
        async with fault_scene(server, folder, ledger, size, 1, standby) as scene:
            yield FleetStory(scene, 1, kinds, calm_s=(0.0, 0.2), work_every_s=(0.1, 0.3))


async def soak_fleet(folder: Path, seconds: float, seed: int) -> list[Ledger]:
    async with fleet_story(folder, seed) as story:
        await story.run(seconds)
        return [story.ledger]
