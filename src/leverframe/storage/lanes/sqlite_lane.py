"""The durable lane in a file: one SQLite database for all controllers of a node.

A batch is first written unchanged (`statements.py`), and moved into the tables later, together with
other batches. Erasures and uploads are written to the tables immediately, after all earlier
batches.
"""

import contextlib
import logging
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from leverframe.storage.lanes.lane import GroupCommitLane
from leverframe.storage.sqlite import IS_AUDIT
from leverframe.storage.sqlite_file import roll_back
from leverframe.storage.statements import (
    ENOUGH,
    FORGETTING,
    MoveStep,
    RecentBatches,
    Statement,
    all_recent_rows,
    fleet_statements,
    forgetting,
    recent_rows,
    removes,
    tables_touched,
)
from leverframe.storage.store import (
    AUDIT_PREFIXES,
    Rows,
    Stored,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.watched_file import WatchedFile

log = logging.getLogger(__name__)

MIGRATIONS = Path(__file__).parent / "migrations"
_Texts = dict[str, str | None]
_CHOSEN = "controller IN (SELECT value FROM json_each(?))"


class SqliteLane(GroupCommitLane):
    """The lane in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path, key_path: Path) -> None:
        # `do_later` work runs in the same thread, after the result of the batch was reported.
        self._file = WatchedFile(path, MIGRATIONS, do_later=self._do_later)
        #: The remaining steps of a move into the tables; None if there is no move.
        self._move: Iterator[MoveStep] | None = None
        try:
            with self._file.reading() as connection:
                self._recent = RecentBatches(connection)
        except BaseException:
            self._file.close()
            raise
        super().__init__(key_path)

    @property
    def transactions(self) -> int:
        """Return the number of transactions written since opening."""
        return self._file.transactions

    # --- writing ----------------------------------------------------------------------------------

    def write_parts(self, parts: Mapping[int, Rows]) -> None:
        erases = any(map(removes, parts.values()))
        if erases or any(rows.blobs for rows in parts.values()):
            scattered = sum(map(tables_touched, parts.values()))
            self._write_to_tables(fleet_statements(parts), erases=erases, scattered=scattered)
        elif any(map(tables_touched, parts.values())):
            statement = self._recent.adding(parts)
            self._file.write([statement], erases=False)
            self._recent.add(parts, statement)
            if self._recent.size >= ENOUGH and self._move is None:
                self._do_later(self._begin_move)

    def _do_later(self, work: Callable[[], None]) -> None:
        """Queue work for which no caller waits; a lane that is closing does such work itself."""
        with contextlib.suppress(RuntimeError):
            self._thread.submit(work)

    def _begin_move(self) -> None:
        """Begin to move the batches into the tables, unless a move is already in progress."""
        if self._move is None:
            with self._moving(), self._file.reading() as connection:
                self._move = self._recent.steps_into_tables(connection)
                self._do_later(self._move_on)

    def _move_on(self) -> None:
        """Perform one step of a move; the next step is queued after waiting batches."""
        with self._moving():
            step = None if self._move is None else next(self._move, None)
            if step is None:
                self._move = None
                return
            self._file.write(step.statements, erases=False, moves=True, scattered=step.scattered)
            if step.removed_up_to:
                self._recent.forget(step.removed_up_to)
            self._do_later(self._move_on)

    @contextlib.contextmanager
    def _moving(self) -> Iterator[None]:
        """Cancel a move that fails; its batches are kept."""
        try:
            yield
        except Exception as error:
            self._move = None
            log.warning("the latest batches could not be moved into the tables: %s", error)

    def erase(self, controllers: Sequence[int]) -> None:
        self._write_to_tables(forgetting(controllers), erases=True)

    def fill_tables(self) -> None:
        """Move all batches into the tables, in the lane's thread; keep them if that fails."""
        with self._moving():
            self._write_to_tables([])

    def _write_to_tables(
        self, statements: Sequence[Statement], *, erases: bool = False, scattered: int = 0
    ) -> None:
        """Move all batches into the tables and execute statements, in one transaction."""
        # The remaining steps of a move would overwrite these values with older ones.
        self._move = None
        if self._recent.size:
            with self._file.reading() as connection:
                recent = all_recent_rows(connection)
            statements = [*fleet_statements(recent), FORGETTING, *statements]
            scattered += sum(map(tables_touched, recent.values()))
        if statements:
            # The removed batches must be overwritten, so that no deleted value survives in free
            # pages.
            moves = self._recent.size > 0
            self._file.write(statements, erases=erases, moves=moves, scattered=scattered)
            self._recent.forget()

    def settle(self) -> None:
        """Copy the log into the main file, in any thread; raise StoreUnavailable if that fails."""
        self._file.settle()

    def release(self) -> None:
        # Move all batches now, so that the next start need not read both batches and tables.
        self.fill_tables()
        self._file.close()

    # --- reading ----------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _read_transaction(self) -> Iterator[sqlite3.Connection]:
        """Provide the reading connection in a transaction, so that no move affects its reads."""
        with self._file.reading() as connection:
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                roll_back(connection)

    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        chosen, batches = str(list(controllers)), self._recent.of(controllers)
        audit: dict[int, list[str]] = {}
        with self._read_transaction() as connection:
            settings = _by_controller(connection, "setting", "path", "", chosen)
            kept = _by_controller(connection, "kept", "name", f" AND NOT {IS_AUDIT}", chosen)
            query = f"SELECT controller, name FROM kept WHERE {_CHOSEN} AND {IS_AUDIT}"  # noqa: S608
            for one, name in connection.execute(query, (chosen,)):
                audit.setdefault(one, []).append(name)
            recent = recent_rows(connection, batches, frozenset(controllers))
        # Outside of the transaction, because an invalid value is a problem of its controller and
        # not of the file.
        return {
            one: _rows_of(settings.get(one, {}), kept.get(one, {}), audit.get(one, []), recent[one])
            for one in controllers
        }

    def rows_of(self, controller: int) -> Rows:
        """Read all stored data of a controller, without decrypting secrets."""
        query = "SELECT name, data FROM blob WHERE controller = ?"
        batches = self._recent.of([controller])
        with self._read_transaction() as connection:
            stored = Rows(
                settings=_texts(connection, "setting", "path", controller),
                kept=_texts(connection, "kept", "name", controller),
                blobs=dict(connection.execute(query, (controller,))),
                messages=_texts(connection, "message", "number", controller),
            )
            stored.add(recent_rows(connection, batches, [controller])[controller])
        return stored

    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        where = f" AND {IS_AUDIT} AND name GLOB ?"
        batches = self._recent.of([controller])
        with self._read_transaction() as connection:
            texts = _texts(connection, "kept", "name", controller, where, f"{prefix}*")
            recent = recent_rows(connection, batches, [controller])[controller]
            of_trail = {
                name: text
                for name, text in recent.kept.items()
                if name.startswith(AUDIT_PREFIXES) and name.startswith(prefix)
            }
            return values_from_texts(texts | of_trail)

    def read_messages(self, controller: int) -> dict[int, Any]:
        batches = self._recent.of([controller])
        with self._read_transaction() as connection:
            texts = _texts(connection, "message", "number", controller)
            recent = recent_rows(connection, batches, [controller])[controller]
        return messages_from_texts(texts | recent.messages)

    def read_blob(self, controller: int, name: str) -> bytes | None:
        query = "SELECT data FROM blob WHERE controller = ? AND name = ?"
        with self._file.reading() as connection:
            rows: list[tuple[bytes]] = connection.execute(query, (controller, name)).fetchall()
        return rows[0][0] if rows else None


def _rows_of(settings: _Texts, values: _Texts, audit: Iterable[str], recent: Rows) -> Stored:
    """Return the data of a controller from the tables and the recent batches."""
    trail: _Texts = dict.fromkeys(audit, "")
    for name, text in recent.kept.items():
        (trail if name.startswith(AUDIT_PREFIXES) else values)[name] = text
    return Stored(
        values_from_texts(settings | recent.settings),
        values_from_texts(values),
        [name for name, text in trail.items() if text is not None],
    )


def _texts(
    connection: sqlite3.Connection,
    table: str,
    key: str,
    controller: int,
    where: str = "",
    *values: str,
) -> _Texts:
    return _by_controller(connection, table, key, where, f"[{controller}]", *values).get(
        controller, {}
    )


def _by_controller(
    connection: sqlite3.Connection, table: str, key: str, where: str, chosen: str, *values: str
) -> dict[int, _Texts]:
    """Read values by controller and name."""
    # As bytes: in an error, sqlite3 would repeat a text that it cannot decode, perhaps a password.
    query = (
        f"SELECT controller, CAST({key} AS BLOB), CAST(value AS BLOB) FROM {table} "  # noqa: S608
        f"WHERE {_CHOSEN}{where} ORDER BY controller"
    )
    found = connection.execute(query, (chosen, *values))
    return {
        controller: {name.decode(): text.decode() for _, name, text in rows}
        for controller, rows in groupby(found, itemgetter(0))
    }
