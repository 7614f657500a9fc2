"""Staged roll-outs: groups, thresholds, stop, resume, retry of the failed, and rollback."""

import asyncio
from typing import Any

import pytest

from leverframe.fleet.jobs.job import FleetJob
from leverframe.fleet.jobs.job_state import error_count, form_groups
from leverframe.interface.table.refusals import BadValue
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.mortal_lane import Disk, MortalLane
from tests.fleet.test_bulk_jobs import changes_by_fleet

NAME = "stm.cgi?oname=0Pump"
#: Old software does not have this command.
NEWER = "stm.cgi?eventname=1Frost"
OLD = {"hw": "3.0", "sw": "1.18"}


async def plan(node: LoopNode, **options: object) -> FleetJob:
    """Plan a roll-out of a name, and return its job."""
    options.setdefault("command", NAME)
    answer = await node.post("rollout/plan", **options)
    return node.web.jobs.find(answer["job"]["id"])


async def operate(node: LoopNode, job: FleetJob, what: str) -> dict[str, Any]:
    """Operate a roll-out, and return its report when it rests."""
    await node.post(f"rollout/{what}", id=job.plan.id)
    await job.wait_until_ended()
    answer: dict[str, Any] = await node.get("rollout", id=job.plan.id)
    return answer


def names(node: LoopNode) -> list[str]:
    members = node.node.members.values()
    return [member.controller.engine.settings.outputs[0].name for member in members]


@pytest.mark.parametrize(
    ("count", "sizes", "groups"),
    [
        (20, "1,10%,rest", [1, 2, 17]),
        (20, "", [20]),
        (3, "1,1", [1, 1, 1]),
        (5, "10%,10%", [1, 1, 3]),
        (2, "5,5", [2]),
        (4, "100%", [4]),
    ],
)
def test_groups_contain_each_controller_once(count: int, sizes: str, groups: list[int]) -> None:
    found = form_groups(range(count), sizes)
    assert [len(group) for group in found] == groups
    assert [number for group in found for number in group] == list(range(count))


@pytest.mark.parametrize("sizes", ["0", "101%", "some", "-1", "1;2", ",".join(["1"] * 60)])
def test_invalid_group_sizes_are_refused(sizes: str) -> None:
    with pytest.raises(BadValue, match="group"):
        form_groups(range(100), sizes)


def test_errors_are_a_count_or_a_percentage_of_all() -> None:
    assert error_count("3", 100) == 3
    assert error_count("5%", 10) == 1
    assert error_count("10%", 100) == 10
    assert error_count("none", 100) is None
    with pytest.raises(BadValue, match="is not a number of errors"):
        error_count("few", 10)


async def test_rollout_goes_group_by_group_and_rolls_back() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=5, tags="all")
        await node.post("send", command="stm.cgi?oname=0Fan", name="gh-2")
        tried = await node.post("rollout/plan", command=NAME, groups="1,40%", dry_run=1)
        assert (tried["job"], tried["groups"]) == (None, [1, 2, 2])
        assert tried["tried"]["results"][1]["effects"][0]["old"] == "Fan"
        assert all(one["kind"] == "bulk" for one in await node.get("rollouts"))
        job = await plan(node, groups="1,40%")
        assert job.report().can == ["start"]
        assert set(names(node)) == {"", "Fan"}
        report = await operate(node, job, "start")
        assert (report["status"], report["done"], report["can"]) == ("finished", 5, ["undo"])
        assert [group["done"] for group in report["groups"]] == [1, 2, 2]
        assert set(names(node)) == {"Pump"}
        report = await operate(node, job, "undo")
        assert (report["status"], report["why"], report["undone"]) == ("undone", None, 5)
        assert names(node) == ["", "Fan", "", "", ""]
        assert report["can"] == []
        assert (await node.get(""))["snapshots"] == []
        await node.post("rollout/remove", id=job.plan.id)
        assert node.node.registry.snapshots == {}


async def test_too_few_successes_stop_a_rollout_before_the_next_group() -> None:
    async with loop_node() as node:
        await node.post("add", name="old", **OLD)
        await node.post("add", name="gh-{n}", count=3)
        job = await plan(node, command=NEWER, groups="2", errors="none")
        report = await operate(node, job, "start")
        assert (report["status"], report["group"]) == ("stopped", 0)
        assert report["why"] == "1 of 2 controllers in group 1 succeeded; 100 % are required."
        assert [one["status"] for one in report["results"]] == [404, 200]
        assert report["can"] == ["resume", "retry", "undo"]
        # Resuming it accepts this failure.
        report = await operate(node, job, "resume")
        assert (report["status"], report["done"], report["failed"]) == ("finished", 3, 1)
        half = await plan(node, command=NEWER, groups="2", success=50, errors="none")
        assert (await operate(node, half, "start"))["status"] == "finished"


async def test_error_limit_stops_a_rollout_immediately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.job.AT_A_TIME", 1)
    async with loop_node() as node:
        await node.post("add", name="old-{n}", count=4, **OLD)
        await node.post("add", name="gh-{n}", count=2)
        job = await plan(node, command=NEWER, errors="2", success=0)
        report = await operate(node, job, "start")
        assert (report["status"], report["failed"], report["done"]) == ("stopped", 2, 0)
        assert report["why"] == "Failures: 2; the limit is 2."
        # Two more that fail stop it again.
        report = await operate(node, job, "resume")
        assert (report["status"], report["failed"], report["done"]) == ("stopped", 4, 0)


async def test_retry_covers_failed_controllers_only() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=4)
        for name in ("gh-2", "gh-3"):
            node.member(name).controller.lose_power()
        job = await plan(node, groups="2", success=0, errors="none", check_health=0)
        report = await operate(node, job, "start")
        assert [one["status"] for one in report["results"]] == [200, 503, 503, 200]
        node.member("gh-2").controller.restart()
        report = await operate(node, job, "retry")
        assert [one["status"] for one in report["results"]] == [200, 200, 503, 200]
        assert sorted((await changes_by_fleet(node)).values()) == [0, 1, 1, 1]
        node.member("gh-3").controller.restart()
        assert (await operate(node, job, "retry"))["can"] == ["undo"]
        report = await operate(node, job, "undo")
        assert (report["undone"], set(names(node))) == (4, {""})


async def test_retry_succeeds_when_the_refusal_no_longer_holds() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        await node.post("send", command="stm.cgi?outblock=1")
        job = await plan(node, command="outs.cgi?out0=1")
        report = await operate(node, job, "start")
        assert (report["status"], report["results"][0]["status"]) == ("stopped", 423)
        await node.post("send", command="stm.cgi?outblock=0")
        report = await operate(node, job, "retry")
        assert (report["status"], report["done"]) == ("finished", 1)
        assert node.member("a").controller.engine.values["OUT0"] == 1


async def test_only_new_findings_count_as_failures() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        first, second = node.member("gh-1").controller, node.member("gh-2").controller
        first.troubles["printer"] = "It has been away for long."

        def break_it(old: object, new: object) -> None:
            second.troubles["mail"] = "It is away."

        second.settings_watchers.append(break_it)  # type: ignore[arg-type]
        job = await plan(node, groups="2", errors="1")
        report = await operate(node, job, "start")
        assert (report["status"], report["why"]) == (
            "stopped",
            "Failures: 1; the limit is 1.",
        )
        assert report["results"][0]["status"] == 200
        assert report["results"][1]["status"] == 409
        assert "The controller has a new finding" in report["results"][1]["detail"]
        assert names(node) == ["Pump", "Pump", ""]
        # It was changed all the same, and is rolled back, too.
        report = await operate(node, job, "undo")
        assert (report["undone"], set(names(node))) == (2, {""})


async def test_silent_controller_counts_as_a_failure() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        controller = node.member("gh-1").controller
        controller.settings_watchers.append(
            lambda old, new: controller.lose_power()  # type: ignore[func-returns-value, arg-type]
        )
        job = await plan(node, groups="1")
        report = await operate(node, job, "start")
        assert report["results"] == [
            {"name": "gh-1", "status": 409, "detail": "The controller does not answer."}
        ]


async def test_pause_between_groups_can_be_stopped_or_resumed() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        job = await plan(node, groups="1,1", pause="1h")
        await node.post("rollout/start", id=job.plan.id)
        await waiting(job)
        report = await node.get("rollout", id=job.plan.id)
        assert (report["done"], report["group"], report["can"]) == (1, 1, ["stop", "resume"])
        assert report["go_on_at"] > report["made"] + 3000
        assert report["at"] == node.node.clock.wall() < report["made"]
        report = await operate(node, job, "stop")
        assert (report["status"], report["why"]) == ("stopped", "Stopped by hand.")
        await node.post("rollout/resume", id=job.plan.id)
        await waiting(job)
        assert names(node) == ["Pump", "Pump", ""]
        report = await operate(node, job, "resume")
        assert (report["status"], set(names(node))) == ("finished", {"Pump"})
        short = await plan(node, groups="1", pause="0.01s")
        assert (await operate(node, short, "start"))["status"] == "finished"


async def waiting(job: FleetJob) -> None:
    await until(lambda: job.state.status == "waiting")


async def test_pause_continues_after_a_restart_of_the_node() -> None:
    disk = Disk()
    async with loop_node(disk) as node:
        await node.post("add", name="gh-{n}", count=2)
        job = await plan(node, groups="1", pause="1h")
        await node.post("rollout/start", id=job.plan.id)
        await waiting(job)
    async with loop_node(disk) as node:
        await node.node.start_stored()
        await node.web.jobs.start_stored()
        again = node.web.jobs.find(job.plan.id)
        assert (again.state.status, again.state.go_on_at) == ("waiting", job.state.go_on_at)
        assert (await operate(node, again, "resume"))["status"] == "finished"


async def test_invalid_rollout_is_refused_with_the_reason() -> None:
    async with loop_node() as node:
        assert "No controller matches" in await node.expect_refusal(
            409, "rollout/plan", command=NAME
        )
        await node.post("add", name="a")

        async def refuse_plan(status: int, **options: object) -> str:
            return await node.expect_refusal(status, "rollout/plan", **options)

        assert "The request has neither a command nor a body" in await refuse_plan(400)
        assert "is not a command" in await refuse_plan(404, command="nothing")
        assert "is not a group size" in await refuse_plan(400, command=NAME, groups="few")
        assert "is not a number of errors" in await refuse_plan(400, command=NAME, errors="few")
        assert "pause" in await refuse_plan(400, command=NAME, pause="long")
        both = await node.expect_refusal(400, "rollout/plan", b"x", command=NAME)
        assert "The request has both a command and a body" in both
        bad = b'{"hw": "9.9", "sw": "1", "settings": {}}'
        assert "unknown version" in await node.expect_refusal(
            400, "rollout/plan", bad, what="template"
        )
        assert "There is no job 'x'" in await node.expect_refusal(404, "rollout/start", id="x")
        assert "id is missing" in await node.expect_refusal(400, "rollout/start")
        job = await plan(node)
        assert "is planned, so undo is not possible" in await node.expect_refusal(
            409, "rollout/undo", id=job.plan.id
        )
        await node.post("rollout/remove", id=job.plan.id)
        await node.expect_refusal(404, "rollout/start", id=job.plan.id)
        paused = await plan(node)
        paused.state.status = "waiting"
        assert "stop it first" in await node.expect_refusal(
            409, "rollout/remove", id=paused.plan.id
        )


async def test_template_rollout_keeps_settings_that_it_does_not_name() -> None:
    template = (
        b'{"hw": "3.9", "sw": "1.75", "settings":'
        b' {"outputs.0.name": "Pump", "outputs.1.name": "", "outputs.2.remember": true}}'
    )
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("add", name="old", **OLD)
        for command in ("stm.cgi?oname=1Fan", "stm.cgi?oname=3Lamp"):
            await node.post("send", command=command)
        report = await node.post(
            "rollout/plan", template, what="template", errors="none", success=0
        )
        assert report["job"]["title"] == "3 settings of a template"
        job = node.web.jobs.find(report["job"]["id"])
        report = await operate(node, job, "start")
        assert [one["status"] for one in report["results"]] == [200, 200, 409]
        why = "The template sets outputs.2.remember, which HW 3.0 SW 1.18 does not support."
        assert why in report["results"][2]["detail"]
        outputs = node.member("gh-1").controller.engine.settings.outputs
        assert [one.name for one in outputs[:4]] == ["Pump", "", "", "Lamp"]
        assert outputs[2].remember
        await operate(node, job, "undo")
        outputs = node.member("gh-1").controller.engine.settings.outputs
        assert [one.name for one in outputs[:4]] == ["", "Fan", "", "Lamp"]


async def test_several_commands_are_one_change_per_controller() -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        body = b"# names\nstm.cgi?oname=0Pump\nstm.cgi?oname=1Fan\n"
        answer = await node.post("rollout/plan", body)
        assert answer["job"]["title"] == "stm.cgi?oname=0Pump; stm.cgi?oname=1Fan"
        job = node.web.jobs.find(answer["job"]["id"])
        assert (await operate(node, job, "start"))["done"] == 1
        assert await changes_by_fleet(node) == {"a": 1}


async def test_removed_or_renamed_controller_is_reported() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        job = await plan(node, success=0, errors="none")
        await node.post("remove", name="gh-1")
        await node.post("rename", name="gh-2", to="cellar")
        report = await operate(node, job, "start")
        assert [(one["name"], one["status"]) for one in report["results"]] == [
            ("gh-1", 404),
            ("cellar", 200),
            ("gh-3", 200),
        ]
        await node.post("remove", name="cellar")
        report = await operate(node, job, "undo")
        assert (report["why"], report["undone"]) == ("1 could not be restored.", 1)


async def test_rollout_needs_a_snapshot_to_begin_and_to_roll_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loop_node() as node:
        await node.post("add", name="a")
        job = await plan(node, snapshot=0)
        assert (await operate(node, job, "start"))["can"] == []
        job = await plan(node)

        async def fails(numbers: object) -> None:
            raise RuntimeError

        monkeypatch.setattr(node.node.lane, "fetch", fails)
        report = await operate(node, job, "start")
        assert (report["status"], report["done"]) == ("stopped", 0)
        assert report["why"] == "An internal error stopped the job; see the log."


# --- storage that refuses writes for a while ------------------------------------------------------


@pytest.mark.parametrize("is_last_stored", [False, True])
async def test_rollout_and_rollback_resume_after_any_refused_write(
    is_last_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.job.AGAIN_S", 0.0)
    lane = MortalLane(Disk(), 10**6, is_last_stored=is_last_stored)
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=2)
        for what, after in (("start", "finished"), ("undo", "undone")):
            writes, is_held_up = 0, True
            while is_held_up:
                job = await plan(node, command=f"{NAME}{writes}", groups="1,rest")
                if what == "undo":
                    await operate(node, job, "start")
                is_held_up = await _is_held_up_after(node, lane, job, what, writes)
                answer = await node.get("rollout", id=job.plan.id)
                assert (answer["status"], answer["why"]) == (after, None), (what, writes)
                assert (answer["done"], answer["failed"]) == (2, 0), (what, writes)
                writes += 1
            # Snapshots, the controllers and the rows of the job were refused.
            assert writes > 5, what


async def _is_held_up_after(
    node: LoopNode, lane: MortalLane, job: FleetJob, what: str, writes: int
) -> bool:
    """Have storage refuse all after some writes of a roll-out, until the roll-out waits for it."""
    await node.member("gh-1").controller.writer.flush()
    lane._left = writes
    target = f"/api/fleet/rollout/{what}?id={job.plan.id}"
    is_begun = (await node.ask(target)).status == 200
    await until(lambda: job._held_up.is_set() or job._task is None or job._task.done())
    is_held_up, lane._left = lane._left < 0, 10**6
    if not is_begun:
        assert (await node.ask(target)).status == 200
    await until(lambda: job._task is not None and job._task.done())
    return is_held_up


async def test_rollout_keeps_running_if_its_stop_cannot_be_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.job.AGAIN_S", 0.0)
    lane = MortalLane(Disk(), 10**6, is_last_stored=False)
    async with loop_node(lane) as node:
        await node.post("add", name="gh-{n}", count=2)
        job = await plan(node, groups="1,rest", pause="1h")
        await node.post("rollout/start", id=job.plan.id)
        await waiting(job)
        await node.member("gh-1").controller.writer.flush()
        lane._left = 0
        await node.expect_refusal(507, "rollout/stop", id=job.plan.id)
        answer = await node.get("rollout", id=job.plan.id)
        assert (answer["status"], answer["can"]) == ("waiting", ["stop", "resume"])
        lane._left = 10**6
        assert (await operate(node, job, "resume"))["done"] == 2


# --- killed anywhere ------------------------------------------------------------------------------


async def die(disk: Disk, id: str, what: str, writes: int, *, is_last_stored: bool) -> bool:
    """Operate a roll-out with a node that dies after a number of writes; return whether it has."""
    lane = MortalLane(disk, 10**6, is_last_stored=is_last_stored)
    async with loop_node(lane) as node:
        assert await node.node.start_stored() == {}
        await node.web.jobs.start_stored()
        job = node.web.jobs.find(id)
        lane._left = writes
        working = asyncio.ensure_future(node.ask(f"/api/fleet/rollout/{what}?id={id}"))
        dying = asyncio.ensure_future(lane.died.wait())
        await asyncio.wait([working, dying], return_when=asyncio.FIRST_COMPLETED)
        if not dying.done():
            ending = asyncio.ensure_future(job.wait_until_ended())
            await asyncio.wait([ending, dying], return_when=asyncio.FIRST_COMPLETED)
        # It is dead from here on, whatever it still does.
        lane._left = min(lane._left, 0)
        lane._is_last_stored = False
        dying.cancel()
        await node.web.jobs.close()
        await asyncio.wait([working])
    return lane.died.is_set()


@pytest.mark.parametrize("is_last_stored", [False, True])
@pytest.mark.parametrize("what", ["start", "undo"])
async def test_killed_node_does_each_rollout_step_and_rollback_once(
    what: str, is_last_stored: bool
) -> None:
    begin = Disk()
    async with loop_node(begin) as node:
        await node.post("add", name="gh-{n}", count=2)
        job = await plan(node, groups="1")
        if what == "undo":
            await operate(node, job, "start")
    writes, has_died = 0, True
    before = 0 if what == "start" else 1
    while has_died:
        disk = begin.copy()
        has_died = await die(disk, job.plan.id, what, writes, is_last_stored=is_last_stored)
        async with loop_node(disk) as node:
            assert await node.node.start_stored() == {}
            await node.web.jobs.start_stored()
            again = node.web.jobs.find(job.plan.id)
            if what in again.can():
                # It had not begun.
                await again.operate(what, "")  # type: ignore[arg-type]
            await again.wait_until_ended()
            report = again.report(with_results=True)
            assert [one.status for one in report.results] == [200] * 2, writes
            wanted = ("finished", 0) if what == "start" else ("undone", 2)
            assert (report.status, report.undone) == wanted, writes
            assert set(names(node)) == {"Pump" if what == "start" else ""}, writes
            assert set((await changes_by_fleet(node)).values()) == {before + 1}, writes
        writes += 1
    assert writes > 2 * len(report.groups)
