"""Snapshots of groups: stored with the node, sealed, and removed with their controllers."""

from pathlib import Path
from typing import Any

import pytest

from leverframe.fleet.node import FleetNode
from leverframe.storage.lanes.lane import Lane, MemoryLane
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.store import Changes, StoreUnavailable
from tests.fleet.loop_node import LoopNode, loop_node

SECRET = "quite a secret"


def lane(folder: Path) -> SqliteLane:
    return SqliteLane(folder / "fleet.db", folder / "fleet.key")


async def begin(node: LoopNode) -> None:
    """Add controllers with a secret, a name and an output that is remembered; snapshot them."""
    template = b'{"hw": "3.9", "sw": "1.75", "settings": {"outputs.0.remember": true}}'
    await node.post("add", template, name="gh-{n}", count=2)
    for member in node.node.members.values():
        await member.controller.store.commit(Changes(settings={"email.password": SECRET}))
    await node.post("send", command="outs.cgi?out0=1")
    await node.post("send", command="stm.cgi?oname=0Pump")
    assert (await node.post("snapshot", label="noon"))["done"] == 2
    await node.post("send", command="outs.cgi?out0=0")
    await node.post("send", command="stm.cgi?oname=0Fan")


def everything_in(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())


def parts(node: FleetNode) -> list[int]:
    return [part for one in node.registry.snapshots.values() for part in one.parts.values()]


async def test_snapshot_survives_the_process_with_sealed_secrets(tmp_path: Path) -> None:
    async with loop_node(lane(tmp_path)) as node:
        await begin(node)
    assert SECRET.encode() not in everything_in(tmp_path)
    async with loop_node(lane(tmp_path)) as node:
        assert await node.node.start_stored() == {}
        assert (await node.get(""))["snapshots"] == ["noon"]
        assert node.member("gh-1").controller.engine.values["OUT0"] == 0
        new = await node.post("add", name="late")
        assert new["names"] == ["late"]
        answer = await node.post("restore", label="noon")
        assert [one["status"] for one in answer["results"]] == [200, 200, 409]
        for name in ("gh-1", "gh-2"):
            engine = node.member(name).controller.engine
            assert engine.settings.outputs[0].name == "Pump"
            assert engine.settings.email.password == SECRET
            assert engine.values["OUT0"] == 1
    # The restored state is on disk.
    async with loop_node(lane(tmp_path)) as node:
        assert await node.node.start_stored() == {}
        assert node.member("gh-2").controller.engine.settings.outputs[0].name == "Pump"


async def test_snapshot_parts_end_with_their_controller_or_a_newer_snapshot() -> None:
    async with loop_node() as node:
        await begin(node)
        before = parts(node.node)
        assert (await node.post("snapshot", label="noon"))["done"] == 2
        assert not set(before) & set(parts(node.node))
        stored = await node.node.lane.fetch([*before, *parts(node.node)])
        assert [bool(stored[part].settings) for part in before] == [False, False]
        _, second = parts(node.node)
        await node.post("remove", name="gh-2")
        assert (await node.node.lane.fetch([second]))[second].settings == {}
        assert len(parts(node.node)) == 1
        await node.post("remove", name="gh-1")
        assert (await node.get(""))["snapshots"] == []


async def test_stored_snapshot_of_another_version_is_refused(tmp_path: Path) -> None:
    async with loop_node(lane(tmp_path)) as node:
        await node.post("add", name="a", hw="3.5", sw="1.49")
        await node.post("snapshot", label="noon")
        record = node.node.registry.records[node.member("a").number]
        await node.node.take_over([type(record)("a", hw="3.5", sw="1.57")])
    async with loop_node(lane(tmp_path)) as node:
        assert await node.node.start_stored() == {}
        answer = await node.post("restore", label="noon")
        assert "is HW 3.5 SW 1.57 now but was HW 3.5 SW 1.49" in answer["results"][0]["detail"]


async def test_unwritable_snapshot_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    class FullLane(MemoryLane):
        is_full = False

        def store(self, controller: int) -> Any:
            if self.is_full:
                raise StoreUnavailable("The disk is full.")
            return super().store(controller)

    full: Lane = FullLane()
    async with loop_node(full) as node:
        await node.post("add", name="a")
        monkeypatch.setattr(FullLane, "is_full", True)
        answer = await node.post("snapshot", label="noon")
        monkeypatch.setattr(FullLane, "is_full", False)
        assert (answer["done"], answer["results"][0]["status"]) == (0, 507)
        assert (await node.get(""))["snapshots"] == []


async def test_removed_snapshot_frees_its_label_and_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.groups.MAX_LABELS", 2)
    async with loop_node() as node:
        await begin(node)
        taken = node.node.clock.wall()
        await node.post("advance", for_="1h")
        await node.post("snapshot", label="late", name="gh-1")
        noon = {"label": "noon", "at": taken, "controllers": 2}
        late = {"label": "late", "at": taken + 3600, "controllers": 1}
        assert await node.get("snapshots") == [noon, late]
        why = await node.expect_refusal(409, "snapshot", label="third")
        assert "or with `leverframe fleet remove-snapshot`." in why
        before = [*node.node.registry.snapshots["noon"].parts.values()]
        assert await node.post("snapshot/remove", label="noon") == noon
        assert await node.get("snapshots") == [late]
        assert [one.settings for one in (await node.node.lane.fetch(before)).values()] == [{}, {}]
        refused = await node.expect_refusal(400, "snapshot/remove", label="noon")
        assert refused == "Field label: There is no snapshot 'noon'. Allowed: late."
        assert "label is missing" in await node.expect_refusal(400, "snapshot/remove")
        assert (await node.post("snapshot", label="third"))["done"] == 2


async def test_removed_snapshot_stays_removed_after_a_restart(tmp_path: Path) -> None:
    async with loop_node(lane(tmp_path)) as node:
        await begin(node)
        await node.post("snapshot/remove", label="noon")
    async with loop_node(lane(tmp_path)) as node:
        assert await node.node.start_stored() == {}
        assert await node.get("snapshots") == []


async def test_snapshots_of_jobs_are_neither_listed_nor_removed() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        await node.web.snapshots.keep(list(node.node.members.values()), "7/1")
        assert await node.get("snapshots") == []
        await node.expect_refusal(400, "snapshot/remove", label="job/7/1")
        assert len(node.node.registry.snapshots) == 1


async def test_controllers_removed_during_a_restore_are_reported() -> None:
    async with loop_node(real_time=True) as node:
        await begin(node)
        await node.node.lane.forget(parts(node.node))
        answer = await node.post("restore", label="noon")
        details = [one["detail"] for one in answer["results"]]
        assert details == [
            f"There is no snapshot of gh-{number} from before the change." for number in (1, 2)
        ]
