"""The durable lane in a file: one SQLite database for all controllers of a node."""

import sqlite3
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from leverframe.storage.fleet.group_commit import GroupCommitLane
from leverframe.storage.fleet.statements import fleet_statements, forgetting
from leverframe.storage.sqlite import IS_AUDIT
from leverframe.storage.sqlite_file import roll_back
from leverframe.storage.statements import removes
from leverframe.storage.store import (
    Rows,
    Stored,
    messages_from_texts,
    values_from_texts,
)
from leverframe.storage.watched_file import WatchedFile

MIGRATIONS = Path(__file__).parent / "migrations"
_CHOSEN = "controller IN (SELECT value FROM json_each(?))"


class SqliteLane(GroupCommitLane):
    """The lane in a file. Raises StoreTooNew, StoreDamaged or StoreUnavailable when opened."""

    def __init__(self, path: Path, key_path: Path) -> None:
        self._file = WatchedFile(path, MIGRATIONS)
        super().__init__(key_path)

    @property
    def transactions(self) -> int:
        """Return the number of transactions written since opening."""
        return self._file.transactions

    # --- writing ----------------------------------------------------------------------------------

    def write_parts(self, parts: Mapping[int, Rows]) -> None:
        statements = fleet_statements(parts)
        if statements:
            self._file.write(
                statements,
                erases=any(map(removes, parts.values())),
                scattered=sum(map(_tables_touched, parts.values())),
            )

    def erase(self, controllers: Sequence[int]) -> None:
        self._file.write(forgetting(controllers), erases=True)

    def settle(self) -> None:
        """Bring the main file up to date, on any thread; raise StoreUnavailable if it is lost."""
        self._file.settle()

    def release(self) -> None:
        self._file.close()

    # --- reading ----------------------------------------------------------------------------------

    def read(self, controllers: Sequence[int]) -> dict[int, Stored]:
        settings: dict[int, dict[str, Any]] = {}
        kept: dict[int, dict[str, Any]] = {}
        audit: dict[int, list[str]] = {}
        chosen = str(list(controllers))
        with self._file.reading() as connection:
            # One transaction, so that no commit comes between the parts.
            connection.execute("BEGIN")
            try:
                for one, texts in _by_controller(connection, "setting", "path", "", chosen):
                    settings[one] = values_from_texts(texts)
                without = f" AND NOT {IS_AUDIT}"
                for one, texts in _by_controller(connection, "kept", "name", without, chosen):
                    kept[one] = values_from_texts(texts)
                query = f"SELECT controller, name FROM kept WHERE {_CHOSEN} AND {IS_AUDIT}"  # noqa: S608
                for one, name in connection.execute(query, (chosen,)):
                    audit.setdefault(one, []).append(name)
            finally:
                roll_back(connection)
        return {
            one: Stored(settings.get(one, {}), kept.get(one, {}), audit.get(one, []))
            for one in controllers
        }

    def rows_of(self, controller: int) -> Rows:
        """Read everything that is stored of a controller; secrets are sealed."""
        query = "SELECT name, data FROM blob WHERE controller = ?"
        with self._file.reading() as connection:
            blobs: dict[str, bytes | None] = dict(connection.execute(query, (controller,)))

        def texts(table: str, key: str) -> dict[str, str | None]:
            rows = self._read_own(controller, table, key, "")
            return {name: text.decode() for name, text in rows.items()}

        return Rows(
            settings=texts("setting", "path"),
            kept=texts("kept", "name"),
            blobs=blobs,
            messages=texts("message", "number"),
        )

    def read_audit(self, controller: int, prefix: str) -> dict[str, str]:
        where = f" AND {IS_AUDIT} AND name GLOB ?"
        return values_from_texts(self._read_own(controller, "kept", "name", where, f"{prefix}*"))

    def read_messages(self, controller: int) -> dict[int, Any]:
        return messages_from_texts(self._read_own(controller, "message", "number", ""))

    def _read_own(
        self, controller: int, table: str, key: str, where: str, *values: str
    ) -> dict[str, bytes]:
        with self._file.reading() as connection:
            chosen = f"[{controller}]"
            rows = _by_controller(connection, table, key, where, chosen, *values)
            return next((texts for _, texts in rows), {})

    def read_blob(self, controller: int, name: str) -> bytes | None:
        query = "SELECT data FROM blob WHERE controller = ? AND name = ?"
        with self._file.reading() as connection:
            rows: list[tuple[bytes]] = connection.execute(query, (controller, name)).fetchall()
        return rows[0][0] if rows else None


def _tables_touched(rows: Rows) -> int:
    """Count the tables of small rows: those of each controller lie together."""
    return sum(map(bool, (rows.settings, rows.kept, rows.messages)))


def _by_controller(
    connection: sqlite3.Connection, table: str, key: str, where: str, chosen: str, *values: str
) -> list[tuple[int, dict[str, bytes]]]:
    """Read values by controller and name, as bytes.

    In an error, sqlite3 would repeat a text that it cannot decode, which may be a password.
    """
    query = (
        f"SELECT controller, CAST({key} AS BLOB), CAST(value AS BLOB) FROM {table} "  # noqa: S608
        f"WHERE {_CHOSEN}{where} ORDER BY controller"
    )
    found = connection.execute(query, (chosen, *values))
    return [
        (controller, {name.decode(): text for _, name, text in rows})
        for controller, rows in groupby(found, itemgetter(0))
    ]
