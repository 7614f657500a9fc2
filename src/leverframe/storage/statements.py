"""Rows as SQL: one statement per table and batch, for one controller or many."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from leverframe.core.tree import is_secret
from leverframe.storage.store import Rows

# Rows as SQL: one statement per table and batch, with all rows in one JSON text.
#
# Every statement releases the interpreter lock and must acquire it again from a busy event loop. So
# one statement per row would take longer than the disk.

Statement = tuple[str, tuple[Any, ...]]

#: The number of pages of a small transaction, and the number of bytes per further page.
_FEW_PAGES = 3
_BYTES_PER_PAGE = 4096


def removes(rows: Rows) -> bool:
    """Return whether the rows remove or replace a value that may be secret."""
    return (
        rows.replace_settings
        or None in rows.settings.values()
        or None in rows.blobs.values()
        or any(map(is_secret, rows.settings))
    )


def statements_of(rows: Rows) -> list[Statement]:
    """Return the SQL that writes the rows, in order."""
    statements: list[Statement] = []
    if rows.replace_settings:
        statements.append(("DELETE FROM setting", ()))
    statements += _text_statements("setting", "path", rows.settings)
    statements += _text_statements("kept", "name", rows.kept)
    statements += _text_statements("message", "number", rows.messages)
    for name, data in rows.blobs.items():
        if data is None:
            statements.append(("DELETE FROM blob WHERE name = ?", (name,)))
        else:
            statements.append(("REPLACE INTO blob (name, data) VALUES (?, ?)", (name, data)))
    return statements


def pages_of(statements: Sequence[Statement]) -> int:
    """Estimate the number of pages by which the log grows."""
    size = sum(len(value) for _, values in statements for value in values if type(value) is not int)
    return _FEW_PAGES + size // _BYTES_PER_PAGE


def _text_statements(table: str, key: str, texts: dict[str, str | None]) -> Iterator[Statement]:
    written = {name: text for name, text in texts.items() if text is not None}
    removed = [name for name, text in texts.items() if text is None]
    if written:
        # WHERE true: without it SQLite reads ON as part of a join.
        yield (
            f"INSERT INTO {table} ({key}, value) SELECT key, value FROM json_each(?) WHERE true "  # noqa: S608
            f"ON CONFLICT ({key}) DO UPDATE SET value = excluded.value",
            (msgspec.json.encode(written).decode(),),
        )
    if removed:
        yield (
            f"DELETE FROM {table} WHERE {key} IN (SELECT value FROM json_each(?))",  # noqa: S608
            (msgspec.json.encode(removed).decode(),),
        )


# Rows of many controllers as SQL: one statement per table and batch, as for a single one.

_TABLES = ("setting", "kept", "message", "blob")
#: Reads the rows of nested objects: controller, then key.
_EACH = "FROM json_each(?) AS own, json_each(own.value) AS row"
_CHOSEN_CONTROLLERS = "controller IN (SELECT value FROM json_each(?))"


def fleet_statements(parts: Mapping[int, Rows]) -> list[Statement]:
    """Return the SQL that writes the rows of each controller, in order."""
    statements: list[Statement] = []
    replaced = [controller for controller, rows in parts.items() if rows.replace_settings]
    if replaced:
        statements.append((f"DELETE FROM setting WHERE {_CHOSEN_CONTROLLERS}", (_json(replaced),)))  # noqa: S608
    settings = {controller: rows.settings for controller, rows in parts.items()}
    statements += _fleet_text_statements("setting", "path", settings)
    statements += _fleet_text_statements(
        "kept", "name", {controller: rows.kept for controller, rows in parts.items()}
    )
    statements += _fleet_text_statements(
        "message", "number", {controller: rows.messages for controller, rows in parts.items()}
    )
    for controller, rows in parts.items():
        statements += _blob_statements(controller, rows.blobs)
    return statements


def forgetting(controllers: Iterable[int]) -> list[Statement]:
    """Return the SQL that removes all rows of controllers."""
    chosen = _json(list(controllers))
    return [(f"DELETE FROM {table} WHERE {_CHOSEN_CONTROLLERS}", (chosen,)) for table in _TABLES]  # noqa: S608


def _fleet_text_statements(
    table: str, key: str, texts: Mapping[int, Mapping[str, str | None]]
) -> Iterator[Statement]:
    written: dict[str, Mapping[str, str | None]] = {}
    removed: dict[str, list[str]] = {}
    for controller, rows in texts.items():
        if None in rows.values():
            removed[str(controller)] = [name for name, text in rows.items() if text is None]
            rows = {name: text for name, text in rows.items() if text is not None}
        if rows:
            written[str(controller)] = rows
    if written:
        # WHERE true: without it SQLite reads ON as part of a join.
        yield (
            f"INSERT INTO {table} (controller, {key}, value) "
            f"SELECT own.key, row.key, row.value {_EACH} WHERE true "
            f"ON CONFLICT (controller, {key}) DO UPDATE SET value = excluded.value",
            (_json(written),),
        )
    if removed:
        yield (
            f"DELETE FROM {table} WHERE (controller, {key}) IN "  # noqa: S608
            f"(SELECT CAST(own.key AS INTEGER), CAST(row.value AS {_TYPES[key]}) {_EACH})",
            (_json(removed),),
        )


#: Message numbers are encoded as text.
_TYPES = {"path": "TEXT", "name": "TEXT", "number": "INTEGER"}


def _blob_statements(controller: int, blobs: Mapping[str, bytes | None]) -> Iterator[Statement]:
    for name, data in blobs.items():
        if data is None:
            yield ("DELETE FROM blob WHERE controller = ? AND name = ?", (controller, name))
        else:
            yield (
                "REPLACE INTO blob (controller, name, data) VALUES (?, ?, ?)",
                (controller, name, data),
            )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


# Recent batches, which are first written unchanged and later moved into the tables of a lane.
#
# The rows of many controllers are on different pages of the tables, so a batch would have to write
# one or two pages for each controller. Appended to the earlier batches, it changes only a few
# pages. Later, many batches are moved into the tables together: then a page gets several rows at a
# time, and only the last of several values is written. A move takes several transactions, so a new
# batch waits for only one of them. First the rows are copied, some controllers at a time; then the
# batches are removed. Until then, readers apply the batches to the rows of the tables, which gives
# the same result during a move.

#: Batches are moved into the tables when they have this number of characters together.
ENOUGH = 512 * 1024
#: The number of rows, and of characters of batches, per transaction of a move. A move in a single
#: transaction took 50 to 110 ms.
ROWS_TOGETHER, LETTERS_TOGETHER = 200, 128 * 1024

FORGETTING: Statement = ("DELETE FROM recent", ())
_FORGETTING_FIRST = "DELETE FROM recent WHERE number <= ?"

_decoder = msgspec.json.Decoder(dict[int, Rows])
# As bytes: in an error, sqlite3 would repeat a text that it cannot decode.
_ALL = "SELECT number, CAST(parts AS BLOB) FROM recent ORDER BY number"
_CHOSEN_BATCHES = (
    "SELECT number, CAST(parts AS BLOB) FROM recent "
    "WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"
)


class MoveStep(NamedTuple):
    """One transaction of a move into the tables."""

    statements: list[Statement]
    #: The number of small rows that are each on a separate page.
    scattered: int
    #: The number of the last batch that this step removes; 0 if it removes none.
    removed_up_to: int = 0


class RecentBatches:
    """An index of the recent batches, which the lane's thread updates and readers use."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.size = 0
        self._last_number = 0
        #: The number of characters of each batch, oldest first.
        self._sizes: dict[int, int] = {}
        #: The batches that contain rows of each controller; most batches contain few controllers.
        self._numbers: dict[int, list[int]] = {}
        for number, text in connection.execute(_ALL):
            self._note(number, _decoder.decode(text), len(text))

    def adding(self, parts: Mapping[int, Rows]) -> Statement:
        """Return the SQL that appends a batch."""
        text = msgspec.json.encode(parts).decode()
        return ("INSERT INTO recent (number, parts) VALUES (?, ?)", (self._last_number + 1, text))

    def add(self, parts: Mapping[int, Rows], statement: Statement) -> None:
        """Record that a batch is on disk."""
        number, text = statement[1]
        self._note(number, parts, len(text))

    def _note(self, number: int, controllers: Iterable[int], size: int) -> None:
        self._last_number = number
        self._sizes[number] = size
        self.size += size
        for controller in controllers:
            self._numbers.setdefault(controller, []).append(number)

    def forget(self, up_to: int | None = None) -> None:
        """Record that the first batches, or all batches, are now only in the tables."""
        last = self._last_number if up_to is None else up_to
        self._sizes = {number: size for number, size in self._sizes.items() if number > last}
        self.size = sum(self._sizes.values())
        self._numbers = {
            controller: left
            for controller, numbers in self._numbers.items()
            if (left := [number for number in numbers if number > last])
        }

    def steps_into_tables(self, connection: sqlite3.Connection) -> Iterator[MoveStep]:
        """Read all batches, and return the transactions that move them."""
        return _steps(all_recent_rows(connection), tuple(self._sizes.items()))

    def of(self, controllers: Iterable[int]) -> list[int]:
        """Return the numbers of the batches that contain rows of controllers.

        Call this before the tables are read: rows of batches that are removed later are then in the
        tables.
        """
        numbers = self._numbers
        return [number for one in controllers for number in numbers.get(one, ())]


def recent_rows(
    connection: sqlite3.Connection, numbers: Collection[int], controllers: Collection[int]
) -> defaultdict[int, Rows]:
    """Read the rows of controllers in batches, merged as if they were written in order."""
    if not numbers:
        return defaultdict(Rows)
    return _merge(connection.execute(_CHOSEN_BATCHES, (str(list(numbers)),)), controllers)


def _steps(recent: Mapping[int, Rows], sizes: Sequence[tuple[int, int]]) -> Iterator[MoveStep]:
    chosen: dict[int, Rows] = {}
    count = 0
    for controller, rows in recent.items():
        chosen[controller] = rows
        count += len(rows.settings) + len(rows.kept) + len(rows.messages)
        if count >= ROWS_TOGETHER:
            yield _step_with(chosen)
            chosen, count = {}, 0
    if chosen:
        yield _step_with(chosen)
    letters = 0
    for number, size in sizes:
        letters += size
        if letters >= LETTERS_TOGETHER or number == sizes[-1][0]:
            yield MoveStep([(_FORGETTING_FIRST, (number,))], 0, number)
            letters = 0


def _step_with(parts: Mapping[int, Rows]) -> MoveStep:
    return MoveStep(fleet_statements(parts), sum(map(tables_touched, parts.values())))


def tables_touched(rows: Rows) -> int:
    """Count the tables with changed rows; the rows of a controller are together in each table."""
    return sum(map(bool, (rows.settings, rows.kept, rows.messages)))


def all_recent_rows(connection: sqlite3.Connection) -> dict[int, Rows]:
    return _merge(connection.execute(_ALL), None)


def _merge(
    batches: Iterable[tuple[int, bytes]], controllers: Collection[int] | None
) -> defaultdict[int, Rows]:
    found: defaultdict[int, Rows] = defaultdict(Rows)
    for _, text in batches:
        for controller, rows in _decoder.decode(text).items():
            if controllers is None or controller in controllers:
                found[controller].add(rows)
    return found
