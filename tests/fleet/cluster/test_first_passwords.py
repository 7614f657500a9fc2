"""Passwords of nodes that share a database: first passwords, and those set in a folder."""

import asyncio
import io
import shutil
from pathlib import Path

import pytest

from leverframe.fleet.cluster.membership import read_nodes
from leverframe.fleet.node_commands import change_password
from leverframe.host.configuration.reader import Sources
from leverframe.host.reach import PasswordRefused
from leverframe.storage.datafolder import FolderInUse
from leverframe.storage.lanes.postgres_schema import open_database
from tests.fleet.test_node_passwords import CELLAR, EVERYWHERE, NEW, running
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer


async def test_open_controllers_get_a_password_when_a_node_becomes_reachable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], postgres: PostgresServer
) -> None:
    cluster = f'{CELLAR}[cluster]\nlive_state_every = 1\ndatabase = "{postgres.new_fleet()}"\n'
    async with running(tmp_path, capsys, cluster) as node:
        assert await node.request_status(None, "cellar") == 200
    async with running(tmp_path, capsys, EVERYWHERE + cluster) as node:
        own = node.password("Sign in as admin")
        assert await node.request_status(own) == 200
        password = node.password("The administrator of cellar")
        assert await node.request_status(None, "cellar") == 401
        assert await node.request_status(password, "cellar") == 200
    async with running(tmp_path, capsys, EVERYWHERE + cluster) as node:
        assert "password" not in node.printed
        assert await node.request_status(password, "cellar") == 200


async def test_passwd_changes_the_administrator_of_nodes_that_share_a_database(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also at another node, which keeps running."""
    database = postgres.new_fleet()
    other = tmp_path / "other"
    other.mkdir()
    keys = f'{EVERYWHERE}[cluster]\ndatabase = "{database}"\nnode = '
    async with running(tmp_path, capsys, f"{keys}'north'\n") as node:
        first = node.password("Sign in as admin")
        data = tmp_path / "data"
        message = f"`leverframe passwd --data {data} --database WHERE` while the node is stopped"
        assert message in node.printed
        with pytest.raises(FolderInUse):
            await change_password(Sources(tmp_path / "fleet.toml", {}, {}), None, False, None)
    (other / "data").mkdir(0o700)
    shutil.copy(data / "fleet.key", other / "data")
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{NEW}\n"))
    async with running(other, capsys, f"{keys}'south'\n") as south:
        assert await south.request_status(first) == 200
        await change_password(Sources(tmp_path / "fleet.toml", {}, {}), None, False, None)
        assert capsys.readouterr().out == "Changed the password of admin of the node.\n"
        async with asyncio.timeout(PATIENCE_S):
            status = 200
            while status == 200:
                status = await south.request_status(first)
        assert (status, await south.request_status(NEW)) == (401, 200)
        # It is the same node with another folder.
        sources = Sources(None, {}, {"data": str(data)})
        with pytest.raises(PasswordRefused, match="The node south is running; stop it first"):
            await change_password(sources, None, True, None, database, "south")
        with open_database(database) as connection:
            assert {one.name: one.is_alive for one in read_nodes(connection)} == {
                "north": False,
                "south": True,
            }
    async with running(tmp_path, capsys, f"{keys}'north'\n") as node:
        assert "password" not in node.printed
        assert await node.request_status(NEW) == 200


async def test_passwd_reports_what_it_cannot_do_in_a_database(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    database = postgres.new_fleet()
    sources = Sources(None, {}, {"data": str(tmp_path)})
    with pytest.raises(PasswordRefused, match="`leverframe fleet send 'stm.cgi.auth=...' cellar`"):
        await change_password(sources, None, True, "cellar", database, "north")
    with pytest.raises(PasswordRefused, match="The node has no account 'bob'; it has admin"):
        await change_password(sources, "bob", True, None, database, "north")
