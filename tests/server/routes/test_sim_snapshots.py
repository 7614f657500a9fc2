"""Snapshots over HTTP: taken, listed, gone back to, forgotten, and what is refused."""

from datetime import UTC

import pytest

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.host.assembly import build
from leverframe.server.routes.sim_time import MAX_SNAPSHOTS
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.testing import LoopTwin

PATH = "/api/sim/snapshots"


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def test_snapshot_is_taken_by_name_and_gone_back_to(twin: LoopTwin) -> None:
    start = (await twin.state())["time"]
    await twin.ok(f"{PATH}?take=before+the+test", "POST")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?advance=60&DS1=21")
    assert await twin.json(PATH) == [{"name": "before the test", "time": start}]
    await twin.ok(f"{PATH}?restore=before+the+test", "POST")
    state = await twin.state()
    assert (state["OUT0"], state["DS1"], state["time"]) == (0, None, start)


async def test_items_are_carried_out_in_order(twin: LoopTwin) -> None:
    await twin.ok(f"{PATH}?take=a&take=b&delete=a&restore=b", "POST")
    assert [one["name"] for one in await twin.json(PATH)] == ["b"]


async def test_name_that_is_taken_again_is_the_newest(twin: LoopTwin) -> None:
    await twin.ok(f"{PATH}?take=a&take=b", "POST")
    await twin.ok("/sim.cgi?advance=60")
    await twin.ok(f"{PATH}?take=a", "POST")
    assert [one["name"] for one in await twin.json(PATH)] == ["b", "a"]
    times = [one["time"] for one in await twin.json(PATH)]
    assert times[1] == times[0] + 60


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ("take=", 400, "1 to 40 letters"),
        ("take=a%2Fb", 400, "1 to 40 letters"),
        ("take=" + "x" * 41, 400, "1 to 40 letters"),
        ("restore=other", 400, "Allowed: known"),
        ("delete=known&restore=known", 400, "none: take one first"),
        ("keep=a", 404, "take=NAME"),
        ("take", 404, "take=NAME"),
        ("", 400, "take=NAME"),
    ],
)
async def test_invalid_snapshot_request_is_refused_and_changes_nothing(
    twin: LoopTwin, query: str, status: int, sentence: str
) -> None:
    await twin.ok(f"{PATH}?take=known", "POST")
    problem = await twin.refused(f"{PATH}?{query}", status, "POST")
    assert sentence in problem["detail"]
    assert [one["name"] for one in await twin.json(PATH)] == ["known"]


async def test_get_changes_nothing(twin: LoopTwin) -> None:
    await twin.ok(f"{PATH}?take=known")
    assert await twin.json(PATH) == []


async def test_snapshots_are_limited_in_number(twin: LoopTwin) -> None:
    for number in range(MAX_SNAPSHOTS):
        await twin.ok(f"{PATH}?take=number+{number}", "POST")
    problem = await twin.refused(f"{PATH}?take=one+more", 409, "POST")
    assert "delete one first" in problem["detail"]
    await twin.ok(f"{PATH}?take=number+7", "POST")
    await twin.ok(f"{PATH}?delete=number+0&take=one+more", "POST")


async def test_real_time_has_none() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    twin = LoopTwin(built.controller, built.web)
    problem = await twin.refused(f"{PATH}?take=a", 409, "POST")
    assert "--virtual-time" in problem["detail"]
    await built.stop()


async def test_refusal_of_the_store_is_reported(
    twin: LoopTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    await twin.ok(f"{PATH}?take=a", "POST")
    await twin.ok("/stm.cgi?oname=0Pump")

    async def refuse(rows: Rows) -> None:
        raise StoreUnavailable("The disk is full.")

    monkeypatch.setattr(twin.controller.store, "write", refuse)
    problem = await twin.refused(f"{PATH}?restore=a", 507, "POST")
    assert problem["detail"] == "The disk is full."


async def test_snapshot_is_restored_while_the_bootloader_waits(twin: LoopTwin) -> None:
    await twin.ok(f"{PATH}?take=a", "POST")
    await twin.ok("/stm.cgi?upgrade=devstart3")
    await twin.ok(f"{PATH}?restore=a", "POST")
    await twin.ok("/outs.cgi?out0=1")


async def test_snapshot_is_a_file_that_another_controller_loads() -> None:
    async with await LoopTwin.start() as one, await LoopTwin.start() as other:
        await one.ok("/outs.cgi?out1=1")
        await one.ok("/api/sim/snapshots?take=on", "POST")
        await one.ok("/outs.cgi?out1=0&out2=1")
        named = (await one.ok("/api/sim/snapshot?name=on")).body
        now = (await one.ok("/api/sim/snapshot")).body
        await other.ok("/api/sim/snapshots?load=theirs&restore=theirs", "POST", named)
        assert await other.outputs() == "010000"
        await other.ok("/api/sim/snapshots?load=now", "POST", now)
        assert await other.outputs() == "010000"
        await other.ok("/api/sim/snapshots?restore=now", "POST")
        assert await other.outputs() == "001000"
        problem = await one.refused("/api/sim/snapshot?name=off", 400)
        assert "Allowed: on." in problem["detail"]


async def test_file_that_is_no_snapshot_changes_nothing() -> None:
    async with await LoopTwin.start() as twin:
        await twin.ok("/outs.cgi?out1=1")
        whole = (await twin.ok("/api/sim/snapshot")).body
        for damaged in (b"", b"hello", whole[:-1], whole[:25] + b"0" + whole[26:]):
            reply = await twin.ask("/api/sim/snapshots?load=x&restore=x", "POST", damaged)
            assert reply.status == 409
        assert await twin.json("/api/sim/snapshots") == []
        assert await twin.outputs() == "010000"
        await twin.ok("/sim.cgi?fault=frozen")
        problem = await twin.refused("/api/sim/snapshot", 409)
        assert "end these faults before you take it: frozen" in problem["detail"]
