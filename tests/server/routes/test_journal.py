"""`/api/journal`: what happened as data, asked for by time, label, cause and number."""

import gzip
from typing import Any

import msgspec
import pytest

from leverframe.core.runtime.clock import VirtualClock
from leverframe.interface.table.rules import event_query
from leverframe.server.http.messages import StreamReply
from leverframe.storage.history.worker import MemoryHistory
from leverframe.storage.store import StoreUnavailable
from leverframe.testing import LoopTwin
from leverframe.testing.in_process import NEWEST
from tests.cases import for_each
from tests.core.engine.rule_bench import rule

START = VirtualClock.START
SENSOR = "28:FF:00:00:00:00:00:01"


async def journal(twin: LoopTwin, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = msgspec.json.decode((await twin.ok(f"/api/journal?{query}")).body)
    return found


async def test_journal_has_the_entries_of_the_log_and_the_start() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/outs.cgi?out0=1")
    log = msgspec.json.decode((await twin.ok("/api/log")).body)
    report = await journal(twin)
    assert report[0]["what"] == "started"
    shifted = report[0]["number"]
    assert [entry | {"number": entry["number"] - shifted} for entry in report[1:]] == log
    assert (log[-1]["what"], log[-1]["which"], log[-1]["from"], log[-1]["to"]) == (
        *("on", "OUT0"),
        *(0, 1),
    )


@for_each("query", ["limit=0", "limit=x", "after=-1", "from=x", "nonsense=1", "limit=1&limit=2"])
async def test_bad_query_is_refused_with_what_is_allowed(query: str) -> None:
    twin = await LoopTwin.start()
    reply = await twin.ask(f"/api/journal?{query}")
    assert reply.status == 400
    assert msgspec.json.decode(reply.body)["allowed"]


async def test_unreadable_file_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    twin = await LoopTwin.start()

    async def ask(self: MemoryHistory, work: Any, **_: object) -> Any:
        raise StoreUnavailable("The disk does not answer.")

    monkeypatch.setattr(MemoryHistory, "ask", ask)
    reply = await twin.ask("/api/journal")
    assert reply.status == 503
    assert "The disk does not answer." in msgspec.json.decode(reply.body)["detail"]


async def test_lost_sensor_and_its_return_are_reported_immediately() -> None:
    twin = await LoopTwin.start()
    await twin.ok(f"/stm.cgi?dswrite=1:{SENSOR}")
    await twin.ok("/sim.cgi?DS1=20&advance=1")
    await twin.ok("/sim.cgi?DS1=none&advance=1")
    await twin.ok("/sim.cgi?DS1=20&advance=1")
    report = [
        (entry["what"], entry["time"] - START)
        for entry in await journal(twin, "which=DS1")
        if entry["figures"].get("finding") == "sensor_lost"
    ]
    assert report == [("finding", 1), ("finding_over", 2)]


async def test_message_names_the_comparison_and_the_switching_that_led_to_it() -> None:
    twin = await LoopTwin.start()
    sends = rule(source="OUT1", reference=1.0, action="HTTP1")
    await twin.ok("/stm.cgi?http1=http://192.0.2.1/hook")
    await twin.ok(f"/inpa.cgi?{event_query(0, sends, NEWEST)}&eventon=0*1")
    await twin.ok("/outs.cgi?out1=1")
    switched, message = (await journal(twin))[-2:]
    assert (message["what"], message["cause"]) == ("message_captured", "outbox")
    assert message["after"] == switched["number"]
    assert message["by"]["conditions"][0]["label"] == "OUT1"
    assert message["by"]["number"] == 1


@for_each("encoding", ["", "gzip"])
async def test_long_journal_comes_in_pieces_and_is_the_same(encoding: str) -> None:
    twin = await LoopTwin.start()
    for number in range(1200):
        await twin.ok(f"/outs.cgi?out0={number % 2}")
    short = await twin.ok("/api/journal?limit=2000")
    long: Any = await twin.ask("/api/journal?limit=20000", accept_encoding=encoding)
    assert isinstance(long, StreamReply)
    body = b"".join([piece async for piece in long.chunks])
    assert (gzip.decompress(body) if encoding else body) == short.body
