"""The durable lane in a database server: one PostgreSQL for the controllers of many nodes.

Each node has a lane of its own, which writes one batch at a time, and each batch has a number. A
commit has three possible results: it is durable; it was rejected, by the database or because
another node has taken over; or the result is unknown, because the connection broke or the database
does not answer. The number of the last batch in the database then shows the result, as soon as it
can be queried. Until then nothing is written for the controllers concerned, because later changes
would depend on the unknown result.

Every exception of the driver means an unknown result, unless the connection still works: then the
database itself has rejected the batch. Secrets are encrypted with a key that is never stored in the
database.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

import psycopg
from msgspec import Struct
from psycopg import sql

from leverframe.storage.lanes.lane import BATCH_SIZE, GroupCommitLane, LaneUnavailable
from leverframe.storage.lanes.postgres_connection import (
    AWAY,
    PATIENCE_S,
    Connection,
    SharedConnection,
    connect_until,
    first_line,
    hang_up,
    is_broken,
    why_refused_for_all,
)
from leverframe.storage.lanes.postgres_schema import (
    ALIVE,
    FENCE,
    LAST_BATCH,
    SETTLE,
    TABLES,
    Batch,
    needs_transaction,
)
from leverframe.storage.store import (
    AUDIT_PREFIXES,
    Rows,
    Stored,
    StoreUnavailable,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.writer import Faults, GroupCommit

log = logging.getLogger(__name__)

#: Seconds after which connecting is retried while the database is unreachable.
RETRY_S = 0.5
#: A batch that takes longer than this is reported as in doubt.
ANSWER_WITHIN_S = PATIENCE_S + 0.5
IN_DOUBT = (
    "The connection to the database was lost during this change. Whether it was stored is not "
    "known yet; check again when the database is back."
)
_UNCLEAR = (
    "Whether the previous change was stored is not known yet. This change was not applied; check "
    "again when the database is back."
)
FENCED = "This node no longer runs the controller: another node has taken over. Try again."
_LOST = (
    "The database was rolled back: acknowledged changes are missing. Restore the right state, or "
    "restart this node to accept the present state."
)


class InDoubt(LaneUnavailable):
    """It is unknown whether changes are stored; the message is one sentence."""

    is_in_doubt = True


class Fenced(LaneUnavailable):
    """Another node has taken over; the message is one sentence."""

    is_taken_over = True


class DatabaseWentBack(LaneUnavailable):
    """The database has lost acknowledged changes; the message is one sentence."""

    is_over = True


class Claim(Struct, frozen=True):
    """The right of a node to write, which ends when another node declares it dead."""

    node: str
    epoch: int


class UncertainBatch(Struct, frozen=True):
    """A batch in doubt and its controllers: it is unknown whether the batch is stored."""

    number: int
    controllers: tuple[int, ...]


class PostgresLane(GroupCommitLane):
    """A lane in a database. Raises StoreUnavailable if it cannot be opened."""

    def __init__(self, address: str, claim: Claim, key_path: Path) -> None:
        super().__init__(key_path)
        self.queue = GroupCommit(self._write_or_refuse, BATCH_SIZE)
        self._address = address
        self._claim = claim
        self._writing: Connection | None = None
        self._reading = SharedConnection(address)
        self._doubt: UncertainBatch | None = None
        #: Controllers that may write nothing until it is known whether their last change is stored.
        self._unclear: set[int] = set()
        #: The reason why this lane can write nothing any longer.
        self._ended: LaneUnavailable | None = None
        #: While the database is unreachable: since when, and when to retry.
        self._away_since: float | None = None
        self._try_again_at = 0.0
        #: A batch that the database did not answer in time.
        self._late: asyncio.Future[Faults] | None = None
        #: Messages that were fetched in advance for controllers that have not started yet.
        self._messages: dict[int, dict[int, Any]] = {}
        #: A function that is called in the lane's thread when the lane must no longer be used.
        self.on_end: Callable[[LaneUnavailable], None] = lambda error: None
        #: A function that is called with controllers whose change was reported as in doubt but is
        #: stored.
        self.on_stored_late: Callable[[Collection[int]], None] = lambda controllers: None
        #: The number of the last batch that is known to be stored.
        self.batch = 0
        try:
            self.batch = self._last_batch(time.monotonic())
        except BaseException:
            # Release the thread and the connections, because the caller gets no object to close.
            self._finish()
            raise

    @property
    def claim(self) -> Claim:
        """Return the node's current right to write."""
        return self._claim

    @property
    def is_unclear(self) -> bool:
        """Return whether any change is in doubt."""
        return bool(self._unclear)

    async def renew(self, claim: Claim) -> None:
        """Switch to another claim after all writes under the former one have ended."""
        # Unfinished writes must end first, because with the new claim they would pass the fence.
        self._ended = Fenced(FENCED)
        if self._writing is not None:
            hang_up(self._writing)
        await asyncio.get_running_loop().run_in_executor(self._thread, self._begin, claim)

    def _begin(self, claim: Claim) -> None:
        self._claim = claim
        self._ended, self._doubt = None, None
        self._unclear.clear()
        self._drop_connection()
        self.batch = self._last_batch(time.monotonic() + PATIENCE_S)

    def clear(self, controllers: Collection[int]) -> None:
        """Allow writes again for controllers that have been reloaded."""
        self._unclear.difference_update(controllers)

    async def look_again(self) -> None:
        """Query the result of a batch in doubt, if the database can be reached."""
        if self._late is None:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._settle_quietly)

    def note_lost(self) -> None:
        """End this lane, because the database was rolled back."""
        if not isinstance(self._ended, DatabaseWentBack):
            with suppress(DatabaseWentBack):
                self._end(DatabaseWentBack(_LOST))

    # --- writing ----------------------------------------------------------------------------------

    async def _write_or_refuse(self, parts: Mapping[int, Rows]) -> Faults:
        faults: Faults = {one: why for one in parts if (why := self._why_refused(one)) is not None}
        self.figures.refused += len(faults)
        parts = {one: rows for one, rows in parts.items() if one not in faults}
        if parts:
            met = await self._write_in_time(parts)
            self.figures.count(len(parts), met.values())
            faults |= met
        return faults

    def _why_refused(self, controller: int) -> StoreUnavailable | None:
        """Return the reason why a controller can write nothing now; None if it can write."""
        if self._ended is not None:
            return self._ended
        if controller in self._unclear:
            return LaneUnavailable(_UNCLEAR)
        return None if self._late is None else LaneUnavailable(AWAY)

    async def _write_in_time(self, parts: Mapping[int, Rows]) -> Faults:
        """Write parts, but do not wait any longer if the database does not answer in time."""
        for controller, rows in parts.items():
            if rows.messages:
                self._messages.pop(controller, None)
        loop = asyncio.get_running_loop()
        writing = loop.run_in_executor(self._thread, self.write, parts)
        done, _ = await asyncio.wait([writing], timeout=ANSWER_WITHIN_S)
        if done:
            return writing.result()
        log.warning("the database does not answer; whether the current write was stored is unknown")
        self._late = writing
        self._unclear.update(parts)
        writing.add_done_callback(lambda late: self._end_of_late(late, tuple(parts)))
        return dict.fromkeys(parts, InDoubt(IN_DOUBT))

    def _end_of_late(self, late: asyncio.Future[Faults], controllers: Sequence[int]) -> None:
        self._late = None
        faults = late.result()
        if stored := [one for one in controllers if one not in faults]:
            self.on_stored_late(stored)
        self.clear([one for one, it in faults.items() if not isinstance(it, InDoubt)])

    def write_parts(self, parts: Mapping[int, Rows]) -> None:
        self._require_life()
        self._settle_doubt()
        until = time.monotonic() + PATIENCE_S
        while True:
            number = self.batch + 1
            connection = self._connect(until)
            self._require_life()
            try:
                is_written = self._send(connection, number, parts)
                break
            except psycopg.Error as error:
                if not is_broken(connection):
                    # The database itself has rejected the batch, so none of it is stored.
                    _raise_for_all(error)
                    raise
                log.warning("the connection to the database broke: %s", first_line(error))
                self._drop_connection()
                self._doubt = UncertainBatch(number, tuple(parts))
                if self._is_stored(until):
                    return
        if not is_written:
            self._explain_fence(connection)
        self.batch = number

    def _require_life(self) -> None:
        if self._ended is not None:
            raise self._ended

    def _send(self, connection: Connection, number: int, parts: Mapping[int, Rows]) -> bool:
        fence = self._fence(number)
        batch = Batch.of(parts)
        if not needs_transaction(parts.values()):
            row = connection.execute(batch.with_fence(), fence | batch.arrays).fetchone()
            return bool(row and row[0])
        with connection.transaction():
            if connection.execute(FENCE, fence).rowcount == 0:
                return False
            replaced = [one for one, rows in parts.items() if rows.replace_settings]
            connection.execute("DELETE FROM setting WHERE controller = ANY(%s)", (replaced,))
            if batch.rows:
                connection.execute(batch.without_fence(), batch.arrays)
            for controller, rows in parts.items():
                _write_blobs(connection, controller, rows.blobs)
        return True

    def _fence(self, number: int) -> dict[str, Any]:
        return {"node": self._claim.node, "epoch": self._claim.epoch, "batch": number}

    def _explain_fence(self, connection: Connection) -> NoReturn:
        """Raise the error that explains why the fence prevented a batch."""
        self._read_lane(connection)
        self._end(Fenced(FENCED))

    def _settle_doubt(self) -> None:
        """Query whether a batch in doubt is stored; raise an error if that is still unknown."""
        if self._doubt is not None:
            controllers = self._doubt.controllers
            if self._is_stored(None):
                self.on_stored_late(controllers)
            else:
                self.clear(controllers)

    def _settle_quietly(self) -> None:
        try:
            self._settle_doubt()
        except StoreUnavailable as error:
            log.debug("whether a write was stored is still unknown: %s", error)

    def _is_stored(self, until: float | None) -> bool:
        """Query whether the batch in doubt is stored; with `until`, it is the batch being written.

        If it is not stored, it is voided, because its bytes may still arrive later.
        """
        doubt = self._doubt
        assert doubt is not None
        try:
            last = self._last_batch(time.monotonic() if until is None else until, doubt.number)
        except LaneUnavailable as error:
            # This includes the case that another node has taken over: the batch may have been
            # stored before.
            self._unclear.update(doubt.controllers)
            if until is None or isinstance(error, DatabaseWentBack):
                raise
            raise InDoubt(IN_DOUBT) from error
        self._doubt = None
        self.batch = last
        return last == doubt.number

    def _last_batch(self, until: float, in_doubt: int | None = None) -> int:
        """Read the number of the last batch; opens the connection for writing if necessary."""
        connection = self._connect(until)
        try:
            if in_doubt is not None:
                connection.execute(SETTLE, self._fence(in_doubt))
            return self._read_lane(connection)
        except psycopg.Error as error:
            self._drop_connection()
            raise LaneUnavailable(AWAY) from error

    def _read_lane(self, connection: Connection) -> int:
        """Read the number of the last batch; end this lane if its life is over or was rolled back.

        The numbers of lives and batches only increase, even after the death of a node. A smaller
        number than this process knows means that the database was rolled back.
        """
        row = connection.execute(LAST_BATCH, (self._claim.node,)).fetchone()
        epoch, batch = row or (0, 0)
        if epoch < self._claim.epoch or batch < self.batch:
            self._end(DatabaseWentBack(_LOST))
        if epoch > self._claim.epoch:
            self._end(Fenced(FENCED))
        return int(batch)

    def _end(self, error: LaneUnavailable) -> NoReturn:
        self._ended = error
        self.on_end(error)
        raise error

    def _connect(self, until: float) -> Connection:
        """Return the connection for writing; if the database stays unreachable, retry rarely."""
        if self._writing is not None:
            return self._writing
        now = time.monotonic()
        if self._away_since is not None:
            if now < self._try_again_at:
                raise LaneUnavailable(AWAY)
            until = min(until, self._away_since + PATIENCE_S)
        try:
            self._writing = connect_until(self._address, until)
        except StoreUnavailable as error:
            self._away_since = self._away_since or now
            self._try_again_at = time.monotonic() + RETRY_S
            raise LaneUnavailable(AWAY) from error
        self._away_since = None
        return self._writing

    def _drop_connection(self) -> None:
        if self._writing is not None:
            self._writing.close()
            self._writing = None

    def erase(self, controllers: Sequence[int]) -> None:
        connection = self._connect(time.monotonic() + PATIENCE_S)
        try:
            with connection.transaction():
                if connection.execute(ALIVE, self._fence(0)).fetchone() is None:
                    self._explain_fence(connection)
                for table in TABLES:
                    query = sql.SQL("DELETE FROM {} WHERE controller = ANY(%s)")
                    connection.execute(query.format(sql.Identifier(table)), (list(controllers),))
        except psycopg.Error as error:
            if is_broken(connection):
                self._drop_connection()
                raise LaneUnavailable(AWAY) from error
            _raise_for_all(error)
            raise

    def release(self) -> None:
        self._drop_connection()
        self._reading.close()

    # --- reading ----------------------------------------------------------------------------------

    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        chosen = list(controllers)

        def look(connection: Connection) -> dict[int, Stored]:
            settings: dict[int, dict[str, str]] = {one: {} for one in chosen}
            kept: dict[int, dict[str, str]] = {one: {} for one in chosen}
            audit: dict[int, list[str]] = {one: [] for one in chosen}
            with connection.transaction():
                # One transaction, so that no commit can come between the parts.
                connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
                query = "SELECT controller, path, value FROM setting WHERE controller = ANY(%s)"
                for one, path, text in connection.execute(query, (chosen,)):
                    settings[one][path] = text
                query = "SELECT controller, name, value FROM kept WHERE controller = ANY(%s)"
                for one, name, text in connection.execute(query, (chosen,)):
                    if name.startswith(AUDIT_PREFIXES):
                        audit[one].append(name)
                    else:
                        kept[one][name] = text
            return {
                one: Stored(
                    values_from_texts(settings[one]), values_from_texts(kept[one]), audit[one]
                )
                for one in chosen
            }

        return self._reading.use(look)

    async def fetch(self, controllers: Sequence[int]) -> dict[int, Stored]:
        stored = await super().fetch(controllers)
        # A starting controller requests them on the event loop, so they are read in advance.
        self._messages |= await asyncio.to_thread(self._waiting_messages, list(controllers))
        return stored

    def _waiting_messages(self, controllers: list[int]) -> dict[int, dict[int, Any]]:
        query = "SELECT controller, number, value FROM message WHERE controller = ANY(%s)"
        texts: dict[int, dict[str, str]] = {one: {} for one in controllers}
        for one, number, text in self._reading.use(
            lambda it: it.execute(query, (controllers,)).fetchall()
        ):
            texts[one][str(number)] = text
        return {one: messages_from_texts(found) for one, found in texts.items()}

    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        query = "SELECT name, value FROM kept WHERE controller = %s AND starts_with(name, %s)"
        rows = self._reading.use(lambda it: it.execute(query, (controller, prefix)).fetchall())
        return values_from_texts({n: t for n, t in rows if n.startswith(AUDIT_PREFIXES)})

    def read_messages(self, controller: int) -> dict[int, Any]:
        fetched = self._messages.pop(controller, None)
        if fetched is not None:
            return fetched
        query = "SELECT number, value FROM message WHERE controller = %s"
        rows = self._reading.use(lambda it: it.execute(query, (controller,)).fetchall())
        return messages_from_texts({str(number): text for number, text in rows})

    def read_blob(self, controller: int, name: str) -> bytes | None:
        query = "SELECT data FROM blob WHERE controller = %s AND name = %s"
        row = self._reading.use(lambda it: it.execute(query, (controller, name)).fetchone())
        return None if row is None else bytes(row[0])


def _write_blobs(
    connection: Connection, controller: int, blobs: Mapping[str, bytes | None]
) -> None:
    for name, data in blobs.items():
        if data is None:
            query = "DELETE FROM blob WHERE controller = %s AND name = %s"
            connection.execute(query, (controller, name))
        else:
            connection.execute(
                "INSERT INTO blob (controller, name, data) VALUES (%s, %s, %s)"
                " ON CONFLICT (controller, name) DO UPDATE SET data = EXCLUDED.data",
                (controller, name, data),
            )


def _raise_for_all(error: psycopg.Error) -> None:
    """Raise LaneUnavailable if the database rejects all writes now."""
    why = why_refused_for_all(error)
    if why is not None:
        raise LaneUnavailable(why) from error
