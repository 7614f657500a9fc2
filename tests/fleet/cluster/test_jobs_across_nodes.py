"""Jobs on controllers of several nodes: done once, resumed when their node dies."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from leverframe.core.profile import Profile
from leverframe.fleet.member import NewController
from leverframe.fleet.other_nodes import CallUnanswered
from leverframe.fleet.records import MemberRecord
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import Cluster, cluster_on
from tests.fleet.loop_node import LoopNode
from tests.patience import PATIENCE_S
from tests.postgres_server import PostgresServer

COUNT = 6
NAME = "stm.cgi?oname=0Pump"
NEWER = "stm.cgi?eventname=1Frost"
#: Toggles an output whose state is remembered, so doing it twice shows.
TOGGLE = "outs.cgi?out=0"
REMEMBERED = {"outputs.0.remember": True}
NAMES = tuple(f"c{number}" for number in range(COUNT))


@asynccontextmanager
async def three_nodes(
    postgres: PostgresServer, folder: Path, names: tuple[str, ...] = NAMES
) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), folder) as cluster:
        for name in ("a", "b", "c"):
            await cluster.join(name)
        await cluster.nodes["b"].add(
            [NewController(MemberRecord(name), Profile(), REMEMBERED) for name in names]
        )
        share = len(names) // 3
        await cluster.wait_for_counts(share, share, share)
        yield cluster


class MortalNode:
    """A node that dies at one of its steps, and does nothing from then on."""

    def __init__(self, cluster: Cluster, name: str, moment: int, *, is_last_done: bool) -> None:
        self.died = asyncio.Event()
        self._buried = asyncio.Event()
        self._left = moment
        self._is_last_done = is_last_done
        node, member = cluster.nodes[name], cluster.members[name]
        for owner, what in (
            (node.lane.queue, "write_batch"),
            (node.registry, "put_job"),
            (member, "ask"),
        ):
            setattr(owner, what, self._count(getattr(owner, what)))

    def _count(
        self, work: Callable[..., Coroutine[Any, Any, Any]]
    ) -> Callable[..., Coroutine[Any, Any, Any]]:
        async def count(*arguments: Any) -> Any:
            self._left -= 1
            if self._left >= 0 or (self._left == -1 and self._is_last_done):
                done = await work(*arguments)
                if self._left >= 0:
                    return done
            self.died.set()
            await self._buried.wait()
            raise StoreUnavailable("The node is dead.")

        return count

    def bury(self) -> None:
        self._buried.set()


async def dies_while_sending(cluster: Cluster, mortal: MortalNode, command: str) -> bool:
    """Send a command by a, and clear a away; return whether it has died of it."""
    asking = cluster.asked["a"].ask(f"/api/fleet/send?command={command}&id=once")
    sending = asyncio.ensure_future(asking)
    dying = asyncio.ensure_future(mortal.died.wait())
    await asyncio.wait([sending, dying], return_when=asyncio.FIRST_COMPLETED)
    for task in (sending, dying):
        task.cancel()
    await asyncio.wait([sending, dying])
    mortal.bury()
    await cluster.kill("a")
    return mortal.died.is_set()


def rows_of(cluster: Cluster, job: str) -> Counter[int]:
    """Count the rows of a job by controller."""
    with psycopg.connect(cluster.database) as connection:
        query = "SELECT controller FROM kept WHERE starts_with(name, %s)"
        return Counter(row[0] for row in connection.execute(query, (f"job.{job}.",)))


async def changes_by_fleet(node: LoopNode) -> Counter[str]:
    return Counter(one["name"] for one in await node.get("changes", by="fleet", count=1000))


async def kill_at(
    postgres: PostgresServer, folder: Path, moment: int, *, is_last_done: bool
) -> bool:
    """Kill the node that got a change, ask another node, and check what was done."""
    async with three_nodes(postgres, folder) as cluster:
        mortal = MortalNode(cluster, "a", moment, is_last_done=is_last_done)
        has_died = await dies_while_sending(cluster, mortal, TOGGLE)
        b = cluster.asked["b"]
        answer = await b.post("send", command=TOGGLE, id="once")
        assert (answer["done"], answer["refused"]) == (COUNT, 0), moment
        assert Counter(one["name"] for one in answer["results"]) == dict.fromkeys(NAMES, 1), moment
        await cluster.wait_for_counts(COUNT // 2, COUNT // 2)
        outputs = [cluster.member(name).controller.engine.values["OUT0"] for name in NAMES]
        assert outputs == [1] * COUNT, moment
        assert await changes_by_fleet(b) == dict.fromkeys(NAMES, 1), moment
        assert set(rows_of(cluster, "once").values()) == {1}, moment
        assert len(rows_of(cluster, "once")) == COUNT, moment
        (job,) = await cluster.asked["c"].get("rollouts")
        assert (job["status"], job["done"]) == ("finished", COUNT)
        return has_died


#: The job, its row, own controllers and nodes that were asked, the results and the end.
MOMENTS = [
    (0, False),
    (1, False),
    (2, False),
    (3, True),
    (4, True),
    (5, True),
    (6, False),
    (8, True),
]


@pytest.mark.parametrize(
    ("moment", "is_last_done"),
    [(1, True), *(pytest.param(*one, marks=pytest.mark.thorough) for one in MOMENTS)],
)
async def test_change_is_made_once_when_its_node_is_killed(
    postgres: PostgresServer, tmp_path: Path, moment: int, is_last_done: bool
) -> None:
    assert await kill_at(postgres, tmp_path, moment, is_last_done=is_last_done)


async def test_rollout_survives_killed_nodes_while_running_stopping_and_undoing(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with three_nodes(postgres, tmp_path) as cluster:
        a, b, c = (cluster.asked[name] for name in "abc")
        names = {name: cluster.member(name) for name in NAMES}
        planned = await a.post("rollout/plan", command=NAME, groups="1,3,rest", pause="1h")
        assert (planned["groups"], planned["tried"]["done"]) == ([1, 3, 2], COUNT)
        id = planned["job"]["id"]
        # Whichever node is asked, the node that runs the job does it.
        assert (await b.post("rollout/start", id=id))["status"] in ("running", "waiting")
        await until(lambda: a.web.jobs.find(id).state.status == "waiting")
        assert (await c.get("rollout", id=id))["done"] == 1
        await cluster.kill("a")
        report = await c.get("rollout", id=id)
        assert (report["status"], report["group"], report["done"]) == ("waiting", 1, 1)
        await b.post("rollout/resume", id=id)
        report = await _came_to(c, id, "waiting", done=4)
        assert [group["done"] for group in report["groups"]] == [1, 3, 0]
        holder = "b" if b.web.jobs.all() else "c"
        left = c if holder == "b" else b
        assert (await left.post("rollout/stop", id=id))["status"] == "stopped"
        await cluster.kill(holder)
        assert (await left.get("rollout", id=id))["status"] == "stopped"
        await left.post("rollout/undo", id=id)
        report = await _came_to(left, id, "undone")
        assert (report["undone"], report["why"]) == (4, None)
        await cluster.wait_for_counts(COUNT)
        for name in names:
            assert cluster.member(name).controller.engine.settings.outputs[0].name == ""
        await left.post("rollout/remove", id=id)
        assert await left.get("rollouts") == []
        assert left.node.registry.snapshots == {}
        assert "There is no job" in await left.expect_refusal(404, "rollout/undo", id=id)


async def _came_to(node: LoopNode, id: str, status: str, **wanted: int) -> Any:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            answer = await node.get("rollout", id=id)
            if answer["status"] == status and wanted.items() <= answer.items():
                return answer
            await asyncio.sleep(0.01)


async def test_threshold_covers_all_nodes_and_failed_controllers_are_retried(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with three_nodes(postgres, tmp_path, NAMES[:3]) as cluster:
        a, b = cluster.asked["a"], cluster.asked["b"]
        await a.post("add", name="old-{n}", count=3, hw="3.0", sw="1.18")
        await cluster.wait_for_counts(2, 2, 2)
        planned = await a.post("rollout/plan", command=NEWER, groups="4", errors="1")
        id = planned["job"]["id"]
        assert planned["tried"]["refused"] == 3
        await b.post("rollout/start", id=id)
        report = await _came_to(b, id, "stopped")
        assert report["why"] == "Failures: 1; the limit is 1."
        assert (report["done"], report["failed"], report["group"]) == (3, 1, 0)
        await cluster.kill("a")
        await b.post("rollout/retry", id=id)
        report = await _came_to(b, id, "stopped")
        assert (report["done"], report["failed"]) == (3, 1)
        assert max((await changes_by_fleet(b)).values()) == 1


@pytest.mark.thorough
async def test_controller_that_moves_during_a_change_does_it_once(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """It leaves before it is asked, or after it has done it and before that is reported."""
    async with three_nodes(postgres, tmp_path) as cluster:
        a, (first, second) = cluster.asked["a"], sorted(cluster.names("b"))
        calls = cluster.nodes["b"].calls
        do, ask = calls["job.send"], cluster.members["a"].ask
        moved: list[str] = []

        async def leave(name: str) -> None:
            moved.append(name)
            await cluster.members["a"].move([name], "c")
            await until(lambda: name in cluster.names("c"))

        async def leaves_first(content: bytes) -> bytes:
            if not moved:
                await leave(first)
            return await do(content)

        async def leaves_then(node: str, what: str, content: bytes, seconds: float) -> bytes:
            answer = await ask(node, what, content, seconds)
            if node == "b" and len(moved) == 1:
                await leave(second)
                raise CallUnanswered("b")
            return answer

        calls["job.send"], cluster.members["a"].ask = leaves_first, leaves_then  # type: ignore[method-assign]
        report = await a.post("send", command=TOGGLE, id="once")
        assert moved == [first, second]
        assert (report["done"], report["refused"]) == (COUNT, 0)
        # The others make room for the two that are bound to c.
        await cluster.wait_for_counts(2, 2, 2)
        outputs = [cluster.member(name).controller.engine.values["OUT0"] for name in NAMES]
        assert outputs == [1] * COUNT
        assert await changes_by_fleet(a) == dict.fromkeys(NAMES, 1)
        # A renamed controller is listed by its new name; a removed one is gone.
        await a.post("rename", name=second, to="renamed")
        (job,) = a.web.jobs.all()
        await until(lambda: "renamed" in [one.name for one in job.results()])
        found = await a.web.jobs.executor.findings([10**6], "")
        assert found == {10**6: None}


@pytest.mark.thorough
async def test_node_declared_dead_by_mistake_hands_over_its_jobs(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    async with three_nodes(postgres, tmp_path) as cluster:
        a, b = cluster.asked["a"], cluster.asked["b"]
        begun, may_continue = asyncio.Event(), asyncio.Event()
        do = cluster.nodes["b"].calls["job.send"]

        async def slowly(content: bytes) -> bytes:
            begun.set()
            await may_continue.wait()
            return await do(content)

        cluster.nodes["b"].calls["job.send"] = slowly
        sending = asyncio.ensure_future(a.expect_refusal(507, "send", command=TOGGLE, id="once"))
        await begun.wait()
        member = cluster.members["a"]

        await cluster.declare_dead("a")
        assert "Another node resumes the job; query its result with id=once." in await sending
        may_continue.set()
        await until(lambda: member._claim.epoch == 3 and not member.lease.is_in_doubt)
        answer = await a.post("send", command=TOGGLE, id="once")
        assert answer["done"] == COUNT
        assert a.web.jobs.all() == []
        assert await changes_by_fleet(b) == dict.fromkeys(NAMES, 1)
        refused = await a.expect_refusal(409, "send", command=NAME, id="once")
        assert refused == "Field id: This id belongs to another change."
        await cluster.wait_for_counts(2, 2, 2)
