"""The connection of a node's history to the database that nodes share."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import psycopg
from psycopg.pq import TransactionStatus

from leverframe.storage.fleet.postgres_connection import (
    Connection,
    connect,
    first_line,
    hang_up,
    is_broken,
)
from leverframe.storage.fleet.postgres_history_rows import FENCE, LEAVE, HistoryRows
from leverframe.storage.fleet.postgres_lane import Claim
from leverframe.storage.history.connection import Found
from leverframe.storage.store import StoreUnavailable

#: While the database is away, connecting is retried after this.
PAUSE_S = 1.0
_AWAY = "The database cannot be reached; the history waits in memory. The controller keeps running."
_NOT_OURS = "This node does not run the controller; the node that runs it records its history."


class NotReached(StoreUnavailable):
    """The database is away, and nothing was begun: one sentence."""


class RunEnd(NamedTuple):
    """When a controller was stopped, and what was not recorded until then, if anything."""

    at: float
    unrecorded: bytes | None = None


class HistorySession:
    """The connection of a node's history; a new one is made where it has broken.

    It takes statements as the connection to a file does, and raises StoreUnavailable.
    """

    def __init__(self, address: str, claim: Callable[[], Claim]) -> None:
        self._address = address
        self._claim = claim
        self._connection: Connection | None = None
        self._try_again_at = 0.0
        #: Since when an answer is waited for.
        self._asked_at: float | None = None

    @property
    def in_transaction(self) -> bool:
        connection = self._connection
        if connection is None:
            return False
        return connection.info.transaction_status is not TransactionStatus.IDLE

    def require(self) -> None:
        """Connect where that is due; raise NotReached where the database is away."""
        # An unfinished transaction was rolled back.
        self.roll_back()
        if self._connection is None:
            self._connect()

    def _connect(self) -> Connection:
        if time.monotonic() < self._try_again_at:
            raise NotReached(_AWAY)
        try:
            self._connection = connect(self._address)
            self._connection.execute("SET synchronous_commit = off")
        except psycopg.Error as error:
            self.close()
            self._try_again_at = time.monotonic() + PAUSE_S
            raise NotReached(_AWAY) from error
        return self._connection

    def execute(self, query: str, values: Sequence[Any] = (), /) -> Found:
        return self._run(query.replace("?", "%s"), values)

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> None:
        with self._sentences() as connection, connection.cursor() as cursor:
            cursor.executemany(query.replace("?", "%s"), rows)

    def begin(self, controller: int) -> None:
        """Begin a transaction in which no other node can take over the controller."""
        self._run("BEGIN")
        if self._run(FENCE, self._fence(controller)).fetchone() is None:
            self.roll_back()
            raise StoreUnavailable(_NOT_OURS)

    def put(self, controller: int, rows: HistoryRows) -> None:
        """Write rows immediately, in the open transaction if there is one."""
        values = self._fence(controller) | rows.values()
        (count,) = self._run(rows.statement(), values).fetchone()
        if not count:
            raise StoreUnavailable(_NOT_OURS)

    def leave(self, ends: Mapping[int, RunEnd]) -> None:
        """Note of controllers when they were stopped, or what was not recorded until then."""
        claim = self._claim()
        values = {
            "node": claim.node,
            "epoch": claim.epoch,
            "numbers": list(ends),
            "ends": [one.at for one in ends.values()],
            "data": [one.unrecorded for one in ends.values()],
        }
        self._run(LEAVE, values)

    def remove(self, query: str, gone: Sequence[int]) -> None:
        self._run(query, {"gone": list(gone)})

    def _fence(self, controller: int) -> dict[str, Any]:
        claim = self._claim()
        return {"controller": controller, "node": claim.node, "epoch": claim.epoch}

    def _run(self, query: str, values: Any = ()) -> Found:
        with self._sentences() as connection:
            return connection.execute(query, values)

    @contextmanager
    def _sentences(self) -> Iterator[Connection]:
        connection = self._connection or self._connect()
        self._asked_at = time.monotonic()
        try:
            yield connection
        except psycopg.Error as error:
            if is_broken(connection):
                self.close()
                raise StoreUnavailable(_AWAY) from error
            raise StoreUnavailable(
                f"The database rejects the history: {first_line(error)}."
            ) from error
        finally:
            self._asked_at = None

    def give_up_waiting(self, seconds: float) -> None:
        """Wake the thread, from another one, that waits for an answer too long."""
        connection, asked_at = self._connection, self._asked_at
        if connection is None or asked_at is None or time.monotonic() - asked_at < seconds:
            return
        hang_up(connection)

    def roll_back(self) -> None:
        if self.in_transaction:
            with suppress(StoreUnavailable):
                self._run("ROLLBACK")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
