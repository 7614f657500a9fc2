"""Many busy controllers in one process: their lateness, and the time for a simulated day.

A busy controller has twenty rules, six periodic outputs, the regulator, four ramps and ten schedule
entries, and gets four readings per second. Everything runs on one core. Lateness is the time from a
deadline until the controller handles it. A simulated day is also reported in rounds of a reference
(a dict update and twenty comparisons) that runs in alternation with it.
"""

import asyncio
import gc
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from bench.engine_speed import REFERENCE, Subject, make_busy, reference_round_s
from bench.figure import Figure, Reference, format_amount, progress
from bench.fleet import Node
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.fleet.groups import WINDOW_S, advance_together, journal_digest
from leverframe.host.controller.scheduler import Scheduler
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane

GOAL_LATE_MS = 20.0
#: Rounds of the reference for one controller's day. The goal is 20 minutes for 1,000 days on the
#: machine of the goal, or 1.2 s per day. Commit 174749b took 0.97 s on that machine. On another
#: machine it takes as long as 344,000 rounds (median of 288 hours in alternation), so 1.2 s
#: correspond to 426,000 rounds.
GOAL_DAY_ROUNDS = 426_000
MANY = 1_000
READINGS_EACH_S = 4
#: The hour is simulated in parts, with the reference before and after each.
HOUR_S, HOURS_A_DAY, PARTS = 3600.0, 24, 12
#: Controllers whose journals are compared after the same hour in different orders.
COMPARED = 30


def measure(quick: bool) -> list[Figure]:
    count = MANY // 20 if quick else MANY
    with one_core():
        return [
            asyncio.run(_lateness(count, 3.0 if quick else 15.0, 1 if quick else 3)),
            asyncio.run(_day(count)),
            asyncio.run(_orders(COMPARED // 10 if quick else COMPARED)),
        ]


@contextmanager
def one_core() -> Iterator[None]:
    """Run on one core, however many the machine has."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


# --- in real time ---------------------------------------------------------------------------------


class MeasuredScheduler(Scheduler):
    """A scheduler that records in milliseconds how late it wakes."""

    __slots__ = ()

    late_ms: list[float]

    def _on_wake(self) -> None:
        if self._wake_at is not None:
            self.late_ms.append((self._clock.now() - self._wake_at) * 1000)
        super()._on_wake()


async def _lateness(count: int, seconds: float, rounds: int) -> Figure:
    """Run busy controllers in real time, each with its readings."""
    late_ms: list[float] = []
    MeasuredScheduler.late_ms = late_ms
    with tempfile.TemporaryDirectory() as folder:
        node = Node(SqliteLane(Path(folder) / "fleet.db", Path(folder) / "key"), SystemClock)
        await node.add(count)
        subjects = [Subject(built) for built in node.built]
        for subject in subjects:
            # The subclass has the same layout and only adds the recording.
            subject.controller.time.__class__ = MeasuredScheduler
            await make_busy(subject)
        gc.collect()
        gc.freeze()
        p99s, loads = [], []
        for _ in range(rounds):
            progress()
            late_ms.clear()
            began, ran = time.perf_counter(), time.process_time()
            await _feed(subjects, seconds)
            loads.append((time.process_time() - ran) / (time.perf_counter() - began))
            p99s.append(statistics.quantiles(late_ms, n=100)[98])
        await node.close()
    p99 = statistics.median(p99s)
    each_us = statistics.median(loads) / count * 1e6
    return Figure(
        f"{count} busy controllers, how late at p99",
        p99,
        "ms",
        f"{format_amount(each_us, 'us')} of a core a second each",
        Reference("in all", 100 * statistics.median(loads), "% of one core"),
        f"under {GOAL_LATE_MS:g} ms",
        p99 < GOAL_LATE_MS,
        {"ms": p99s},
    )


async def _feed(subjects: Sequence[Subject], seconds: float) -> None:
    """Set the readings of each controller, spread evenly over every second."""
    loop = asyncio.get_running_loop()
    began, given = loop.time(), 0
    while (passed := loop.time() - began) < seconds:
        due = int(passed * READINGS_EACH_S * len(subjects))
        for number in range(given, due):
            wave = (number // len(subjects)) % 40
            reading = {"DS1": 10.0 + wave / 2} if number % 2 else {"DS2": 30.0 - wave / 2}
            subjects[number % len(subjects)].board.set_readings(reading)
        given = due
        await asyncio.sleep(0.002)


# --- in virtual time ------------------------------------------------------------------------------


async def _busy_group(count: int) -> tuple[Node, list[Subject]]:
    node = Node(MemoryLane(), VirtualClock)
    await node.add(count)
    subjects = [Subject(built) for built in node.built]
    for number, subject in enumerate(subjects):
        await make_busy(subject)
        # Give each controller different readings, so that no two of them have the same hour.
        subject.board.set_readings({"DS1": 18.0 + number % 7, "DS2": 12.0 + number % 24})
    gc.collect()
    gc.freeze()
    return node, subjects


async def _live(subjects: Sequence[Subject], span_s: float, window_s: float = WINDOW_S) -> None:
    await advance_together([one.controller for one in subjects], span_s, window_s)


async def _day(count: int) -> Figure:
    """Simulate one hour of all controllers; a day counts as 24 such hours."""
    node, subjects = await _busy_group(count)
    taken_s, rounds_s = [], [reference_round_s()]
    for _ in range(PARTS):
        began = time.process_time()
        await _live(subjects, HOUR_S / PARTS)
        taken_s.append(time.process_time() - began)
        rounds_s.append(reference_round_s())
    progress()
    await node.close()
    minutes = sum(taken_s) * HOURS_A_DAY / 60
    days = [part_s * PARTS * HOURS_A_DAY / count for part_s in taken_s]
    around_s = [statistics.mean(pair) for pair in pairwise(rounds_s)]
    in_rounds = [day_s / round_s for day_s, round_s in zip(days, around_s, strict=True)]
    median = statistics.median(in_rounds)
    return Figure(
        f"a simulated day of {count} busy controllers, by one hour of it",
        minutes,
        "min of a core",
        reference=Reference(REFERENCE, statistics.median(around_s) * 1e6, "us", median),
        goal=f"under {GOAL_DAY_ROUNDS:,} rounds (20 min for {MANY} on the machine of the goal)",
        met=median < GOAL_DAY_ROUNDS,
        rounds={"rounds": in_rounds},
    )


async def _orders(count: int) -> Figure:
    """Compare the journals after an hour: in order of time, in windows, and in reverse order."""
    digests = set()
    for window_s, is_reversed in ((0.0, False), (WINDOW_S, False), (WINDOW_S, True)):
        node, subjects = await _busy_group(count)
        await _live(subjects[::-1] if is_reversed else subjects, HOUR_S, window_s)
        digests.add(journal_digest([one.controller for one in subjects]))
        progress()
        await node.close()
    return Figure(
        f"journals of {count} controllers after an hour in three orders",
        more="all the same" if len(digests) == 1 else f"{len(digests)} different",
        goal="all the same",
        met=len(digests) == 1,
    )
