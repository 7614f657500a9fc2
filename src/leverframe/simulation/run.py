"""Run one controller through a scenario on virtual time, without servers.

The run moves from deadline to deadline, so its duration depends only on the number of events, and
the same scenario always produces the same result. Watchers are called after every deadline; those
in `simulate.py` print, record and summarize.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import count
from typing import Protocol

import msgspec
from msgspec import Struct

from leverframe.clock import VirtualClock
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.rights import UNRESTRICTED
from leverframe.controller import Controller
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.loop_shares import bulk_turns
from leverframe.process.build import build
from leverframe.process.controller_host import ControllerHost
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.routes.commands import CommandEndpoint
from leverframe.servers.routes.sim import SimCommands
from leverframe.servers.routes.sim_time import Advance
from leverframe.simulation.scenario import (
    Happening,
    Order,
    Scenario,
    plant_from_table,
    request_parts,
    sentence_of,
)
from leverframe.storage.history.worker import NullHistory
from leverframe.storage.store import MemoryStore

#: The recorded cause of the commands of a scenario.
BY_SCENARIO = "scenario"


class Watcher(Protocol):
    def observe(self, elapsed_s: float) -> None:
        """Observe what may have happened."""

    def step(self, elapsed_s: float) -> None:
        """Record that a step of the run is complete."""


class Stop(Struct, frozen=True):
    """A moment at which the run does more than handle deadlines."""

    after_s: float
    happening: Happening | None = None
    is_step: bool = False


class Simulation:
    """A started controller with its scenario."""

    def __init__(self, scenario: Scenario, built: ControllerHost, board: SimulatedBoard) -> None:
        self.scenario = scenario
        self.controller: Controller = built.controller
        self.board = board
        self._bench = SimCommands(built.controller, board)
        self._commands = CommandEndpoint(built.controller, Passwords(), lenient=False)
        for happening in scenario.happenings:
            self._check_sim(happening)

    @classmethod
    async def start(cls, scenario: Scenario) -> "Simulation":
        """Switch the power on; the whole scenario is checked, none of it has happened."""
        clock = VirtualClock(scenario.start)
        built = await build(
            scenario.profile,
            MemoryStore(),
            clock,
            scenario.timezone,
            history=NullHistory(),
        )
        board = built.controller.board.bench
        assert board is not None
        built.controller.take_writes(board.write_module)
        return cls(scenario, built, board)

    async def run(
        self, for_s: float, watchers: Sequence[Watcher] = (), step_s: float | None = None
    ) -> None:
        """Run `for_s` seconds of the scenario; raise `BadScenario` if an order is rejected."""
        begin, turns = self.controller.clock.read().now, bulk_turns()
        for table in self.scenario.plants:
            self.board.wire(plant_from_table(table))
        for stop in _stops(self.scenario, for_s, step_s):
            for _ in self.controller.time.live_until(begin + stop.after_s):
                self._observe(watchers, begin)
                if turns.is_over():
                    await turns.wait()
            if stop.happening is not None:
                await self._happen(stop.happening)
            self._observe(watchers, begin)
            if stop.is_step:
                for watcher in watchers:
                    watcher.step(stop.after_s)

    def _observe(self, watchers: Sequence[Watcher], begin: float) -> None:
        elapsed_s = self.controller.clock.read().now - begin
        for watcher in watchers:
            watcher.observe(elapsed_s)

    def _check_sim(self, happening: Happening) -> None:
        order = happening.sim
        if order is None:
            return
        try:
            steps = self._bench.steps(order.text)
        except Refusal as refusal:
            raise self.scenario.mistake(order, sentence_of(refusal)) from None
        if any(isinstance(step, Advance) for step in steps):
            why = "advance and until are not allowed in scenarios: use the time of [[at]] instead."
            raise self.scenario.mistake(order, why)

    async def _happen(self, happening: Happening) -> None:
        if happening.sim is not None:
            at, cause = (
                self.controller.clock.read(),
                Cause("scenario", f"line {happening.sim.line}"),
            )
            fact = Fact("bench", figures={"text": happening.sim.text})
            self.controller.engine.machine.journal.add(at.wall, cause, fact)
            await self._bench.run(happening.sim.text)
        for order in happening.commands:
            await self._command(order)

    async def _command(self, order: Order) -> None:
        path, query, body = request_parts(order)
        request = Request("POST", path, query, {}, body, BY_SCENARIO)
        try:
            answer = self._commands.handle(request, self._commands.commands(request), UNRESTRICTED)
        except Refusal as refusal:
            raise self.scenario.mistake(order, sentence_of(refusal)) from None
        reply = answer if isinstance(answer, Reply) else await answer
        if reply.status != 200:
            problem = msgspec.json.decode(reply.body)
            raise self.scenario.mistake(order, problem["detail"])


def _stops(scenario: Scenario, for_s: float, step_s: float | None) -> Iterator[Stop]:
    """List all stops of a run in order; events at a time come before its step."""
    happenings = (Stop(happening.after_s, happening) for happening in scenario.happenings)
    steps = (Stop(number * step_s, is_step=True) for number in count()) if step_s else ()
    for stop in merge(happenings, steps, key=lambda stop: stop.after_s):
        if stop.after_s > for_s:
            break
        yield stop
    yield Stop(for_s)
