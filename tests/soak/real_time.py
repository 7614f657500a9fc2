"""A controller in real time, with a broker, a Modbus slave and an HTTP server that come and go."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from random import Random
from urllib.parse import quote

from tests.devices.pty_pair import PtyPair
from tests.notify.broker import PASSWORD, USER, Broker, Listener
from tests.notify.http_server import HttpPeer, http_peer
from tests.notify.post_office import Bell
from tests.soak import faults
from tests.soak.controller import DISK, HELD_UP, Client, Gone, SoakedController
from tests.soak.durable import COUNTERS, Counters
from tests.soak.ledger import Ledger
from tests.soak.messages import PREFIX, RULES, TARGET, Messages
from tests.soak.rules import COMMANDS, RuleModel

SLAVE = Path(__file__).parents[1] / "devices" / "modbus_slave.py"
#: What its registers hold, and what m1 therefore is: kilowatts for the meter of energy.
REGISTERS, KILOWATTS = [0, 36, 0, 0, 0, 0, 0, 0], 3.6
MAPPING = "*".join(["11", *["00"] * 29])
#: What a probe may take, without the time that the machine kept the two programs waiting.
MAX_LAG_S = 2.0
MAX_MB, MAX_FILES = 200, 150
#: Longer than readings of a slave are believed without being renewed.
LONGEST_SILENCE_S = 20.0
#: Energy that was not written yet when the process was killed, with room for a slow minute.
MAX_LOST_S = 90.0
Fault = Callable[[SoakedController, Random], Awaitable[None]]


@contextmanager
def modbus_slave() -> Iterator[tuple[str, int]]:
    """The port of the bus, and the process of the slave on it."""
    pair = PtyPair()
    slave = subprocess.Popen(
        [sys.executable, str(SLAVE), pair.first],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert slave.stdin is not None
        assert slave.stdout is not None
        with slave.stdin, slave.stdout:
            slave.stdin.write(json.dumps([{"id": 1, "runs": [[], [], [], [[0, REGISTERS]]]}]))
            slave.stdin.close()
            assert slave.stdout.readline() == "ready\n"
            yield pair.second, slave.pid
    finally:
        slave.kill()
        slave.wait()
        pair.close()


class RealTime:
    def __init__(
        self,
        controller: SoakedController,
        broker: Broker,
        server: HttpPeer,
        listener: Listener,
        slave_pid: int,
        *,
        seed: int,
        kills: bool,
    ) -> None:
        self._controller = controller
        self.ledger = controller.ledger
        self._broker = broker
        self._server = server
        self._slave_pid = slave_pid
        self._chance = Random(seed)
        self._kills = kills
        self._counters = Counters(controller)
        self._rules = RuleModel(controller)
        self._messages = Messages(controller, listener)
        server.answer = self._messages.take
        self._over = asyncio.Event()
        self._energy = (0, 0.0)
        self._longest_silence_s = LONGEST_SILENCE_S

    async def run(self, seconds: float) -> None:
        self._longest_silence_s = min(LONGEST_SILENCE_S, seconds / 3)
        await self._controller.start()
        await self._set_up()
        quiet = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for work in self._work():
                group.create_task(work)
            wrong = [
                group.create_task(self._go_wrong(quiet, self._own_faults(), 1.0, 4.0)),
                group.create_task(self._go_wrong(quiet, (self._away,), 0.5, 3.0)),
                group.create_task(self._go_wrong(quiet, (self._slave_silent,), 3.0, 6.0)),
            ]
            await asyncio.sleep(seconds)
            quiet.set()
            await asyncio.wait(wrong)
            self._over.set()
        await self._end()

    async def _set_up(self) -> None:
        client = Client(self._controller)
        mqtt = f"mqtt=1*127.0.0.1*{self._broker.port}*{USER}*{quote(PASSWORD)}*{PREFIX}*0"
        for target in (
            f"/stm.cgi?http1=127.0.0.1:{self._server.port}{TARGET}",
            f"/stm.cgi?{mqtt}",
            f"/stm.cgi?modbus_sensor=06&modbusid=01&modbusmapping={MAPPING}",
            "/inpa.cgi?powsave=1&powsel=0*10",
            *COMMANDS,
            *RULES,
        ):
            answer = await client.get(target)
            assert answer.status == 200, f"{target}: {answer.body!r}"
        client.close()

    # --- what goes wrong ----------------------------------------------------------------------

    def _own_faults(self) -> tuple[Fault, ...]:
        usual = (faults.slow_disk, faults.hanging_disk, faults.refusing_disk, faults.hold_up)
        # Never two of these together: a store that another program holds makes a start fail.
        return (*usual, faults.kill, faults.kill) if self._kills else usual

    async def _go_wrong(
        self, quiet: asyncio.Event, kinds: tuple[Fault, ...], least_s: float, max_s: float
    ) -> None:
        while not quiet.is_set():
            await asyncio.sleep(self._chance.uniform(least_s, max_s))
            await self._chance.choice(kinds)(self._controller, self._chance)

    async def _away(self, controller: SoakedController, chance: Random) -> None:
        seconds = chance.uniform(0.5, 5.0)
        kind = chance.choice(("broker stopped", "broker silent", "server refuses"))
        with self.ledger.fault(kind):
            if kind == "broker stopped":
                await self._broker.stop()
                await asyncio.sleep(seconds)
                await self._broker.start()
            elif kind == "broker silent":
                await faults.silent(self._broker.pid, seconds)
            else:
                self._messages.refusing = True
                await asyncio.sleep(seconds)
                self._messages.refusing = False

    async def _slave_silent(self, controller: SoakedController, chance: Random) -> None:
        with self.ledger.fault("slave silent"):
            await faults.silent(self._slave_pid, chance.uniform(1.0, self._longest_silence_s))

    # --- what it does during that -------------------------------------------------------------

    def _work(self) -> tuple[Coroutine[None, None, None], ...]:
        counters = [name for name in COUNTERS if name != "dword2"]
        return (
            *(self._counters.keep_counting(name, self._over, 0.02) for name in counters),
            self._messages.keep_firing(self._counters, self._over, 0.2),
            self._again(self._switch, 0.05),
            self._again(lambda client: self._rules.feed_and_check(client, self._chance), 0.05),
            self._again(self._probe, 0.2),
            self._again(self._look, 1.0),
        )

    async def _again(self, work: Callable[[Client], Awaitable[None]], pause_s: float) -> None:
        client = Client(self._controller)
        while not self._over.is_set():
            try:
                await work(client)
            except Gone:
                continue
            await asyncio.sleep(pause_s)
        client.close()

    async def _switch(self, client: Client) -> None:
        """An output is as commanded; nothing else switches these."""
        life = self._controller.life
        number, on = self._chance.randrange(4), self._chance.randrange(2)
        answer = await client.get(f"/outs.cgi?out{number}={on}")
        state = await client.json("/api/state")
        if life == self._controller.life:
            self.ledger.require(answer.status == 200, f"switching was answered {answer.status}")
            found = state[f"OUT{number}"]
            self.ledger.require(found == on, f"OUT{number} is {found}, commanded was {on}")

    async def _probe(self, client: Client) -> None:
        """Whatever happens around it, the loop of the controller answers soon."""
        lateness = asyncio.create_task(own_lateness())
        life, began = self._controller.life, time.monotonic()
        waited_s = self._controller.seconds_waited()
        try:
            await client.get("/health")
            took_s = time.monotonic() - began
        finally:
            lateness.cancel()
        late_s = await lateness + self._controller.seconds_waited() - waited_s
        if life == self._controller.life and not self.ledger.is_troubled(HELD_UP, "kill -9"):
            own_s = max(0.0, took_s - late_s)
            self.ledger.note("ms for an answer", 1000 * took_s)
            self.ledger.note("ms of that its own", 1000 * own_s)
            self.ledger.require(
                own_s <= MAX_LAG_S, f"/health took {took_s:.2f} s, {late_s:.2f} s the machine's"
            )

    async def _look(self, client: Client) -> None:
        life = self._controller.life
        self._controller.note_figures()
        most = self.ledger.greatest
        self.ledger.require(most["MB"] <= MAX_MB, f"it has {most['MB']:.0f} MB")
        self.ledger.require(
            most["open files"] <= MAX_FILES, f"{most['open files']:.0f} files are open"
        )
        await self._counters.check(client)
        state = await client.json("/api/state")
        if life == self._controller.life:
            self._check_modbus_and_energy(life, state["m1"], state["ENERGY1"])

    def _check_modbus_and_energy(self, life: int, m1: float | None, energy: float) -> None:
        self.ledger.require(m1 in (None, KILOWATTS), f"m1 is {m1}")
        former_life, former = self._energy
        lost = 0.0 if former_life == life else KILOWATTS * MAX_LOST_S / 3600
        if former_life == life or not self.ledger.is_troubled(DISK, aftermath_s=MAX_LOST_S):
            self.ledger.require(
                energy >= former - lost, f"ENERGY1 went from {former:.4f} to {energy:.4f}"
            )
        self._energy = (life, energy)

    # --- the end ------------------------------------------------------------------------------

    async def _end(self) -> None:
        """All faults are over: everything is well again, arrived, and there after a restart."""
        await self._messages.check_at_the_end()
        client = Client(self._controller)
        await self._until_well(client)
        await self._counters.check(client)
        client.close()
        status = await self._controller.stop()
        self.ledger.require(status == 0, f"it ended with status {status}")
        await self._controller.start()
        await self._counters.check(client)
        client.close()
        await self._controller.stop()

    async def _until_well(self, client: Client) -> None:
        deadline = time.monotonic() + 60
        while True:
            state, health = await client.json("/api/state"), await client.json("/health")
            if state["m1"] == KILOWATTS and state["MQTT"] == 1 and health["status"] == "ok":
                return
            if time.monotonic() > deadline:
                self.ledger.violation(
                    f"still not well: {health}, m1 {state['m1']}, MQTT {state['MQTT']}"
                )
                return
            await asyncio.sleep(0.5)


async def own_lateness() -> float:
    """Until cancelled: how late this program itself was let run, at worst."""
    worst, last = 0.0, time.monotonic()
    try:
        while True:
            await asyncio.sleep(0.01)
            now = time.monotonic()
            worst, last = max(worst, now - last - 0.01), now
    except asyncio.CancelledError:
        return max(worst, time.monotonic() - last - 0.01)


@asynccontextmanager
async def real_time(folder: Path, name: str, *, seed: int, kills: bool) -> AsyncIterator[RealTime]:
    """The story with all that belongs to it."""
    broker = Broker(folder)
    listener = Listener(broker, f"{PREFIX}/notify")
    await broker.start()
    try:
        # Its session is there before anything is sent, and the broker keeps it.
        await listener.start_as("listener")
        async with http_peer(Bell()) as server:
            with modbus_slave() as (port, slave_pid):
                config = folder / "config.toml"
                config.write_text(f'serial_modbus = "{port}"\nallow_local_targets = true\n')
                controller = SoakedController(folder, Ledger(name), "--config", str(config))
                try:
                    yield RealTime(
                        controller, broker, server, listener, slave_pid, seed=seed, kills=kills
                    )
                finally:
                    await controller.kill()
    finally:
        await listener.stop()
        await broker.kill()
