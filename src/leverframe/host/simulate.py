"""Run `leverframe simulate`: read the scenario, run it, print and record.

The timeline and the summary go to standard output and are the same for every run of the same
scenario; progress and duration go to standard error. The watchers of a run are called after every
deadline and do nothing if nothing changed, so that a quiet day costs nothing.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from heapq import merge
from itertools import count
from pathlib import Path
from typing import Protocol, TextIO

import msgspec
from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from leverframe.core.durations import text_from_seconds
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.runtime.event_loop import bulk_turns
from leverframe.devices.simulated.simulated_board import SimulatedBoard
from leverframe.host.assembly import ControllerHost, build
from leverframe.host.controller import Controller
from leverframe.host.scenario import (
    BadScenario,
    Happening,
    Order,
    Scenario,
    plant_from_table,
    read_scenario,
    request_parts,
    sentence_of,
)
from leverframe.host.simulation_report import RunRecorder, Summary, Timeline
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.interface.table.refusals import Refusal
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.routes.commands import CommandEndpoint
from leverframe.server.routes.sim import SimCommands
from leverframe.server.routes.sim_time import Advance
from leverframe.storage.history.worker import NullHistory
from leverframe.storage.store import MemoryStore

# Run one controller through a scenario in virtual time, without servers.
#
# The run moves from deadline to deadline, so its duration depends only on the number of events,
# and the same scenario always produces the same result. Watchers are called after every deadline;
# they print, record and summarize.

#: The recorded cause of the commands of a scenario.
BY_SCENARIO = "scenario"


class Watcher(Protocol):
    def observe(self, elapsed_s: float) -> None:
        """Observe the state after something may have changed."""

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
        """Start the controller and check the whole scenario, without running any of it."""
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
    """List all stops of a run in order; at equal times, events come before the step."""
    happenings = (Stop(happening.after_s, happening) for happening in scenario.happenings)
    steps = (Stop(number * step_s, is_step=True) for number in count()) if step_s else ()
    for stop in merge(happenings, steps, key=lambda stop: stop.after_s):
        if stop.after_s > for_s:
            break
        yield stop
    yield Stop(for_s)


#: The number of calls for each move of the progress bar.
LOOKS_PER_MOVE = 1000


async def simulate(
    scenario: Path, for_s: float, csv: Path | None, step_s: float | None, as_json: bool
) -> None:
    """Run a scenario; raise `BadScenario` with a sentence for users."""
    story = read_scenario(scenario)
    labels = story.record or _labels_of_plants(story)
    if csv is not None and not labels:
        raise BadScenario(f'{scenario} names nothing to record; add record = ["DS1", "OUT0"].')
    output, errors = Console(highlight=False), Console(stderr=True)
    simulation = await Simulation.start(story)
    controller, timezone = simulation.controller, story.timezone
    summary = Summary(controller, labels)
    watchers: list[Watcher] = [Timeline(controller, timezone, output, as_json=as_json), summary]
    began = time.monotonic()
    # Lines and progress bar must share a console; otherwise they overwrite each other.
    shown_on = output if output.is_terminal else errors
    with _csv_file(csv) as file, _progress(shown_on, for_s) as progress:
        if file is not None:
            on_change = step_s is None
            watchers.append(RunRecorder(controller, timezone, file, labels, on_change=on_change))
        await simulation.run(for_s, [*watchers, progress], step_s)
    summary.print(output, as_json=as_json)
    took_s = time.monotonic() - began
    errors.print(f"{text_from_seconds(for_s)} of {scenario.name} took {took_s:.1f} s")


def _labels_of_plants(scenario: Scenario) -> tuple[str, ...]:
    plants = [plant_from_table(table) for table in scenario.plants]
    labels = [label for plant in plants for label in (*plant.inputs, *plant.feeds)]
    return tuple(dict.fromkeys(labels))


@contextmanager
def _csv_file(path: Path | None) -> Iterator[TextIO | None]:
    if path is None:
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise BadScenario(f"{path} cannot be written: {error.strerror}.") from None
    with file:
        yield file


class _ProgressWatcher:
    """A watcher that moves a progress bar from time to time."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._looks = 0

    def observe(self, elapsed_s: float) -> None:
        self._looks += 1
        if self._looks % LOOKS_PER_MOVE == 0:
            self._progress.update(self._task, completed=elapsed_s)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: the calls after deadlines are enough."""


@contextmanager
def _progress(console: Console, for_s: float) -> Iterator[Watcher]:
    """Show a progress bar during the run if standard error is a terminal."""
    columns = (TextColumn("simulating"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield _ProgressWatcher(bar, bar.add_task("", total=for_s))
