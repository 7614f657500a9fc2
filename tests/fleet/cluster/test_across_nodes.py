"""One node is asked, and all nodes answer: lists, changes, snapshots, and what is missing."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from leverframe.core.errors import ErrorForPeople
from leverframe.fleet.accounts import THE_OPERATOR
from leverframe.fleet.client import CommandLineClient
from leverframe.fleet.cluster.node_calls import PROTOCOL, CallAnswer, NodeCall
from leverframe.fleet.controller_commands import list_controllers
from leverframe.fleet.member import UNMADE
from leverframe.fleet.node_commands import drain_node, forget_node, list_nodes, move_controller
from leverframe.fleet.other_nodes import SilentNode
from leverframe.fleet.owners import DEADLINES, Deadline
from leverframe.fleet.progress import SILENT_NODES, STALE, ProgressReport, RequestsUnderWay
from leverframe.fleet.records import MemberRecord, Moved
from leverframe.fleet.scopes import ApiCall
from leverframe.server.http.messages import StreamReply
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.fleet.cluster.nodes import HOME, Cluster, cluster_on
from tests.fleet.failing import fail
from tests.fleet.loop_node import LoopNode
from tests.postgres_server import PostgresServer
from tests.server.routes.test_stream import HEARTBEAT

NAME = "stm.cgi?oname=0Pump"
#: Old software does not have this command.
NEWER = "stm.cgi?eventname=1Frost"
NAMES = ("one", "two", "three", "four")


@pytest.fixture
async def cluster(postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Cluster]:
    async with cluster_on(postgres.new_fleet(), tmp_path) as cluster:
        for name in ("a", "b"):
            await cluster.join(name)
        await cluster.add("a", *NAMES, tags=("all",))
        yield cluster


def there(cluster: Cluster) -> str:
    """Return a controller that b has."""
    return min(cluster.names("b"))


def output_names(cluster: Cluster) -> list[str]:
    members = [cluster.member(name) for name in NAMES]
    return [member.controller.engine.settings.outputs[0].name for member in members]


async def test_any_node_lists_shows_changes_and_compares_all_controllers(cluster: Cluster) -> None:
    a, other = cluster.asked["a"], there(cluster)
    found = await a.get("list")
    assert [one["name"] for one in found] == list(NAMES)
    assert {one["node"] for one in found} == {"a", "b"}
    some = await cluster.asked["b"].get("list", tag="all", name=f"two,{other},one")
    assert [one["name"] for one in some] == list(dict.fromkeys(["two", other, "one"]))
    assert [one["name"] for one in await a.get("list", search=other)] == [other]
    assert [one["name"] for one in await a.get("list", health="fault")] == []
    assert (await a.get("show", name=other))["report"]["node"] == "b"
    answer = await a.post("send", command=NAME, tag="all")
    assert [one["name"] for one in answer["results"]] == list(NAMES)
    assert (answer["done"], output_names(cluster)) == (4, ["Pump"] * 4)
    changes = await a.get("changes", by="fleet")
    assert sorted(one["name"] for one in changes) == sorted(NAMES)
    assert len(await a.get("changes", by="fleet", count=3)) == 3
    template = b'{"hw": "3.9", "sw": "1.75", "settings": {"outputs.0.name": "Fan"}}'
    drift = await a.post("drift", template)
    assert [(one["name"], one["differs"]) for one in drift] == [(name, 1) for name in NAMES]
    exported = await a.get("export", name=other)
    assert exported[0]["settings"]["settings"]["outputs.0.name"] == "Pump"
    report = await a.get("")
    assert (report["controllers"], report["tags"]) == (4, {"all": 4})
    # An unknown controller is refused with the usual message.
    assert "There is no controller 'five'" in await a.expect_refusal(
        404, "tag", name="five", add="x"
    )
    problem = await a.expect_refusal(404, "tag", tag="none", add="x")
    assert "No controller has the tag 'none'. Allowed: all." in problem
    assert "There is no controller 'five'" in await a.expect_refusal(
        404, "rename", name="five", to="six"
    )
    assert "No controllers are chosen" in await a.expect_refusal(400, "remove")
    assert "not a backup" in await a.expect_refusal(400, "drift", b"{")
    assert "There is no snapshot" in await a.expect_refusal(400, "restore", label="none")
    assert (await a.post("send", command=NAME, search=other))["done"] == 1
    assert (await a.post("send", command=NAME, search="missing"))["done"] == 0
    # A node whose life is over gets a refusal.
    answer = await cluster.members["b"].answer(NodeCall("api", "a", 0, b""))
    assert answer.refusal is not None
    assert answer.refusal["detail"] == "The node a was declared dead."


async def test_call_refused_by_another_node_keeps_its_reason(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = cluster.asked["a"], cluster.members["b"]

    async def away(*given: Any) -> Any:
        raise StoreUnavailable("The database is away.")

    async def refusal_of(what: str, content: bytes = b"") -> Any:
        call = NodeCall(what, "a", cluster.members["a"]._claim.epoch, content)
        return (await b.answer(call)).refusal

    monkeypatch.setitem(cluster.nodes["b"].calls, "away", away)
    assert (await refusal_of("away"))["status"] == 507
    # Names are known by the last look, tags are not.
    monkeypatch.setattr(cluster.members["a"], "locate", away)
    assert [one["name"] for one in await a.get("list")] == list(NAMES)
    assert "The database is away." in await a.expect_refusal(507, "tag", tag="all", add="x")
    cluster.members["a"].lease.ended = "It must not act."
    with pytest.raises(StoreUnavailable, match="It must not act"):
        await a.web.jobs.executor.findings([1], "")
    cluster.members["a"].lease.ended = None


async def test_database_refusal_of_one_node_stands_beside_results_of_the_others(
    cluster: Cluster,
) -> None:
    registry = cluster._registries["a"]
    registry._database.use(lambda it: it.execute("SET default_transaction_read_only = on"))
    report = await cluster.asked["a"].post("snapshot", label="before")
    status = {one["name"]: one["status"] for one in report["results"]}
    assert status == {name: 507 if name in cluster.names("a") else 200 for name in NAMES}
    assert list(cluster.nodes["b"].registry.snapshots) == ["before"]


async def test_answer_of_another_node_in_doubt_is_marked_stale(
    cluster: Cluster,
) -> None:
    async def is_marked(name: str) -> bool:
        reply = await cluster.asked["a"].ask(f"/api/fleet/list?name={name}", method="GET")
        return STALE in reply.headers

    assert not await is_marked(there(cluster))
    cluster.members["b"].lease.ended = "It must not act."
    assert await is_marked(there(cluster))
    assert not await is_marked(min(cluster.names("a")))
    cluster.members["b"].lease.ended = None


async def test_all_or_none_covers_all_nodes(cluster: Cluster) -> None:
    a, other = cluster.asked["a"], there(cluster)
    tried = await a.post("send", command=NAME, dry_run=1)
    assert (tried["done"], tried["dry_run"]) == (4, True)
    await a.post("add", name="old", hw="3.0", sw="1.18")
    answer = await a.post("send", command=NEWER, all_or_none=1)
    statuses = {one["name"]: one["status"] for one in answer["results"]}
    assert statuses == {**dict.fromkeys(NAMES, 424), "old": 404}
    assert (await a.post("send", command=NAME, all_or_none=1))["done"] == 5
    assert set(output_names(cluster)) == {"Pump"}
    # If this node has all of them, it is one step.
    own = min(cluster.names("a"))
    answer = await a.post("send", command="stm.cgi?oname=0Fan", all_or_none=1, name=own)
    assert (answer["done"], await a.get("rollouts")) == (
        1,
        await cluster.asked["b"].get("rollouts"),
    )
    refused = await a.expect_refusal(409, "add", name=other, dry_run=1)
    assert refused == f"Field name: A controller named {other} exists already; choose another name."
    made = await a.post("add", name="like", like=other)
    assert made["names"] == ["like"]
    await until(lambda: sum(cluster.counts()) == 6)
    settings = cluster.member("like").controller.engine.settings
    assert settings.outputs[0].name == "Pump"


async def test_place_applies_at_the_owner_only(
    cluster: Cluster,
) -> None:
    a, b, other = cluster.asked["a"], cluster.nodes["b"], there(cluster)
    answer = await a.post("place", name=other, address="127.0.0.61")
    assert (answer["node"], answer["address"]) == ("b", "127.0.0.61")
    member = b.members[other]
    await cluster.members["a"].move([other], "a")
    await until(lambda: other in cluster.names("a"))
    assert cluster.member(other).record.address == "127.0.0.61"
    with pytest.raises(Moved):
        await b.place(member, None, None)


async def test_failed_controller_is_reported_with_its_cause_by_every_node(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    b, other = cluster.nodes["b"], there(cluster)

    async def fail(*given: Any) -> None:
        raise StoreUnavailable("Its port is in use.")

    monkeypatch.setattr(b, "_start_stored", fail)
    await b.drop([b.members[other]])
    cluster.members["b"]._changed.set()
    await until(lambda: b.roster.knows(other))
    cause = f"{other} failed to start: Its port is in use. The node retries it every few seconds."
    for asked in cluster.asked.values():
        rows = {one["name"]: one for one in await asked.get("list")}
        assert (rows[other]["status"], len(rows)) == ("unknown", len(NAMES))
        assert cause in rows[other]["troubles"][0]
        answer = await asked.post("send", command=NAME, tag="all")
        assert answer["done"] == len(NAMES) - 1
        (refused,) = [one for one in answer["results"] if one["status"] != 200]
        assert (refused["name"], refused["status"]) == (other, 503)
        assert "Its port is in use." in refused["detail"]
        reply = await asked.ask(f"/api/fleet/show?name={other}", method="GET")
        assert (reply.status, cause in reply.body.decode()) == (503, True)


async def test_failed_controller_is_retried_by_its_node_from_any_node(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b, other = cluster.asked["a"], cluster.nodes["b"], there(cluster)
    here = min(cluster.names("a"))
    b.roster.retry_s = 1000.0
    reasons = ["Its port is in use."]

    async def fail(*given: Any) -> None:
        raise StoreUnavailable(reasons[0])

    with monkeypatch.context() as broken:
        broken.setattr(b, "_start_stored", fail)
        await b.drop([b.members[other]])
        cluster.members["b"]._changed.set()
        await until(lambda: b.roster.knows(other))
        assert (await a.get(""))["can_start"] == [other]
        # The outcome is that of the new attempt.
        reasons[0] = "It is still broken."
        answer = await a.post("start", name=f"{here},{other}")
        assert answer["results"] == [
            {"name": here, "status": 200, "detail": f"{here} is already running."},
            {"name": other, "status": 503, "detail": f"{other} failed to start: {reasons[0]}"},
        ]
    assert "There is no controller 'five'" in await a.expect_refusal(404, "start", name="five")
    answer = await a.post("start")
    assert answer["results"] == [
        {"name": other, "status": 200, "detail": f"{other} is running now."}
    ]
    assert other in cluster.names("b")
    assert (await a.post("start"))["results"] == []


async def test_start_reports_silent_node_and_retries_the_rest(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, other, here = cluster.asked["a"], there(cluster), min(cluster.names("a"))

    async def silent(node: str, *given: Any) -> bytes:
        raise SilentNode(node)

    monkeypatch.setattr(cluster.members["a"], "ask", silent)
    answer = await a.post("start", name=f"{here},{other}")
    assert [(one["name"], one["status"]) for one in answer["results"]] == [
        (here, 200),
        (other, 503),
    ]
    assert "Node b does not answer." in answer["results"][1]["detail"]


async def test_controller_created_by_another_node_is_no_longer_reported_as_failed(
    cluster: Cluster,
) -> None:
    roster = cluster.nodes["b"].roster
    fail(roster, MemberRecord("five"), UNMADE, "five failed to start: Its port is in use.")
    assert (await cluster.asked["a"].get(""))["can_start"] == ["five"]
    await cluster.asked["a"].post("add", name="five")
    await until(lambda: not roster.list_failed())
    assert (await cluster.asked["a"].get(""))["not_started"] == []


async def test_failed_controllers_are_reported_with_their_node(cluster: Cluster) -> None:
    cluster.nodes["b"].roster.note_mistake("table 2", "line 5: x.hwx is unknown.")
    answer = (await cluster.asked["a"].get(""))["not_started"]
    assert answer == ["b: line 5: x.hwx is unknown."]


async def test_controllers_of_other_nodes_can_be_changed_and_removed(
    cluster: Cluster,
) -> None:
    a, other = cluster.asked["a"], there(cluster)
    assert (await a.post("tag", name=other, add="far"))["done"] == 1
    assert [one["name"] for one in await a.get("list", tag="far")] == [other]
    assert (await a.post("snapshot", label="before"))["done"] == 4
    await a.post("send", command=NAME)
    assert (await a.post("restore", label="before"))["done"] == 4
    assert set(output_names(cluster)) == {""}
    # A snapshot taken again of one controller contains that controller only.
    await a.post("snapshot", label="before", name=other)
    answer = await a.post("restore", label="before")
    assert sum(one["status"] == 200 for one in answer["results"]) == 1
    assert (await a.get(""))["snapshots"] == ["before"]
    assert (await a.post("snapshot", label="after"))["done"] == 4
    kept = [(one["label"], one["controllers"]) for one in await a.get("snapshots")]
    assert kept == [("before", 1), ("after", 4)]
    assert (await a.post("snapshot/remove", label="after"))["controllers"] == 4
    assert (await a.post("snapshot/remove", label="before"))["controllers"] == 1
    assert await cluster.asked["b"].get("snapshots") == []
    assert "There is no snapshot" in await a.expect_refusal(400, "snapshot/remove", label="before")
    assert (await a.post("fault", fault="none", name=other))["done"] == 1
    assert (await a.post("rename", name=other, to="other"))["name"] == "other"
    assert "belongs to a controller" in await a.expect_refusal(
        409, "rename", name="other", to="one"
    ) or (other == "one")
    assert (await a.post("fork", name="other", to="copy"))["names"] == ["copy"]
    await until(lambda: sum(cluster.counts()) == 5)
    assert (await a.post("remove", name="other,copy"))["done"] == 2
    assert len(await cluster.asked["b"].get("list")) == 3
    assert "This node runs in real time" in await a.expect_refusal(409, "advance", for_="1h")


async def test_snapshot_with_a_part_on_a_silent_node_is_not_reported_as_removed(
    cluster: Cluster,
) -> None:
    a = cluster.asked["a"]
    await a.post("snapshot", label="before")
    await cluster._doors["b"].inner.close()
    why = await a.expect_refusal(503, "snapshot/remove", label="before")
    assert why == "Node b does not answer. Nothing was done there."
    assert list(cluster.nodes["a"].registry.snapshots) == []
    assert list(cluster.nodes["b"].registry.snapshots) == ["before"]


async def test_progress_counts_controllers_of_all_nodes(cluster: Cluster) -> None:
    a = cluster.asked["a"]
    under_way = RequestsUnderWay()
    for what, given in (("send", {"command": NAME}), ("snapshot", {"label": "x"})):
        with under_way.follow(None, what):
            assert (await a.post(what, **given))["done"] == 4
            assert under_way.report(None, what) == ProgressReport(4, 4)
    with under_way.follow(None, "export"):
        await a.get("export")
        assert under_way.report(None, "export") == ProgressReport(4, 4)


async def test_page_of_a_node_shows_controllers_of_all_nodes(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.fleet.page_view.FLEET_LOOK_S", 0.01)
    monkeypatch.setattr("leverframe.fleet.page_view.HEARTBEAT_S", 0.02)
    monkeypatch.setattr("leverframe.fleet.page_view.LOOK_ON_S", 0.5)
    a, other = cluster.asked["a"], there(cluster)
    by_name = await a.ask("/api/fleet/stream?order=name&first=1&count=2", method="GET")
    assert isinstance(by_name, StreamReply)
    view = message_in(await anext(by_name.chunks))
    assert (view["order"], view["matching"]) == (["one", "three"], 4)
    await by_name.chunks.aclose()
    stream = (await a.ask("/api/fleet/stream", method="GET")).chunks  # type: ignore[attr-defined]
    view = message_in(await anext(stream))
    assert (view["order"], view["counts"]["fine"]) == (list(NAMES), 4)
    assert view["node"]["controllers"] == 4
    # A look in between finds nothing new, and says that it is still there.
    while not (chunk := await anext(stream)).startswith(HEARTBEAT):
        # The rate of batches falls automatically.
        assert message_in(chunk).keys() == {"cluster"}
    await a.post("send", command="outs.cgi?out0=1", name=other)
    change = message_in(await _not_idle(stream))
    assert [(row["name"], row["levers"][0]) for row in change["rows"]] == [(other, 1)]
    await cluster._doors["b"].inner.close()
    change = message_in(await _not_idle(stream))
    # Controllers of a node that does not answer stay in view, before all others.
    far = sorted(cluster.names("b"), key=NAMES.index)
    assert (change["counts"]["unknown"], change["counts"]["fine"]) == (2, 2)
    assert {row["name"]: row["health"] for row in change["rows"]} == dict.fromkeys(far, "unknown")
    assert {row["node"] for row in change["rows"]} == {"b"}
    assert change["order"][:2] == far
    assert "matching" not in change
    assert "b: The node does not answer." in change["node"]["troubles"]
    await stream.aclose()
    for wanted, names in (("health=unknown", far), (f"search={far[1]}", [far[1]]), ("tag=x", [])):
        looked = await a.ask(f"/api/fleet/stream?{wanted}&order=name", method="GET")
        assert isinstance(looked, StreamReply)
        assert message_in(await anext(looked.chunks))["order"] == sorted(names)
        await looked.chunks.aclose()
    # A node without requests stops looking.
    await until(lambda: not cluster.asked["b"].web.index._watching)


def message_in(chunk: bytes) -> Any:
    return msgspec.json.decode(chunk.partition(b"data: ")[2])


async def _not_idle(stream: AsyncIterator[bytes]) -> bytes:
    async for chunk in stream:
        if not chunk.startswith(HEARTBEAT) and message_in(chunk).keys() != {"cluster"}:
            return chunk
    raise AssertionError("the stream has ended")


async def headers_of(node: LoopNode, what: str) -> dict[str, str]:
    return dict((await node.ask(f"/api/fleet/{what}".rstrip("/"), method="GET")).headers)


@pytest.mark.thorough
async def test_node_of_an_older_version_is_reported_as_silent(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for purpose in ("read", "change"):
        monkeypatch.setitem(DEADLINES, purpose, replace(DEADLINES[purpose], hold_s=0.1))
    a, far, answer = cluster.asked["a"], cluster.names("b"), cluster.members["b"].answer
    # As if the others were a version ahead.
    cluster._doors["b"].inner.answer = lambda call: answer(replace(call, protocol=PROTOCOL + 1))
    for what in ("list", "changes", ""):
        assert (await headers_of(a, what))[SILENT_NODES] == "b", what
    older = "Node b runs an older version, which does not understand this request. Nothing was"
    found = {one["name"]: one for one in await a.get("list")}
    assert all(found[name]["troubles"][0].startswith(older) for name in far)
    report = await a.post("tag", tag="all", add="x")
    refused = {one["name"]: one for one in report["results"] if one["status"] != 200}
    assert refused.keys() == far
    assert all(one["detail"].startswith(older) for one in refused.values())
    # An answer that is not understood counts as unknown, too.
    cluster._doors["b"].inner.answer = _answer_of_another_program
    assert (await headers_of(a, "list"))[SILENT_NODES] == "b"
    report = await a.post("tag", tag="all", add="y")
    (detail,) = {one["detail"] for one in report["results"] if one["status"] != 200}
    assert "its answer cannot be read. Check there whether the request was carried out" in detail


async def _answer_of_another_program(call: NodeCall) -> CallAnswer:
    return CallAnswer(msgspec.msgpack.encode(["another", "shape"]))


@pytest.mark.thorough
async def test_unknown_call_is_reported_as_version_mismatch(cluster: Cluster) -> None:
    b = cluster.members["b"]
    packed = msgspec.msgpack.encode(ApiCall("/api/fleet/later", {}, b"", THE_OPERATOR, HOME))
    calls = [("later", b""), ("api", b"\x90"), ("api", packed)]
    for what, content in calls:
        answer = await b.answer(NodeCall(what, "a", 9, content, PROTOCOL))
        assert not answer.is_understood
        assert answer.refusal is not None
        assert answer.refusal["detail"].startswith("Node b runs another version")


async def test_silent_node_is_named_and_its_controllers_are_unknown(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    for purpose in ("read", "change", "job", "step"):
        monkeypatch.setitem(DEADLINES, purpose, replace(DEADLINES[purpose], hold_s=0.1))
    a, far = cluster.asked["a"], cluster.names("b")
    job = (await cluster.asked["b"].post("rollout/plan", command=NAME))["job"]
    await cluster._doors["b"].inner.close()
    found = {one["name"]: one for one in await a.get("list")}
    assert {name for name, one in found.items() if one["status"] == "unknown"} == far
    assert found[min(far)]["troubles"] == ["Node b does not answer. Nothing was done there."]
    assert found[min(far)]["time"] is None
    for what in ("list", "list?health=fine", "changes", ""):
        assert (await headers_of(a, what))[SILENT_NODES] == "b", what
    assert "b: The node does not answer." in (await a.get(""))["troubles"]
    answer = await a.post("tag", tag="all", add="x")
    assert {one["name"]: one["status"] for one in answer["results"] if one["status"] != 200} == (
        dict.fromkeys(far, 503)
    )
    drift = await a.post("drift", b'{"hw": "3.9", "sw": "1.75", "settings": {}}')
    assert {one["name"] for one in drift if one["status"] == 503} == far
    sent = await a.post("send", command=NAME)
    assert {one["name"] for one in sent["results"] if one["status"] == 503} == far
    # A roll-out that cannot take its snapshots does not begin, and can be forgotten.
    id = (await a.post("rollout/plan", command=NAME))["job"]["id"]
    await a.post("rollout/start", id=id)
    await until(lambda: a.web.jobs.find(id).state.status == "stopped")
    why = (await a.get("rollout", id=id))["why"]
    assert "could be taken. Node b does not answer. Nothing was done there." in why
    number = cluster.member(min(far)).number
    assert await a.web.jobs.executor.findings([number], "") == {number: None}
    await a.post("rollout/remove", id=id)
    for what in ("export", f"show?name={min(far)}", f"rollout?id={job['id']}"):
        assert (await a.ask(f"/api/fleet/{what}", method="GET")).status == 503, what
    refused = await a.expect_refusal(503, "send", command=NAME, search="one")
    assert refused == "Node b does not answer. Nothing was done there."


async def test_unanswered_change_is_reported_as_not_known(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DEADLINES, "change", Deadline(0.05, 3.0))
    a, far = cluster.asked["a"], cluster.names("b")

    async def hang(content: bytes) -> bytes:
        await asyncio.sleep(3600)
        return content

    monkeypatch.setitem(cluster.nodes["b"].calls, "api", hang)
    answer = await a.post("tag", tag="all", add="x")
    statuses = {one["name"]: one for one in answer["results"]}
    assert {name for name, one in statuses.items() if one["status"] == 504} == far
    assert "Check there whether the request was carried out" in statuses[min(far)]["detail"]
    assert "has not answered in time" in await a.expect_refusal(
        504, "rename", name=min(far), to="new"
    )


async def test_moving_controller_is_renamed_and_tagged_at_its_new_owner(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node that gets the request has released it, and must not write its record."""
    a, b, other = cluster.asked["a"], cluster.nodes["b"], there(cluster)
    member = b.members[other]
    real = cluster.members["a"].locate
    stale = await real()
    looks: list[Any] = []

    async def old_first(numbers: Any = None) -> Any:
        looks.append(numbers)
        return stale if len(looks) == 1 else await real(numbers)

    await cluster.members["a"].move([other], "a")
    await until(lambda: other in cluster.names("a"))
    monkeypatch.setattr(cluster.members["a"], "locate", old_first)
    assert (await a.post("rename", name=other, to="moved"))["node"] == "a"
    assert looks[1:] == [[member.number]]
    looks.clear()
    answer = await a.post("tag", tag="all", add="x")
    assert (answer["done"], answer["refused"]) == (4, 0)
    for work in (b.tag([member], ["y"], []), b.rename(member, "new"), b.remove([member])):
        with pytest.raises(Moved):
            await work
    # Not even before it knows that.
    member.state = member.parts
    for work in (b.tag([member], ["y"], []), b.registry.remove([member.number])):
        with pytest.raises(Moved):
            await work
    assert (await a.get("list", name="moved"))[0]["tags"] == ["all", "x"]


async def test_accounts_of_a_tenant_see_its_controllers_on_all_nodes_only(
    cluster: Cluster,
) -> None:
    a, own, other = cluster.asked["a"], min(cluster.names("a")), there(cluster)
    await a.post("tenant/add", tenant="green")
    assert (await a.post("tenant/give", name=f"{own},{other}", tenant="green"))["done"] == 2
    made = await a.post("account/add", name="eve", tenant="green", role="administrator")
    basic = b64encode(f"eve:{made['password']}".encode()).decode()

    async def by_eve(what: str, method: str = "GET") -> Any:
        target = f"/api/fleet/{what}".rstrip("/")
        reply = await a.ask(target, method=method, authorization=f"Basic {basic}")
        return msgspec.json.decode(reply.body)

    theirs = {own, other}
    assert {one["name"] for one in await by_eve("list")} == theirs
    assert (await by_eve(""))["controllers"] == 2
    answer = await by_eve(f"send?command={NAME}&id=x", "POST")
    assert {one["name"] for one in answer["results"]} == theirs
    assert {one["name"] for one in await by_eve("changes?by=eve")} == theirs
    (foreign, *_) = set(NAMES) - theirs
    assert (await by_eve(f"rename?name={foreign}&to=mine", "POST"))["status"] == 404
    assert (await by_eve(f"show?name={foreign}"))["status"] == 404
    assert (await by_eve("drain?node=b", "POST"))["status"] == 403
    assert (await by_eve("rollout?id=x"))["done"] == 2
    # Forgotten with the tenant, whichever node resumes it.
    await cluster.asked["b"].web.jobs.forget_tenant("green")
    assert (await by_eve("rollout?id=x"))["status"] == 404


@pytest.mark.thorough
async def test_commands_list_all_nodes_and_name_silent_ones(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for purpose in ("read", "change"):
        monkeypatch.setitem(DEADLINES, purpose, replace(DEADLINES[purpose], hold_s=0.1))
    monkeypatch.setattr("leverframe.fleet.node_commands.LOOK_S", 0.01)
    door = cluster.nodes["a"].door
    await door.listen(HOME, 0)
    url = f"http://{HOME}:{door.port}"

    async def run(command: Any, *arguments: Any, **named: Any) -> str:
        with closing(CommandLineClient(url, None, None)) as client:
            await asyncio.to_thread(command, client, *arguments, **named)
        return capsys.readouterr().out

    try:
        listed = await run(list_controllers, False, {"name": []})
        assert [f" {name} " in listed for name in NAMES] == [True] * 4
        assert "node" in listed
        assert "b has 2 controllers left" in await run(drain_node, "b", undo=False)
        assert "runs, drained" in await run(list_nodes, False)
        assert "b accepts controllers again." in await run(drain_node, "b", undo=True)
        await cluster.wait_for_counts(2, 2)
        assert "one moves to b." in await run(move_controller, "one", "b")
        assert "one may run on any node." in await run(move_controller, "one", None)
        assert '"is_drained":false' in await run(list_nodes, True)
        with pytest.raises(ErrorForPeople, match="no stopped node 'b'"):
            await run(forget_node, "b")
        await cluster._doors["b"].inner.close()
        with closing(CommandLineClient(url, None, None)) as client:
            await asyncio.to_thread(list_controllers, client, False, {"name": []})
        output = capsys.readouterr()
        # Once, although the time zone is requested, too.
        assert output.err.count("incomplete result, no answer from: b") == 1
        assert "Node b does not answer." in output.out
    finally:
        await door.stop(0.1)
