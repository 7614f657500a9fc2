"""A batch of rows of many controllers as one statement of PostgreSQL, behind a fence.

The statement first takes the lane's row to the next batch number, and only if this node still holds
the lane's epoch and the number before was the last one. Everything else hangs on that: a node that
was declared dead meanwhile writes nothing, however late its bytes arrive.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from leverframe.storage.store import Rows

#: Table, key column and its type; rows of text by controller and key.
_TEXTS = (("setting", "path", "text"), ("kept", "name", "text"), ("message", "number", "bigint"))
TABLES = ("setting", "kept", "message", "blob")

FENCE = (
    "UPDATE lane SET batch = %(batch)s"
    " WHERE node = %(node)s AND epoch = %(epoch)s AND batch = %(batch)s - 1"
)

#: Lets a batch never be stored that is not stored yet, by a number that nothing is written under:
#: its bytes may still be on their way.
VOID = (
    "UPDATE lane SET batch = %(batch)s + 1"
    " WHERE node = %(node)s AND epoch = %(epoch)s AND batch = %(batch)s - 1"
)

#: The number of the last batch, where this is still the epoch of the node.
LAST_BATCH = "SELECT batch FROM lane WHERE node = %s AND epoch = %s"


def _rows_statement(fence: str, condition: str) -> str:
    """Return the statement that writes and removes rows of text, each under a condition."""
    parts = [fence] if fence else []
    for table, key, kind in _TEXTS:
        parts.append(
            f"{table}_put AS (INSERT INTO {table} (controller, {key}, value)"  # nosec B608
            f" SELECT * FROM unnest(%({table}_controllers)s::integer[], %({table}_keys)s::{kind}[],"
            f" %({table}_values)s::text[]) WHERE {condition}"
            f" ON CONFLICT (controller, {key}) DO UPDATE SET value = EXCLUDED.value)"
        )
        parts.append(
            f"{table}_gone AS (DELETE FROM {table} USING"  # nosec B608
            f" unnest(%({table}_gone_controllers)s::integer[], %({table}_gone_keys)s::{kind}[])"
            f" AS gone (controller, key) WHERE {table}.controller = gone.controller"
            f" AND {table}.{key} = gone.key AND {condition})"
        )
    return f"WITH {', '.join(parts)} SELECT {'count(*) FROM fence' if fence else '1'}"


#: Returns 1 where it was written, and 0 where the fence held it back.
BATCH = _rows_statement(f"fence AS ({FENCE} RETURNING 1)", "EXISTS (SELECT 1 FROM fence)")
#: The same for a transaction that has passed the fence.
ROWS = _rows_statement("", "true")


def arrays_of(parts: Mapping[int, Rows]) -> dict[str, list[Any]]:
    """Return the arrays of a batch: all rows of text, written and removed."""
    arrays: dict[str, list[Any]] = {}
    for table, _, kind in _TEXTS:
        put: tuple[list[int], list[Any], list[str]] = ([], [], [])
        gone: tuple[list[int], list[Any]] = ([], [])
        for controller, rows in parts.items():
            for key, text in _texts(rows, table).items():
                typed: Any = int(key) if kind == "bigint" else key
                if text is None:
                    gone[0].append(controller)
                    gone[1].append(typed)
                else:
                    put[0].append(controller)
                    put[1].append(typed)
                    put[2].append(text)
        arrays |= {
            f"{table}_controllers": put[0],
            f"{table}_keys": put[1],
            f"{table}_values": put[2],
            f"{table}_gone_controllers": gone[0],
            f"{table}_gone_keys": gone[1],
        }
    return arrays


def _texts(rows: Rows, table: str) -> Mapping[str, str | None]:
    return {"setting": rows.settings, "kept": rows.kept, "message": rows.messages}[table]


def needs_transaction(parts: Iterable[Rows]) -> bool:
    """Tell whether rows cannot go in one statement, which cannot remove and insert the same row."""
    return any(rows.replace_settings or rows.blobs for rows in parts)
