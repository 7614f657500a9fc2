"""The tables in PostgreSQL: made and brought up to date, and what a node checks before it starts.

Migrations only add, so that nodes of two program versions work on the same tables side by side. A
program that finds tables which are older than it needs says so; `leverframe fleet migrate` brings
them up to date. Newer ones are fine.
"""

import re
from collections.abc import Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import psycopg

from leverframe.storage.encrypting import KeyFile
from leverframe.storage.fleet.postgres_connection import (
    Connection,
    connect,
    first_line,
    why_not_connected,
)
from leverframe.storage.store import StoreUnavailable

MIGRATIONS = Path(__file__).parent / "postgres_migrations"
#: The main version of PostgreSQL that is tried; older ones may lack what statements use.
OLDEST = 15
#: A migration holds this lock; any number works that no other program uses.
_LOCK = 0x4C656672
_PRESENT = "SELECT number FROM migration"
_MADE = re.compile(r"^CREATE (TABLE|SEQUENCE) (\w+)", re.MULTILINE)
#: The role, and which of the given things that are there it may not use in each of the given ways.
_NOT_GRANTED = (
    "SELECT quote_ident(current_user), array_agg(DISTINCT thing) FROM unnest(%s::text[]) AS thing,"
    " unnest(%s::text[]) AS way WHERE NOT has_{}_privilege(to_regclass(thing), way)"
    " HAVING count(*) > 0"
)
#: The role, and the schemas on its way that it may not look into: it finds no tables there.
_CLOSED_SCHEMAS = (
    "SELECT quote_ident(current_user), array_agg(quote_ident(nspname)) FROM pg_class"
    " JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE relname = 'migration'"
    r" AND nspname = ANY(regexp_split_to_array(current_setting('search_path'), '\s*,\s*'))"
    " AND NOT has_schema_privilege(pg_namespace.oid, 'USAGE') HAVING count(*) > 0"
)
#: Distinguishes the right key from a wrong one, and reveals nothing else about it.
_KEY_CHECK = "key_check"


class CannotUseDatabase(StoreUnavailable):
    """The database cannot be used: one sentence."""


def migrate(address: str) -> list[str]:
    """Bring the tables up to date in one transaction; return the names of what was done."""
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


def open_database(address: str) -> Connection:
    """Connect, or raise CannotUseDatabase with the reason."""
    try:
        connection = connect(address)
    # A name that can be none of a host is no error of the driver's.
    except (psycopg.Error, ValueError) as error:
        raise CannotUseDatabase(
            f"The database cannot be used: {why_not_connected(error)}."
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
    """Raise CannotUseDatabase where the tables are missing, older, or not for this user."""
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
    """What a node does with some things of the database."""

    kind: str
    ways: list[str]
    things: list[str]


def _list_needed() -> list[_Needed]:
    """List all that a node uses, by the migrations."""
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
    """Find what is needed and not granted; return it with the role."""
    row = connection.execute(_CLOSED_SCHEMAS).fetchone()
    if row is not None:
        yield row[0], _Needed("SCHEMA", ["USAGE"], row[1])
    for kind, ways, things in _list_needed():
        query = _NOT_GRANTED.format(kind.lower()).encode()
        row = connection.execute(query, (things, ways)).fetchone()
        if row is not None:
            yield row[0], _Needed(kind, ways, row[1])


def _check_rights(connection: Connection) -> None:
    """Raise CannotUseDatabase with what is to be granted, where something is."""
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
    """Raise CannotUseDatabase where other nodes seal secrets with another key."""
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
