"""Controllers of a node on one time: moved together, gone back, copied, and with faults."""

import asyncio
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leverframe.core.durations import BadDuration
from leverframe.fleet.bulk import each
from leverframe.fleet.groups import WINDOW_S, advance_together, journal_digest
from leverframe.fleet.member import Member
from leverframe.host.maintenance.backup import list_changes
from leverframe.storage.backup import encode_backup, unpack
from leverframe.storage.store import StoreUnavailable
from tests.cases import for_each
from tests.fleet.loop_node import LoopNode, loop_node
from tests.patience import PATIENCE_S

BEGIN = 1767571200.0
#: Rules, a periodic output, a return time and a schedule: something happens all the time.
BUSY = (
    "outs.cgi?ortime=0{n}5",
    "outs.cgi?out0=1",
    "inpa.cgi?event=0*0*0*0*0*0*0*0*0*0*0*0",
    "post.cgi?sched_save &s0=lamp*0*1*{n}0*0*127*1&&",
)


async def busy(node: LoopNode, count: int) -> None:
    await node.post("add", name="gh-{n}", count=count, hw="3.9")
    for number in range(1, count + 1):
        for command in BUSY:
            target, _, body = command.format(n=number).partition(" ")
            answer = await node.post("send", body.encode(), command=target, name=f"gh-{number}")
            assert answer["refused"] == 0, answer


async def run(order: Sequence[int], steps: Sequence[float], window_s: float) -> str:
    """Live an hour with the controllers stepped in this order; return what happened."""
    async with loop_node() as node:
        await busy(node, len(order))
        controllers = [node.member(f"gh-{n + 1}").controller for n in range(len(order))]
        stepped = [controllers[place] for place in order]
        left = 3600.0
        for step in steps:
            await advance_together(stepped, min(step, left), window_s)
            left -= min(step, left)
        await advance_together(stepped, left, window_s)
        assert {one.clock.wall() for one in controllers} == {BEGIN + 3600}
        return journal_digest(controllers)


@settings(max_examples=8, deadline=None)
@given(
    order=st.permutations(range(4)),
    steps=st.lists(st.integers(1, 4000).map(float), max_size=4),
    window_s=st.sampled_from([0.0, 1.0, WINDOW_S]),
)
def test_result_is_independent_of_order_and_steps(
    order: list[int], steps: list[float], window_s: float
) -> None:
    assert asyncio.run(run(order, steps, window_s)) == asyncio.run(run(range(4), (), 0.0))


async def test_digest_differs_for_another_course() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        one, other = (node.member(f"gh-{n}").controller for n in (1, 2))
        assert journal_digest([one]) == journal_digest([other])
        await node.post("send", command="outs.cgi?out0=1", name="gh-1")
        assert journal_digest([one]) != journal_digest([other])


async def test_time_of_all_moves_together_and_new_controllers_begin_there() -> None:
    async with loop_node(timezone="Europe/Warsaw") as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("send", command="outs.cgi?ortime=05&out0=1")
        assert (await node.post("advance", for_="1h30m"))["time"] == BEGIN + 5400
        assert {one["time"] for one in await node.get("list")} == {BEGIN + 5400}
        assert node.member("gh-2").controller.engine.values["OUT0"] == 0
        await node.post("advance", to="2026-01-05T05:00")
        await node.post("add", name="late")
        assert {one["time"] for one in await node.get("list")} == {BEGIN + 4 * 3600}


async def test_step_advances_to_the_next_due_moment() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        before = (await node.get(""))["time"]
        await node.post("send", command="outs.cgi?ortime=07&out0=1", name="gh-2")
        while node.member("gh-2").controller.engine.values["OUT0"]:
            await node.post("advance", step=1)
        assert (await node.get(""))["time"] == before + 7


async def test_advance_with_a_tag_moves_tagged_controllers_only() -> None:
    async with loop_node() as node:
        await node.post("add", name="a", tags="north")
        await node.post("add", name="b")
        assert (await node.post("advance", for_="1h", tag="north"))["time"] == BEGIN
        assert [one["time"] for one in await node.get("list")] == [BEGIN + 3600, BEGIN]


async def test_time_runs_at_a_rate_until_it_is_frozen() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        assert (await node.post("advance", rate=1000))["rate"] == 1000
        async with asyncio.timeout(PATIENCE_S):
            while (await node.get(""))["time"] < BEGIN + 10:  # noqa: ASYNC110 - real time
                await asyncio.sleep(0.01)
        frozen = await node.post("advance", rate=0)
        assert frozen["rate"] == 0
        assert (await node.get("list"))[0]["time"] == frozen["time"]


@for_each(
    ("options", "message"),
    [
        ({"for_": "soon"}, "soon"),
        ({"to": "2020-01-01T00:00"}, "This moment has passed"),
        ({"to": "noon"}, "is not a moment"),
        ({"rate": "-1"}, "is not a valid rate"),
        ({}, "Exactly one way to move time must be set"),
        ({"for_": "1h", "step": "1"}, "Exactly one way to move time must be set"),
    ],
)
async def test_invalid_move_of_time_is_refused(options: dict[str, str], message: str) -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        assert message in await node.expect_refusal(400, "advance", **options)
        assert (await node.get(""))["time"] == BEGIN


async def test_common_time_is_restored_only_with_all_controllers() -> None:
    async with loop_node() as node:
        await node.post("add", name="a", tags="north")
        await node.post("add", name="b")
        await node.post("snapshot", label="noon")
        await node.post("advance", for_="3h")
        await node.post("restore", label="noon", tag="north")
        assert (await node.get(""))["time"] == BEGIN + 3 * 3600
        await node.post("restore", label="noon")
        assert (await node.get(""))["time"] == BEGIN
        await node.post("add", name="c")
        assert (await node.post("advance", to="2026-01-05T01:00"))["time"] == BEGIN + 3600
        assert {one["time"] for one in await node.get("list")} == {BEGIN + 3600}


async def test_real_time_cannot_be_moved_and_snapshots_hold_stored_state() -> None:
    async with loop_node(real_time=True) as node:
        await node.post("add", name="a")
        assert "This node runs in real time" in await node.expect_refusal(409, "advance", for_="1h")
        await node.post("send", command="stm.cgi?oname=0Pump")
        assert (await node.post("snapshot", label="before"))["done"] == 1
        await node.post("send", command="stm.cgi?oname=0Fan")
        controller = node.member("a").controller
        engine = controller.engine
        assert (await node.post("restore", label="before"))["done"] == 1
        assert controller.engine.settings.outputs[0].name == "Pump"
        # As after a power cut.
        assert controller.engine is not engine


async def test_group_is_restored_from_a_snapshot() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("send", command="outs.cgi?out0=1", name="gh-1")
        assert (await node.post("snapshot", label="before"))["done"] == 2
        await node.post("add", name="late")
        await node.post("send", command="outs.cgi?out0=0&oname=0Pump")
        await node.post("advance", for_="1h")
        answer = await node.post("restore", label="before")
        assert (answer["done"], answer["refused"]) == (2, 1)
        assert answer["results"][2]["detail"] == "late is not in the snapshot before."
        member = node.member("gh-1").controller
        assert member.engine.values["OUT0"] == 1
        assert member.engine.settings.outputs[0].name != "Pump"
        assert member.clock.wall() == BEGIN
        assert (await node.get(""))["snapshots"] == ["before"]
        assert "Allowed: before" in await node.expect_refusal(400, "restore", label="after")


async def test_number_of_snapshots_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.groups.MAX_LABELS", 1)
    async with loop_node() as node:
        await node.post("add", name="a")
        await node.post("snapshot", label="one")
        await node.post("snapshot", label="one")
        assert "1 snapshots already" in await node.expect_refusal(409, "snapshot", label="two")


@pytest.mark.parametrize("real_time", [False, True])
async def test_fork_resumes_from_the_present_state(real_time: bool) -> None:
    async with loop_node(real_time=real_time) as node:
        await node.post("add", name="a", hw="3.5", sw="1.49", tags="north")
        await node.post("send", command="stm.cgi?oname=0Pump")
        await node.post("send", command="outs.cgi?out1=1")
        made = await node.post("fork", name="a", to="copy-{n}", count=2, tags="copies")
        assert made["names"] == ["copy-1", "copy-2"]
        (copy,) = await node.get("list", name="copy-2")
        assert (copy["hw"], copy["sw"], copy["tags"]) == ("3.5", "1.49", ["copies"])
        one, other = node.member("a"), node.member("copy-2")
        assert other.controller.engine.settings.outputs[0].name == "Pump"
        assert other.built.mac != one.built.mac
        if not real_time:
            assert other.controller.engine.values["OUT1"] == 1
        await node.post("send", command="stm.cgi?oname=0Fan", name="copy-1")
        assert one.controller.engine.settings.outputs[0].name == "Pump"
        assert "named a exists already" in await node.expect_refusal(
            409, "fork", name="copy-1", to="a"
        )


async def test_each_faulty_controller_has_its_seed_and_faults_end_together() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        answer = await node.post("fault", fault="sensor_noisy*label:DS1", seed=7, name="gh-1,gh-2")
        assert answer["done"] == 2
        texts = [_fault_texts(node, f"gh-{n}") for n in (1, 2, 3)]
        assert len(texts[0]) == 1
        assert texts[0] != texts[1]
        assert texts[2] == []
        await node.post("fault", fault="slow*delay:1s*seed:3")
        assert (await node.post("fault", fault="reboot*takes:5s"))["done"] == 3
        await node.post("fault", fault="none")
        assert [_fault_texts(node, f"gh-{n}") for n in (1, 2, 3)] == [[], [], []]
        assert "There is no fault" in await node.expect_refusal(400, "fault", fault="gremlins")


async def test_each_controller_refuses_too_many_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.controller_actions.MAX_FAULTS", 1)
    async with loop_node() as node:
        await node.post("add", name="a")
        assert (await node.post("fault", fault="stale"))["done"] == 1
        answer = await node.post("fault", fault="stale")
        assert "1 faults already" in answer["results"][0]["detail"]


def _fault_texts(node: LoopNode, name: str) -> list[str]:
    faults = node.member(name).controller.faults
    assert faults is not None
    return [one.text for one in faults.report()]


async def test_export_recreates_the_fleet_and_holds_no_secret() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2, tags="north", address="127.0.0.3")
        await node.post("send", command="stm.cgi?oname=0Pump", name="gh-1")
        sent = await node.post("send", command="stm.cgi?gsmcode=7391", name="gh-1")
        assert sent["done"] == 1
        first, second = await node.get("export")
        assert first["record"]["name"] == "gh-1"
        assert first["record"]["address"] == "127.0.0.3"
        assert first["settings"]["settings"]["outputs.0.name"] == "Pump"
        assert second["settings"]["settings"] == {}
        assert "7391" not in str(first)


async def test_export_has_the_settings_of_a_backup() -> None:
    async with loop_node() as node:
        await busy(node, 2)
        (exported,) = await node.get("export", name="gh-2")
        controller = node.member("gh-2").controller
        backup = unpack(encode_backup(controller.profile, controller.engine.settings))
        assert exported["settings"]["settings"] == list_changes(backup)
        shown = await node.get("show", name="gh-2")
        assert shown["settings"] == list_changes(backup)
        template = msgspec.json.encode(exported["settings"])
        await node.post("add", template, name="again")
        assert (await node.get("show", name="again"))["settings"] == shown["settings"]


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StoreUnavailable("The disk is full."), 507),
        (BadDuration("No such duration."), 400),
    ],
)
async def test_failure_of_one_controller_is_reported_and_the_others_continue(
    error: Exception, status: int
) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)

        async def work(member: Member) -> None:
            if member.name == "gh-1":
                raise error

        report = await each(list(node.node.members.values()), work)
        assert [one.status for one in report.results] == [status, 200]
        assert report.results[0].detail == str(error)
