"""The stream of a node's page: which controllers it finds, what it sends, and what it costs."""

import asyncio
import gc
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest

from leverframe.core.engine.journal import Cause, Journal
from leverframe.core.recent import BAR_S, BARS, count_recent
from leverframe.fleet import page_view
from leverframe.fleet.change_groups import NAMED, FleetChange, group_changes
from leverframe.fleet.health_index import HEALTHS, Wanted, natural
from leverframe.fleet.other_nodes import LocatedController
from leverframe.fleet.page_view import USUAL_ROWS, KeysCall
from leverframe.fleet.records import MemberRecord
from leverframe.host.controller.findings import FindingsWatch
from leverframe.server.http.messages import StreamReply
from leverframe.storage.audit import AuditChange, AuditEntry
from tests.fleet.loop_node import LoopNode, loop_node
from tests.fleet.still_nodes import StillNodes
from tests.patience import PATIENCE_S
from tests.stopwatch import within

#: Controllers that this node does not have, with the node that should.
ELSEWHERE = (
    ("north", MemberRecord("attic")),
    ("south", MemberRecord("shed")),
    (None, MemberRecord("well")),
)

#: Well below the interval of the keep-alive of a page.
SOON_S = 5.0


class PageCopy:
    """What a page has received, as it stores it."""

    def __init__(self, reply: StreamReply) -> None:
        self._chunks = reply.chunks
        self.view: dict[str, Any] = {}
        self.change: dict[str, Any] = {}

    async def next(self) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE_S):
            while (chunk := await anext(self._chunks)).startswith(b":"):
                pass
        _, data = chunk.decode().strip().split("\n")
        self.change = msgspec.json.decode(data.removeprefix("data: "))
        rows = {row["name"]: row for row in self.view.get("rows", ())}
        rows |= {row["name"]: row for row in self.change.get("rows", ())}
        self.view = {**self.view, **self.change}
        self.view["rows"] = [rows[name] for name in self.view["order"]]
        return self.view


@asynccontextmanager
async def page(node: LoopNode, query: str = "") -> AsyncIterator[PageCopy]:
    reply: Any = await node.ask(f"/api/fleet/stream?{query}", method="GET")
    assert isinstance(reply, StreamReply)
    try:
        copy = PageCopy(reply)
        await copy.next()
        yield copy
    finally:
        await reply.chunks.aclose()


@pytest.fixture(autouse=True)
def without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_view, "GATHER_S", 0.0)


def names(copy: PageCopy) -> list[str]:
    return [row["name"] for row in copy.view["rows"]]


async def test_rows_show_health_levers_and_the_last_hour_live() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3, hw="3.5", sw="1.49", tags="north")
        async with page(node) as copy:
            assert copy.view["counts"] == {"fault": 0, "attention": 0, "off": 0, "fine": 3}
            assert copy.view["matching"] == 3
            first = copy.view["rows"][0]
            assert (first["hw"], first["sw"], first["tags"]) == ("3.5", "1.49", ["north"])
            assert (first["levers"], first["worst"]) == ([0] * 6, None)
            assert first["url"].startswith("http://gh-1.localhost")
            await node.post("send", command="outs.cgi?out2=1", name="gh-2")
            await copy.next()
            assert [row["name"] for row in copy.change["rows"]] == ["gh-2"]
            assert copy.view["rows"][1]["levers"] == [0, 0, 1, 0, 0, 0]
            assert copy.view["rows"][1]["happened"][-1] > 0
            node.member("gh-3").controller.troubles["email"] = "The server refuses."
            await copy.next()
            assert names(copy) == ["gh-3", "gh-1", "gh-2"]
            worst = copy.view["rows"][0]["worst"]
            assert (worst["kind"], worst["page"]) == ("trouble", "messages?open=email")
            assert copy.view["counts"]["fault"] == 1
            node.member("gh-2").controller.lose_power()
            await copy.next()
            assert copy.view["counts"]["off"] == 1
            assert names(copy) == ["gh-3", "gh-2", "gh-1"]


async def test_equal_findings_are_one_group_that_finds_its_controllers() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=4)
        for name, thermometer in (("gh-1", "Boiler"), ("gh-2", "Boiler"), ("gh-3", "Bed")):
            await node.post("send", command=f"stm.cgi?tname=0{thermometer}", name=name)
            await node.post("send", command="stm.cgi?dswrite=1:28:11:22:33:44:55:66:77", name=name)
        for name in ("gh-1", "gh-4"):
            node.member(name).controller.troubles["email"] = "The server refuses."
        node.member("gh-2").controller.troubles["email"] = "There is no server."
        async with page(node) as copy:
            groups = {
                (group["finding"]["kind"], group["about"]): (group["key"], group["count"])
                for group in copy.view["groups"]
            }
            # Other figures make another finding, and another name does not.
            assert list(groups) == [("trouble", None), ("sensor_silent", None)]
            key, count = groups["sensor_silent", None]
            assert (key, count) == ("sensor_silent.DS1", 3)
            await node.post("send", command="stm.cgi?tname=0Boiler", name="gh-3")
            await copy.next()
            assert copy.view["groups"][1]["about"] == "Boiler"
            trouble = copy.view["groups"][0]["key"]
        for wanted, found in ((key, ["gh-1", "gh-2", "gh-3"]), (trouble, ["gh-1", "gh-4"])):
            async with page(node, urlencode({"finding": wanted, "order": "name"})) as copy:
                assert names(copy) == found


async def test_page_is_notified_of_changes_by_users() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        # Of which only the first is in view.
        async with page(node, "order=name&count=1") as copy:
            for command in ("stm.cgi?oname=0Pump", "outs.cgi?out0=1"):
                before = copy.view["changes"]
                await node.post("send", command=command, name="gh-3")
                with within(SOON_S):
                    assert (await copy.next())["changes"] > before
                (newest, *_) = await node.get("changes")
                assert newest["name"] == "gh-3"


async def test_equal_changes_are_grouped_and_counted() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=5)
        for _ in range(2):
            await node.post("send", command="stm.cgi?oname=0Pump")
            await node.post("send", command="stm.cgi?oname=0Fan", name="gh-2,gh-4")
        groups = await node.get("changes", grouped=1)
        changes = [one["entry"]["changes"][0] for one in groups]
        # Only two of the five had another name before the second time.
        assert [(one["old"], one["new"]) for one in changes] == [
            ("Pump", "Fan"),
            ("Fan", "Pump"),
            ("Pump", "Fan"),
            ("", "Pump"),
        ]
        assert [one["count"] for one in groups] == [2, 2, 2, 5]
        assert len(groups[-1]["others"]) == NAMED - 1
        named = {groups[-1]["name"], *(one["name"] for one in groups[-1]["others"])}
        assert len(named) == NAMED
        assert all(one["url"] for one in groups[-1]["others"])
        # The count is of groups: none is counted in part.
        assert [one["count"] for one in await node.get("changes", grouped=1, count=1)] == [2]
        assert {one["count"] for one in await node.get("changes")} == {1}
        # Whatever else one of them changed in the same moment.
        await node.post("send", command="stm.cgi?oname=5Spare")
        await node.post("send", command="stm.cgi?oname=4Lamp", name="gh-2,gh-3")
        counts = [one["count"] for one in await node.get("changes", grouped=1)]
        assert sorted(counts) == [2, 2, 2, 2, 5, 5]


def test_change_does_not_join_a_group_that_is_newer_than_a_later_change_of_its_controller() -> None:
    def change(name: str, time: float, what: str) -> FleetChange:
        changes = (AuditChange(what, 0, 1),)
        return FleetChange(name, AuditEntry(1, time, "command", "", "ann", "", changes))

    # a: switched, then named; b: named, then switched.
    groups = group_changes(
        [
            change("a", 10.0, "OUT0"),
            change("a", 20.0, "outputs.0.name"),
            change("b", 12.0, "outputs.0.name"),
            change("b", 22.0, "OUT0"),
            change("c", 200.0, "OUT0"),
        ]
    )
    assert [(one.name, one.count) for one in groups] == [
        ("c", 1),
        ("b", 1),
        ("a", 2),
        ("a", 1),
    ]


async def test_new_snapshot_is_offered_for_restore_immediately() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-1")
        async with page(node) as copy:
            await node.post("snapshot", label="noon")
            with within(SOON_S):
                assert (await copy.next())["node"]["snapshots"] == ["noon"]


async def test_names_tags_and_time_are_shown_immediately() -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        async with page(node, "order=name") as copy:
            await node.post("rename", name="gh-1", to="shed")
            await copy.next()
            assert names(copy) == ["gh-2", "shed"]
            await node.post("tag", name="shed", add="north")
            await copy.next()
            assert copy.view["node"]["tags"] == {"north": 1}
            begin = copy.view["node"]["time"]
            await node.post("advance", for_="1h")
            await node.post("add", name="gh-10")
            while copy.view["matching"] != 3 or copy.view["node"]["time"] != begin + 3600:
                await copy.next()
            # By number, not by letter.
            assert names(copy) == ["gh-2", "gh-10", "shed"]
            await node.post("remove", name="shed")
            await copy.next()
            assert names(copy) == ["gh-2", "gh-10"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("search=GH", ["gh-1", "gh-2"]),
        ("search=north%20gh", ["gh-1"]),
        ("search=refuses", ["gh-2"]),
        ("search=127.0.0.9", ["shed"]),
        ("tag=north", ["gh-1", "shed"]),
        ("health=fault", ["gh-2"]),
        ("health=fine&search=3.9", ["gh-1", "shed"]),
        ("first=1&count=1&order=name", ["gh-2"]),
        ("search=nothing", []),
        ("version=3.9/1.75", ["gh-1", "gh-2", "shed"]),
        ("version=3.0/1.58a", []),
        ("owner=acme", []),
    ],
)
async def test_controllers_are_selected_by_name_tag_and_search(
    query: str, found: list[str]
) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        await node.post("add", name="shed", address="127.0.0.9", tags="north")
        await node.post("tag", name="gh-1", add="north")
        node.member("gh-2").controller.troubles["email"] = "The server refuses."
        async with page(node, query) as copy:
            assert sorted(names(copy)) == found
        if "first" not in query:
            reply = await node.ask(f"/api/fleet/send?command=outs.cgi%3Fout0%3D1&{query}")
            results = msgspec.json.decode(reply.body)["results"]
            assert sorted(one["name"] for one in results) == found


async def test_index_is_dropped_after_the_last_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("leverframe.fleet.health_index.KEPT_S", 0.0)
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        watchers = [len(one.controller.watchers) for one in node.node.members.values()]
        async with page(node), page(node):
            watched = [len(one.controller.watchers) for one in node.node.members.values()]
            assert watched == [count + 1 for count in watchers]
        await asyncio.sleep(0.001)
        left = [len(one.controller.watchers) for one in node.node.members.values()]
        assert (left, node.node.watchers, node.web.index.counts()["fine"]) == (watchers, set(), 0)


async def test_scrolled_page_requests_changed_controllers_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=3)
        async with page(node):
            pass
        node.member("gh-2").controller.troubles["email"] = "The server refuses."
        asked = []
        report = FindingsWatch.report
        monkeypatch.setattr(FindingsWatch, "report", lambda it: asked.append(it) or report(it))
        async with page(node) as copy:
            assert names(copy)[0] == "gh-2"
        assert asked == [node.member("gh-2").controller.findings]


def test_events_are_counted_by_two_minutes() -> None:
    journal, now = Journal(), 10_000 * BAR_S
    assert count_recent(journal.moments(), now) == [0] * BARS
    for age in (BARS * BAR_S, BAR_S, 0.0, -5.0):
        journal.add(now - age, Cause("start"), "")
    assert count_recent(journal.moments(), now) == [0] * (BARS - 2) + [1, 2]


def test_names_are_sorted_by_their_numbers() -> None:
    names = ["gh-10", "gh-9", "gh-2b10", "gh-2b9", "attic"]
    in_order = ["attic", "gh-2b9", "gh-2b10", "gh-9", "gh-10"]
    assert sorted(names, key=natural) == in_order


async def test_stream_shows_changes_of_rollouts_and_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_view, "FLEET_LOOK_S", 0.01)
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        async with page(node) as copy:
            assert (copy.view["rollouts"], copy.view["cluster"]) == ([], None)
            asked = {"command": "stm.cgi?oname=0Pump", "id": "names", "groups": "1,rest"}
            await node.post("rollout/plan", **asked)
            (one,) = (await copy.next())["rollouts"]
            assert (one["status"], one["can"], one["success"]) == ("planned", ["start"], 100)
            await node.post("rollout/start", id="names")
            while copy.view["rollouts"][0]["status"] != "finished":
                await copy.next()
            assert [group["done"] for group in copy.view["rollouts"][0]["groups"]] == [1, 1]
            await node.post("rollout/remove", id="names")
            assert (await copy.next())["rollouts"] == []
        others = StillNodes(node.node)
        node.node.cluster = others
        async with page(node) as copy:
            assert copy.view["cluster"]["nodes"][0]["name"] == "north"
            others.free = 3
            assert (await copy.next())["cluster"]["free"] == 3


async def test_controllers_of_silent_nodes_stay_in_view(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(page_view, "FLEET_LOOK_S", 0.01)
    async with loop_node() as node:
        await node.post("add", name="gh-{n}", count=2)
        node.node.cluster = others = StillNodes(node.node)
        north, south, unplaced = (LocatedController(n, *one) for n, one in enumerate(ELSEWHERE, 90))
        others.elsewhere = [north, south, unplaced]
        async with page(node) as copy:
            assert copy.view["counts"] == {**dict.fromkeys(HEALTHS, 0), "fine": 2, "unknown": 3}
            assert (copy.view["matching"], copy.view["node"]["controllers"]) == (5, 5)
            found = {row["name"]: (row["health"], row["node"]) for row in copy.view["rows"]}
            assert found == {
                # North answers, and does not have it yet.
                "attic": ("unknown", "north"),
                "shed": ("unknown", "south"),
                "well": ("unknown", ""),
                "gh-1": ("fine", "north"),
                "gh-2": ("fine", "north"),
            }
            assert list(found) == copy.view["order"]
            # Without the database, as the last look found them.
            others.moved = None
            others.elsewhere = [south, unplaced]
            assert (await copy.next())["order"] == ["shed", "well", "gh-1", "gh-2"]
            # A controller whose node was silent, and answers by now, reports itself.
            others.moved = [LocatedController(south.number, "north", south.record)]
            assert (await copy.next())["order"] == ["well", "gh-1", "gh-2"]
        async with page(node, "health=unknown") as copy:
            assert copy.view["order"] == ["well"]


async def test_simultaneous_looks_do_not_disturb_each_other() -> None:
    async with loop_node() as node:
        # Enough controllers for one look to give way to the other.
        await node.post("add", name="gh-{n}", count=300)
        both = await asyncio.gather(*(node.get("list", health="fine") for _ in range(2)))
        assert [len(found) for found in both] == [300, 300]


async def test_node_that_ends_during_a_look_is_released_by_the_loop() -> None:
    async with loop_node() as node:
        await node.node.calls["view.keys"](msgspec.msgpack.encode(KeysCall(Wanted(), USUAL_ROWS)))
    index = weakref.ref(node.web.index)
    del node
    gc.collect()
    assert index() is None
