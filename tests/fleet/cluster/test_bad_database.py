"""A node with a database that it cannot use: one message, and nothing was done anywhere."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from leverframe.core.errors import DONE, ErrorForPeople
from leverframe.fleet.cluster.database_setup import NodeIdentity, open_cluster
from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.membership import read_nodes
from leverframe.fleet.cluster.storage import open_database
from leverframe.fleet.fleet_file import ClusterTable, read_fleet
from leverframe.fleet.records import MemberRecord
from leverframe.host.command_line.entry import carry_out
from leverframe.host.configuration import BadConfiguration
from leverframe.host.configuration.reader import Sources
from leverframe.storage.lanes import postgres_schema
from leverframe.storage.lanes.node_folder import FleetFolder
from leverframe.storage.lanes.postgres_connection import why_not_connected
from leverframe.storage.lanes.postgres_schema import migrate
from tests.fleet.cluster.nodes import cluster_on
from tests.postgres_server import PostgresServer

NODE = NodeIdentity("a", Place("", "127.0.0.1", 1))
_ROWS = (
    "SELECT (SELECT json_agg(node ORDER BY name) FROM node)::text,"
    " (SELECT json_agg(lane ORDER BY node) FROM lane)::text,"
    " (SELECT json_agg(agreed ORDER BY name) FROM agreed)::text,"
    " (SELECT json_agg(controller ORDER BY number) FROM controller)::text"
)


def read_rows(address: str) -> object:
    with psycopg.connect(address) as connection:
        return connection.execute(_ROWS).fetchone()


def refusal(address: str, key_path: Path) -> str:
    """Open a node that is refused; return the message."""
    with pytest.raises(ErrorForPeople) as refused:
        asyncio.run(open_cluster(address, NODE, key_path))
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert sentence.endswith(".")
    return sentence


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (
            "host=127.0.0.1 port=1",
            'Connection refused (at "127.0.0.1", port 1)',
        ),
        (
            "host=127.0.0.1,127.0.0.2 port=1",
            'Connection refused (at "127.0.0.2", port 1);'
            ' Connection refused (at "127.0.0.1", port 1)',
        ),
        ("host=/nowhere", 'No such file or directory (at socket "/nowhere/.s.PGSQL.5432")'),
        ("hots=db", 'invalid connection option "hots"'),
        ("host=db..example", "its address does not contain a valid host name."),
        # A password with a blank is not repeated.
        ("host=db password=my secret", 'missing "=" after ... in connection info string'),
    ],
)
def test_wrong_address_is_reported_with_each_place_tried(
    address: str, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    key_path = tmp_path / "fleet.key"
    assert refusal(address, key_path).startswith(f"The database cannot be used: {reason}")
    assert not key_path.exists()
    assert carry_out(["fleet", "migrate", "--database", address]) != DONE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"leverframe: The database cannot be used: {reason}")


def test_possible_end_of_a_password_is_not_shown_as_a_host() -> None:
    error = psycopg.OperationalError("failed to resolve host 'secret@db.example': not known")
    assert why_not_connected(error) == "failed to resolve host '...db.example': not known"


_ALL = "SELECT, INSERT, UPDATE, DELETE ON TABLE"


@contextmanager
def role_with_all_rights(address: str) -> Iterator[psycopg.Connection]:
    """A role `guest` with the rights of a node, and a connection that can revoke them."""
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS guest")
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute(
            "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO guest"
        )
        connection.execute("GRANT USAGE ON SEQUENCE controller_number TO guest")
        try:
            yield connection
        finally:
            connection.execute("DROP OWNED BY guest")
            connection.execute("DROP ROLE guest")


@pytest.mark.parametrize(
    ("taken", "lacking", "grant"),
    [
        ("INSERT, UPDATE ON controller", "the table controller", f"{_ALL} controller"),
        ("DELETE ON told", "the table told", f"{_ALL} told"),
        (
            "ALL ON live, chunk, mark, told, entry",
            "the tables chunk, entry, live, mark, told",
            f"{_ALL} chunk, entry, live, mark, told",
        ),
        (
            "ALL ON SEQUENCE controller_number",
            "the sequence controller_number",
            "USAGE ON SEQUENCE controller_number",
        ),
    ],
)
def test_role_without_a_right_gets_the_grant_before_any_write(
    taken: str, lacking: str, grant: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    address, key_path = postgres.new_fleet(), tmp_path / "fleet.key"
    before = read_rows(address)
    of_guest = address.replace("user=postgres", "user=guest")
    with role_with_all_rights(address) as connection:
        connection.execute(f"REVOKE {taken} FROM guest".encode())
        assert refusal(of_guest, key_path) == (
            f"The database cannot be used: the role guest lacks rights on {lacking}."
            f" Their owner grants them with `GRANT {grant} TO guest`."
        )
        assert read_rows(address) == before
        assert not key_path.exists()
        connection.execute(f"GRANT {grant} TO guest".encode())
        begin_and_add(of_guest, key_path)


def test_role_without_schema_access_is_not_advised_to_create_tables(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address, key_path = postgres.new_fleet(), tmp_path / "fleet.key"
    of_guest = address.replace("user=postgres", "user=guest")
    with role_with_all_rights(address) as connection:
        # Of another program; no node needs its tables.
        connection.execute("CREATE SCHEMA closed CREATE TABLE migration (number integer)")
        connection.execute("REVOKE USAGE ON SCHEMA public FROM PUBLIC")
        assert refusal(of_guest, key_path) == (
            "The database cannot be used: the role guest lacks rights on the schema public."
            " Their owner grants them with `GRANT USAGE ON SCHEMA public TO guest`."
        )
        connection.execute("GRANT USAGE ON SCHEMA public TO guest")
        begin_and_add(of_guest, key_path)


def begin_and_add(address: str, key_path: Path) -> None:
    """Begin the life of a node, and take what it needs for a controller."""

    async def begin() -> None:
        opened = await open_cluster(address, NODE, key_path)
        try:
            (number,) = await opened.registry.reserve(1)
            await opened.registry.put({number: MemberRecord("c-1")})
        finally:
            opened.registry.close()
            await opened.lane.close()

    asyncio.run(begin())


def test_role_without_any_right_gets_all_grants(postgres: PostgresServer, tmp_path: Path) -> None:
    address, key_path = postgres.new_fleet(), tmp_path / "fleet.key"
    of_guest = address.replace("user=postgres", "user=guest")
    with role_with_all_rights(address) as connection:
        connection.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM guest")
        connection.execute("REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM guest")
        grants = refusal(of_guest, key_path).split("`")[1]
        assert grants.startswith("GRANT SELECT ON TABLE migration TO guest; ")
        connection.execute(grants.encode())
        begin_and_add(of_guest, key_path)


def test_missing_database_or_role_is_named(postgres: PostgresServer, tmp_path: Path) -> None:
    address, key_path = postgres.new_fleet(), tmp_path / "fleet.key"
    assert 'database "nothing" does not exist' in refusal(f"{address} dbname=nothing", key_path)
    stranger = address.replace("user=postgres", "user=stranger")
    assert 'role "stranger" does not exist' in refusal(stranger, key_path)


def test_older_server_is_refused_before_any_query(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.new_database()
    monkeypatch.setattr(postgres_schema, "OLDEST", 99)
    sentence = refusal(address, tmp_path / "fleet.key")
    assert sentence.endswith("and this program needs 99 or newer.")
    with pytest.raises(ErrorForPeople, match="needs 99 or newer"):
        migrate(address)


def test_older_tables_are_reported_with_the_migration_command(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address, key_path = postgres.new_fleet(), tmp_path / "fleet.key"
    with psycopg.connect(address) as connection:
        connection.execute(
            "DELETE FROM migration WHERE number = (SELECT max(number) FROM migration)"
        )
    before = read_rows(address)
    assert "bring them up to date with `leverframe fleet migrate`" in refusal(address, key_path)
    assert read_rows(address) == before
    assert not key_path.exists()


async def test_wrong_or_missing_key_or_taken_name_is_refused(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        await cluster.join("a")
        await cluster.add("a", "c-1")
        other = tmp_path / "other" / "fleet.key"
        other.parent.mkdir()

        async def refuse(identity: NodeIdentity, key_path: Path) -> str:
            with pytest.raises(ErrorForPeople) as refused:
                await open_cluster(cluster.database, identity, key_path)
            return str(refused.value)

        second = NodeIdentity("b", NODE.place)
        assert f"There is no {other}" in await refuse(second, other)
        assert not other.exists()
        other.write_bytes(bytes(32))
        assert f"{other} is not the key of this fleet" in await refuse(second, other)
        assert await refuse(NODE, tmp_path / "fleet.key") == (
            "A node a is already running. Choose another name with --node."
        )
        with psycopg.connect(cluster.database) as connection:
            rows = connection.execute("SELECT name, epoch, is_alive FROM node").fetchall()
        assert rows == [("a", 1, True)]
        assert cluster.names("a") == {"c-1"}


@pytest.mark.parametrize(
    ("text", "options", "place"),
    [
        ("", {"database": ""}, "--database: "),
        ("cluster = 3\n", {}, "line 1: write cluster as a [cluster] table."),
        ("[cluster]\ndatabase = 3\n", {}, "line 2: "),
    ],
)
def test_mistake_in_the_cluster_table_is_reported_with_its_place(
    text: str, options: dict[str, str], place: str, tmp_path: Path
) -> None:
    path = tmp_path / "node.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadConfiguration) as refused:
        read_fleet(Sources(path, {}, {}), options)
    assert place in str(refused.value)


def test_unusable_inner_address_is_reported_before_registration(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.new_fleet()
    before = read_rows(address)
    with socket.create_server(("127.0.0.1", 0)) as taken, FleetFolder(tmp_path) as folder:
        for inner, reason in (
            (f"127.0.0.1:{taken.getsockname()[1]}", "Address already in use"),
            ("192.0.2.1:8070", "Cannot assign requested address"),
        ):
            table = ClusterTable(database=address, node="a", inner=inner)
            with pytest.raises(ErrorForPeople) as refused:
                asyncio.run(open_database(table, folder))
            assert str(refused.value).startswith(f"The inner address {inner} cannot be used:")
            assert reason in str(refused.value)
            assert str(refused.value).endswith("with --inner.")
    assert read_rows(address) == before


def test_node_that_fails_before_its_controllers_start_leaves_its_name_free(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    address = postgres.new_fleet()

    async def fail() -> None:
        storage = await open_database(ClusterTable(database=address, node="a"), folder)
        await storage.leave()
        assert storage.registry is not None
        storage.registry.close()
        await storage.lane.close()

    with FleetFolder(tmp_path) as folder:
        asyncio.run(fail())
    with psycopg.connect(address) as connection:
        (node,) = read_nodes(connection)
    assert not node.is_alive
