"""Snapshots of a whole controller: what goes back in time, what does not, and taking one up."""

import asyncio
from datetime import UTC
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.core.tree import settings_from_leaves
from leverframe.host.assembly import build
from leverframe.host.controller.snapshot import NoLiveSnapshot, go_back, take_snapshot
from leverframe.host.controller.version_switch import install
from leverframe.server.http.messages import Reply, Request
from leverframe.storage.store import MemoryStore, Rows, StoreUnavailable
from leverframe.testing import LoopTwin
from tests.effort import examples

ROOM = "room*heater:OUT0*reading:DS1*outside:5*power:30*time_constant:1h*start:18"


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


async def picture(twin: LoopTwin) -> dict[str, Any]:
    """All that people can see of a controller that goes back in time."""
    outbox = twin.controller.outbox_report()
    stored = twin.controller.store.load().settings
    journal = twin.controller.engine.machine.journal.entries()
    return {
        "state": {**await twin.state(), "settings_revision": "any"},
        "settings": twin.controller.engine.settings,
        "stored": settings_from_leaves(twin.controller.profile, stored)[0],
        "sim": (await twin.ok("/api/sim")).body,
        "status": (await twin.ok("/json/all.json")).body,
        "captured": [(message.number, message.content) for message in outbox.captured],
        "journal": [(entry.number, entry.wall, entry.cause, entry.text) for entry in journal],
        "due": twin.controller.next_deadline(),
    }


async def live(twin: LoopTwin) -> None:
    """A quarter of an hour with much in it: settings, timers, messages, plants, pings, sensors."""
    await twin.ok("/outs.cgi?ortime=0600&out0=1")
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/inpa.cgi?event=0*6*0*190*0*0*0*0*0*0*0*0&eventon=0*1")
    await twin.ok(f"/sim.cgi?plant={ROOM}")
    await twin.ok("/sim.cgi?advance=120&INPD1=0&ping=router:20&onewire=28:FF:00:00:00:00:00:01")
    await twin.ok("/sim.cgi?advance=600")
    await twin.ok("/outs.cgi?roafs=11&out1=1")
    twin.controller.on_notify(Notify("email", 1, True, "test", None, None, "subject", "text"))


async def test_going_back_makes_everything_what_it_was(twin: LoopTwin) -> None:
    await live(twin)
    before = await picture(twin)
    snapshot = await take_snapshot(twin.controller)
    await live(twin)
    await twin.ok("/sim.cgi?DS1=none&plant=none&advance=100000")
    assert await picture(twin) != before
    await go_back(twin.controller, snapshot)
    assert await picture(twin) == before


async def test_restored_snapshot_continues_as_before(twin: LoopTwin) -> None:
    await live(twin)
    snapshot = await take_snapshot(twin.controller)
    futures = []
    for _ in range(2):
        await twin.ok("/sim.cgi?advance=5000&INPD1=1")
        await live(twin)
        futures.append(await picture(twin))
        await go_back(twin.controller, snapshot)
    assert futures[0] == futures[1]


async def test_another_controller_resumes_a_snapshot_independently(twin: LoopTwin) -> None:
    await live(twin)
    other = await LoopTwin.start()
    await go_back(other.controller, await take_snapshot(twin.controller))
    for one in (twin, other):
        await one.ok("/sim.cgi?advance=3600")
    there, here = await picture(other), await picture(twin)
    assert there.pop("status") != here.pop("status")  # each has its own MAC address
    assert there == here
    await other.ok("/stm.cgi?oname=4Only")
    assert twin.controller.engine.settings.outputs[4].name != "Only"


async def test_restart_after_a_restore_finds_the_remembered_state(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?roafs=01&out0=1")
    snapshot = await take_snapshot(twin.controller)
    await twin.ok("/outs.cgi?out0=0&roafs=11&out1=1")
    await go_back(twin.controller, snapshot)
    again = await LoopTwin.start(store=twin.controller.store)
    state = await again.state()
    assert (state["OUT0"], state["OUT1"]) == (1, 0)
    twin.controller.restart()
    assert (await twin.state())["OUT0"] == 1


async def test_audit_trail_records_a_restore_and_is_not_cut(twin: LoopTwin) -> None:
    snapshot = await take_snapshot(twin.controller)
    await twin.ok("/stm.cgi?oname=0Pump")
    await go_back(twin.controller, snapshot)
    entries = await twin.json("/api/audit")
    assert [entry["cause"] for entry in entries] == ["command", "snapshot"]
    assert entries[1]["changes"] == [{"path": "outputs.0.name", "old": "Pump", "new": ""}]


async def test_parts_beside_the_controller_follow_the_settings_back(twin: LoopTwin) -> None:
    snapshot = await take_snapshot(twin.controller)
    seen: list[tuple[Any, Any]] = []
    twin.controller.settings_watchers.append(lambda old, new: seen.append((old, new)))
    await twin.ok("/stm.cgi?oname=0Pump")
    changed = twin.controller.engine.settings
    await go_back(twin.controller, snapshot)
    assert seen[1:] == [(changed, snapshot.settings)]
    await go_back(twin.controller, snapshot)
    assert len(seen) == 2


async def test_snapshot_waits_for_what_was_accepted(twin: LoopTwin) -> None:
    snapshot = await take_snapshot(twin.controller)
    asked = twin.web.handle(Request("GET", "/stm.cgi", "oname=0Pump", {}, b"", "127.0.0.1"))
    later = await take_snapshot(twin.controller)
    assert later.settings.outputs[0].name == "Pump"
    assert not isinstance(asked, Reply)
    await asked
    asked = twin.web.handle(Request("GET", "/stm.cgi", "oname=1Lamp", {}, b"", "127.0.0.1"))
    await go_back(twin.controller, snapshot)
    assert twin.controller.pending is twin.controller.engine.settings is snapshot.settings
    assert not isinstance(asked, Reply)
    await asked


async def test_snapshot_that_the_store_refuses_restores_nothing(
    twin: LoopTwin, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = await take_snapshot(twin.controller)
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/sim.cgi?advance=60")
    before = await picture(twin)

    async def refuse(rows: Rows) -> None:
        raise StoreUnavailable("The disk is full.")

    monkeypatch.setattr(twin.controller.store, "write", refuse)
    with pytest.raises(StoreUnavailable):
        await go_back(twin.controller, snapshot)
    monkeypatch.undo()
    # The trouble itself shows in both.
    expected = {"state": "with the trouble", "journal": "with the trouble"}
    assert await picture(twin) | expected == before | expected
    await go_back(twin.controller, snapshot)
    assert (await twin.state())["time"] == snapshot.moment.wall


async def test_bootloader_waits_again_after_going_back_to_it(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?upgrade=devstart3")
    waiting = await take_snapshot(twin.controller)
    changes: list[bool] = []
    twin.controller.bootloader_watchers.append(changes.append)
    await twin.controller.advance(100)
    await go_back(twin.controller, waiting)
    assert twin.controller.bootloader_until == waiting.bootloader_until
    await twin.controller.advance(100)
    assert changes == [False, True, False]


async def test_going_back_to_before_an_update_is_going_back_to_that_version() -> None:
    twin = await LoopTwin.start(Profile("3.9", "1.70"))
    snapshot = await take_snapshot(twin.controller)
    await install(twin.controller, "1.75", None, Cause("firmware"))
    assert twin.controller.profile.sw == "1.75"
    await go_back(twin.controller, snapshot)
    assert twin.controller.profile == Profile("3.9", "1.70")
    assert twin.controller.store.load().kept["profile.sw"] == "1.70"
    assert "1.70" in (await twin.ok("/json/all.json")).body.decode()


async def test_another_hardware_cannot_take_it_up(twin: LoopTwin) -> None:
    other = await LoopTwin.start(Profile("3.0", "1.58a"))
    with pytest.raises(NoLiveSnapshot, match=r"for hardware 3\.9.*has hardware 3\.0"):
        await go_back(other.controller, await take_snapshot(twin.controller))


async def test_real_time_does_not_go_back() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    with pytest.raises(NoLiveSnapshot, match="--virtual-time"):
        await take_snapshot(built.controller)
    await built.stop()


async def test_history_knows_what_holds_after_going_back(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=21")
    snapshot = await take_snapshot(twin.controller)
    await twin.ok("/sim.cgi?DS1=30&advance=60")
    await go_back(twin.controller, snapshot)
    assert twin.controller.history is not None
    newest = {label: value for _, label, value in twin.controller.history.samples.take()}
    assert newest["DS1"] == 21


ITEMS = st.sampled_from(
    [
        *("/sim.cgi?advance=7.5", "/sim.cgi?advance=next", "/sim.cgi?advance=4000"),
        *("/sim.cgi?DS1=31", "/sim.cgi?DS1=none", "/sim.cgi?INPD1=0", "/sim.cgi?INPD1=1"),
        *("/sim.cgi?DS1=plant", "/sim.cgi?plant=load*switch:OUT1*reading:INPA1*on:2"),
        "/sim.cgi?plant=tank*pump:OUT1*reading:DISTANCE*switch:INPD2*height:900*fill:9*drain:2",
        *("/sim.cgi?fault=sensor_noisy*label:DS1", "/sim.cgi?fault=clock_jumps*every:30s"),
        *("/sim.cgi?fault=output_stuck*label:OUT0*after:5s", "/sim.cgi?fault=none"),
        *("/sim.cgi?fault=input_chatter*label:INPD1", "/sim.cgi?fault=relay_bounce*label:OUT1"),
        "/sim.cgi?plant=meter*switch:OUT0*reading:INPD1*watts:2000*pulses:1000",
        f"/sim.cgi?plant={ROOM}",
        *("/outs.cgi?out0=1", "/outs.cgi?out=out1", "/outs.cgi?ortime=15", "/outs.cgi?ortime=00"),
        *("/inpa.cgi?event=0*6*0*190*0*0*0*0*0*0*0*0&eventon=0*1", "/outs.cgi?roafs=11"),
        "/inpa.cgi?event=0*100*0*0*0*0*0*0*0*0*0*0&eventon=0*1",
    ]
)
STORIES = st.lists(ITEMS, max_size=8)


@examples(40)
@given(before=STORIES, between=STORIES, after=STORIES)
def test_same_snapshot_has_the_same_future(
    before: list[str], between: list[str], after: list[str]
) -> None:
    async def run() -> None:
        twin = await LoopTwin.start()
        for item in before:
            await twin.ok(item)
        snapshot = await take_snapshot(twin.controller)
        for item in after:
            await twin.ok(item)
        first = await picture(twin)
        await go_back(twin.controller, snapshot)
        for item in between:
            await twin.ok(item)
        await go_back(twin.controller, snapshot)
        for item in after:
            await twin.ok(item)
        assert await picture(twin) == first

    asyncio.run(run())
