"""Rows of many controllers as SQL: one statement per table and batch, as for a single one."""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from leverframe.storage.statements import Statement
from leverframe.storage.store import Rows

_TABLES = ("setting", "kept", "message", "blob")
#: The rows of an object of objects: the controller, then the key of its row.
_EACH = "FROM json_each(?) AS own, json_each(own.value) AS row"
_CHOSEN = "controller IN (SELECT value FROM json_each(?))"


def fleet_statements(parts: Mapping[int, Rows]) -> list[Statement]:
    """Return the SQL that writes the rows of each controller, in order."""
    statements: list[Statement] = []
    replaced = [controller for controller, rows in parts.items() if rows.replace_settings]
    if replaced:
        statements.append((f"DELETE FROM setting WHERE {_CHOSEN}", (_json(replaced),)))  # noqa: S608
    settings = {controller: rows.settings for controller, rows in parts.items()}
    statements += _text_statements("setting", "path", settings)
    statements += _text_statements(
        "kept", "name", {controller: rows.kept for controller, rows in parts.items()}
    )
    statements += _text_statements(
        "message", "number", {controller: rows.messages for controller, rows in parts.items()}
    )
    for controller, rows in parts.items():
        statements += _blob_statements(controller, rows.blobs)
    return statements


def forgetting(controllers: Iterable[int]) -> list[Statement]:
    """Return the SQL that removes all rows of controllers."""
    chosen = _json(list(controllers))
    return [(f"DELETE FROM {table} WHERE {_CHOSEN}", (chosen,)) for table in _TABLES]  # noqa: S608


def _text_statements(
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


#: Numbers of messages travel as text.
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
