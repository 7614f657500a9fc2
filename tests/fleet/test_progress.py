"""The progress of a request about many controllers, for the client that waits for it."""

import asyncio

import msgspec
import pytest

from leverframe.fleet.progress import (
    MAX_LARGE,
    PROGRESS,
    NothingUnderWay,
    ProgressReport,
    RequestsUnderWay,
    count_done,
)
from tests.fleet.loop_node import LoopNode, give_way_at_each_part, loop_node
from tests.patience import PATIENCE_S

MANY = 60


async def watch_progress(node: LoopNode, target: str, method: str = "POST") -> list[ProgressReport]:
    """Send a request, and poll its progress until the answer."""
    named = {PROGRESS.lower(): "mine"}
    # Other work has its turn after every controller.
    await give_way_at_each_part()
    asking = asyncio.ensure_future(node.ask(f"/api/fleet/{target}", b"", method, **named))
    seen = []
    while not asking.done():
        await asyncio.sleep(0)
        reply = await node.ask("/api/fleet/progress?id=mine", b"", "GET")
        if reply.status == 200:
            seen.append(msgspec.json.decode(reply.body, type=ProgressReport))
    assert (await asking).status == 200
    assert "No request with this id" in await expect_refusal(node)
    return seen


async def expect_refusal(node: LoopNode) -> str:
    reply = await node.ask("/api/fleet/progress?id=mine", b"", "GET")
    assert reply.status == 404
    detail: str = msgspec.json.decode(reply.body)["detail"]
    return detail


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("send?command=outs.cgi%3Fout0%3D1", "POST"),
        ("send?command=outs.cgi%3Fout0%3D1&dry_run=1", "POST"),
        ("snapshot?label=noon", "POST"),
        ("fault?fault=none", "POST"),
        ("remove?tag=north", "POST"),
        ("export", "GET"),
    ],
)
async def test_progress_counts_finished_controllers(target: str, method: str) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=MANY, tags="north")
        seen = await watch_progress(node, target, method)
        assert {one.of for one in seen} <= {0, MANY}
        counts = [one.done for one in seen]
        assert counts == sorted(counts)
        assert any(0 < count < MANY for count in counts)
        assert max(counts) <= MANY


async def test_rollback_of_the_database_is_counted() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=MANY)
        await node.post("snapshot", label="noon")
        seen = await watch_progress(node, "restore?label=noon")
        assert any(0 < one.done < MANY == one.of for one in seen)


def test_tenant_sees_progress_of_its_own_requests_only() -> None:
    under_way = RequestsUnderWay()
    with under_way.follow("acme", "mine"):
        count_done(3)
        assert under_way.report("acme", "mine").done == 3
        for other in ("zulu", None):
            with pytest.raises(NothingUnderWay):
                under_way.report(other, "mine")


async def test_too_long_request_id_is_refused() -> None:
    async with loop_node() as node:
        named = {PROGRESS.lower(): "x" * 65}
        reply = await node.ask("/api/fleet/list", b"", "GET", **named)
        assert reply.status == 400
        assert b"up to 64 letters" in reply.body


async def test_large_requests_of_a_tenant_are_limited_and_delay_no_other() -> None:
    under_way, done, other_runs = RequestsUnderWay(), asyncio.Event(), asyncio.Event()
    running: list[str] = []

    async def work(tenant: str) -> None:
        async with under_way.large(tenant):
            running.append(tenant)
            if tenant == "zulu":
                other_runs.set()
            await done.wait()

    async with asyncio.timeout(PATIENCE_S), asyncio.TaskGroup() as group:
        many = [group.create_task(work("acme")) for _ in range(5 * MAX_LARGE)]
        # The requests of a tenant get their turns of the loop before those that come later.
        group.create_task(work("zulu"))
        await other_runs.wait()
        assert running == ["acme"] * MAX_LARGE + ["zulu"]
        # Its client has left.
        many[-1].cancel()
        done.set()
    assert running.count("acme") == len(many) - 1
