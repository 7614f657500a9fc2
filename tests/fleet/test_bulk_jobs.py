"""Bulk changes: every controller does them once, whenever the node is killed."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import pytest

from leverframe.fleet.jobs.job_state import JobWork
from leverframe.fleet.jobs.steps import JobStep
from leverframe.fleet.member import Member
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.storage.store import Rows, StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.mortal_lane import Disk, MortalLane

COUNT = 2
NAME = "stm.cgi?oname=0Pump"
#: Toggles an output whose state is remembered, so doing it twice shows.
TOGGLE = "outs.cgi?out=0"
REMEMBERED = b'{"hw": "3.9", "sw": "1.75", "settings": {"outputs.0.remember": true}}'


async def prepare_disk() -> Disk:
    disk = Disk()
    async with loop_node(disk) as node:
        await node.post("add", REMEMBERED, name="gh-{n}", count=COUNT)
    return disk


async def entries(member: Member) -> list[dict[str, Any]]:
    found = await member.controller.audit_entries()
    return [msgspec.json.decode(raw) for raw in found.values()]


async def changes_by_fleet(node: LoopNode) -> Counter[str]:
    """Count the entries of the audit trails by controller."""
    found: Counter[str] = Counter()
    for member in node.node.members.values():
        found[member.name] = sum(one["account"] == "fleet" for one in await entries(member))
    return found


async def die(disk: Disk, command: str, writes: int, *, is_last_stored: bool) -> bool:
    """Send a command with a node that dies after a number of writes; return whether it has died."""
    lane = MortalLane(disk, 10**6, is_last_stored=is_last_stored)
    async with loop_node(lane) as node:
        assert await node.node.start_stored() == {}
        await node.web.jobs.start_stored()
        for member in node.node.members.values():
            await member.controller.writer.flush()
        lane._left = writes
        sending = asyncio.ensure_future(node.ask(f"/api/fleet/send?command={command}&id=once"))
        dying = asyncio.ensure_future(lane.died.wait())
        await asyncio.wait([sending, dying], return_when=asyncio.FIRST_COMPLETED)
        # It is dead from here on, whatever it still does.
        lane._left = min(lane._left, 0)
        lane._is_last_stored = False
        dying.cancel()
        await node.web.jobs.close()
        await asyncio.wait([sending])
    return lane.died.is_set()


@pytest.mark.parametrize("is_last_stored", [False, True])
@pytest.mark.parametrize(("command", "value"), [(NAME, "Pump"), (TOGGLE, 1)])
async def test_killed_node_makes_each_change_once(
    command: str, value: object, is_last_stored: bool
) -> None:
    begin, writes, has_died = await prepare_disk(), 0, True
    while has_died:
        disk = begin.copy()
        has_died = await die(disk, command, writes, is_last_stored=is_last_stored)
        async with loop_node(disk) as node:
            assert await node.node.start_stored() == {}
            await node.web.jobs.start_stored()
            answer = await node.post("send", command=command, id="once")
            assert (answer["done"], answer["refused"]) == (COUNT, 0), writes
            for member in node.node.members.values():
                engine = member.controller.engine
                is_named = command == NAME
                now = engine.settings.outputs[0].name if is_named else engine.values["OUT0"]
                assert now == value, writes
            assert set((await changes_by_fleet(node)).values()) == {1}, writes
        writes += 1
    # The node died at the job, its rows and those of each controller.
    assert writes > COUNT + 3


async def test_repeated_request_id_does_nothing_and_returns_the_same_results() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("add", name="old", hw="3.0", sw="1.18")
        command = "stm.cgi?eventname=1Frost"
        first = await node.post("send", command=command, id="a")
        assert [one["status"] for one in first["results"]] == [200, 200, 404]
        assert await node.post("send", command=command, id="a") == first
        assert set((await changes_by_fleet(node)).values()) == {0, 1}
        refused = await node.expect_refusal(409, "send", command=TOGGLE, id="a")
        assert refused == "Field id: This id belongs to another change."
        assert await node.post("send", command=command, id="b") == first


async def test_rows_of_forgotten_changes_are_erased_with_the_next_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.jobs.MAX_ENDED", 2)
    lane = MemoryLane()
    async with loop_node(lane) as node:
        await node.post("add", name="a")
        for number in range(5):
            await node.post("send", command=f"stm.cgi?oname=0Pump{number}")
        await node.post("send", command=TOGGLE)
        kept = lane.store(node.member("a").number).load().kept
        assert sum(name.startswith("job.") for name in kept) == 2
        assert len(await node.get("rollouts")) == 2
        assert len(node.node.registry.jobs) == 2


async def test_unsaved_change_is_reported_and_resumes_automatically(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.job.AGAIN_S", 0.0)
    disk = await prepare_disk()
    lane = MortalLane(disk, 10**6, is_last_stored=False)
    async with loop_node(lane) as node:
        await node.node.start_stored()
        # The job is stored, then nothing is for a while.
        lane._left = 3
        problem = await node.expect_refusal(507, "send", command=NAME, id="a")
        assert (
            "The node is dead. The job resumes automatically; query its result with id=a."
            in problem
        )
        lane._left = 10**6
        (job,) = node.web.jobs.all()
        await until(lambda: job.state.status == "finished")
        assert (await node.post("send", command=NAME, id="a"))["done"] == COUNT
        assert set((await changes_by_fleet(node)).values()) == {1}


async def test_change_with_an_internal_error_is_never_reported_as_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    disk = await prepare_disk()
    async with loop_node(disk) as node:
        await node.node.start_stored()
        send = node.web.jobs.executor.send

        async def fail_after_the_first(steps: Mapping[int, JobStep], work: JobWork) -> Any:
            first, step = next(iter(steps.items()))
            await send({first: step}, work)
            raise RuntimeError("a fault of the program")

        monkeypatch.setattr(node.web.jobs.executor, "send", fail_after_the_first)
        for _ in range(2):
            problem = await node.expect_refusal(504, "send", command=NAME, id="a")
            assert (
                "An internal error stopped the job; see the log. Of 2 controllers, 0 carried"
                in problem
            )
            assert "the state of the others is unknown. /api/fleet/rollout?id=a shows" in problem
        assert sorted((await changes_by_fleet(node)).values()) == [0, 1]
        monkeypatch.undo()
        await node.post("rollout/resume", id="a")
        assert (await node.post("send", command=NAME, id="a"))["done"] == COUNT
        assert set((await changes_by_fleet(node)).values()) == {1}


async def test_waiter_for_a_stopped_change_gets_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.jobs.job.AT_A_TIME", 1)
    disk = await prepare_disk()
    async with loop_node(disk) as node:
        await node.node.start_stored()
        may_write, store = asyncio.Event(), node.member("gh-1").controller.writer.store
        monkeypatch.setattr(store, "write", partial(_write_later, may_write, store.write))
        sending = asyncio.ensure_future(node.expect_refusal(507, "send", command=NAME, id="a"))
        await until(lambda: bool(node.web.jobs.all()))
        closing = asyncio.ensure_future(node.web.jobs.close())
        await asyncio.sleep(0)
        may_write.set()
        await closing
        assert "The job was stopped before its end; query its result with id=a." in await sending


async def _write_later(
    may_write: asyncio.Event, write: Callable[[Rows], Awaitable[None]], rows: Rows
) -> None:
    await may_write.wait()
    await write(rows)


async def test_job_passwords_are_hashed_sealed_and_hidden(
    tmp_path: Any,
) -> None:
    from leverframe.storage.lanes.sqlite_lane import SqliteLane

    lane = SqliteLane(tmp_path / "fleet.db", tmp_path / "fleet.key")
    async with loop_node(lane) as node:
        await node.post("add", name="a")
        answer = await node.post("send", command="stm.cgi?auth=11YWRtaW4=*c2VjcmV0*dXNlcg==*")
        assert answer["done"] == 1
        assert node.member("a").controller.engine.settings.access.required
        (job,) = await node.get("rollouts")
        assert "c2VjcmV0" not in job["title"]
    everything = b"".join(file.read_bytes() for file in tmp_path.iterdir())
    assert b"c2VjcmV0" not in everything


async def test_unsaved_switch_is_not_done_twice() -> None:
    """What is remembered of a step goes to the disk when that takes it again."""

    async with loop_node() as node:
        await node.post("add", REMEMBERED, name="a")
        member = node.member("a")
        store = member.controller.writer.store
        write, member.controller.writer.store = store.write, store

        async def refuse(rows: object) -> None:
            raise StoreUnavailable("The disk is full.")

        store.write = refuse  # type: ignore[method-assign, assignment]
        answer = await node.post("send", command=TOGGLE, id="a")
        assert answer["results"][0]["status"] == 507
        store.write = write  # type: ignore[method-assign]
        (job,) = node.web.jobs.all()
        await job.operate("retry", "")
        await job.wait_until_ended()
        assert job.results()[0].status == 200
        assert member.controller.engine.values["OUT0"] == 1
