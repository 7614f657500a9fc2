"""Controllers of a node: created, found, renamed, tagged and removed."""

import asyncio
import gc
import logging
import weakref
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.log_lines import CONTROLLER
from leverframe.fleet import member as member_module
from leverframe.fleet.node import MADE_AT_A_TIME
from leverframe.fleet.records import MemberRecord
from leverframe.host.start_version import STORED_EDITION
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.server.http.messages import Request
from leverframe.storage.backup import BackupFile
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.shared import SharedHistory
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.lanes.node_folder import FleetFolder, open_lane
from leverframe.storage.store import DELETED, Changes
from tests.cases import for_each
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.mortal_lane import Disk, MortalLane
from tests.patience import PATIENCE_S
from tests.ports import free_port

PUMP = BackupFile("3.9", "1.75", {"outputs.0.name": "Pump"})


def template(file: BackupFile) -> bytes:
    return msgspec.json.encode(file)


async def names(node: LoopNode, **chosen: str) -> list[str]:
    return [one["name"] for one in await node.get("list", **chosen)]


async def test_template_and_name_pattern_create_controllers() -> None:
    async with loop_node() as node:
        made = await node.post(
            "add",
            template(PUMP),
            name="gh-{n:03}",
            count=3,
            first=9,
            tags="north,glass",
            address="127.0.0.254",
        )
        assert made == {
            "names": ["gh-009", "gh-010", "gh-011"],
            "dry_run": False,
            "password": None,
        }
        listed = await node.get("list", tag="north")
        assert [one["address"] for one in listed] == ["127.0.0.254", "127.0.0.255", "127.0.1.0"]
        assert {tuple(one["tags"]) for one in listed} == {("glass", "north")}
        shown = await node.get("show", name="gh-010")
        assert shown["settings"] == {"outputs.0.name": "Pump"}
        assert shown["report"]["url"] == "http://gh-010.localhost/"
        about = await node.get("")
        assert (about["controllers"], about["tags"]) == (3, {"glass": 3, "north": 3})


async def test_node_runs_controllers_of_several_versions() -> None:
    async with loop_node() as node:
        for name, hw, sw in (("a", "3.0", "1.58a"), ("b", "3.5", "1.49"), ("c", None, None)):
            version = {} if hw is None else {"hw": hw, "sw": sw}
            await node.post("add", name=name, **version)
        assert [(one["hw"], one["sw"]) for one in await node.get("list")] == [
            ("3.0", "1.58a"),
            ("3.5", "1.49"),
            (Profile().hw, Profile().sw),
        ]


async def test_template_sets_the_version_unless_one_is_requested() -> None:
    older = template(BackupFile("3.5", "1.49", {}))
    async with loop_node() as node:
        await node.post("add", older, name="a")
        await node.post("add", older, name="b", hw="3.9")
        assert [one["hw"] for one in await node.get("list")] == ["3.5", "3.9"]


async def test_duplicate_name_refuses_the_whole_addition() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-3", address="127.0.0.3", port=18099)
        problem = await node.expect_refusal(409, "add", name="gh-{n}", count=5)
        assert problem == "Field name: A controller named gh-3 exists already; choose another name."
        problem = await node.expect_refusal(409, "add", name="b", address="127.0.0.3")
        assert problem == "Field address: b cannot use 127.0.0.3: gh-3 already uses it."
        assert "gh-3 already uses it" in await node.expect_refusal(409, "add", name="b", port=18099)
        assert await names(node) == ["gh-3"]


@for_each(
    ("options", "problem"),
    [
        ({"name": "Big"}, "'Big' is not a valid name"),
        ({"name": "localhost"}, "is not a valid name"),
        ({"name": "a", "count": 2}, "2 controllers cannot all be called 'a'"),
        ({"name": "a", "tags": "no tag"}, "'no tag' is not a valid tag"),
        ({"name": "a", "address": "::1"}, "is not a valid address for a controller"),
        ({"name": "a", "address": "elsewhere"}, "is not a valid address for a controller"),
        ({"name": "{n}", "count": 2, "port": 65535}, "65536 is not a valid port"),
        ({"name": "{n}", "count": 0}, "Field count"),
        ({"name": "a", "hw": "4.0"}, "Choose one of 3.0"),
        ({"name": "a", "colour": "red"}, "Unknown parameter"),
        ({}, "name is missing"),
    ],
)
async def test_invalid_controller_is_refused_and_nothing_is_created(
    options: dict[str, object], problem: str
) -> None:
    async with loop_node() as node:
        assert problem in await node.expect_refusal(400, "add", **options)
        assert await names(node) == []


async def test_template_unsupported_by_a_version_is_refused() -> None:
    page = BackupFile("3.9", "1.75", {"ui.user_read_only": True})
    async with loop_node() as node:
        problem = await node.expect_refusal(
            409, "add", template(page), name="a", hw="3.0", sw="1.18"
        )
        assert (
            "The template sets ui.user_read_only, which HW 3.0 SW 1.18 does not support." in problem
        )
        assert "not a backup" in await node.expect_refusal(400, "add", b"{", name="a")
        unknown = template(BackupFile("9.9", "1.0", {}))
        assert "version" in await node.expect_refusal(400, "add", unknown, name="a", hw="3.9")
        assert await names(node) == []


async def test_dry_run_checks_all_and_creates_nothing() -> None:
    async with loop_node() as node:
        answer = await node.post("add", name="gh-{n}", count=2, dry_run=1)
        assert (answer["names"], answer["dry_run"]) == (["gh-1", "gh-2"], True)
        assert await names(node) == []


async def test_failed_creation_undoes_the_whole_addition() -> None:
    first = free_port()
    async with loop_node() as node:
        await node.node.door.listen("127.0.0.1", first + 1)
        problem = await node.expect_refusal(409, "add", name="gh-{n}", count=2, port=first)
        assert f"gh-2: port {first + 1} of 127.0.0.1 cannot be used" in problem
        assert await names(node) == []
        assert node.node.registry.records == {}


async def test_unknown_tag_or_name_is_refused_with_the_known_ones() -> None:
    async with loop_node() as node:
        await node.post("add", name="a", tags="north,south")
        problem = await node.expect_refusal(404, "send", command="outs.cgi?out0=1", tag="nroth")
        assert problem == "Field tag: No controller has the tag 'nroth'. Allowed: north, south."
        assert "no controller 'b'" in await node.expect_refusal(404, "tag", name="b", add="x")


async def test_controller_is_renamed_and_tagged() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3, tags="north")
        renamed = await node.post("rename", name="gh-2", to="cellar")
        assert renamed["url"] == "http://cellar.localhost/"
        assert await names(node) == ["gh-1", "cellar", "gh-3"]
        assert "named gh-1 exists already" in await node.expect_refusal(
            409, "rename", name="cellar", to="gh-1"
        )
        assert "is not a valid name" in await node.expect_refusal(
            400, "rename", name="cellar", to="-"
        )
        await node.post("tag", name="cellar,gh-3", add="south", remove="north")
        assert await names(node, tag="south") == ["cellar", "gh-3"]
        assert await names(node, tag="north") == ["gh-1"]
        assert "No tag is set" in await node.expect_refusal(400, "tag", name="gh-1")


async def test_removed_controllers_are_gone_and_free_their_names() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3, tags="north")
        assert "No controllers are chosen" in await node.expect_refusal(400, "remove")
        assert (await node.post("remove", name="gh-1,gh-3"))["done"] == 2
        assert await names(node) == ["gh-2"]
        await node.post("add", name="gh-1")
        assert await names(node) == ["gh-2", "gh-1"]


@pytest.fixture
def no_collection(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Collect no garbage, as if everything were frozen, and free immediately what has left."""
    monkeypatch.setattr(member_module, "LAST_ANSWER_S", 0.0)
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@for_each("writes", [0, 1, 2])
async def test_removal_on_a_full_disk_is_all_or_nothing(writes: int) -> None:
    disk = Disk()
    lane = MortalLane(disk, 10**6, is_last_stored=False)
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("snapshot", label="noon")
        member = node.member("gh-1")
        lane._left = writes
        if writes == 0:
            assert "The node is dead" in await node.expect_refusal(507, "remove", name="gh-1")
        else:
            assert (await node.post("remove", name="gh-1"))["done"] == 1
        lane._left = 10**6
        left = ["gh-1", "gh-2"] if writes == 0 else ["gh-2"]
        assert await names(node) == left
        assert member.has_left is (writes > 0)
        if writes == 0:
            await node.post("send", command="stm.cgi?oname=0Pump", name="gh-1")
            assert member.controller.engine.settings.outputs[0].name == "Pump"
    async with loop_node(disk) as again:
        assert await again.node.start_stored() == {}
        assert await names(again) == left
        (snapshot,) = again.node.registry.snapshots.values()
        assert len(snapshot.parts) == len(left)


@for_each(
    ("how", "real_time"),
    [(how, real) for how in ("remove", "drop", "hand_over") for real in (False, True)],
)
async def test_removed_controllers_free_their_memory_without_collection(
    no_collection: None, how: str, real_time: bool
) -> None:
    history = SharedHistory(None, Bounds()) if real_time else None
    async with loop_node(real_time=real_time, history=history) as node:
        await node.post("add", name="gh-{n}", count=3)
        await node.post("send", command="outs.cgi?out0=1", name="gh-1")
        leaving = [*node.node.members.values()]
        built = [one.built for one in leaving]
        parts = [(*it.services, it.web, it.mqtt, it.controller) for it in built]
        left = [weakref.ref(part) for part in (*leaving, *chain.from_iterable(parts))]
        await getattr(node.node, how)(leaving)
        for one in (leaving, built, parts):
            one.clear()
        await until(lambda: all(part() is None for part in left))


async def test_restarted_node_has_its_controllers_and_their_state() -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await node.post("add", name="a", tags="north", hw="3.5", sw="1.49")
        await node.post("add", name="b")
        await node.post("send", command="stm.cgi?sname=Cellar", name="a")
        mac = (await node.get("show", name="a"))["mac"]
        await node.post("remove", name="b")
    async with loop_node(lane) as again:
        assert await again.node.start_stored() == {}
        shown = await again.get("show", name="a")
        assert (shown["mac"], shown["settings"]["name"]) == (mac, "Cellar")
        assert (shown["report"]["hw"], shown["report"]["tags"]) == ("3.5", ["north"])
        await again.post("add", name="c")
        assert await names(again) == ["a", "c"]


class NamedLines(logging.Handler):
    """The warnings, each with the controller that it is about."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: list[tuple[str, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append((CONTROLLER.get().name, record.getMessage()))


@pytest.fixture
def warnings() -> Iterator[NamedLines]:
    handler = NamedLines()
    logging.getLogger("leverframe").addHandler(handler)
    yield handler
    logging.getLogger("leverframe").removeHandler(handler)


REVERSED = "Rule 5: INPD1 < 1 is met at 0"


async def test_rules_that_an_update_reverses_are_reported_once_with_their_controller(
    warnings: NamedLines,
) -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("send", command="inpa.cgi?event=4*100*1*1*0*0*0*0*0*0*0", name="gh-1,gh-2")
        await node.post("snapshot", label="before")
        number = node.member("gh-1").number
        part = node.node.registry.snapshots["before"].parts[number]
    # As an earlier version left it.
    for one in (number, part):
        await lane.store(one).commit(Changes(kept={STORED_EDITION: DELETED}))
    async with loop_node(lane) as again:
        assert await again.node.start_stored() == {}
    assert [(name, line[: len(REVERSED)]) for name, line in warnings.lines] == [("gh-1", REVERSED)]
    warnings.lines.clear()
    async with loop_node(lane) as third:
        assert await third.node.start_stored() == {}
        assert warnings.lines == []
        assert (await third.post("restore", label="before"))["done"] == 2
    assert [line[: len(REVERSED) + 6] for _, line in warnings.lines] == [f"gh-1: {REVERSED}"]


async def test_failed_restart_is_reported_and_the_others_start() -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=3)
        numbers = [node.member(f"gh-{n}").number for n in (1, 2)]
    await lane.store(numbers[0]).commit(Changes(kept={"profile.hw": "9.9"}))
    await lane.store(numbers[1]).commit(Changes(settings={"outputs.0.name": 5}))
    async with loop_node(lane) as again:
        problems = await again.node.start_stored()
        assert [one.partition(":")[0] for one in problems.values()] == [
            "gh-1 failed to start",
            "gh-2 failed to start",
        ]
        assert await names(again) == ["gh-3"]


async def test_version_requested_at_the_next_start_is_applied() -> None:
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await node.post("add", name="a", hw="3.5", sw="1.49")
    async with loop_node(lane) as again:
        await again.node.take_over([MemberRecord("a", hw="3.9", sw="1.75")])
        assert await again.node.start_stored() == {}
        (one,) = await again.get("list")
        assert (one["hw"], one["sw"]) == ("3.9", "1.75")


async def test_reopened_file_has_the_same_controllers(
    tmp_path: Path,
) -> None:
    for again in (False, True):
        with FleetFolder(tmp_path) as folder:
            async with loop_node(open_lane(folder).lane) as node:
                if not again:
                    await node.post("add", template(PUMP), name="gh-{n}", count=60, tags="north")
                    await node.post("send", command="stm.cgi?oname=0Fan", name="gh-7")
                    await node.post("remove", name="gh-60")
                else:
                    assert await node.node.start_stored() == {}
                    assert len(await node.get("list", tag="north")) == 59
                    names_of = {
                        name: node.member(name).controller.engine.settings.outputs[0].name
                        for name in ("gh-7", "gh-8")
                    }
                    assert names_of == {"gh-7": "Fan", "gh-8": "Pump"}


async def test_histories_share_a_file_and_end_with_their_controllers(
    tmp_path: Path,
) -> None:
    history = SharedHistory(tmp_path / "history.db", Bounds())
    async with loop_node(real_time=True, history=history) as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("send", command="outs.cgi?out0=1", name="gh-1")
        asked = Request("GET", "/api/history", "labels=OUT0", {}, b"", "127.0.0.1")
        for name, value in (("gh-1", 1), ("gh-2", 0)):
            async with asyncio.timeout(PATIENCE_S):
                # Values are recorded by the millisecond, and requested up to the present one.
                while (await _newest(node, name, asked)) != value:  # noqa: ASYNC110
                    await asyncio.sleep(0.001)
        await node.post("remove", name="gh-1")
    assert (tmp_path / "history.db").exists()


async def _newest(node: LoopNode, name: str, request: Request) -> float:
    answer: Any = node.member(name).built.web.handle(request, requester=UNRESTRICTED)
    report = msgspec.json.decode((await answer).body)
    newest: float = report["series"]["OUT0"]["values"][-1]
    return newest


async def test_creating_many_controllers_leaves_turns_to_others() -> None:
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async with loop_node() as node:
        counting = asyncio.create_task(count_turns())
        await node.post("add", name="gh-{n}", count=100)
        counting.cancel()
        # At least once for every few of them.
        assert turns >= 100 // MADE_AT_A_TIME
        assert len(await node.get("list")) == 100


async def test_bootloader_of_a_controller_waits_60_seconds() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        assert (await node.post("send", command="stm.cgi?upgrade=devstart3"))["done"] == 1
        controller = node.member("a").controller
        assert "no address of its own" in controller.troubles["bootloader"]
        for seconds, waits in ((59, True), (1, False)):
            await node.post("advance", for_=seconds)
            assert (controller.bootloader_until is not None) is waits
        assert controller.troubles == {}


async def test_journal_entries_are_logged_on_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level("INFO", "leverframe.journal"):
        async with loop_node() as node:
            await node.post("add", name="a")
            await node.post("send", command="outs.cgi?out0=1")
    assert any("OUT0 on" in record.message for record in caplog.records)
