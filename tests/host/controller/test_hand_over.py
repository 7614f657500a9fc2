"""A controller that resumes in another process: unchanged, or refused with a reason."""

import asyncio
import logging
import re
import time
import zlib
from datetime import UTC
from hashlib import blake2b
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.journal import Cause
from leverframe.core.engine.portable_state import FORMAT, UnfitState
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock, VirtualClock
from leverframe.core.tree import leaves, settings_from_leaves, with_value
from leverframe.host.assembly import build
from leverframe.host.controller import hand_over as hand_over_module
from leverframe.host.controller.hand_over import (
    MAX_AGE_S,
    LiveExport,
    SavedLive,
    export_live,
    hand_over,
    open_live,
    resume_clock,
    settings_digest,
)
from leverframe.host.controller.hooks import MOVING
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin

ROOM = "room*heater:PWM1*reading:DS1*outside:5*power:30*time_constant:1h*start:18"
TANK = "tank*pump:OUT3*reading:INPA1*switch:INPD2*height:1000*fill:20*drain:5"
#: The format of live state, and what it was when the number was raised last.
NOTED = (3, "6ab5193fabfece0d")
OLDER = "The controller starts as after a power cut."


class Moving:
    """A controller in virtual time that changes its process."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.twin: LoopTwin

    async def begin(self) -> "Moving":
        self.twin = await LoopTwin.start(store=self.store)
        return self

    async def leave(self) -> SavedLive:
        await self.twin.controller.writer.flush()
        saved = hand_over(self.twin.controller)
        await self.twin.close()
        assert saved is not None
        return saved

    async def arrive(self, saved: SavedLive, after_s: float = 0.0, **changed: Any) -> None:
        live = replace(open_live(saved, Profile()), **changed)
        clock = resume_clock(live, saved, VirtualClock(live.at.wall + after_s))
        built = await build(Profile(), self.store, clock, UTC, live=live)
        self.twin = LoopTwin(built.controller, built.web)

    async def move(self, after_s: float = 0.0) -> None:
        await self.arrive(await self.leave(), after_s)

    def journal(self) -> list[str]:
        entries = self.twin.controller.engine.machine.journal.entries()
        return [f"{entry.cause}: {entry.text}" for entry in entries]

    async def picture(self) -> dict[str, Any]:
        controller = self.twin.controller
        state = await self.twin.state()
        return {
            "state": {**state, "settings_revision": "any", "outbox": "any"},
            "journal": [line for line in self.journal() if "resumed: the node changed" not in line],
            "driven": (controller.board.bench.outputs, controller.board.bench.levels),  # type: ignore[union-attr]
            "due": controller.next_deadline(),
        }


async def live(twin: LoopTwin) -> None:
    """Much that runs on: a pulse, periodic switching, a ramp, a regulator, plants, a delay."""
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/outs.cgi?pulse0=900&out2=1")
    await twin.ok(f"/sim.cgi?plant={ROOM}")
    await twin.ok(f"/sim.cgi?plant={TANK}&T1=21.5&H1=40&INPD1=0&ping=router:20")
    await twin.ok("/inpa.cgi?event=0*6*0*190*0*0*0*0*0*0*0*0&eventon=0*1")
    await twin.ok("/outs.cgi?out3=1")
    await twin.ok("/sim.cgi?advance=100")


async def test_handed_over_controller_behaves_as_one_that_stayed() -> None:
    moved, stayed = await Moving().begin(), await Moving().begin()
    for one in (moved, stayed):
        await live(one.twin)
    await moved.move()
    for one in (moved, stayed):
        for step in range(3):
            await one.twin.ok("/sim.cgi?advance=333")
            await one.twin.ok(f"/outs.cgi?out1={step % 2}")
    there, here = await moved.picture(), await stayed.picture()
    assert there == here
    assert "start: resumed: the node changed or was restarted" in moved.journal()


async def test_pulse_has_left_what_was_left_minus_the_time_of_the_move() -> None:
    moving = await Moving().begin()
    await moving.twin.ok("/outs.cgi?pulse0=10")
    await moving.twin.ok("/sim.cgi?advance=4")
    await moving.move(after_s=2)
    controller = moving.twin.controller
    now = controller.clock.now()
    assert controller.engine.outputs.returns_in(0, now) == pytest.approx(4)
    assert controller.engine.uptime(controller.clock.read()) == pytest.approx(6)
    await moving.twin.ok("/sim.cgi?advance=3.9")
    assert (await moving.twin.outputs())[0] == "1"
    await moving.twin.ok("/sim.cgi?advance=0.2")
    assert (await moving.twin.outputs())[0] == "0"
    await moving.twin.ok("/outs.cgi?pulse0=10")
    await moving.move(after_s=60)
    assert (await moving.twin.outputs())[0] == "0"


async def test_controller_that_handed_over_does_nothing() -> None:
    moving = await Moving().begin()
    twin = moving.twin
    await twin.ok("/outs.cgi?pulse0=10")
    saved = hand_over(twin.controller)
    await twin.controller.advance(100)
    assert twin.controller.engine.values["OUT0"] == 1
    assert twin.controller.why_refused is not None
    assert twin.controller.why_refused() == MOVING
    entries = len(moving.journal())
    await twin.close()
    assert len(moving.journal()) == entries
    assert saved is not None


@pytest.mark.parametrize(
    ("target", "method"),
    [
        ("/sim.cgi?DS1=31", "GET"),
        ("/sim.cgi?sms=%2B48601:1234:out=0&DS1=31", "GET"),
        ("/api/sim/snapshots?take=one", "POST"),
        ("/outs.cgi?out0=1", "GET"),
        ("/api/state", "GET"),
    ],
)
async def test_requests_to_a_handed_over_controller_are_refused_with_a_retry(
    target: str, method: str
) -> None:
    moving = await Moving().begin()
    twin = moving.twin
    await twin.ok("/sim.cgi?DS1=20")
    assert hand_over(twin.controller) is not None
    problem = await twin.refused(target, 503, method)
    assert problem["detail"] == MOVING.reason
    assert twin.controller.board.bench is not None
    assert twin.controller.board.bench.readings["DS1"] == 20
    await twin.close()


async def test_changes_before_the_hand_over_are_confirmed() -> None:
    moving = await Moving().begin()
    twin = moving.twin
    bench = twin.controller.board.bench
    assert bench is not None
    for switched_each_second in ("atout=0*1", "atout=6*1", "aout=01"):
        await twin.ok(f"/outs.cgi?{switched_each_second}")
    asked = asyncio.create_task(twin.refused("/sim.cgi?DS1=20&advance=3600&DS1=31", 503))
    # So much happens in an hour that other tasks have their turn in between.
    await asyncio.sleep(0)
    assert bench.readings["DS1"] == 20
    assert hand_over(twin.controller) is not None
    assert "Items carried out before that: 2." in (await asked)["detail"]
    assert bench.readings["DS1"] == 20
    await twin.close()


async def test_controller_without_power_has_nothing_to_hand_over() -> None:
    twin = await LoopTwin.start()
    twin.controller.lose_power()
    assert hand_over(twin.controller) is None
    await twin.close()


async def test_state_remembered_after_the_last_save_counts() -> None:
    moving = await Moving().begin()
    controller = moving.twin.controller
    await moving.twin.ok("/outs.cgi?roafs=11")
    await moving.twin.ok("/inpa.cgi?powsave=1&powset=05000")
    digest = settings_digest(controller.profile, controller.engine.settings)
    saved = export_live(controller, digest)
    await moving.twin.ok("/outs.cgi?out1=1")
    await moving.twin.ok("/inpa.cgi?powset=07500")
    controller.engine.energy.count(1, False, Cause("command"))
    controller.carry_out(controller.engine.tick(controller.clock.read()))
    await controller.writer.flush()
    # The process is killed: what was acknowledged is in the store.
    assert saved is not None
    await moving.arrive(saved)
    state = await moving.twin.state()
    assert (await moving.twin.outputs())[1] == "1"
    assert moving.twin.controller.engine.values["ENERGY1"] == 7.5, state
    assert not moving.twin.controller.engine.energy.is_counting(1)


async def start_as_after_power_cut(
    moving: Moving, saved: SavedLive, caplog: Any, **changed: Any
) -> str:
    caplog.clear()
    with caplog.at_level(logging.WARNING):
        await moving.arrive(saved, **changed)
    assert (await moving.twin.outputs())[0] == "0"
    assert moving.twin.controller.engine.next_deadline() is None
    (message,) = [one.getMessage() for one in caplog.records if OLDER in one.getMessage()]
    return message


async def test_other_settings_and_damage_are_logged_and_the_controller_starts(caplog: Any) -> None:
    moving = await Moving().begin()
    await moving.twin.ok("/outs.cgi?pulse0=900")
    saved = await moving.leave()
    (message,) = (await start_as_after_power_cut(moving, saved, caplog, settings="another"),)
    assert message == f"The settings were changed after the live state was saved. {OLDER}"
    live = open_live(saved, Profile())
    engine = replace(live.engine, guards=live.engine.guards[1:])
    assert "damaged" in await start_as_after_power_cut(moving, saved, caplog, engine=engine)
    board = replace(live.board, levels=[])
    assert "other outputs" in await start_as_after_power_cut(moving, saved, caplog, board=board)


def structs_of(kind: Any, found: dict[str, list[str]]) -> dict[str, list[str]]:
    """Describe a struct and all that are part of it: fields with their types, in order."""
    for part in get_args(kind):
        structs_of(part, found)
    if isinstance(kind, type) and issubclass(kind, Struct) and kind.__name__ not in found:
        hints = get_type_hints(kind)
        # The module that a type is in may change.
        found[kind.__name__] = [
            f"{name}: {re.sub(r'leverframe[.a-z_]*[.]', '', str(hints[name]))}"
            for name in kind.__struct_fields__
        ]
        for name in kind.__struct_fields__:
            structs_of(hints[name], found)
    return found


def test_another_format_has_another_number() -> None:
    described = msgspec.json.encode(structs_of(LiveExport, {}), order="deterministic")
    digest = blake2b(described, digest_size=8).hexdigest()
    assert (FORMAT, digest) == NOTED, "the format changed: raise FORMAT, and note both here"


def with_header(saved: SavedLive, **changed: Any) -> SavedLive:
    plain = msgspec.json.decode(zlib.decompress(saved.data)) | changed
    return replace(saved, data=zlib.compress(msgspec.json.encode(plain)))


async def test_state_saved_by_another_program_or_version_is_refused_in_words() -> None:
    moving = await Moving().begin()
    saved = await moving.leave()
    with pytest.raises(UnfitState, match=f"format 99, of another program version; .* {FORMAT}"):
        open_live(with_header(saved, format=99), Profile())
    with pytest.raises(UnfitState, match="for HW 3.5.*, but the controller is now HW 3.9"):
        open_live(with_header(saved, profile={"hw": "3.5", "sw": "1.49"}), Profile())
    with pytest.raises(UnfitState, match="301 s old, which is too old"):
        open_live(replace(saved, age_s=MAX_AGE_S + 1), Profile())
    for damaged in (b"", zlib.compress(b"{}"), saved.data[:-9], with_header(saved, engine=5).data):
        with pytest.raises(UnfitState, match="The live state is damaged"):
            open_live(replace(saved, data=damaged), Profile())


async def test_real_pins_do_not_move(monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    moving = await Moving().begin()
    saved = await moving.leave()
    monkeypatch.setattr(type(moving.twin.controller.board), "bench", None)
    assert export_live(moving.twin.controller, "") is None
    with pytest.raises(UnfitState, match="real pins cannot move"):
        hand_over_module._resume(moving.twin.controller, open_live(saved, Profile()))


async def test_clock_that_was_set_stays_set_and_another_machines_is_noticed() -> None:
    moving = await Moving().begin()
    twin = moving.twin
    await twin.ok("/sim.cgi?advance=100")
    wall = twin.controller.clock.wall()
    saved = await moving.leave()
    await moving.arrive(saved, ahead_s=3600.0, at=Moment(100.0, wall))
    assert moving.twin.controller.clock.wall() == pytest.approx(wall + 3600)
    assert moving.twin.controller.engine.machine.at.wall == pytest.approx(wall + 3600)


async def test_clock_of_a_process_resumes_where_another_was() -> None:
    moving = await Moving().begin()
    saved = await moving.leave()
    live: LiveExport = open_live(saved, Profile())
    old = replace(saved, age_s=5.0, as_of=time.monotonic())
    clock = resume_clock(replace(live, at=Moment(1000.0, 0.0)), old, SystemClock())
    assert 1005.0 <= clock.now() < 1006.0
    assert not clock.was_stepped()


def test_fingerprint_of_settings_covers_stored_values_without_secrets() -> None:
    profile = Profile()
    settings, _ = settings_from_leaves(profile, {"outputs.0.name": "Pump", "pid.target": 20})
    stored = msgspec.json.decode(msgspec.json.encode(dict(leaves(settings))))
    again, _ = settings_from_leaves(profile, stored)
    assert settings_digest(profile, again) == settings_digest(profile, settings)
    other = with_value(settings, "outputs.0.name", "Fan")
    assert settings_digest(profile, other) != settings_digest(profile, settings)
    listed = [with_value(settings, "impulse_time", one) for one in ((True, False), (False, True))]
    assert len({settings_digest(profile, one) for one in listed}) == 2
    secrets = [with_value(settings, "email.password", text) for text in ("one", "two")]
    assert len({settings_digest(profile, one) for one in secrets}) == 1


async def test_export_holds_no_secret() -> None:
    twin = await LoopTwin.start()
    await twin.ok("/stm.cgi?gsmcode=s3cret")
    saved = hand_over(twin.controller)
    assert saved is not None
    assert b"s3cret" not in zlib.decompress(saved.data)
    await twin.close()


async def test_controller_that_cannot_be_exported_is_logged_and_stops(
    monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    def fails(*_: Any) -> SavedLive:
        raise RuntimeError("not today")

    monkeypatch.setattr(hand_over_module, "export_live", fails)
    twin = await LoopTwin.start()
    assert hand_over(twin.controller) is None
    assert "the live state cannot be exported" in caplog.text
    await twin.close()
