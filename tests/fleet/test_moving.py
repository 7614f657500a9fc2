"""Controllers moved from a data folder into a node and out again: nothing is lost."""

import asyncio
import os
import shutil
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.fleet.node_commands import adopt_folder, release_controller
from leverframe.fleet.node_storage import NotInFolder
from leverframe.fleet.serve import node_of
from leverframe.host.assembly import build
from leverframe.host.command_line.entry import carry_out
from leverframe.host.configuration import Config
from leverframe.storage.datafolder import DataFolder, FolderInUse, NoFolder, NoStore
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.history.worker import ThreadHistoryWorker
from leverframe.storage.lanes.node_folder import CannotMove, FleetFolder, open_lane
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes
from leverframe.testing import LoopTwin
from tests.host.maintenance.test_folder_owner import OWNER, owners

PROFILE = Profile("3.5", "1.49")


async def live_in(path: Path, *commands: str) -> dict[str, Any]:
    """Let a controller live in a folder, and return what a client could ask it for."""
    with DataFolder(path) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        profile = {"profile.hw": PROFILE.hw, "profile.sw": PROFILE.sw}
        await store.commit(Changes(kept={**profile, "profile.configured_sw": "1.49"}))
        history = ThreadHistoryWorker(folder.history_path, Bounds())
        built = await build(PROFILE, store, VirtualClock(), UTC, history=history)
        twin = LoopTwin(built.controller, built.web)
        await twin.ok("/stm.cgi?oname=0Lamp&em4=canary-of-the-mail")
        for command in ("outs.cgi?out0=1", *commands):
            await twin.ok(f"/{command}")
        built.controller.writer.commit(Changes(blobs={"site": b"s"}, messages={7: {"a": 1}}))
        identity = await read_identity(twin)
        await built.stop()
    return identity


async def read_identity(twin: LoopTwin) -> dict[str, Any]:
    return {
        "mac": twin.controller.persistent.values["identity.mac"],
        "password": twin.controller.engine.settings.email.password,
        "name": twin.controller.engine.settings.outputs[0].name,
        "called": (await twin.json("/json/all.json"))["sname"],
        "audit": (await twin.json("/api/audit"))[:2],
    }


async def run_there(path: Path) -> tuple[dict[str, Any], list[str]]:
    with DataFolder(path) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        site = await store.blob("site")
        history = ThreadHistoryWorker(folder.history_path, Bounds())
        labels = await history.ask(Compactor.labels)
        built = await build(PROFILE, store, VirtualClock(), UTC, history=history)
        identity = await read_identity(LoopTwin(built.controller, built.web))
        await built.stop()
    assert site == b"s"
    return identity, labels


async def test_controller_is_the_same_in_a_node_and_on_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, data, out = tmp_path / "own", tmp_path / "node", tmp_path / "out"
    before = await live_in(own)
    data.mkdir()
    untouched = {file.name: file.read_bytes() for file in own.iterdir()}
    await adopt_folder(data, own, "cellar", ["north"])
    assert "same unit would exist twice" in capsys.readouterr().out
    assert {file.name: file.read_bytes() for file in own.iterdir()} == untouched
    shutil.rmtree(own)

    with FleetFolder(data) as folder:
        lane = open_lane(folder).lane
        assert lane.store(1).messages() == {7: {"a": 1}}
        web = await node_of(Config(), lane, VirtualClock())
        assert await web.node.start_stored() == {}
        member = web.node.members["cellar"]
        assert (member.record.tags, member.controller.profile) == (("north",), PROFILE)
        twin = LoopTwin(member.controller, member.built.web)
        assert await read_identity(twin) == {**before, "called": "cellar"}
        await twin.ok("/stm.cgi?oname=0Pump")
        await web.node.close()
        history = SharedHistory(folder.history_path, Bounds())
        worker = history.worker(member.number)
        assert "OUT0" in await worker.ask(Compactor.labels)
        await worker.close(0.0)
        await history.close()

    await release_controller(data, "cellar", out)
    identity, labels = await run_there(out)
    assert identity == {**before, "name": "Pump", "called": "cellar"}
    assert "OUT0" in labels
    with FleetFolder(data) as folder:
        lane = open_lane(folder).lane
        assert lane.rows_of(1).settings == {}
        await lane.close()
    assert b"canary" not in (data / "fleet.db").read_bytes()


async def test_custom_name_moves_along(tmp_path: Path) -> None:
    own, data, out = tmp_path / "own", tmp_path / "node", tmp_path / "out"
    before = await live_in(own, "stm.cgi?sname=Boiler")
    assert before["called"] == "Boiler"
    data.mkdir()
    await adopt_folder(data, own, "cellar", [])
    await release_controller(data, "cellar", out)
    assert (await run_there(out))[0] == before


async def test_failed_move_is_reported_and_changes_nothing(tmp_path: Path) -> None:
    own, data = tmp_path / "own", tmp_path / "node"
    await live_in(own)
    with pytest.raises(NoFolder):
        await adopt_folder(data, own, "a", [])
    with pytest.raises(NoFolder):
        await release_controller(data, "a", tmp_path / "out")
    data.mkdir()
    with pytest.raises(NoStore, match="data folder of a controller"):
        await adopt_folder(data, tmp_path / "nowhere", None, [])
    with pytest.raises(CannotMove, match="is not a valid name"):
        await adopt_folder(data, own, "Big Name", [])
    with DataFolder(own), pytest.raises(FolderInUse):
        await adopt_folder(data, own, "a", [])
    await adopt_folder(data, own, "a", [])
    with pytest.raises(
        CannotMove, match="A controller named a exists already; choose another name with"
    ):
        await adopt_folder(data, own, "a", [])
    with pytest.raises(CannotMove, match="is already in the node, as a"):
        await adopt_folder(data, own, "b", [])
    with FleetFolder(data), pytest.raises(FolderInUse):
        await adopt_folder(data, own, "b", [])
    with pytest.raises(NotInFolder, match="no controller b"):
        await release_controller(data, "b", tmp_path / "out")
    with pytest.raises(CannotMove, match="not empty"):
        await release_controller(data, "a", own)
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "store.db").touch()
    with pytest.raises(CannotMove, match="is empty; nothing was moved"):
        await adopt_folder(data, empty, "c", [])
    await release_controller(data, "a", tmp_path / "out")


async def test_damaged_history_stays_behind_and_settings_move(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, data = tmp_path / "own", tmp_path / "node"
    await live_in(own)
    data.mkdir()
    (own / "history.db").write_bytes(b"rubbish" * 3000)
    await adopt_folder(data, own, None, [])
    assert "The history was not moved: The store" in capsys.readouterr().out
    (data / "history.db").write_bytes(b"rubbish" * 3000)
    name = next(iter(await names_in(data)))
    await release_controller(data, name, tmp_path / "out")
    assert "The history was not moved" in capsys.readouterr().out
    with DataFolder(tmp_path / "out") as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        assert store.load().settings["outputs.0.name"] == "Lamp"
        await store.close()


async def names_in(data: Path) -> list[str]:
    with FleetFolder(data) as folder:
        lane = open_lane(folder).lane
        kept = lane.store(0).load().kept
        await lane.close()
    return [row["name"] for row in kept.values()]


def test_adopt_and_release_commands_work_without_a_history(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own, data, out = tmp_path / "own", tmp_path / "node", tmp_path / "out"
    asyncio.run(live_in(own))
    (own / "history.db").unlink()
    data.mkdir()
    assert carry_out(["fleet", "adopt", str(own), "--name", "cellar", "--data", str(data)]) == 0
    assert carry_out(["fleet", "adopt", str(own), "--name", "cellar", "--data", str(data)]) == 2
    assert (
        "A controller named cellar exists already; choose another name with --name."
        in capsys.readouterr().err
    )
    assert carry_out(["fleet", "release", "cellar", "--to", str(out), "--data", str(data)]) == 0
    assert f"leverframe run --data {out}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("controllers", "message"),
    [
        ('[[controllers]]\nname = "cellar"\n', "fleet.toml, or"),
        ('[[controllers]]\nname = "attic"\n', None),
        (None, "Remove cellar from any fleet file, or"),
    ],
)
def test_release_of_a_controller_in_the_fleet_file_prints_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], controllers: str | None, message: str | None
) -> None:
    own, data, file = tmp_path / "own", tmp_path / "node", tmp_path / "fleet.toml"
    asyncio.run(live_in(own))
    data.mkdir()
    where = ["--data", str(data)]
    if controllers is not None:
        file.write_text(f'data = "{data}"\n{controllers}', encoding="utf-8")
        where = ["--config", str(file)]
    assert carry_out(["fleet", "adopt", str(own), "--name", "cellar", *where]) == 0
    assert carry_out(["fleet", "release", "cellar", "--to", str(tmp_path / "out"), *where]) == 0
    said = capsys.readouterr().out
    assert ("Remove cellar from " in said) is (message is not None)
    assert message is None or message in said


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave files of root behind")
def test_root_leaves_the_files_to_the_owner_of_the_folder(tmp_path: Path) -> None:
    own, data, out = tmp_path / "own", tmp_path / "node", tmp_path / "out"
    asyncio.run(live_in(own))
    for folder in (data, out):
        folder.mkdir()
        os.chown(folder, *OWNER)
    asyncio.run(adopt_folder(data, own, "cellar", []))
    assert {"fleet.db", "fleet.key", "history.db", "lock"} <= set(owners(data))
    asyncio.run(release_controller(data, "cellar", out))
    for folder in (data, out):
        assert set(owners(folder).values()) == {OWNER}
