"""`leverframe simulate`: read, run, print, record.

The timeline and the summary go to standard output and are the same for every run of the same
scenario; progress and duration go to standard error. The watchers of a run are called after every
deadline and do nothing if nothing changed, so that a quiet day costs nothing.
"""

import csv
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from leverframe.controller import Controller
from leverframe.durations import text_from_seconds
from leverframe.engine.effects import Notify
from leverframe.engine.labels import OUTPUTS, PWMS
from leverframe.engine.machine import Value
from leverframe.engine.pwm import DUTIES
from leverframe.simulation.run import Simulation, Watcher
from leverframe.simulation.scenario import BadScenario, Scenario, plant_from_table, read_scenario

#: The progress bar moves at most once in this number of calls.
LOOKS_PER_MOVE = 1000
_CAUSE_COLOUR = {"rule": "cyan", "schedule": "green", "watchdog": "magenta", "timer": "blue"}


async def simulate(scenario: Path, for_s: float, csv: Path | None, step_s: float | None) -> None:
    """Run a scenario; raise `BadScenario` with a sentence for users."""
    story = read_scenario(scenario)
    labels = story.record or _labels_of_plants(story)
    if csv is not None and not labels:
        raise BadScenario(f'{scenario} names nothing to record; add record = ["DS1", "OUT0"].')
    output, errors = Console(highlight=False), Console(stderr=True)
    simulation = await Simulation.start(story)
    summary = Summary(simulation, labels)
    watchers: list[Watcher] = [Timeline(simulation, output), summary]
    began = time.monotonic()
    # Lines and bar must use the same console, or they overwrite each other.
    shown_on = output if output.is_terminal else errors
    with _csv_file(csv) as file, _progress(shown_on, for_s) as progress:
        if file is not None:
            watchers.append(RunRecorder(simulation, file, labels, on_change=step_s is None))
        await simulation.run(for_s, [*watchers, progress], step_s)
    output.print(summary.table())
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


class Timeline:
    """Prints every journal entry and every message: when, what, why."""

    def __init__(self, simulation: Simulation, console: Console) -> None:
        self._controller = simulation.controller
        self._timezone = simulation.scenario.timezone
        self._console = console
        self._number = 0
        self._day = ""
        self._controller.on_notify = self._notify

    def observe(self, elapsed_s: float) -> None:
        for entry in self._controller.engine.machine.journal.since(self._number):
            self._number = entry.number
            self._print(entry.wall, entry.text, str(entry.cause), entry.cause.kind)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: steps are for recorders."""

    def _notify(self, message: Notify) -> None:
        wall = self._controller.clock.read().wall
        slot = f" {message.slot}" if message.slot else ""
        about = "" if message.label is None else f", {message.label} is {message.value}"
        begins = "begins" if message.active else "ends"
        self._print(
            wall, f"sends {message.channel}{slot} ({begins}{about})", message.reason, "message"
        )

    def _print(self, wall: float, what: str, why: str, kind: str) -> None:
        local = datetime.fromtimestamp(wall, self._timezone)
        day = f"{local:%a %d %b %Y}"
        if day != self._day:
            self._day = day
            self._console.print(Text(day, style="bold"))
        line = Text(f"  {local:%H:%M:%S}  {what:<44}  ")
        line.append(why, style=_CAUSE_COLOUR.get(kind, "yellow"))
        self._console.print(line, soft_wrap=True)


class RunRecorder:
    """Writes values to a CSV file: at every step, or without steps at every change."""

    def __init__(
        self, simulation: Simulation, file: TextIO, labels: Sequence[str], *, on_change: bool
    ) -> None:
        self._controller = simulation.controller
        self._timezone = simulation.scenario.timezone
        self._labels = labels
        self._on_change = on_change
        self._writer = csv.writer(file, lineterminator="\n")
        self._writer.writerow(["time", "seconds", *labels])
        self._version = _Version()
        self._last: list[Value] | None = None

    def observe(self, elapsed_s: float) -> None:
        if self._on_change and self._version.is_new(self._controller):
            values = self._values()
            if values != self._last:
                self._last = values
                self._write(elapsed_s, values)

    def step(self, elapsed_s: float) -> None:
        if not self._on_change:
            self._write(elapsed_s, self._values())

    def _values(self) -> list[Value]:
        known = self._controller.engine.values
        return [known[label] for label in self._labels]

    def _write(self, elapsed_s: float, values: Iterable[Value]) -> None:
        at = self._controller.clock.read()
        local = datetime.fromtimestamp(at.wall, self._timezone)
        cells = ("" if value is None else f"{value:.10g}" for value in values)
        self._writer.writerow([local.isoformat(), f"{elapsed_s:.12g}", *cells])


class _Version:
    """A detector of possible changes of values."""

    def __init__(self) -> None:
        self._seen: tuple[object, int] | None = None

    def is_new(self, controller: Controller) -> bool:
        now = (controller.engine, controller.engine.machine.version)
        if now == self._seen:
            return False
        self._seen = now
        return True


class _Track:
    """One value over time: its range, its mean while present, its changes."""

    def __init__(self) -> None:
        self.value: Value = None
        self.low: float | None = None
        self.high: float | None = None
        self.changes = 0
        self._since = 0.0
        self._sum = 0.0
        self._known_s = 0.0

    def put(self, value: Value, elapsed_s: float) -> None:
        if value == self.value and (value is None) == (self.value is None):
            return
        self.live_until(elapsed_s)
        self.changes += self.value is not None
        self.value = value
        if value is not None:
            self.low = value if self.low is None else min(self.low, value)
            self.high = value if self.high is None else max(self.high, value)

    def live_until(self, elapsed_s: float) -> None:
        if self.value is not None:
            self._sum += self.value * (elapsed_s - self._since)
            self._known_s += elapsed_s - self._since
        self._since = elapsed_s

    @property
    def seconds(self) -> float:
        """Return how long a state was 1."""
        return self._sum

    @property
    def mean(self) -> float | None:
        return self._sum / self._known_s if self._known_s else self.value


class Summary:
    """Outputs that were switched and readings that were recorded, one line each."""

    def __init__(self, simulation: Simulation, labels: Sequence[str]) -> None:
        self._controller = simulation.controller
        self._version = _Version()
        readings = [label for label in labels if label not in OUTPUTS]
        self._tracks = {label: _Track() for label in (*OUTPUTS, *PWMS, *DUTIES, *readings)}
        self._recorded = set(readings)
        self._elapsed_s = 0.0

    def observe(self, elapsed_s: float) -> None:
        self._elapsed_s = elapsed_s
        if self._version.is_new(self._controller):
            values = self._controller.engine.values
            for label, track in self._tracks.items():
                track.put(values[label], elapsed_s)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: steps are for recorders."""

    def track(self, label: str) -> _Track:
        """Return the statistics of a label up to now."""
        track = self._tracks[label]
        track.live_until(self._elapsed_s)
        return track

    def table(self) -> Table:
        table = Table("label", "at the end", "least", "mean", "greatest", "changes", "time on")
        for label in self._tracks:
            track = self.track(label)
            if track.changes or label in self._recorded:
                numbers = [track.value, track.low, track.mean, track.high]
                shown = ["absent" if number is None else f"{number:.4g}" for number in numbers]
                on = text_from_seconds(track.seconds) if label in (*OUTPUTS, *PWMS) else ""
                table.add_row(label, *shown, str(track.changes), on)
        return table
