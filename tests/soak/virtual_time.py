"""A controller in virtual time: hours in a moment, clocks that are set, kills, and a model of all.

One thing after the other, so that every state can be foretold.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any

from tests.soak import faults
from tests.soak.controller import Client, SoakedController
from tests.soak.durable import COUNTERS, Counters
from tests.soak.ledger import Ledger
from tests.soak.rules import COMMANDS, RuleModel

#: DS3 at least 20 for ten seconds sets EVENT4.
DELAYED_RULE = "/inpa.cgi?event=3*12*0*2000*0*0*13*0*0*0*0*0*1*10*0*0&eventon=3*1"
ON_DELAY_S = 10.0
#: OUT3 switches itself off.
SWITCH_OFF_S = 7
DAY_S = 86400.0
KILOWATTS = 3.6
#: Energy is written every minute.
MAX_LOST_KWH = KILOWATTS * 60 / 3600
MAX_MB, MAX_FILES = 250, 100


class VirtualTime:
    def __init__(self, controller: SoakedController, *, seed: int) -> None:
        self.ledger = controller.ledger
        self._controller = controller
        self._client = Client(controller)
        self._chance = Random(seed)
        self._counters = Counters(controller)
        self._rules = RuleModel(controller)
        #: What must have been counted, and what was found last.
        self._energy = self._found = 0.0

    async def run(self, seconds: float) -> None:
        await self._controller.start()
        for target in (
            f"/outs.cgi?ortime=3{SWITCH_OFF_S}",
            "/inpa.cgi?powsave=1&powsel=0*10",
            *COMMANDS,
            DELAYED_RULE,
        ):
            answer = await self._client.get(target)
            assert answer.status == 200, f"{target}: {answer.body!r}"
        await self._power_on()
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            await self._chance.choice(self._list_actions())()
            self._look()
        await self._counters.check(self._client)
        self._client.close()
        status = await self._controller.stop()
        self.ledger.require(status == 0, f"it ended with status {status}")

    def _list_actions(self) -> tuple[Callable[[], Awaitable[None]], ...]:
        feed, change = self._feed, self._change
        often = (feed, feed, feed, change, change, self._pass_time, self._pass_time)
        return (
            *(*often, *often),
            *(self._check_delayed_rule, self._timer_and_clock_step, self._pass_a_day),
            *(self._slow_disk, self._hanging_disk, self._hold_up, self._kill),
        )

    async def _power_on(self) -> None:
        await self._ok(f"/sim.cgi?m1={KILOWATTS}")

    async def _ok(self, target: str) -> None:
        answer = await self._client.get(target)
        self.ledger.require(answer.status == 200, f"{target}: {answer.status} {answer.body!r}")

    async def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = await self._client.json("/api/state")
        return state

    # --- what is done -------------------------------------------------------------------------

    async def _feed(self) -> None:
        await self._rules.feed_and_check(self._client, self._chance)

    async def _change(self) -> None:
        for name in COUNTERS:
            self.ledger.require(
                await self._counters.count(name, self._client), f"{name} was refused"
            )
        await self._counters.check(self._client)

    async def _pass_time(self) -> None:
        await self._advance(self._chance.choice((0.5, 1.0, 59.0, 60.0, 61.0, 1800.0, 7200.0)))

    async def _pass_a_day(self) -> None:
        await self._advance(DAY_S)

    async def _advance(self, seconds: float) -> None:
        """Clock, uptime and energy grow by just that."""
        before = await self._state()
        await self._ok(f"/sim.cgi?advance={seconds}")
        after = await self._state()
        self._energy += KILOWATTS * seconds / 3600
        self.ledger.counts["virtual hours"] += round(seconds / 3600)
        for what in ("time", "uptime"):
            passed = after[what] - before[what]
            self.ledger.require(
                abs(passed - seconds) < 0.001, f"{what} grew by {passed}, not by {seconds}"
            )
        found = after["ENERGY1"]
        self.ledger.require(
            abs(found - self._energy) < 0.001 * max(1.0, self._energy) and found >= self._found,
            f"ENERGY1 is {found}, {self._energy} are expected",
        )
        self._energy = self._found = found

    async def _check_delayed_rule(self) -> None:
        await self._ok("/sim.cgi?DS3=15")
        await self._ok(f"/sim.cgi?DS3=25&advance={ON_DELAY_S - 1}")
        await self._expect("EVENT4", 0, "a second before the delay ends")
        await self._ok("/sim.cgi?advance=1")
        await self._expect("EVENT4", 1, "when the delay ends")
        await self._ok("/sim.cgi?DS3=15")
        await self._expect("EVENT4", 0, "when the condition ends")
        self._energy += KILOWATTS * ON_DELAY_S / 3600

    async def _timer_and_clock_step(self) -> None:
        """A timer runs on whatever the clock on the wall is set to."""
        await self._ok("/outs.cgi?out3=1")
        now = int((await self._state())["time"])
        step_s = self._chance.choice((-30 * DAY_S, -3600.0, 3600.0, 400 * DAY_S))
        await self._ok(f"/stm.cgi?t_man={max(0, int(now + step_s))}")
        self.ledger.counts["fault: clock step"] += 1
        await self._ok(f"/sim.cgi?advance={SWITCH_OFF_S - 0.5}")
        await self._expect("OUT3", 1, "before it switches itself off")
        await self._ok("/sim.cgi?advance=1")
        await self._expect("OUT3", 0, "after it has switched itself off")
        self._energy += KILOWATTS * (SWITCH_OFF_S + 0.5) / 3600

    async def _expect(self, label: str, value: int, when: str) -> None:
        found = (await self._state())[label]
        self.ledger.require(found == value, f"{label} is {found} {when}")

    # --- what goes wrong ----------------------------------------------------------------------

    async def _slow_disk(self) -> None:
        """A change waits for the disk; outputs and time do not."""
        holding = asyncio.create_task(faults.slow_disk(self._controller, self._chance))
        await self._counters.count(self._chance.choice(COUNTERS), self._client)
        await self._feed()
        await holding
        await self._counters.check(self._client)

    async def _hanging_disk(self) -> None:
        holding = asyncio.create_task(faults.hanging_disk(self._controller, self._chance))
        await asyncio.sleep(0.05)
        for name in COUNTERS:
            await self._counters.count(name, self._client)
        await holding
        await self._change()

    async def _hold_up(self) -> None:
        await faults.hold_up(self._controller, self._chance)

    async def _kill(self) -> None:
        # Virtual minutes pass faster than a disk writes; what precedes a confirmed change is there.
        await self._counters.count("dword0", self._client)
        await faults.kill(self._controller, self._chance)
        self._client.close()
        found = (await self._state())["ENERGY1"]
        self.ledger.require(
            self._energy - MAX_LOST_KWH - 0.001 <= found <= self._energy + 0.001,
            f"ENERGY1 is {found} after a kill, was {self._energy}",
        )
        self._energy = self._found = found
        await self._counters.check(self._client)
        await self._power_on()

    def _look(self) -> None:
        self._controller.note_figures()
        most = self.ledger.greatest
        self.ledger.require(most["MB"] <= MAX_MB, f"it has {most['MB']:.0f} MB")
        self.ledger.require(
            most["open files"] <= MAX_FILES, f"{most['open files']:.0f} files are open"
        )


@asynccontextmanager
async def virtual_time(folder: Path, name: str, *, seed: int) -> AsyncIterator[VirtualTime]:
    controller = SoakedController(folder, Ledger(name), "--virtual-time")
    try:
        yield VirtualTime(controller, seed=seed)
    finally:
        await controller.kill()
