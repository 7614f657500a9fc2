"""`/api/timeline`: lanes with causes, from what was recorded and what is to come."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.settings import Rule
from leverframe.interface.table.rules import event_query
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.worker import HistoryRecorder, ThreadHistoryWorker
from leverframe.storage.store import StoreUnavailable
from leverframe.testing import LoopTwin
from tests.cases import for_each

START = VirtualClock.START
HOT = Rule(source="DS1", compare=">=", reference=24, hysteresis=1, action="OUT3", on_delay=180)
MAIL = Rule(source="DS1", compare=">=", reference=24, action="eMail 1")
RULES = "&".join(
    f"{event_query(place, rule, Profile())}&eventon={place}*1"
    for place, rule in enumerate((HOT, MAIL))
)


async def ask(twin: LoopTwin, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = await twin.json(f"/api/timeline?{query}")
    return found


def lane(found: dict[str, Any], label: str) -> list[dict[str, Any]]:
    (one,) = (one for one in found["lanes"] if one["label"] == label)
    bars: list[dict[str, Any]] = one["bars"]
    return bars


def bars_of(bars: list[dict[str, Any]]) -> list[tuple[float, float, float | None, str]]:
    return [
        (bar["begin"] - START, bar["end"] - START, bar["value"], bar.get("cause", {}).get("kind"))
        for bar in bars
    ]


async def warm() -> LoopTwin:
    """Too warm after 100 s, so that a fan starts 180 s later; cool again after 1000 s."""
    twin = await LoopTwin.start()
    await twin.ok(f"/inpa.cgi?{RULES}")
    await twin.ok("/stm.cgi?em8=Hot")
    for celsius, seconds in ((20, 100), (24.1, 900), (22.9, 1000)):
        await twin.ok(f"/sim.cgi?DS1={celsius}&advance={seconds}")
    return twin


async def test_whole_chain_of_causes_is_shown() -> None:
    found = await ask(await warm(), f"from={START}")
    assert bars_of(lane(found, "OUT3")) == [
        (0, 280, 0, "start"),
        (280, 1000, 1, "rule"),
        (1000, 2000, 0, "rule"),
    ]
    assert bars_of(lane(found, "rule.1")) == [
        (0, 100, 0, None),
        (100, 1000, 1, None),
        (1000, 2000, 0, None),
    ]
    assert [bar["readings"] for bar in lane(found, "rule.1")] == [
        {"DS1": 20.0},
        {"DS1": 24.1},
        {"DS1": 22.9},
    ]
    # That it ends has no text, so no mail is wanted.
    (first,) = found["messages"]
    assert (first["time"] - START, first["channel"], first["reason"]) == (100, "email", "rule 2")
    assert found["rules"][0]["conditions"] == [
        {"label": "DS1", "compare": ">=", "reference": 24, "ends": 23}
    ]
    assert (found["since"], found["now"]) == (START, START + 2000)


async def test_future_events_follow_as_planned() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/outs.cgi?ortime=0600")
        await twin.ok("/outs.cgi?out0=1")
        await twin.ok("/sim.cgi?advance=60")
        found = await ask(twin, f"from={START}&to={START + 3600}")
        past, *ahead = lane(found, "OUT0")
        assert bars_of([past]) == [(0, 60, 1, "command")]
        assert all(bar["planned"] for bar in ahead)
        assert bars_of(ahead) == [(60, 600, 1, None), (600, 3600, 0, "timer")]
        assert len(lane(found, "OUT1")) == 1


async def test_rule_that_moved_leaves_the_past_of_its_place_unknown() -> None:
    twin = await warm()
    await twin.ok("/inpa.cgi?eventdel=0")
    await twin.ok("/sim.cgi?advance=10")
    found = await ask(twin, f"from={START}")
    assert [bar["value"] for bar in lane(found, "rule.1")] == [None, 0]
    # Who switched in the past stays as it was.
    assert "rule" in [bar["cause"]["kind"] for bar in lane(found, "OUT3")]


async def test_causes_are_still_known_after_a_restart_of_the_program(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    async with await LoopTwin.start() as twin, record(twin, path):
        await twin.ok("/outs.cgi?out1=1")
        await twin.ok("/sim.cgi?advance=60")
    async with await LoopTwin.start() as twin, record(twin, path):
        await twin.ok("/sim.cgi?advance=600")
        found = await ask(twin, f"from={START}&to={START + 50}")
        assert bars_of(lane(found, "OUT1"))[0][3] == "command"


@asynccontextmanager
async def record(twin: LoopTwin, path: Path) -> AsyncIterator[None]:
    """Record in a file from now on, as a controller with a data folder does."""
    worker = ThreadHistoryWorker(path, Bounds(), may_wait=True)
    twin.controller.history = HistoryRecorder(worker, twin.controller.clock)
    twin.controller.engine.machine.samples = twin.controller.history.samples
    yield
    await twin.controller.history.close()


@for_each(
    ("query", "field"),
    [
        ("from=now", "from"),
        ("labels=DS1", None),
        (f"from={START + 5}&to={START}", "from"),
        ("from", None),
    ],
)
async def test_query_that_cannot_be_meant_is_refused(query: str, field: str | None) -> None:
    async with await LoopTwin.start() as twin:
        problem = await twin.refused(f"/api/timeline?{query}", 400)
        assert problem.get("field") == field


async def test_unreadable_history_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async with await LoopTwin.start() as twin:

        async def unreadable(*_: object) -> None:
            raise StoreUnavailable("The disk is gone.")

        monkeypatch.setattr(HistoryRecorder, "ask", unreadable)
        reply = await twin.ask("/api/timeline")
        assert (reply.status, b"disk" in reply.body) == (503, True)
        assert msgspec.json.decode(reply.body)["title"] == "The history cannot be read"
