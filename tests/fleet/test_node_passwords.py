"""Passwords of a node and its controllers: first ones, and those set by `leverframe passwd`."""

import asyncio
import io
import re
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

from leverframe.fleet.fleet_file import ClusterTable, read_fleet
from leverframe.fleet.node_commands import adopt_folder, change_password
from leverframe.fleet.node_storage import NotInFolder, open_stopped_node
from leverframe.fleet.records import FleetAccount
from leverframe.fleet.serve import _serve, _way_on
from leverframe.host.configuration import NodeConfig
from leverframe.host.configuration.reader import Sources
from leverframe.host.reach import PasswordRefused
from leverframe.server.passwords import Passwords
from leverframe.storage.datafolder import DataFolder, FolderInUse, FolderOfController
from leverframe.storage.lanes.node_folder import FleetFolder
from tests.fleet.http_client import ask_once
from tests.fleet.test_fleet_serve import fleet_file
from tests.fleet.test_moving import live_in
from tests.patience import PATIENCE_S
from tests.ports import free_port

HOME = "127.0.0.1"
EVERYWHERE = "host = '0.0.0.0'\ndiscovery = false\nmdns = false\n"
CELLAR = '[[controllers]]\nname = "cellar"\n'
NEW = "a long new password"


class RunningNode:
    def __init__(self, port: int, printed: str) -> None:
        self.port = port
        self.printed = printed

    async def request_status(self, password: str | None, controller: str = "") -> int:
        """Send a request to the node, or a controller, as its administrator; return the status."""
        target, host = ("/api/settings", f"{controller}.localhost") if controller else ("/", HOME)
        account = {} if password is None else {"account": f"admin:{password}"}
        return (await ask_once(HOME, self.port, target, host, **account)).status

    def password(self, whose: str) -> str:
        found = re.search(rf"{whose} (?:with|has|have) the password (\S+)\n", self.printed)
        assert found is not None, self.printed
        return found[1]


@asynccontextmanager
async def running(
    folder: Path, capsys: pytest.CaptureFixture[str], keys: str
) -> AsyncIterator[RunningNode]:
    port = free_port()
    serving = asyncio.create_task(_serve(read_fleet(fleet_file(folder, port, keys))))
    output = ""
    async with asyncio.timeout(PATIENCE_S):
        while "answers at" not in output and '"ready"' not in output:
            assert not serving.done(), serving.exception()
            await asyncio.sleep(0.01)
            output += capsys.readouterr().out
    try:
        yield RunningNode(port, output)
    finally:
        signal.raise_signal(signal.SIGTERM)
        await serving


@pytest.fixture(autouse=True)
def type_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{NEW}\n"))


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def passwd(
    folder: Path, account: str | None = None, *, generate: bool = False, of: str | None = None
) -> None:
    sources = Sources(None, {}, {"data": str(folder)})
    await change_password(sources, account, generate, of)


async def test_passwd_changes_the_password_of_the_first_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    async with running(tmp_path, capsys, EVERYWHERE) as node:
        old = node.password("Sign in as admin")
        assert f"`leverframe passwd --data {data}` while the node is stopped" in node.printed
        assert await node.request_status(old) == 200
        with pytest.raises(FolderInUse):
            await passwd(data)
    await passwd(data)
    assert capsys.readouterr().out == "Changed the password of admin of the node.\n"
    assert not (data / "store.db").exists()
    async with running(tmp_path, capsys, EVERYWHERE) as node:
        assert "password" not in node.printed
        assert await node.request_status(old) == 401
        assert await node.request_status(NEW) == 200


async def test_passwd_changes_further_accounts_of_a_node_and_those_of_its_controllers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "data"
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR):
        pass
    async with open_stopped_node(data) as node:
        await node.registry.put_account(FleetAccount("anna", "", "user", ""))
    await passwd(data, "anna", generate=True)
    made = capsys.readouterr().out.removeprefix("The password of anna of the node is now ").strip()
    async with open_stopped_node(data) as node:
        stored = node.registry.accounts["anna"]
        assert stored.role == "user"
        assert await Passwords().right(stored.password, made)
    await passwd(data, of="cellar")
    assert capsys.readouterr().out == "Changed the password of admin of cellar.\n"
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR) as started:
        assert await started.request_status(NEW, "cellar") == 200
        assert await started.request_status(NEW) == 401


async def test_passwd_leaves_an_old_store_beside_a_node_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with open_stopped_node(tmp_path):
        pass
    (tmp_path / "store.db").touch()
    before = (tmp_path / "store.db").read_bytes()
    await passwd(tmp_path)
    assert capsys.readouterr().out == "Changed the password of admin of the node.\n"
    assert (tmp_path / "store.db").read_bytes() == before
    # The former owner of a controller in the same folder can still sign in.
    DataFolder(tmp_path).close()


@pytest.mark.parametrize(
    ("account", "of", "sentence"),
    [
        ("bob", None, "The node has no account 'bob'; it has admin. For accounts of a controller"),
        ("bob", "cellar", "Unknown account 'bob'; known accounts: admin, user"),
        (None, "attic", "There is no controller attic in "),
    ],
)
async def test_passwd_reports_unknown_accounts_and_changes_nothing(
    account: str | None,
    of: str | None,
    sentence: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async with running(tmp_path, capsys, CELLAR):
        pass
    with pytest.raises((PasswordRefused, NotInFolder), match=sentence):
        await passwd(tmp_path / "data", account, of=of)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("account", [None, "anna"])
async def test_short_password_is_refused_for_every_account(
    account: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_stopped_node(tmp_path) as node:
        await node.registry.put_account(FleetAccount("anna", "hash", "user", ""))
    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    with pytest.raises(PasswordRefused, match="The password has 5 characters"):
        await passwd(tmp_path, account)
    async with open_stopped_node(tmp_path) as node:
        assert node.registry.accounts["anna"].password == "hash"


async def test_controller_name_requires_the_folder_of_a_node(tmp_path: Path) -> None:
    with pytest.raises(PasswordRefused, match="is not the folder of a node. Omit --controller"):
        await passwd(tmp_path, of="cellar")
    assert files_in(tmp_path) == []


async def test_file_of_a_node_determines_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR) as node:
        old = node.password("Sign in as admin")
    file = tmp_path / "fleet.toml"
    await change_password(Sources(file, {}, {}), None, False, None)
    assert capsys.readouterr().out == "Changed the password of admin of the node.\n"
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR) as node:
        assert await node.request_status(old) == 401
        assert await node.request_status(NEW) == 200


async def test_folder_of_a_single_controller_is_refused_as_node_folder(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await live_in(data)
    before = files_in(data)
    sources = fleet_file(tmp_path, free_port(), CELLAR)
    message = (
        f"`leverframe run --data {data}` runs it.* `leverframe fleet adopt {data} --data FOLDER`"
    )
    with pytest.raises(FolderOfController, match=message):
        await _serve(read_fleet(fleet_file(tmp_path, free_port(), CELLAR)))
    with pytest.raises(FolderOfController, match=message):
        await change_password(sources, None, False, None)
    assert files_in(data) == before


async def test_node_beside_a_controller_runs_in_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, capsys, CELLAR):
        pass
    (tmp_path / "data" / "store.db").touch()
    async with running(tmp_path, capsys, CELLAR) as node:
        assert await node.request_status(None, "cellar") == 200


async def test_node_with_a_database_has_its_accounts_there_only(
    tmp_path: Path,
) -> None:
    with FleetFolder(tmp_path) as folder:
        folder.key_path.write_bytes(bytes(32))
    before = files_in(tmp_path)
    with pytest.raises(NotInFolder, match="keeps controllers and accounts in a database"):
        await passwd(tmp_path)
    own = tmp_path.with_name("own")
    await live_in(own)
    with pytest.raises(NotInFolder, match="keeps controllers and accounts in a database"):
        await adopt_folder(tmp_path, own, "cellar", [])
    assert files_in(tmp_path) == before
    advice = _way_on(ClusterTable(database="host=db password=x"), NodeConfig())
    assert "`leverframe passwd --data data --database WHERE`" in advice


async def test_open_controllers_get_a_password_when_the_node_becomes_reachable(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One controller was adopted, and one was created while the node was on loopback."""
    own, data = tmp_path / "own", tmp_path / "data"
    await live_in(own)
    async with running(tmp_path, capsys, CELLAR) as node:
        assert await node.request_status(None, "cellar") == 200
    await adopt_folder(data, own, "attic", [])
    capsys.readouterr()
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR) as node:
        password = node.password("The administrators of cellar, attic")
        for name in ("cellar", "attic"):
            assert await node.request_status(None, name) == 401
            assert await node.request_status(password, name) == 200
        assert await node.request_status(password) == 401
    async with running(tmp_path, capsys, EVERYWHERE + CELLAR) as node:
        assert "password" not in node.printed
        assert await node.request_status(password, "attic") == 200
    # On loopback again, it still asks for a password: its accounts remain.
    async with running(tmp_path, capsys, CELLAR) as node:
        assert await node.request_status(None, "attic") == 401


async def test_first_password_names_its_controllers_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    await live_in(tmp_path / "own")
    (tmp_path / "data").mkdir()
    await adopt_folder(tmp_path / "data", tmp_path / "own", "attic", [])
    capsys.readouterr()
    async with running(tmp_path, capsys, f"json = true\n{EVERYWHERE}{CELLAR}") as node:
        answer = [msgspec.json.decode(line) for line in node.printed.splitlines()]
        passwords = {
            tuple(one["names"]): one["password"] for one in answer if one["event"] == "controllers"
        }
        assert set(passwords) == {("attic",), ("cellar",)}
        for (name,), password in passwords.items():
            assert await node.request_status(password, name) == 200


async def test_node_on_loopback_creates_no_controller_password(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        async with running(tmp_path, capsys, CELLAR) as node:
            assert "password" not in node.printed
            assert await node.request_status(None, "cellar") == 200
