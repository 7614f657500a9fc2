"""The cost of the history in a database: its space, and the processor time of database and node."""

import os
import random
import time
from pathlib import Path

from bench.figure import Figure, Reference, Skipped, progress
from bench.history import HOUR_S, LABELS, START
from leverframe.core.engine.machine import Traced
from leverframe.fleet.cluster import membership
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.lanes.postgres_chunks import ChunksInDatabase
from leverframe.storage.lanes.postgres_connection import Connection, connect
from leverframe.storage.lanes.postgres_history import GATHER_S
from leverframe.storage.lanes.postgres_history_session import HistorySession
from tests.postgres_server import PostgresServer, postgres_server

CONTROLLERS = range(1, 5)
#: The interval at which a history file is written.
OFTEN_S = 5


def measure(quick: bool) -> list[Figure]:
    if not any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        raise Skipped("PostgreSQL not installed")
    span_s = HOUR_S // 2 if quick else 6 * HOUR_S
    with postgres_server() as server:
        seldom, often = (record(server, span_s, every) for every in (int(GATHER_S), OFTEN_S))
    gathered = f"gathered for {OFTEN_S} s"
    units = ("bytes", "us", "us", "ms")
    return [
        Figure(what, ours, unit, reference=Reference(gathered, reference, unit))
        for what, ours, reference, unit in zip(
            (
                "room in the database for a raw value, with indexes",
                "processor time of the database for a value",
                "processor time of the node's thread for a value",
                "time until a controller of another node can be recorded",
            ),
            seldom,
            often,
            units,
            strict=True,
        )
    ]


def record(server: PostgresServer, span_s: int, every_s: int) -> tuple[float, float, float, float]:
    """Record eight readings of some controllers that change every second."""
    address = server.new_fleet()
    with connect(address) as connection:
        claim = membership.register(connection, "a", "", 1)
        for number in CONTROLLERS:
            query = "INSERT INTO controller (number, name, record, node) VALUES (%s, %s, '', 'a')"
            connection.execute(query, (number, f"c-{number}"))
        session = HistorySession(address, lambda: claim)
        compactors = [open_history(session, number) for number in CONTROLLERS]
        (server_pid,) = session.execute("SELECT pg_backend_pid()").fetchone()
        values = dict.fromkeys(LABELS, 20.0)
        spent_s, before_s = 0.0, processor_seconds(server_pid)
        for second in range(0, span_s, every_s):
            samples: list[Traced] = []
            for at in range(second, second + every_s):
                for label in LABELS:
                    values[label] = round(values[label] + random.choice((-0.1, 0.1)), 1)
                    samples.append((START + at, label, values[label]))
            began = time.process_time()
            for compactor in compactors:
                compactor.add(samples)
            spent_s += time.process_time() - began
            if second % HOUR_S == 0:
                progress()
        count = span_s * len(LABELS) * len(CONTROLLERS)
        of_database_s = processor_seconds(server_pid) - before_s
        began = time.perf_counter()
        for number in CONTROLLERS:
            open_history(session, number).silence()
        opening_s = (time.perf_counter() - began) / len(CONTROLLERS)
        room = room_in(connection)
        session.close()
    return room / count, of_database_s / count * 1e6, spent_s / count * 1e6, opening_s * 1e3


def open_history(session: HistorySession, number: int) -> Compactor:
    session.require()
    return Compactor(ChunksInDatabase(session, number, Bounds().max_bytes), Bounds())


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def room_in(connection: Connection) -> int:
    connection.execute("VACUUM chunk")
    row = connection.execute("SELECT pg_total_relation_size('chunk')").fetchone()
    assert row is not None
    return int(row[0])
