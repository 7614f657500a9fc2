"""Rows as SQL: one statement per table and batch, the rows packed into one JSON text.

Every statement gives up the interpreter lock and has to get it back from a busy event loop, so a
statement per row would cost a batch more than the disk does.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from leverframe.engine.tree import is_secret
from leverframe.storage.store import Rows

Statement = tuple[str, tuple[Any, ...]]

#: The pages of a small transaction, and how much more each further page holds.
_FEW_PAGES = 3
_BYTES_PER_PAGE = 4096


def removes(rows: Rows) -> bool:
    """Return whether the rows remove or replace something that may be secret."""
    return (
        rows.replace_settings
        or None in rows.settings.values()
        or None in rows.blobs.values()
        or any(is_secret(path) for path in rows.settings)
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
