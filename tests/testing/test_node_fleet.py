"""The fleet of the kit by the API of a node: one in the process, and one that runs elsewhere."""

from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest

from leverframe.fleet.client import NodeAnswer, NodeAsking
from leverframe.fleet.fleet_file import read_fleet
from leverframe.fleet.jobs.job_state import JobPlan, JobState, report_of_job
from leverframe.host.configuration.reader import Sources
from leverframe.testing import (
    AnyFleet,
    BadCall,
    Fleet,
    NodeRefused,
    NodeTwin,
    TwinRefused,
    TwinRollout,
    faults,
)
from leverframe.testing.fleet import BadFleet
from leverframe.testing.transport import LOOP_THREAD
from leverframe.testing.twin_client import fetch_text
from tests.fleet.loop_node import LoopNode, loop_node
from tests.ports import free_port

ALL = "/json/all.json"
FROST = "stm.cgi?eventname=1Frost"


class RunningNode:
    """A node that others than the test have started."""

    def __init__(self, stack: AsyncExitStack, **keys: Any) -> None:
        async def start() -> LoopNode:
            node = await stack.enter_async_context(loop_node(**keys))
            await node.node.door.listen("127.0.0.1", 0)
            return node

        self.node = LOOP_THREAD.run(start())
        self.url = f"http://127.0.0.1:{self.node.node.door.port}"


@pytest.fixture
def parts() -> Iterator[AsyncExitStack]:
    stack = AsyncExitStack()
    yield stack
    LOOP_THREAD.run(stack.aclose())


@pytest.fixture(params=["in the process", "elsewhere"])
def fleet(request: pytest.FixtureRequest, parts: AsyncExitStack) -> Iterator[AnyFleet[Any]]:
    """Give a fleet of three: `twin-1` to `twin-3`."""
    with ExitStack() as stack:
        if request.param == "elsewhere":
            connected = stack.enter_context(Fleet.connect(RunningNode(parts).url))
            connected.add("twin-{n}", count=3)
            yield connected
        else:
            yield stack.enter_context(Fleet(3))


def test_controllers_are_added_found_renamed_tagged_and_removed(fleet: AnyFleet[Any]) -> None:
    pump = {"outputs.0.name": "Pump"}
    tried = fleet.add("gh-{n}", count=2, template=pump, hw="3.5", dry_run=True)
    assert (tried.names, tried.dry_run, len(fleet.listed())) == (["gh-1", "gh-2"], True, 3)
    made = fleet.add("gh-{n}", count=2, template=pump, hw="3.5", sw="1.49", tags=["north", "glass"])
    assert made.names == ["gh-1", "gh-2"]
    assert [(one.name, one.hw, one.sw) for one in fleet.listed(tag="north")] == [
        ("gh-1", "3.5", "1.49"),
        ("gh-2", "3.5", "1.49"),
    ]
    assert fleet.show("gh-2").settings == pump
    assert len(fleet.find()) == 5
    fleet.rename("gh-2", "cellar")
    fleet.tag("twin-1", add="north")
    fleet.tag(tag="glass", remove="glass")
    assert [one.name for one in fleet.listed(tag="north")] == ["twin-1", "gh-1", "cellar"]
    (cellar,) = fleet.find("cellar")
    assert cellar.settings["outputs"][0]["name"] == "Pump"
    assert fleet.remove("cellar").done == 1
    assert fleet.remove(tag="north").done == 2
    assert [one.name for one in fleet.listed()] == ["twin-2", "twin-3"]
    assert fleet.overview().controllers == fleet.health().controllers == 2


def test_roll_out_waits_stops_at_a_refusal_and_can_be_undone(fleet: AnyFleet[Any]) -> None:
    def list_changed() -> list[str]:
        return [one.name for one in fleet.listed() if fleet.show(one.name).settings]

    fleet.add("old", hw="3.0", sw="1.58a", tags="old")
    rollout = fleet.roll_out(FROST, groups="3,rest")
    assert (rollout.status, rollout.report.group) == ("stopped", 1)
    assert [one.name for one in rollout.failed] == ["old"]
    assert list_changed() == ["twin-1", "twin-2", "twin-3"]
    assert rollout.retry().status == "stopped"
    assert rollout.undo().status == "undone"
    assert list_changed() == []
    chosen = fleet.roll_out(FROST, names=["twin-2"], check_health=False)
    assert (chosen.status, list_changed()) == ("finished", ["twin-2"])
    with pytest.raises(NodeRefused, match="groups"):
        fleet.roll_out(FROST, groups="none")


class HeldUpNode(NodeAsking):
    """A node that cannot continue a roll-out."""

    def _exchange(
        self, method: str, target: str, body: bytes | None, headers: dict[str, str]
    ) -> NodeAnswer:
        plan = JobPlan("r", "rollout", "x", 0.0, "", "admin", "", [[1]], {1: "one"})
        state = JobState("running", "The database is away.")
        return NodeAnswer(200, msgspec.json.encode(report_of_job(plan, state, {}, [], [])))


def test_roll_out_that_is_held_up_is_not_waited_for() -> None:
    with pytest.raises(NodeRefused, match="waiting: The database is away"):
        TwinRollout(HeldUpNode("a node"), "r").start()


def test_start_of_a_running_controller_is_reported(fleet: AnyFleet[Any]) -> None:
    assert fleet.start_again().results == []
    (one,) = fleet.start_again("twin-1").results
    assert (one.status, one.detail) == (200, "twin-1 is already running.")
    assert fleet.overview().can_start == []


def test_controller_is_given_an_address_and_a_port_and_loses_them(fleet: AnyFleet[Any]) -> None:
    port = free_port()
    placed = fleet.place("twin-1", address="127.0.0.41", port=port)
    assert (placed.address, placed.port) == ("127.0.0.41", port)
    door = urlsplit(fleet.url)
    for where in (f"http://127.0.0.41:{door.port}", f"http://127.0.0.1:{port}"):
        assert '"sname":"twin-1"' in fetch_text(where, ALL, None, None)
    # What is not given stays; by its name it is found all the same, also by another one.
    assert fleet.place("twin-1", address="none").port == port
    assert fleet.place("twin-1", port=0).address is None
    fleet.rename("twin-1", "attic")
    (attic,) = fleet.find("attic")
    attic.command("outs.cgi?out0=1")
    assert '"sname":"attic"' in attic.get(ALL)
    assert attic.state["OUT0"] == 1
    with pytest.raises(NodeRefused, match="No address or port is set"):
        fleet.place("attic")
    with pytest.raises(NodeRefused, match="the node itself is available at 127.0.0.1"):
        fleet.place("attic", address="127.0.0.1")


def test_refusal_of_a_node_has_its_sentence(fleet: AnyFleet[Any]) -> None:
    with pytest.raises(NodeRefused, match="A controller named twin-1 exists already") as refused:
        fleet.add("twin-{n}", count=2)
    assert refused.value.status == 409
    with pytest.raises(NodeRefused, match="No controller has the tag 'south'"):
        fleet.send("outs.cgi?out0=1", tag="south")
    with pytest.raises(NodeRefused, match="There is no controller 'x'"):
        fleet.find("x")
    with pytest.raises(NodeRefused, match="No controllers are chosen"):
        fleet.remove()
    with pytest.raises(NodeRefused, match="Field count: "):
        fleet.add("gh-{n}", count=0)
    with pytest.raises(NodeRefused, match="This moment has passed"):
        fleet.advance_to("2020-01-01")
    assert len(fleet.listed()) == 3


def test_command_has_a_result_for_each_that_is_chosen(fleet: AnyFleet[Any]) -> None:
    fleet.add("old", hw="3.0", sw="1.18")
    fleet.tag("old", "twin-1", add="some")
    tried = fleet.send(FROST, tag="some", dry_run=True)
    assert (tried.done, tried.refused, tried.dry_run) == (1, 1, True)
    held_back = fleet.send(FROST, tag="some", all_or_none=True)
    assert [one.status for one in held_back.results] == [424, 404]
    sent = fleet.send(FROST)
    assert (sent.done, sent.refused) == (3, 1)
    assert "HW 3.0 SW 1.18" in str(sent.results[3].detail)
    assert fleet.send("outs.cgi?out0=1", "twin-2").done == 1
    assert fleet.send("post.cgi?sched_save &s0=lamp*0*1*9*0*127*1&&", "twin-2").done == 1
    assert [twin.state["OUT0"] for twin in fleet.find()] == [0, 1, 0, 0]


def test_time_is_moved_for_all_and_for_some(fleet: AnyFleet[Any]) -> None:
    begin = fleet.now.timestamp()
    fleet.advance("1h")
    fleet.advance("30min", "twin-1")
    assert _times(fleet, begin) == [5400, 3600, 3600]
    fleet.advance_to(begin + 7200)
    assert _times(fleet, begin) == [7200, 7200, 7200]
    assert fleet.clock.now.timestamp() == begin + 7200
    fleet.add("late")
    assert _times(fleet, begin)[3] == 7200
    fleet.send("outs.cgi?ortime=07&out0=1", "twin-3")
    while fleet.find("twin-3")[0].state["OUT0"]:
        assert fleet.step() > 0
    assert _times(fleet, begin) == [7207] * 4
    fleet.run_at(0.5)
    assert fleet.overview().rate == 0.5
    fleet.freeze()
    assert fleet.overview().rate == 0


def _times(fleet: AnyFleet[Any], begin: float) -> list[float]:
    return [round(one.time - begin, 3) for one in fleet.listed() if one.time is not None]


def test_snapshots_forks_and_faults_of_many(fleet: AnyFleet[Any]) -> None:
    begin = fleet.now
    fleet.send("outs.cgi?out0=1", "twin-1")
    assert fleet.snapshot("noon").done == 3
    assert fleet.fork("twin-1", "copy-{n}", count=2, tags="copies").names == ["copy-1", "copy-2"]
    fleet.send("outs.cgi?out0=0")
    fleet.advance("1h")
    refused = fleet.restore("noon")
    assert (refused.done, refused.refused) == (3, 2)
    assert [twin.state["OUT0"] for twin in fleet.find("twin-1", "copy-1")] == [1, 0]
    assert fleet.find("twin-1")[0].now == begin
    (kept,) = fleet.snapshots()
    assert (kept.label, kept.at, kept.controllers) == ("noon", begin.timestamp(), 3)
    assert fleet.remove_snapshot("noon") == kept
    assert fleet.snapshots() == []
    with pytest.raises(NodeRefused, match="There is no snapshot 'dawn'"):
        fleet.restore("dawn")
    assert fleet.fault(faults.status(503), tag="copies").done == 2
    copy = fleet.find("copy-1")[0]
    with pytest.raises(TwinRefused) as faulty:
        copy.get("/json/all.json")
    assert faulty.value.status == 503
    assert fleet.end_faults().done == 5
    assert '"out0":"0"' in copy.get("/json/all.json")


def test_export_is_a_fleet_file(fleet: AnyFleet[Any], tmp_path: Path) -> None:
    fleet.send("stm.cgi?oname=0Pump", "twin-2")
    assert fleet.export("twin-2")[0].settings.settings == {"outputs.0.name": "Pump"}
    files = fleet.export_to(tmp_path / "mine", "twin-1", "twin-2")
    assert "Pump" in files["twin-2"].read_text()
    read = read_fleet(Sources(tmp_path / "mine" / "fleet.toml", {}, {}))
    assert [one.record.name for one in read.controllers] == ["twin-1", "twin-2"]


def test_controller_of_a_node_is_a_twin_by_its_name(parts: AsyncExitStack) -> None:
    with Fleet.connect(RunningNode(parts).url) as fleet:
        fleet.add("gh-{n}", count=2, hw="3.5", sw="1.49", address="127.0.9.1")
        with fleet["gh-2"] as twin:
            assert isinstance(twin, NodeTwin)
            assert (twin.name, twin.profile.hw) == ("gh-2", "3.5")
            twin.command("outs.cgi?ortime=0600", "outs.cgi?out0=1")
            assert '"out0":"1"' in twin.get("/json/all.json")
            assert [one.path for one in twin.requests()] == ["/json/all.json"]
            snapshot = twin.snapshot()
            twin.advance("10min")
            assert twin.state["OUT0"] == 0
            with pytest.raises(BadCall, match="is stored by .*gh-2.*snapshots of .*gh-1"):
                fleet["gh-1"].restore(snapshot)
            fleet["gh-2"].restore(snapshot)
            assert twin.state["OUT0"] == 1
            with twin.reply("/own", "mine"):
                assert twin.get("/own") == "mine"
            twin.assert_requested("/own", times=1)
            with twin.fault(faults.status(500), path="/json/all.json"):
                pytest.raises(TwinRefused, twin.get, "/json/all.json")
            twin.sense(DS1=31)
            assert twin.rule(when="DS1 >= 30", then="OUT1") == 1
            twin.until("OUT1 = 1", "1min")
            twin.command("stm.cgi?modbuson=1")
            assert twin.modbus.host == "127.0.9.2"
            twin.reset()
            assert (twin.state["OUT0"], twin.requests()) == (0, [])
            with pytest.raises(RuntimeError, match="Modbus TCP is off"):
                print(twin.modbus)
        assert fleet["gh-1"].state["OUT0"] == 0
        assert twin._json("/api/sim/snapshots") == []
        with pytest.raises(RuntimeError, match="so it cannot be reset"):
            fleet["gh-1"].reset()
        assert [one.name for one in fleet] == ["gh-1", "gh-2"]
        assert len(fleet) == 2
    assert not twin.is_on


def test_controller_of_a_node_reports_what_happened_before_an_error(
    parts: AsyncExitStack,
) -> None:
    url, used = RunningNode(parts).url, list[NodeTwin]()

    def fail() -> None:
        with Fleet.connect(url) as fleet:
            fleet.add("gh-1")
            used.append(fleet["gh-1"])
            used[0].get("/outs.cgi?out0=1")
            raise ZeroDivisionError

    pytest.raises(ZeroDivisionError, fail)
    (twin,) = used
    assert twin.last_report is not None
    assert "GET /outs.cgi?out0=1 200" in twin.last_report
    again = f"twin = Fleet.connect({twin.door!r})['gh-1']; twin.seed = {twin.seed}"
    assert twin.last_report.endswith(f"To recreate this twin: {again}")


def test_controller_of_a_node_that_is_off_is_waited_for(parts: AsyncExitStack) -> None:
    with Fleet.connect(RunningNode(parts).url) as fleet:
        fleet.add("gh-1")
        twin = fleet["gh-1"]
        twin.command("outs.cgi?out0=1")
        twin.reboot(takes="0.2s")
        assert twin.state["OUT0"] == 0
        with twin.fault(faults.refuse(), for_="0.2s") as refusing:
            pass
        refusing.end()
        assert twin._json("/api/sim")["faults"]["set"] == []


def test_node_that_asks_who_is_there(parts: AsyncExitStack) -> None:
    running = RunningNode(parts)
    with Fleet.connect(running.url) as fleet:
        made = LOOP_THREAD.run(running.node.post("account/add", name="anna"))
        with pytest.raises(NodeRefused) as refused:
            fleet.listed()
        assert refused.value.status == 401
    with Fleet.connect(running.url, "anna", made["password"]) as fleet:
        assert fleet.listed() == []


def test_missing_node_is_an_error() -> None:
    with pytest.raises(NodeRefused, match="is not the address of a node"):
        Fleet.connect("ftp://x")
    with (
        Fleet.connect("http://127.0.0.1:1") as fleet,
        pytest.raises(NodeRefused, match="does not answer") as refused,
    ):
        fleet.listed()
    assert refused.value.status is None
    # What people without a command line can do.
    advice = "Start a node with `leverframe fleet run`, and use the address that it prints."
    assert advice in str(refused.value)
    assert "--node" not in str(refused.value)


def test_twins_of_a_fleet_are_found_by_name_also_those_that_came_later() -> None:
    with Fleet(2) as fleet:
        assert fleet["twin-2"] is fleet[1]
        fleet.add("gh-{n}", count=2)
        assert fleet["gh-2"] is fleet[3]
        assert fleet.find("gh-1") == [fleet[2]]
        assert len({twin.url for twin in fleet}) == len(fleet) == 4
        fleet.command("outs.cgi?out0=1")
        fleet.remove("twin-2")
        assert [twin.state["OUT0"] for twin in fleet] == [1, 1, 1]
        with pytest.raises(KeyError):
            print(fleet["twin-2"])
        with Fleet.connect(fleet.url) as same:
            assert len(same) == 3
            same.add("stranger")
        fleet.advance("1h")
        fleet.reset()
        assert len({twin.now for twin in fleet}) == 1
        assert fleet.find("stranger") == [fleet[3]]
    with pytest.raises(BadFleet, match="The twins are off"):
        fleet.listed()
