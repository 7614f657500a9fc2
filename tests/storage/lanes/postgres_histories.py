"""Histories in a real database, for tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import psycopg
from psycopg.conninfo import conninfo_to_dict

from leverframe.fleet.cluster import membership
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.lanes.postgres_chunks import ChunksInDatabase
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_history import DatabaseHistory
from leverframe.storage.lanes.postgres_history_session import HistorySession
from leverframe.storage.lanes.postgres_lane import Claim
from tests.postgres_server import server_of_process

CONTROLLERS = range(1, 21)
#: The stored name of the table with the texts of reasons.
REASON_TEXTS = "told"


@cache
def _database() -> str:
    """Make the database of these tests; to empty it is quicker than to make another."""
    return server_of_process().new_fleet()


class HistoryDatabase:
    """A database with controllers that one node has."""

    def __init__(self) -> None:
        self.address = _database()
        with connect(self.address) as connection:
            connection.execute(
                f"TRUNCATE chunk, mark, {REASON_TEXTS}, entry, controller, node, lane CASCADE"
            )
            rows = [(number, f"c-{number}", "{}") for number in CONTROLLERS]
            with connection.cursor() as cursor:
                query = "INSERT INTO controller (number, name, record) VALUES (%s, %s, %s)"
                cursor.executemany(query, rows)
        self.claim = self.give_all_to("a")

    def give_all_to(self, node: str) -> Claim:
        """Begin a life of a node and let it have all controllers."""
        with connect(self.address) as connection:
            claim = membership.register(connection, node, "", 1)
            connection.execute("UPDATE controller SET node = %s", (node,))
        return claim

    def history(self, bounds: Bounds, claim: Claim | None = None) -> DatabaseHistory:
        claim = claim or self.claim
        return DatabaseHistory(self.address, lambda: claim, bounds, lambda: 0, retry_s=0.01)

    def session(self, claim: Claim | None = None) -> HistorySession:
        claim = claim or self.claim
        return HistorySession(self.address, lambda: claim)

    def count(self, table: str) -> int:
        with connect(self.address) as connection:
            row = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        assert row is not None
        return int(row[0])

    @contextmanager
    def away(self) -> Iterator[None]:
        """Refuse new connections and end the open ones."""
        name = conninfo_to_dict(self.address)["dbname"]
        with psycopg.connect(server_of_process().address(), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,)
            )
            try:
                yield
            finally:
                connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


def chunks_in(session: HistorySession, controller: int = 1) -> ChunksInDatabase:
    session.require()
    return ChunksInDatabase(session, controller, Bounds().max_bytes)
