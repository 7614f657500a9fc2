"""The cost of the history: on the event loop, on its thread, on the disk, and when it is read."""

import random
import tempfile
import time
from datetime import UTC
from pathlib import Path

from bench.figure import Figure, Reference, progress
from leverframe.core.engine.machine import Machine, Samples, Traced
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.queries import TimeSpan, answer_pieces
from leverframe.storage.history.rows import RAW

START = 1767571200.0
HOUR_S = 3600
LABELS = tuple(f"DS{number}" for number in range(1, 9))


def measure(quick: bool) -> list[Figure]:
    span_s = 2 * HOUR_S if quick else 24 * HOUR_S
    hours = span_s // HOUR_S
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.db"
        chunk_store = ChunkStore(path, Bounds().max_bytes)
        compactor = Compactor(chunk_store, Bounds())
        figures = [on_the_loop(), fill(compactor, span_s)]
        each = chunk_store.bytes_in_use() / chunk_store.points(RAW)
        figures.append(Figure("room in the file for a raw value", each, "bytes"))
        now = START + span_s
        for what, span in (
            (f"read {hours} h of one reading, raw", TimeSpan(("DS1",), START, now, 100_000, now)),
            (f"read {hours} h of eight readings", TimeSpan(LABELS, START, now, 600, now)),
            ("read the last hour of eight", TimeSpan(LABELS, now - HOUR_S, now, 60, now)),
        ):
            figures.append(read(compactor, what, span))
        chunk_store.close()
    return figures


def on_the_loop() -> Figure:
    """Compare the cost of a changing value without and with a recorder."""
    machine = Machine(Profile(), defaults(Profile()), UTC, {})
    machine.at = Moment(0.0, START)
    costs = []
    recorded = Samples()
    for machine.samples in (None, recorded):
        began = time.process_time()
        for number in range(200_000):
            machine.put("DS1", number)
        costs.append((time.process_time() - began) / 200_000 * 1e6)
    reference = Reference("without a recorder", costs[0], "us")
    return Figure("a changed value on the event loop", costs[1], "us", reference=reference)


def fill(compactor: Compactor, span_s: int) -> Figure:
    """Record eight readings that change every second, passed to the history every five seconds."""
    values = dict.fromkeys(LABELS, 20.0)
    spent = 0.0
    for second in range(0, span_s, 5):
        samples: list[Traced] = []
        for at in range(second, second + 5):
            for label in LABELS:
                values[label] = round(values[label] + random.choice((-0.1, 0.1)), 1)
                samples.append((START + at, label, values[label]))
        began = time.process_time()
        compactor.add(samples)
        spent += time.process_time() - began
        if second % HOUR_S == 0:
            progress()
    each = spent / span_s / len(LABELS) * 1e6
    return Figure("the same on the thread of the history", each, "us")


def read(compactor: Compactor, what: str, span: TimeSpan) -> Figure:
    taken = []
    for _ in range(5):
        began = time.process_time()
        body = b"".join(answer_pieces(compactor, span))
        taken.append(time.process_time() - began)
    return Figure(what, min(taken) * 1000, "ms", f"{len(body):,} bytes")
