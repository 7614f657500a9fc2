"""The connection of a node's history to the shared database of nodes."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from msgspec import Struct
from psycopg.pq import TransactionStatus

from leverframe.storage.history.chunks import CHUNK_COLUMNS, ChunkRow
from leverframe.storage.history.last_moments import RunEnd
from leverframe.storage.history.rows import ENTRY_COLUMNS, REPLACED, EntryRow, Found
from leverframe.storage.lanes.postgres_connection import (
    Connection,
    connect,
    first_line,
    hang_up,
    is_broken,
)
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.store import StoreUnavailable

# The waiting rows of a controller's history, and the statement that writes them.
#
# Chunks, texts of reasons, journal entries and the mark are written together, with a fence: nothing
# is written for a controller that this node does not run in its current life (`epoch`).


# The row of the node is locked first, in the same order as when the life of a node is ended. Both
# rows are locked, so PostgreSQL checks them again if another transaction was changing one of them.
# Therefore a node that runs the controller again in its next life also detects that the former life
# has ended.
def _fence(which: str) -> str:
    return (
        "SELECT controller.number FROM node JOIN controller ON controller.node = node.name"  # noqa: S608
        f" WHERE controller.number = {which} AND node.name = %(node)s"
        " AND node.epoch = %(epoch)s AND node.is_alive"
        " FOR KEY SHARE OF node FOR SHARE OF controller"
    )


FENCE = _fence("%(controller)s")
#: Writes the ends of many runs: the time of each, or the data that was not recorded by then.
LEAVE = (
    f"WITH fence AS ({_fence('ANY(%(numbers)s)')}),"  # noqa: S608
    " given AS (SELECT given.* FROM fence JOIN unnest(%(numbers)s::integer[], %(ends)s::float8[],"
    " %(data)b::bytea[]) AS given (number, ended, data) USING (number)),"
    " marked AS (UPDATE mark SET ended = given.ended FROM given"
    " WHERE id = number AND data IS NULL)"
    " INSERT INTO last_moments (controller, ended, data)"
    " SELECT number, ended, data FROM given WHERE data IS NOT NULL ON CONFLICT DO NOTHING"
)

_CHUNKS = {
    "tiers": "smallint",
    "labels": "text",
    "starts": "double precision",
    "ends": "double precision",
    "points": "integer",
    "costs": "integer",
    "data": "bytea",
}
_TEXTS = {"told": "bigint", "texts": "text"}
_ENTRIES = {
    "numbers": "bigint",
    "times": "double precision",
    "causes": "text",
    "whiches": "text",
    "entries": "bytea",
}


def _from_fence(arrays: dict[str, str]) -> str:
    given = ", ".join(f"%({name})b::{kind}[]" for name, kind in arrays.items())
    return f"SELECT fence.number, given.* FROM fence, unnest({given}) AS given"  # noqa: S608


_PUT_CHUNKS = f"put AS (INSERT INTO chunk (controller, {CHUNK_COLUMNS}) {_from_fence(_CHUNKS)})"
_PUT_TEXTS = (
    "explained AS (INSERT INTO told (controller, number, text)"
    f" {_from_fence(_TEXTS)} ON CONFLICT DO NOTHING)"
)
_PUT_ENTRIES = (
    f"entered AS (INSERT INTO entry (controller, {ENTRY_COLUMNS}) {_from_fence(_ENTRIES)}"  # noqa: S608
    f" ON CONFLICT (controller, number) DO UPDATE SET {REPLACED}),"
    " let_go AS (DELETE FROM entry USING fence"
    " WHERE entry.controller = fence.number AND entry.number <= %(oldest)s)"
)
_PUT_MARK = (
    "marked AS (INSERT INTO mark (id, at) SELECT number, %(at)s::double precision FROM fence"
    " ON CONFLICT (id) DO UPDATE SET at = excluded.at, ended = NULL)"
)
_LET_GO = (
    "recorded AS (DELETE FROM last_moments USING fence"
    " WHERE controller = fence.number AND id <= %(recorded)s)"
)


class HistoryRows(Struct):
    """The waiting rows of a controller."""

    chunks: list[ChunkRow] = []
    #: The texts of reasons by number.
    texts: dict[int, str] = {}
    #: Journal entries by number; stored entries up to `oldest` are deleted to make room.
    entries: dict[int, EntryRow] = {}
    oldest: int = 0
    #: The time up to which everything is recorded.
    until: float | None = None
    #: These rows include the last moments of earlier runs up to this number.
    recorded: int | None = None

    @property
    def is_empty(self) -> bool:
        rows = self.chunks or self.texts or self.entries
        return not rows and self.until is None and self.recorded is None

    def statement(self) -> str:
        """Return the statement that writes the rows; its result is 0 if the fence prevented it."""
        clauses = [f"fence AS ({FENCE})"]
        clauses += [_PUT_CHUNKS] if self.chunks else []
        clauses += [_PUT_TEXTS] if self.texts else []
        clauses += [_PUT_ENTRIES] if self.entries else []
        clauses += [] if self.until is None else [_PUT_MARK]
        clauses += [] if self.recorded is None else [_LET_GO]
        return f"WITH {', '.join(clauses)} SELECT count(*) FROM fence"  # noqa: S608

    def values(self) -> dict[str, Any]:
        """Return the values of the statement, without those of the fence."""
        found: dict[str, Any] = {"at": self.until, "oldest": self.oldest, "recorded": self.recorded}
        if self.chunks:
            found |= zip(_CHUNKS, map(list, zip(*self.chunks, strict=True)), strict=True)
        if self.texts:
            found |= zip(_TEXTS, (list(self.texts), list(self.texts.values())), strict=True)
        if self.entries:
            rows = self.entries.values()
            found |= zip(_ENTRIES, map(list, zip(*rows, strict=True)), strict=True)
        return found


#: Seconds after which connecting is retried while the database is unreachable.
PAUSE_S = 1.0
_AWAY = "The database cannot be reached; the history waits in memory. The controller keeps running."
_NOT_OURS = "This node does not run the controller; the node that runs it records its history."


class NotReached(StoreUnavailable):
    """The database cannot be reached, and nothing was begun; the message is one sentence."""


class HistorySession:
    """The connection of a node's history; a broken connection is replaced.

    It has the same methods as the connection to a file, and raises StoreUnavailable.
    """

    def __init__(self, address: str, claim: Callable[[], Claim]) -> None:
        self._address = address
        self._claim = claim
        self._connection: Connection | None = None
        self._try_again_at = 0.0
        #: The time since which the thread has been waiting for an answer.
        self._asked_at: float | None = None

    @property
    def in_transaction(self) -> bool:
        connection = self._connection
        if connection is None:
            return False
        return connection.info.transaction_status is not TransactionStatus.IDLE

    def require(self) -> None:
        """Connect if necessary; raise NotReached if the database cannot be reached."""
        # Roll back a transaction that a failed job left unfinished.
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
        """Store when controllers were stopped, or the data that was not recorded by then."""
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
        """Wake the thread from another thread if it has waited too long for an answer."""
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
