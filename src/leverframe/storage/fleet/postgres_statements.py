"""A batch of rows of many controllers as one statement of PostgreSQL, behind a fence.

The statement first takes the lane's row to the next batch number, and only if this node still holds
the lane's epoch and the number before was the last one. Everything else depends on that: a node
that was declared dead writes nothing, however late its bytes arrive.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from msgspec import Struct

from leverframe.storage.store import Rows

#: Table, key column and its type, and the field of `Rows`: texts by controller and key.
_TEXTS = (
    ("setting", "path", "text", "settings"),
    ("kept", "name", "text", "kept"),
    ("message", "number", "bigint", "messages"),
)
TABLES = ("setting", "kept", "message", "blob")

FENCE = (
    "UPDATE lane SET batch = %(batch)s"
    " WHERE node = %(node)s AND epoch = %(epoch)s AND batch = %(batch)s - 1"
)

#: Lets a batch never be stored that is not stored yet, by a number that nothing is written under:
#: its bytes may still be on their way. One that is stored is written again: it may be seen before
#: the synchronous standby has it, and this is answered only when that one has it.
SETTLE = (
    "UPDATE lane SET batch = CASE batch WHEN %(batch)s - 1 THEN %(batch)s + 1 ELSE batch END"
    " WHERE node = %(node)s AND epoch = %(epoch)s"
)

#: The life of a node and the number of its last batch.
LAST_BATCH = "SELECT epoch, batch FROM lane WHERE node = %s"

#: Finds a node that is still in this life, and keeps that life from being ended before the
#: transaction. It does not hold up its beats, which change no key; who ends a life locks the row
#: FOR UPDATE.
ALIVE = (
    "SELECT name FROM node WHERE name = %(node)s AND epoch = %(epoch)s AND is_alive FOR KEY SHARE"
)


class TextRows(Struct, frozen=True):
    """What a batch does with the rows of one table."""

    table: str
    key: str
    kind: str
    field: str
    is_removal: bool

    def clause(self, condition: str) -> str:
        """Return the part of a statement that does it, under a condition.

        Arrays go in binary form: as text, the quotes in a row of the audit trail alone would take
        100 us of the node, and so take 1.
        """
        table, key, name = self.table, self.key, self.name
        arrays = f"%({name}_controllers)b::integer[], %({name}_keys)b::{self.kind}[]"
        if self.is_removal:
            return (
                f"{name} AS (DELETE FROM {table} USING unnest({arrays})"  # noqa: S608
                f" AS gone (controller, key) WHERE {table}.controller = gone.controller"
                f" AND {table}.{key} = gone.key AND {condition})"
            )
        return (
            f"{name} AS (INSERT INTO {table} (controller, {key}, value)"  # noqa: S608
            f" SELECT * FROM unnest({arrays}, %({name}_values)b::text[]) WHERE {condition}"
            f" ON CONFLICT (controller, {key}) DO UPDATE SET value = EXCLUDED.value)"
        )

    @property
    def name(self) -> str:
        return f"{self.table}_{'gone' if self.is_removal else 'put'}"

    def arrays(self, parts: Mapping[int, Rows]) -> dict[str, list[Any]]:
        """Return the arrays of these rows in a batch; nothing where it has none."""
        found = [
            (controller, int(key) if self.kind == "bigint" else key, text)
            for controller, rows in parts.items()
            for key, text in getattr(rows, self.field).items()
            if (text is None) is self.is_removal
        ]
        if not found:
            return {}
        controllers, keys, texts = map(list, zip(*found, strict=True))
        arrays = {f"{self.name}_controllers": controllers, f"{self.name}_keys": keys}
        return arrays if self.is_removal else arrays | {f"{self.name}_values": texts}


_ALL = [TextRows(*one, is_removal) for one in _TEXTS for is_removal in (False, True)]


class Batch(NamedTuple):
    """What a batch does, and with which arrays."""

    rows: tuple[TextRows, ...]
    arrays: dict[str, list[Any]]

    @classmethod
    def of(cls, parts: Mapping[int, Rows]) -> "Batch":
        by_rows = {rows: found for rows in _ALL if (found := rows.arrays(parts))}
        arrays = {name: array for found in by_rows.values() for name, array in found.items()}
        return cls(tuple(by_rows), arrays)

    def with_fence(self) -> str:
        """Return the whole batch as a statement: 1 where it was written, 0 where it was fenced."""
        condition = "EXISTS (SELECT 1 FROM fence)"
        clauses = [f"fence AS ({FENCE} RETURNING 1)", *self._clauses(condition)]
        return f"WITH {', '.join(clauses)} SELECT count(*) FROM fence"  # noqa: S608

    def without_fence(self) -> str:
        """Return the statement for a transaction that has passed the fence."""
        return f"WITH {', '.join(self._clauses('true'))} SELECT 1"

    def _clauses(self, condition: str) -> list[str]:
        return [rows.clause(condition) for rows in self.rows]


def needs_transaction(parts: Iterable[Rows]) -> bool:
    """Return whether a row is both removed and inserted, which one statement cannot do."""
    return any(rows.replace_settings or rows.blobs for rows in parts)
