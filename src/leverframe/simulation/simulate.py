"""The work of `leverframe simulate`: read, run, print, record.

The timeline and the summary go to the standard output and are the same for every run of the same
scenario; progress and the time that the run took go to the error output.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from leverframe.durations import text_from_seconds
from leverframe.simulation.report import RunRecorder, Summary, Timeline
from leverframe.simulation.run import Simulation, Watcher
from leverframe.simulation.scenario import BadScenario, Scenario, plant_from_table, read_scenario

#: The progress bar moves at most once in so many looks.
LOOKS_PER_MOVE = 1000


async def simulate(scenario: Path, for_s: float, csv: Path | None, step_s: float | None) -> None:
    """Run a scenario; raise `BadScenario` with a sentence for people."""
    story = read_scenario(scenario)
    labels = story.record or _labels_of_plants(story)
    if csv is not None and not labels:
        raise BadScenario(f'{scenario} names nothing to record; add record = ["DS1", "OUT0"].')
    output, errors = Console(highlight=False), Console(stderr=True)
    simulation = await Simulation.start(story)
    summary = Summary(simulation, labels)
    watchers: list[Watcher] = [Timeline(simulation, output), summary]
    began = time.monotonic()
    # Lines and bar on one terminal must come from one console, or they overwrite each other.
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
    """A watcher that moves a progress bar now and then."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task
        self._looks = 0

    def observe(self, elapsed_s: float) -> None:
        self._looks += 1
        if self._looks % LOOKS_PER_MOVE == 0:
            self._progress.update(self._task, completed=elapsed_s)

    def step(self, elapsed_s: float) -> None:
        """Do nothing: looks are enough."""


@contextmanager
def _progress(console: Console, for_s: float) -> Iterator[Watcher]:
    """Show a bar while the run goes on, for people who look at a terminal."""
    columns = (TextColumn("simulating"), BarColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        yield _ProgressWatcher(bar, bar.add_task("", total=for_s))
