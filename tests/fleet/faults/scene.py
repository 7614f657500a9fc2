"""A fleet under load: nodes, their database, clients that count, and the receiver of messages."""

import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

from msgspec import Struct

from tests.fleet.faults.clients import BULK, CountingClient, DoorClient
from tests.fleet.faults.database_proxy import DatabaseProxy
from tests.fleet.faults.judging import Verdict, durable_messages, judge
from tests.fleet.faults.processes import FaultedFleet, NodeProcess
from tests.fleet.faults.witness import Witness, install
from tests.notify.http_server import HttpPeer, Taken, http_peer
from tests.notify.post_office import Bell
from tests.postgres_server import PostgresServer
from tests.postgres_standby import whichever
from tests.soak.controller import Gone
from tests.soak.ledger import Ledger

#: OUT0 is switched every second; m10 lets a rule send HTTP1, with m10 as the number of the message.
_SETTINGS = (
    "/outs.cgi?atout=0*1",
    "/outs.cgi?atout=6*1",
    "/outs.cgi?aout=01",
    "/inpa.cgi?event=0*45*0*0*0*0*24*0*0*0*0*0*1*0*0*0&eventon=0*1",
)
_TARGET = "/stm.cgi?http1=127.0.0.1:{port}/in/{name}?n=%250590"
#: Controllers that bulk changes are for.
TAG = "counted"
PATIENCE_S = 60.0
LOOK_S = 0.02
#: Less than a request is held for a controller that no node has.
RUNNING_WITHIN_S = 2.0


class Refused(Gone):
    """Nothing was done, as the answer says."""


class Size(Struct, frozen=True):
    """How large a scene is, and how fast."""

    nodes: int = 3
    controllers: int = 30
    #: The number of controllers, the last ones, without bulk changes.
    untagged: int = 0
    #: Between two changes of the same controller.
    pause_s: float = 0.1
    message_every: int = 10
    #: Of the times of a cluster: lease, beats, patience.
    shorten: float = 1.0


class FaultScene:
    def __init__(
        self,
        server: PostgresServer,
        fleet: FaultedFleet,
        proxy: DatabaseProxy,
        peer: HttpPeer,
        ledger: Ledger,
        size: Size,
        seed: int,
        standby: PostgresServer | None = None,
    ) -> None:
        self.server = server
        self._standby = standby
        self.fleet = fleet
        self.proxy = proxy
        self.ledger = ledger
        self.size = size
        self.seed = seed
        #: Random numbers for the faults, and for everything else.
        self.chance, self.dice = Random(seed), Random(seed + 1)
        self.clients: dict[str, CountingClient] = {}
        self.untagged: list[str] = []
        #: Are controllers moved now and then?
        self.is_moving = False
        #: Measured times, by their name.
        self.measured: defaultdict[str, list[float]] = defaultdict(list)
        #: Messages by controller and number.
        self.arrived: Counter[tuple[str, int]] = Counter()
        self.over = asyncio.Event()
        self._peer = peer
        self._tasks: list[asyncio.Task[None]] = []
        peer.answer = self._take

    def _take(self, request: Taken) -> tuple[int, dict[str, str]]:
        name, _, number = request.path.removeprefix("/in/").partition("?n=")
        self.arrived[name, abs(int(number))] += 1
        return 200, {}

    # --- beginning ----------------------------------------------------------------------------

    @property
    def proxied(self) -> NodeProcess:
        """The node that reaches the database by a way that can be cut."""
        return list(self.fleet.nodes.values())[-1]

    @property
    def standby(self) -> PostgresServer:
        assert self._standby is not None, "this scene has no standby"
        return self._standby

    def change_servers(self) -> None:
        """Swap the standby and the primary from now on."""
        self.server, self._standby = self.standby, self.server
        self.proxy.server = self.server

    async def begin(self) -> None:
        install(self.fleet)
        first, *others = [f"node-{number}" for number in range(1, self.size.nodes + 1)]
        await self.fleet.add_node(first)
        ways = [self.fleet.database] * len(others)
        ways[-1] = self.proxy.address(self.fleet.database)
        await asyncio.gather(*map(self.fleet.add_node, others, ways))
        count, untagged = self.size.controllers, self.size.untagged
        await self._add(f"count={count - untagged}&name=c-%7Bn%7D&tags={TAG}")
        if untagged:
            first = count - untagged + 1
            await self._add(f"count={untagged}&first={first}&name=c-%7Bn%7D")
        await self.wait_until_shared_out()
        names = [f"c-{number}" for number in range(1, count + 1)]
        self.untagged = names[count - untagged :]
        for name in names:
            self.clients[name] = CountingClient(self.fleet, name, self.ledger, self.seed)
        await asyncio.gather(*map(self._set_up, self.clients.values()))
        self._tasks = [
            asyncio.create_task(
                one.keep_counting(self.over, self.size.pause_s, self.size.message_every)
            )
            for one in self.clients.values()
        ]
        await self.wait_until_served(self.clients, time.monotonic())

    async def _add(self, query: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    await self.post(f"add?{query}")
                    return
                except Refused:
                    # On a busy machine a short lease may have run out for a moment.
                    await asyncio.sleep(0.1)

    async def _set_up(self, client: CountingClient) -> None:
        target = _TARGET.format(port=self._peer.port, name=client.name)
        for command in (target, *_SETTINGS):
            async with asyncio.timeout(PATIENCE_S):
                # On a busy machine a short lease may have run out for a moment.
                while (answer := await client.client.ask(command)).status == 503:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            assert answer.status == 200, f"{command}: {answer.body!r}"

    # --- asking -------------------------------------------------------------------------------

    async def post(self, what: str) -> dict[str, object]:
        """Ask a node for something that concerns many controllers; raise Gone without an answer,
        or with a refusal."""
        client = DoorClient(self.fleet, "", self.dice)
        try:
            answer = await client.ask(f"/api/fleet/{what}", "POST")
            if answer.status != 200:
                raise Refused(answer.body.decode()[:300])
            report: dict[str, object] = json.loads(answer.body)
            return report
        finally:
            client.close()

    def names_of(self, node: NodeProcess) -> list[str]:
        return [name for name, owner in self.fleet.owners().items() if owner == node.name]

    async def until(
        self, condition: Callable[[], bool], what: str, seconds: float = PATIENCE_S
    ) -> float:
        """Wait for something; return how long that took."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                self.ledger.violation(f"not within {seconds:g} s: {what}")
                break
            await asyncio.sleep(LOOK_S)
        return time.monotonic() - began

    async def wait_until_served(self, names: Iterable[str], since: float) -> float:
        """Wait until a change of each was acknowledged that was asked for since; return how long
        that took."""
        waiting = set(names)

        def all_served() -> bool:
            waiting.difference_update(
                [name for name in waiting if self.clients[name].last_asked > since]
            )
            return not waiting

        await self.until(all_served, f"changes of {sorted(waiting)[:3]} are acknowledged")
        return time.monotonic() - since

    async def wait_until_shared_out(self) -> None:
        """Wait until every node has its part."""
        until = time.monotonic() + PATIENCE_S
        while not await asyncio.to_thread(self.fleet.is_shared_out):
            if time.monotonic() > until:
                self.ledger.violation("the controllers are not shared out")
                return
            await asyncio.sleep(0.1)

    async def running(self) -> set[str]:
        """Return the controllers that answer soon, which those on their way do not."""
        found = set()

        async def look(name: str) -> None:
            client = DoorClient(self.fleet, name, self.dice)
            try:
                async with asyncio.timeout(RUNNING_WITHIN_S):
                    await client.json("/api/state")
                found.add(name)
            except (Gone, TimeoutError):
                pass
            finally:
                client.close()

        await asyncio.gather(*map(look, self.clients))
        return found

    async def switch_times(self, names: Collection[str], over: asyncio.Event) -> dict[str, float]:
        """Watch controllers until it is over; return the longest time between two switches."""
        times: dict[str, set[float]] = {name: set() for name in names}

        async def look(name: str) -> None:
            client = DoorClient(self.fleet, name, self.dice)
            while not over.is_set():
                try:
                    state = await client.json("/api/state")
                    times[name].add(state["switched"]["OUT0"]["time"])
                except (Gone, KeyError):
                    pass
                await asyncio.sleep(0.4)
            client.close()

        await asyncio.gather(*map(look, names))
        return {name: _longest_gap(seen) for name, seen in times.items()}

    async def bulk_change(self, number: int) -> None:
        """Set a number of many controllers together, and note each answer."""
        asked_at = time.monotonic()
        for name, client in self.clients.items():
            if name not in self.untagged:
                client.changes[BULK].doubtful.add(number)
        try:
            report = await self.post(f"send?command=eeprom.cgi%3Fdword{BULK}%3D{number}&tag={TAG}")
        except Gone:
            return
        results = report["results"]
        assert isinstance(results, list)
        for one in results:
            if one["status"] == 200:
                changes = self.clients[one["name"]].changes[BULK]
                changes.doubtful.discard(number)
                changes.acknowledged.add(number)
                changes.newest_at = asked_at

    # --- the end ------------------------------------------------------------------------------

    async def end(self, *, may_lose: bool = False) -> Verdict:
        """Stop counting, wait for the messages, and compare everything."""
        self.over.set()
        await asyncio.gather(*self._tasks)
        durable = durable_messages(await asyncio.to_thread(Witness, self.fleet))
        await self.until(lambda: durable.keys() <= set(self.arrived), "all messages have arrived")
        for node in self.fleet.nodes.values():
            log = node.log.read_text(errors="replace")
            self.ledger.require("Traceback" not in log, f"{node.name}: {_trace_in(log)}")
        return judge(self.fleet, self.clients, self.arrived, self.ledger, may_lose=may_lose)


def _longest_gap(times: set[float]) -> float:
    ordered = sorted(times)
    return max((b - a for a, b in zip(ordered, ordered[1:], strict=False)), default=1e9)


def _trace_in(log: str) -> str:
    return log[max(0, log.find("Traceback") - 300) :][:2500]


@asynccontextmanager
async def fault_scene(
    server: PostgresServer,
    folder: Path,
    ledger: Ledger,
    size: Size,
    seed: int,
    standby: PostgresServer | None = None,
) -> AsyncIterator[FaultScene]:
    """Begin a scene on a new database of a server, which may have a standby."""
    database = server.new_fleet()
    if standby is not None:
        database = whichever(database, server, standby)
    fleet = FaultedFleet(database, folder, size.shorten)
    proxy = DatabaseProxy(server)
    await proxy.start()
    async with http_peer(Bell()) as peer:
        scene = FaultScene(server, fleet, proxy, peer, ledger, size, seed, standby)
        try:
            await scene.begin()
            yield scene
        finally:
            scene.over.set()
            proxy.restore()
            await fleet.close()
            await proxy.close()
