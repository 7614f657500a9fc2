"""A controller in the place of a unit: clients find what they knew, and the unit is only read."""

import io
import tomllib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import ConfiguredIdentity, ControllerHost, build
from leverframe.host.configuration import Config
from leverframe.server.discovery import QUESTION, DiscoveryServer
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.testing import Twin, faults
from leverframe.units.addresses import AnotherUnit
from leverframe.units.client import SignInNeeded
from leverframe.units.take_over import CannotTakeOver, ContradictedUnit, give_back, take_over
from leverframe.units.unit_plan import read_plans
from tests.ports import free_port
from tests.server.discovery.test_discovery import Client

pytestmark = pytest.mark.usefixtures("lift_pacing")

MAC = "D8:80:39:91:73:89"
#: What clients read, and what never stays the same in them.
READ = ("/json/status.json", "/json/outputs.json", "/json/inputs.json", "/xml/eve2.xml")


async def take_place(
    twin: Twin, folder: Path, user: str | None = None, file: Path | None = None
) -> Config:
    """Take the place of a twin; return the configuration that was written."""
    out = folder / "cellar.toml"
    await take_over(twin.url, folder / "data", out, user, None, "127.0.0.1", 8085, file)
    keys = tomllib.loads(out.read_text())
    return Config(**keys)


@asynccontextmanager
async def running(config: Config) -> AsyncIterator[ControllerHost]:
    """Run what was made, as `leverframe run` does."""
    folder = Path(config.data)
    store = EncryptingStore(SqliteStore(folder / "store.db"), folder / "secrets.key")
    assert config.hw is not None
    assert config.sw is not None
    identity = ConfiguredIdentity(config.name, config.mac)
    profile = Profile(config.hw, config.sw)
    built = await build(profile, store, VirtualClock(), config.zone(), configured=identity)
    try:
        yield built
    finally:
        await built.stop()
        await store.close()


@pytest.mark.parametrize(
    ("hw", "sw", "is_real"),
    [
        ("3.5", "1.49", True),
        *(
            pytest.param(*version, is_real, marks=pytest.mark.thorough)
            for version in (("3.9", "1.75"), ("3.0", "1.58a"))
            for is_real in (True, False)
        ),
    ],
)
async def test_clients_find_what_they_knew(
    tmp_path: Path, hw: str, sw: str, is_real: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    async with Twin(hw=hw, sw=sw, name="Cellar", mac=MAC) as twin:
        await twin.acommand(
            "/stm.cgi?oname=0Pump",
            "/stm.cgi?oname=1Lamp",
            "/inpa.cgi?event=1*9*1*2000*100*0*1*0*0*0*0*0",
        )
        if is_real:
            twin.fault(faults.status(404), path="/api/settings")
        config = await take_place(twin, tmp_path)
        before = {path: await twin.aget(path) for path in READ}
        asked = {request.method for request in twin.requests()}
    assert asked == {"GET"}
    assert (config.mac, config.name, config.port) == (MAC, "Cellar", 8085)
    async with running(config) as built:
        assert built.mac == MAC
        settings = built.controller.engine.settings
        assert [one.name for one in settings.outputs[:2]] == ["Pump", "Lamp"]
        files = built.web._handlers.status_files
        for path, text in before.items():
            assert files.reply(path).body.decode() == text, path
    output = capsys.readouterr().out
    assert "leverframe run --config" in output
    if is_real:
        assert "not taken over: " in output


async def test_discovery_answers_as_the_unit_did(tmp_path: Path) -> None:
    async with Twin(hw="3.5", sw="1.49", name="Cellar", mac=MAC) as twin:
        config = await take_place(twin, tmp_path)
    async with running(config) as built:
        server, port = (
            DiscoveryServer(built.controller, name=built.name, mac=built.mac),
            free_port(),
        )
        server.start(None, port)
        client = Client(port)
        try:
            answer = (await client.ask(QUESTION)).decode()
        finally:
            client.close()
            await server.close()
    assert answer.splitlines() == ["Cellar", MAC.replace(":", "-"), "1.49", "3.5"]


async def test_meters_continue_from_their_readings(tmp_path: Path) -> None:
    async with Twin(mac=MAC) as twin:
        await twin.acommand("/inpa.cgi?powsave=1", "/inpa.cgi?powset=012345")
        known = (await twin.astate())["ENERGY1"]
        config = await take_place(twin, tmp_path)
    assert known
    async with running(config) as built:
        assert built.controller.engine.values["ENERGY1"] == known


async def test_nothing_is_overwritten(tmp_path: Path) -> None:
    async with Twin(mac=MAC) as twin:
        await take_place(twin, tmp_path)
        with pytest.raises(CannotTakeOver, match="choose another file"):
            await take_place(twin, tmp_path)
        (tmp_path / "cellar.toml").unlink()
        with pytest.raises(CannotTakeOver, match="choose a new folder"):
            await take_place(twin, tmp_path)


async def test_account_that_signed_in_is_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("a long password\n"))
    async with Twin(mac=MAC, accounts={"owner": "a long password"}) as twin:
        with pytest.raises(SignInNeeded):
            await take_place(twin, tmp_path)
        assert not (tmp_path / "data").exists()
        config = await take_place(twin, tmp_path, "owner")
    async with running(config) as built:
        access = built.controller.engine.settings.access
        assert access.required
        assert access.admin.name == "owner"
        assert await Passwords().right(access.admin.password, "a long password")
    output = capsys.readouterr().out
    assert "the account that you signed in with" in output
    assert "a long password" not in output + (tmp_path / "cellar.toml").read_text()


ACCOUNTS = """
[outputs.OUT0]
name = "Old"
[access.admin]
password = { env = "OWNER" }
[access.user]
password = { env = "GUEST" }
[access.users.1]
name = "gardener"
password = { env = "GARDENER" }
[email]
host = "mail.example"
password = { env = "MAIL" }
"""
PASSWORDS = {
    "OWNER": "the owner's secret",
    "GUEST": "the guest's secret",
    "GARDENER": "the gardener's secret",
    "MAIL": "the secret of the mail",
}


@pytest.fixture
def accounts_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a unit file with what no real unit shows; its secrets lie in the environment."""
    for name, password in PASSWORDS.items():
        monkeypatch.setenv(name, password)
    path = tmp_path / "unit.toml"
    path.write_text(ACCOUNTS)
    return path


def read_all_files(folder: Path) -> bytes:
    """Return everything that was written to files."""
    return b"".join(one.read_bytes() for one in folder.rglob("*") if one.is_file())


async def test_unit_file_supplies_the_accounts_that_the_unit_does_not_show(
    tmp_path: Path, accounts_file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_file = tmp_path / "plan.json"
    async with Twin(hw="3.9", sw="1.75", mac=MAC) as twin:
        twin.fault(faults.status(404), path="/api/settings")
        await twin.acommand("/stm.cgi?oname=0Pump")
        config = await take_place(twin, tmp_path, file=accounts_file)
        output = capsys.readouterr().out
        async with running(config) as built:
            settings = built.controller.engine.settings
        await change_controller(config, "/stm.cgi?oname=1Lamp")
        await give_back(tmp_path / "data", None, None, None, plan_file)
    access = settings.access
    accounts = {one.name: one.password for one in (access.admin, access.user, *access.users) if one}
    for name, key in (("admin", "OWNER"), ("user", "GUEST"), ("gardener", "GARDENER")):
        assert await Passwords().right(accounts[name], PASSWORDS[key])
    assert settings.email.password == PASSWORDS["MAIL"]
    assert settings.outputs[0].name == "Pump"
    assert "note: outputs.OUT0.name is taken from the unit" in output
    assert not [line for line in output.splitlines() if line.startswith("not taken over: access")]
    # What the file set is no change to bring to the unit, and no file shows a secret.
    (plan,) = read_plans(plan_file)
    new = {change.path: change.new for step in plan.steps for change in step.changes}
    assert new == {"outputs.1.name": "Lamp"}
    written = read_all_files(tmp_path)
    assert not [one for one in PASSWORDS.values() if one.encode() in written or one in output]


async def test_unit_file_with_other_accounts_than_the_unit_shows_is_refused(
    tmp_path: Path, accounts_file: Path
) -> None:
    async with Twin(mac=MAC) as twin:
        with pytest.raises(ContradictedUnit, match=r"access\.users"):
            await take_place(twin, tmp_path, file=accounts_file)
    assert not (tmp_path / "data").exists()


# --- the way back ---------------------------------------------------------------------------------


async def change_controller(config: Config, *commands: str) -> None:
    """Let clients change something on the controller."""
    async with running(config) as built:
        for command in commands:
            path, _, query = command.partition("?")
            answer = built.web.handle(Request("GET", path, query, {}, b"", "127.0.0.1"))
            reply = answer if isinstance(answer, Reply) else await answer
            assert reply.status == 200, reply


@pytest.mark.parametrize("is_real", [pytest.param(True, marks=pytest.mark.thorough), False])
async def test_changes_since_the_take_over_are_planned_for_the_unit(
    tmp_path: Path, is_real: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    plan_file = tmp_path / "plan.json"
    async with Twin(hw="3.5", sw="1.49", mac=MAC) as twin:
        if is_real:
            twin.fault(faults.status(404), path="/api/settings")
        await twin.acommand("/stm.cgi?oname=0Pump", "/stm.cgi?oname=1Lamp")
        config = await take_place(twin, tmp_path)
        await change_controller(config, "/stm.cgi?oname=0Well", "/stm.cgi?oname=2Heater")
        # The unit was changed, too.
        await twin.acommand("/stm.cgi?oname=1Light", "/stm.cgi?oname=2Fan")
        capsys.readouterr()
        done = await give_back(tmp_path / "data", None, None, None, plan_file)
        output = capsys.readouterr().out
        (plan,) = read_plans(plan_file)
    assert done == 0
    new = {change.path: change.new for step in plan.steps for change in step.changes}
    assert new == {"outputs.0.name": "Well", "outputs.2.name": "Heater"}
    assert "outputs.OUT2.name was also changed on the unit" in output
    assert "outputs.OUT1.name" not in output


async def test_nothing_is_planned_for_another_unit_or_version(tmp_path: Path) -> None:
    async with Twin(mac=MAC) as twin:
        await take_place(twin, tmp_path)
    for other, said in (
        (Twin(mac="02:00:00:00:00:01"), "MAC address"),
        (Twin(mac=MAC, sw="1.49"), "compare the unit and the controller"),
    ):
        async with other as twin:
            with pytest.raises((AnotherUnit, CannotTakeOver), match=said):
                await give_back(tmp_path / "data", twin.url, None, None, None)


async def test_folder_that_took_no_place_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotTakeOver, match="is not the data folder"):
        await give_back(tmp_path, None, None, None, None)
    (tmp_path / "taken-over.json").write_text("{}")
    with pytest.raises(CannotTakeOver, match="damaged"):
        await give_back(tmp_path, None, None, None, None)


@pytest.mark.thorough
async def test_rules_that_were_added_go_back_as_a_whole(tmp_path: Path) -> None:
    rule = "/inpa.cgi?event={}*9*1*2000*100*0*1*0*0*0*0*0"
    async with Twin(hw="3.0", sw="1.58a", mac=MAC) as twin:
        await twin.acommand(rule.format(0))
        config = await take_place(twin, tmp_path)
        await change_controller(config, rule.format(1))
        await give_back(tmp_path / "data", twin.url, None, None, tmp_path / "plan.json")
        (plan,) = read_plans(tmp_path / "plan.json")
    assert {change.path.partition(".")[0] for step in plan.steps for change in step.changes} == {
        "rules"
    }
