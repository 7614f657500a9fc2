"""A node as a process that gets two signals to stop: it stops once, in order, with all it has."""

import signal
from pathlib import Path

from leverframe.storage.lanes.postgres_connection import connect
from tests.fleet.cluster.node_processes import (
    add_controllers,
    ask_controller,
    name_of,
    running,
    set_name,
)
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

#: More than are stopped together.
COUNT = 20


def test_second_signal_leaves_nothing_half_stopped(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    database = postgres.new_fleet()
    names = [f"c-{n}" for n in range(1, COUNT + 1)]
    with running("a", database, tmp_path) as (process, port):
        add_controllers(port, COUNT)
        for name in names:
            assert set_name(port, name, 7)
        assert ask_controller(port, "c-1", "/outs.cgi?out=10000").status_code == 200
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGTERM):
            process.send_signal(number)
        assert process.wait(PATIENCE_S) == 0
    with connect(database) as connection:
        lives = connection.execute("SELECT is_alive, session FROM node").fetchall()
        # All were released, with their live state and what was not recorded yet.
        (free,) = connection.execute(
            "SELECT count(*) FROM controller JOIN live ON live.controller = number"
            " JOIN last_moments ON last_moments.controller = number WHERE node IS NULL"
        ).fetchone() or (0,)
    assert lives == [(False, 0)]
    assert free == COUNT
    with running("a", database, tmp_path) as (_, port):
        assert [name_of(port, name) for name in names] == [f"{name}v7" for name in names]
        answer = ask_controller(port, "c-1", "/api/history?labels=OUT0").json()
        assert 1 in answer["series"]["OUT0"]["values"]
        journal = ask_controller(port, "c-1", "/api/journal").json()
        assert any(entry["which"] == "OUT0" for entry in journal)
