"""The tables in PostgreSQL with their migrations, and batches of rows as single statements."""

import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
from msgspec import Struct

from leverframe.storage.encryption import KeyFile
from leverframe.storage.lanes.postgres_connection import (
    Connection,
    connect,
    first_line,
    why_not_connected,
)
from leverframe.storage.store import Rows, StoreUnavailable

# The tables in PostgreSQL: their migrations, and the checks of a node before it starts.
#
# Migrations only add to the tables, so that nodes with two program versions can use the same
# tables. A program reports tables that are too old for it; `leverframe fleet migrate` upgrades
# them. Tables of newer versions can be used.

MIGRATIONS = Path(__file__).parent / "postgres_migrations"
#: The oldest tested major version of PostgreSQL; older versions may not support all statements.
OLDEST = 15
#: The number of the lock that a migration holds; no other program may use it.
_LOCK = 0x4C656672
_PRESENT = "SELECT number FROM migration"
_MADE = re.compile(r"^CREATE (TABLE|SEQUENCE) (\w+)", re.MULTILINE)
#: Returns the role, and the objects on which it lacks one of the given privileges.
_NOT_GRANTED = (
    "SELECT quote_ident(current_user), array_agg(DISTINCT thing) FROM unnest(%s::text[]) AS thing,"
    " unnest(%s::text[]) AS way WHERE NOT has_{}_privilege(to_regclass(thing), way)"
    " HAVING count(*) > 0"
)
#: Returns the role, and the schemas of its search path that it may not use; it finds no tables
#: there.
_CLOSED_SCHEMAS = (
    "SELECT quote_ident(current_user), array_agg(quote_ident(nspname)) FROM pg_class"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = 'migration'"
    r" AND nspname = ANY(regexp_split_to_array(current_setting('search_path'), '\s*,\s*'))"
    " AND NOT has_schema_privilege(pg_namespace.oid, 'USAGE') HAVING count(*) > 0"
)
#: The name of a value that shows whether a key is the right one, and reveals nothing else about it.
_KEY_CHECK = "key_check"


class CannotUseDatabase(StoreUnavailable):
    """The database cannot be used; the message is one sentence."""


def migrate(address: str) -> list[str]:
    """Upgrade the tables in one transaction; return the names of the applied migrations."""
    done = []
    try:
        with open_database(address) as connection, connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migration"
                " (number integer PRIMARY KEY, name text NOT NULL)"
            )
            present = {number for (number,) in connection.execute(_PRESENT)}
            for number, path in _migrations():
                if number not in present:
                    connection.execute(path.read_bytes())
                    connection.execute("INSERT INTO migration VALUES (%s, %s)", (number, path.stem))
                    done.append(path.stem)
    except psycopg.Error as error:
        raise CannotUseDatabase(
            f"The tables cannot be created: {first_line(error)}. Nothing was changed."
        ) from error
    return done


#: Advice for an address that is not that of a database.
_ADDRESS = " Write its address like `host=db.example dbname=fleet user=leverframe`."


def open_database(address: str) -> Connection:
    """Connect, or raise CannotUseDatabase with the reason."""
    try:
        connection = connect(address)
    # ValueError means an invalid host name, for which the driver has no error of its own.
    except (psycopg.Error, ValueError) as error:
        is_unreachable = isinstance(error, psycopg.OperationalError)
        raise CannotUseDatabase(
            f"The database cannot be used: {why_not_connected(error)}."
            f"{'' if is_unreachable else _ADDRESS}"
        ) from error
    version = connection.info.server_version // 10_000
    if version < OLDEST:
        connection.close()
        raise CannotUseDatabase(
            f"The database cannot be used: it is PostgreSQL {version}, and this program needs"
            f" {OLDEST} or newer."
        )
    return connection


def check_tables(connection: Connection) -> None:
    """Raise CannotUseDatabase if the tables are missing, too old, or not accessible."""
    _check_rights(connection)
    try:
        present = {number for (number,) in connection.execute(_PRESENT)}
    except psycopg.errors.UndefinedTable:
        present = set()
    except psycopg.Error as error:
        raise CannotUseDatabase(f"The database cannot be used: {first_line(error)}.") from error
    needed = {number for number, _ in _migrations()}
    if not needed <= present:
        raise CannotUseDatabase(
            f"The tables in the database are of version {max(present, default=0)}, and this program"
            f" needs {max(needed)}: bring them up to date with `leverframe fleet migrate`."
        )


class _Needed(NamedTuple):
    """Privileges that a node needs on objects of the database."""

    kind: str
    ways: list[str]
    things: list[str]


def _list_needed() -> list[_Needed]:
    """List all privileges that a node needs, according to the migrations."""
    made = [it for _, path in _migrations() for it in _MADE.findall(path.read_text("utf-8"))]
    return [
        _Needed("TABLE", ["SELECT"], ["migration"]),
        _Needed(
            "TABLE",
            ["SELECT", "INSERT", "UPDATE", "DELETE"],
            [name for kind, name in made if kind == "TABLE"],
        ),
        _Needed("SEQUENCE", ["USAGE"], [name for kind, name in made if kind == "SEQUENCE"]),
    ]


def _not_granted(connection: Connection) -> Iterator[tuple[str, _Needed]]:
    """Find privileges that are needed but not granted; yield them with the role."""
    row = connection.execute(_CLOSED_SCHEMAS).fetchone()
    if row is not None:
        yield row[0], _Needed("SCHEMA", ["USAGE"], row[1])
    for kind, ways, things in _list_needed():
        query = _NOT_GRANTED.format(kind.lower()).encode()
        row = connection.execute(query, (things, ways)).fetchone()
        if row is not None:
            yield row[0], _Needed(kind, ways, row[1])


def _check_rights(connection: Connection) -> None:
    """Raise CannotUseDatabase with the privileges that must be granted, if any."""
    role, lacking, grants = "", [], []
    try:
        for role, (kind, ways, things) in _not_granted(connection):
            names = ", ".join(things)
            lacking.append(f"the {kind.lower()}{'s' if len(things) > 1 else ''} {names}")
            grants.append(f"GRANT {', '.join(ways)} ON {kind} {names} TO {role}")
    except psycopg.Error as error:
        raise CannotUseDatabase(f"The database cannot be used: {first_line(error)}.") from error
    if lacking:
        raise CannotUseDatabase(
            f"The database cannot be used: the role {role} lacks rights on {' and '.join(lacking)}."
            f" Their owner grants them with `{'; '.join(grants)}`."
        )


def check_key(connection: Connection, key_file: KeyFile) -> None:
    """Raise CannotUseDatabase if other nodes encrypt secrets with another key."""
    find = "SELECT value FROM agreed WHERE name = %s"
    try:
        row = connection.execute(find, (_KEY_CHECK,)).fetchone()
        if row is not None and not key_file.path.exists():
            raise CannotUseDatabase(
                f"There is no {key_file.path}, and the nodes of this fleet have a key: copy "
                "fleet.key from the data folder of a node that is running."
            )
        own = blake2b(b"leverframe fleet", key=key_file.key(), digest_size=16).hexdigest()
        connection.execute(
            "INSERT INTO agreed (name, value) VALUES (%s, %s) ON CONFLICT DO NOTHING",
            (_KEY_CHECK, own),
        )
        row = connection.execute(find, (_KEY_CHECK,)).fetchone()
    except psycopg.Error as error:
        raise CannotUseDatabase(f"The database cannot be used: {first_line(error)}.") from error
    if row is not None and row[0] != own:
        raise CannotUseDatabase(
            f"{key_file.path} is not the key of this fleet. Copy fleet.key from the data folder "
            "of a node that is running."
        )


def _migrations() -> list[tuple[int, Path]]:
    return sorted((int(path.name.partition("_")[0]), path) for path in MIGRATIONS.glob("*.sql"))


# A batch of rows of many controllers as one PostgreSQL statement with a fence.
#
# The statement first increases the batch number in the lane's row, but only if this node still has
# the lane's epoch and no batch is missing in between. All other changes depend on that: a node that
# was declared dead writes nothing, however late its bytes arrive.

#: Table, key column, type of the key, and field of `Rows`, for tables of texts by controller and
#: key.
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

#: Voids a batch that is not stored, whose bytes may still arrive: it increases the number so that
#: the batch can no longer follow. If the batch is stored, the lane's row is written again
#: unchanged. The answer then comes only after the synchronous standby has the batch, which may be
#: visible before that.
SETTLE = (
    "UPDATE lane SET batch = CASE batch WHEN %(batch)s - 1 THEN %(batch)s + 1 ELSE batch END"
    " WHERE node = %(node)s AND epoch = %(epoch)s"
)

#: Returns the life (`epoch`) of a node and the number of its last batch.
LAST_BATCH = "SELECT epoch, batch FROM lane WHERE node = %s"

#: Finds a node that is still in this life, and prevents the life from being ended before the
#: transaction. Heartbeats are not blocked, because they change no key; a life is ended with a FOR
#: UPDATE lock.
ALIVE = (
    "SELECT name FROM node WHERE name = %(node)s AND epoch = %(epoch)s AND is_alive FOR KEY SHARE"
)


class TextRows(Struct, frozen=True):
    """The removals or insertions of a batch in one table."""

    table: str
    key: str
    kind: str
    field: str
    is_removal: bool

    def clause(self, condition: str) -> str:
        """Return the part of a statement that performs the changes if a condition is true.

        Arrays are sent in binary form. As text, the quotes in a row of the audit trail alone would
        take 100 us instead of 1 us.
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
        """Return the arrays of a batch for this table; empty if the batch has no such rows."""
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
    """The changes of a batch, and the arrays with their values."""

    rows: tuple[TextRows, ...]
    arrays: dict[str, list[Any]]

    @classmethod
    def of(cls, parts: Mapping[int, Rows]) -> "Batch":
        by_rows = {rows: found for rows in _ALL if (found := rows.arrays(parts))}
        arrays = {name: array for found in by_rows.values() for name, array in found.items()}
        return cls(tuple(by_rows), arrays)

    def with_fence(self) -> str:
        """Return the batch as a statement that returns 1 if written, 0 if the fence prevents it."""
        condition = "EXISTS (SELECT 1 FROM fence)"
        clauses = [f"fence AS ({FENCE} RETURNING 1)", *self._clauses(condition)]
        return f"WITH {', '.join(clauses)} SELECT count(*) FROM fence"  # noqa: S608

    def without_fence(self) -> str:
        """Return the statement for a transaction that has already passed the fence."""
        return f"WITH {', '.join(self._clauses('true'))} SELECT 1"

    def _clauses(self, condition: str) -> list[str]:
        return [rows.clause(condition) for rows in self.rows]


def needs_transaction(parts: Iterable[Rows]) -> bool:
    """Return whether a row may be both removed and inserted, which one statement cannot do."""
    return any(rows.replace_settings or rows.blobs for rows in parts)
