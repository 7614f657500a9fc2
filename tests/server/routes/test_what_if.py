"""`/api/what-if`: commands are tried on a copy, and nothing is done."""

from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from leverframe.host.controller.snapshot import take_snapshot
from leverframe.interface.table.rules import event_query
from leverframe.storage.history.worker import HistoryRecorder
from leverframe.storage.store import StoreUnavailable
from leverframe.testing import LoopTwin

PATH = "/api/what-if"
ROOM = "room*heater:OUT0*reading:DS1*outside:5*power:40*time_constant:10m*start:25"

HOT = Rule(source="DS1", compare=">=", reference=30, action="OUT1", value=1)
RULE = f"/inpa.cgi?{event_query(0, HOT, Profile())}&eventon=0*1"


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def try_commands(twin: LoopTwin, *commands: str, query: str = "") -> dict[str, Any]:
    reply = await twin.ok(PATH + query, "POST", "\n".join(commands).encode())
    found: dict[str, Any] = msgspec.json.decode(reply.body)
    return found


def texts(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(entry["only"], entry["text"]) for entry in found["differing"]]


async def test_what_if_shows_effects_without_causing_them(twin: LoopTwin) -> None:
    before = await take_snapshot(twin.controller)
    found = await try_commands(twin, "/outs.cgi?ortime=0600", "outs.cgi?out0=1", query="?for=1h")
    assert texts(found) == [("with", "OUT0 on"), ("with", "OUT0 off")]
    assert found["with"]["OUT0"] == {"changes": 2, "on_s": 600}
    assert found["last"] - found["first"] == 3600
    after = await take_snapshot(twin.controller)
    assert after.engine.picture == before.engine.picture
    assert after.parts[0] == before.parts[0]
    assert twin.controller.pending is before.settings


async def test_readings_of_the_last_hours_come_again(twin: LoopTwin) -> None:
    for celsius in (25, 31, 25):
        await twin.ok(f"/sim.cgi?DS1={celsius}&advance=1800")
    found = await try_commands(twin, RULE, query="?for=90m")
    assert texts(found) == [("with", "OUT1 on"), ("with", "OUT1 off")]
    times = [entry["time"] - found["first"] for entry in found["differing"]]
    assert times == [1800, 3600]


async def test_plants_of_the_board_run_in_both_futures(twin: LoopTwin) -> None:
    await twin.ok(f"/sim.cgi?plant={ROOM}")
    await twin.ok("/outs.cgi?out0=1")
    found = await try_commands(twin, RULE, query="?for=6h")
    assert found["without"]["OUT0"] == {"changes": 0, "on_s": 6 * 3600}
    assert ("with", "OUT1 on") in texts(found)


@pytest.mark.parametrize(
    ("query", "body", "status", "sentence"),
    [
        ("", "", 400, "1 to 100"),
        ("", "# nothing\n\n", 400, "1 to 100"),
        ("", "hello", 404, "Line 1 is not a command"),
        ("", "/outs.cgi?out0=1\n/api/state?x", 404, "Line 2 is not a command"),
        ("", "/outs.cgi?out0=1\n/outs.cgi?out0=7", 400, "Line 2"),
        ("", "/outs.cgi?melt=1", 404, "Line 1"),
        ("?for=soon", "/outs.cgi?out0=1", 400, "1s to 7d"),
        ("?for=8d", "/outs.cgi?out0=1", 400, "1s to 7d"),
        ("?until=8d", "/outs.cgi?out0=1", 400, "for=TIME"),
        ("", "/post.cgi?wwwfileupload x", 400, "file"),
    ],
)
async def test_impossible_trial_is_refused(
    twin: LoopTwin, query: str, body: str, status: int, sentence: str
) -> None:
    reply = await twin.ask(PATH + query, "POST", body.encode())
    assert reply.status == status, reply.body
    assert sentence in msgspec.json.decode(reply.body)["detail"]


async def test_body_of_a_command_stands_behind_a_space(twin: LoopTwin) -> None:
    found = await try_commands(
        twin, "/post.cgi?sched_save &s0=lamp*0*1*64800*0*127*1&&", query="?for=1d"
    )
    assert ("with", "OUT0 on") in texts(found)


async def test_unreadable_history_is_reported(
    twin: LoopTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuse(history: HistoryRecorder, work: Any) -> Any:
        raise StoreUnavailable("The disk reported an error.")

    monkeypatch.setattr(HistoryRecorder, "ask", refuse)
    reply = await twin.ask(PATH, "POST", b"/outs.cgi?out0=1")
    assert reply.status == 503
    assert b"The disk reported an error." in reply.body
