"""Two nodes as processes on a real database: one is killed, and nothing acknowledged is lost.

Their controllers resume where they were, as far as that was saved.
"""

import os
import signal
import time
import zlib
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.fleet.cluster.node_processes import (
    add_controllers,
    ask_controller,
    counts,
    name_of,
    running,
    set_name,
    share_key,
)
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer
from tests.stopwatch import Stopwatch

COUNT = 12
#: A killed node's controllers are served again within this.
SERVED_AGAIN_S = 15.0
OUT0_ON = "<out>100000</out>"


def count_saved_pulses(database: str) -> int:
    """Count controllers of which it is saved that a pulse runs."""
    with psycopg.connect(database) as connection:
        saved = connection.execute("SELECT data FROM live").fetchall()
    return sum(b'"pulse"' in zlib.decompress(data) for (data,) in saved)


def outputs_of(port: int, names: Sequence[str]) -> list[list[float]]:
    """Read the course of an output of each controller; without the time in which it was off."""
    answer = [ask_controller(port, name, "/api/history?labels=OUT0").json() for name in names]
    return [[v for v in one["series"]["OUT0"]["values"] if v is not None] for one in answer]


@pytest.mark.thorough
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_lost_node_loses_no_acknowledged_change(
    how: signal.Signals, postgres: PostgresServer, tmp_path: Path
) -> None:
    database = postgres.new_fleet()
    names = [f"c-{n}" for n in range(1, COUNT + 1)]
    with ExitStack() as stack:
        first, first_port = stack.enter_context(running("a", database, tmp_path))
        share_key(tmp_path, "a", "b")
        _, port = stack.enter_context(running("b", database, tmp_path))
        add_controllers(first_port, COUNT)
        shared_out = time.monotonic() + PATIENCE_S
        while counts(port) != [COUNT // 2, COUNT // 2]:
            assert time.monotonic() < shared_out, counts(port)
            time.sleep(0.05)
        for value in range(1, 4):
            for name in names:
                assert set_name(port if value % 2 else first_port, name, value)
        for name in names:
            assert ask_controller(port, name, "/outs.cgi?pulse0=600").status_code == 200
        saved = time.monotonic() + PATIENCE_S
        while count_saved_pulses(database) < COUNT:
            assert time.monotonic() < saved
            time.sleep(0.05)
        # A request for a history writes all of it.
        recorded = outputs_of(port, names)
        assert [course[-1] for course in recorded] == [1] * COUNT
        os.kill(first.pid, how)
        since_then = Stopwatch()
        values: dict[str, str | None] = dict.fromkeys(names)
        while None in values.values():
            assert since_then.seconds() < SERVED_AGAIN_S, values
            values |= {name: name_of(port, name) for name, value in values.items() if value is None}
        # Read before anything is written again: the last acknowledged value of each is there.
        assert values == {name: f"{name}v3" for name in names}
        # What no client reads back resumes, too.
        assert all(OUT0_ON in ask_controller(port, name, "/outs.cgi").text for name in names)
        charts = outputs_of(port, names)
        assert [c[: len(r)] for c, r in zip(charts, recorded, strict=True)] == recorded
        for name in names:
            assert set_name(port, name, 9)
        assert {name: name_of(port, name) for name in names} == {
            name: f"{name}v9" for name in names
        }
        if how is signal.SIGSTOP:
            os.kill(first.pid, signal.SIGCONT)
            # The node that wakes up forwards requests to the owner of the controller.
            until = time.monotonic() + PATIENCE_S
            while not set_name(first_port, names[0], 10):
                assert time.monotonic() < until
            assert name_of(port, names[0]) == f"{names[0]}v10"
