"""Faults of the board, the power, the clock and servers of messages; scopes; what is refused."""

from datetime import UTC, timedelta
from typing import Any

import pytest

from leverframe.core.engine.calls import Notify
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import SystemClock
from leverframe.devices.simulated.fault_catalogue import (
    FAULTS,
    SCOPES,
    BadFault,
    Fault,
    fault_from_fields,
    fault_from_text,
    fields_of,
)
from leverframe.host.assembly import build
from leverframe.host.controller.faults import MAX_FAULTS, ActiveFault
from leverframe.host.controller.snapshot import go_back, take_snapshot
from leverframe.storage.store import MemoryStore
from leverframe.testing import LoopTwin, faults
from tests.cases import for_each
from tests.devices.waiting import until


@pytest.fixture
async def twin() -> LoopTwin:
    return await LoopTwin.start()


def add(twin: LoopTwin, fault: Fault, **scope: Any) -> ActiveFault:
    assert twin.controller.faults is not None
    return twin.controller.faults.add(fault.within(**scope))


def end(twin: LoopTwin, active: ActiveFault) -> None:
    assert twin.controller.faults is not None
    twin.controller.faults.remove(active)


def bench(twin: LoopTwin) -> Any:
    return twin.controller.board.bench


def journal(twin: LoopTwin) -> list[str]:
    entries = twin.controller.engine.machine.journal.entries()
    return [f"{x.cause}: {x.text}" for x in entries if x.cause.kind == "fault"]


async def advance(twin: LoopTwin, seconds: float) -> None:
    await twin.controller.advance(seconds)


# --- relays ---------------------------------------------------------------------------------------


async def test_stuck_relay_stays_and_the_controller_does_not_know(twin: LoopTwin) -> None:
    active = add(twin, faults.stuck_output("OUT0"))
    await twin.ok("/outs.cgi?out0=1")
    assert (await twin.state())["OUT0"] == 1
    assert bench(twin).outputs[0] is False
    assert "fault 1 output_stuck: OUT0 was switched on but is off" in journal(twin)
    end(twin, active)
    assert bench(twin).outputs[0] is True


async def test_other_relays_follow_their_output(twin: LoopTwin) -> None:
    add(twin, faults.stuck_output("OUT0"))
    await twin.ok("/outs.cgi?out1=1")
    assert bench(twin).outputs[:2] == [False, True]


@pytest.mark.parametrize(("at", "stays"), [("on", True), ("off", False)])
async def test_relay_can_be_stuck_where_it_is_not(twin: LoopTwin, at: str, stays: bool) -> None:
    add(twin, faults.stuck_output("OUT1", at))
    for value in (1, 0):
        await twin.ok(f"/outs.cgi?out1={value}")
        assert bench(twin).outputs[1] is stays


async def test_reversed_relay_does_the_opposite(twin: LoopTwin) -> None:
    active = add(twin, faults.reversed_output("OUT2"))
    assert bench(twin).outputs[2] is True
    await twin.ok("/outs.cgi?out2=1")
    assert bench(twin).outputs[2] is False
    end(twin, active)
    assert bench(twin).outputs[2] is True


async def test_relay_bounces_and_comes_to_rest(twin: LoopTwin) -> None:
    add(twin, faults.bounce("OUT0", edges=4, apart=0.002))
    await twin.ok("/outs.cgi?out0=1")
    await advance(twin, 1)
    moves = [(x.now, x.value) for x in bench(twin).history if x.what == "OUT0"][-5:]
    assert [value for _, value in moves] == [1, 0, 1, 0, 1]
    assert [now for now, _ in moves] == pytest.approx([0, 0.002, 0.004, 0.006, 0.008])


async def test_bounce_that_is_cut_short_ends_at_rest(twin: LoopTwin) -> None:
    active = add(twin, faults.bounce("OUT0"))
    await twin.ok("/outs.cgi?out0=1")
    await advance(twin, 0.004)
    end(twin, active)
    assert bench(twin).outputs[0] is True


# --- readings -------------------------------------------------------------------------------------


async def reading(twin: LoopTwin, label: str = "DS1") -> Any:
    return (await twin.state())[label]


async def test_stuck_sensor_keeps_its_value_until_the_end(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=21")
    active = add(twin, faults.stuck("DS1"))
    await twin.ok("/sim.cgi?DS1=30")
    assert await reading(twin) == 21
    end(twin, active)
    assert await reading(twin) == 30


async def test_noisy_sensor_scatters_the_same_way_for_the_same_seed(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?T1=20")
    courses = []
    for _ in range(2):
        active = add(twin, faults.noisy("T1", sigma=1.0), seed=5)
        course = []
        for _ in range(30):
            await advance(twin, 1)
            course.append(await reading(twin, "T1"))
        courses.append(course)
        end(twin, active)
    assert courses[0] == courses[1]
    assert len(set(courses[0])) > 20
    assert 19 < sum(courses[0]) / 30 < 21
    assert await reading(twin, "T1") == 20


async def test_drifting_sensor_leaves_evenly(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=20")
    add(twin, faults.drifting("DS1", per_hour=2.0, every=60))
    await advance(twin, 3600)
    assert await reading(twin) == pytest.approx(22, abs=0.1)
    await advance(twin, 3600)
    assert await reading(twin) == pytest.approx(24, abs=0.1)


async def test_absent_reading_stays_absent(twin: LoopTwin) -> None:
    add(twin, faults.noisy("DS1"))
    await advance(twin, 5)
    assert await reading(twin) is None


async def test_spikes_are_single_samples(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=20")
    add(twin, faults.spikes("DS1", by=40, share=0.2), seed=1)
    seen = []
    for _ in range(50):
        await advance(twin, 1)
        seen.append(await reading(twin))
    assert set(seen) == {20, 60}
    assert 2 < seen.count(60) < 25


@pytest.mark.parametrize(
    ("fault", "shown"),
    [(faults.absent, None), (faults.reads_85, 85), (faults.reads_minus_127, None)],
)
async def test_broken_thermometer(twin: LoopTwin, fault: Any, shown: float | None) -> None:
    await twin.ok("/sim.cgi?DS1=20&DS2=20")
    active = add(twin, fault("DS1"))
    assert await reading(twin) == shown
    assert await reading(twin, "DS2") == 20
    assert len(journal(twin)) == 2
    end(twin, active)
    assert await reading(twin) == 20


async def test_fault_finds_the_sensor_that_is_bound_to_the_label(twin: LoopTwin) -> None:
    sensor = "28:FF:64:1E:8C:16:03:5A"
    await twin.ok(f"/sim.cgi?onewire={sensor}&{sensor}=21.5")
    await twin.ok(f"/stm.cgi?dswrite=1:{sensor}")
    bound = [one.id for one in twin.controller.engine.settings.onewire]
    label = f"DS{bound.index(sensor) + 1}"
    assert await reading(twin, label) == 21.5
    add(twin, faults.reads_85(label))
    assert await reading(twin, label) == 85


async def test_input_chatters_when_it_changes(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?INPD1=1")
    add(twin, faults.chatter("INPD1", edges=4, apart=0.005))
    levels: list[Any] = []
    twin.controller.watchers.add(lambda: levels.append(twin.controller.engine.values["INPD1"]))
    await twin.ok("/sim.cgi?INPD1=1")
    await advance(twin, 1)
    assert set(levels) <= {1}
    await twin.ok("/sim.cgi?INPD1=0")
    for _ in range(5):
        await advance(twin, 0.005)
    assert (await twin.state())["INPD1"] == 0
    assert levels.count(1) >= 2


# --- power and clock ------------------------------------------------------------------------------


async def test_reboot_takes_its_time_and_outputs_drop_out(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?roafs=01&out0=1&out1=1")
    add(twin, faults.reboot(takes="8s"))
    assert bench(twin).outputs[:2] == [False, False]
    await advance(twin, 7.9)
    bench(twin).set_readings({"DS1": 20.0})
    assert twin.controller.engine.values["DS1"] is None
    await advance(twin, 0.2)
    state = await twin.state()
    assert (state["OUT0"], state["OUT1"], state["DS1"]) == (1, 0, 20)
    assert bench(twin).outputs[:2] == [True, False]
    assert twin.controller.engine.uptime(twin.controller.clock.read()) == pytest.approx(0.1)
    assert journal(twin)[1:] == [
        "fault 1 reboot: the controller is off for 8 s",
        "fault 1 reboot: the controller starts",
        "fault 1 reboot: ended; it acted once",
    ]


async def test_reboot_can_lose_the_settings(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?oname=0Pump")
    await twin.ok("/outs.cgi?roafs=01&out0=1")
    mac = twin.controller.store.load().kept["identity.mac"]
    add(twin, faults.reboot(takes=timedelta(seconds=3), loses="settings"))
    await advance(twin, 3)
    await twin.controller.writer.flush()
    assert (await twin.settings())["outputs"][0]["name"] == ""
    assert (await twin.state())["OUT0"] == 0
    again = await LoopTwin.start(store=twin.controller.store)
    assert (await again.settings())["outputs"][0]["name"] == ""
    assert again.controller.store.load().kept["identity.mac"] == mac


async def test_reboot_that_loses_settings_keeps_accounts(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?auth=11Y2hpZWY=*c2VjcmV0LTE=*Z3Vlc3Q=*c2VjcmV0LTI=")
    before = twin.controller.engine.settings.access
    assert before.required
    add(twin, faults.reboot(takes=0, loses="settings"))
    await twin.controller.writer.flush()
    assert twin.controller.engine.settings.access == before
    assert (await twin.ask("/api/settings")).status == 401
    again = await LoopTwin.start(store=twin.controller.store)
    assert again.controller.engine.settings.access == before


async def test_reboot_without_time_is_over_immediately(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?out0=1")
    add(twin, faults.reboot(takes=0))
    assert (await twin.state())["OUT0"] == 0
    assert twin.controller.bootloader_until is None


async def test_reboot_ends_automatically_on_real_time() -> None:
    built = await build(Profile(), MemoryStore(), SystemClock(), UTC)
    twin = LoopTwin(built.controller, built.web)
    await twin.ok("/outs.cgi?out0=1")
    add(twin, faults.reboot(takes=0.05))
    await until(lambda: twin.controller.bootloader_until is None)
    assert (await twin.state())["OUT0"] == 0
    await built.stop()


async def test_being_off_is_not_waiting_for_firmware(twin: LoopTwin) -> None:
    changes: list[bool] = []
    twin.controller.bootloader_watchers.append(changes.append)
    add(twin, faults.reboot(takes="10s"))
    off = await take_snapshot(twin.controller)
    await advance(twin, 20)
    await go_back(twin.controller, off)
    assert twin.controller.faults is not None
    assert twin.controller.bootloader_until is not None
    await advance(twin, 20)
    assert twin.controller.bootloader_until is None
    assert changes == []


async def test_brown_out_comes_again_and_again(twin: LoopTwin) -> None:
    await twin.ok("/outs.cgi?oafs=01")
    add(twin, faults.brown_out(cycles=3, off=1, on=2))
    await advance(twin, 60)
    moves = [(round(x.now, 3), x.value) for x in bench(twin).history if x.what == "OUT0"]
    ons = [now for now, value in moves if value == 1]
    assert ons[-3:] == [1, 4, 7]
    assert twin.controller.faults is not None
    assert twin.controller.faults.report() == []


async def test_reboot_that_is_taken_back_is_over(twin: LoopTwin) -> None:
    active = add(twin, faults.reboot(takes="1h"))
    await advance(twin, 5)
    end(twin, active)
    assert twin.controller.bootloader_until is None
    await twin.ok("/outs.cgi?out0=1")


async def test_wrong_clock_is_right_again_at_the_end(twin: LoopTwin) -> None:
    before = twin.controller.clock.wall()
    add(twin, faults.clock_wrong(by=-7200), for_="10m")
    assert twin.controller.clock.wall() == before - 7200
    await advance(twin, 600)
    assert twin.controller.clock.wall() == before + 600


async def test_clock_jumps_forth_and_back(twin: LoopTwin) -> None:
    before = twin.controller.clock.wall()
    active = add(twin, faults.clock_jumps(by=600, every="1m"))
    seen = []
    for _ in range(4):
        seen.append(twin.controller.clock.wall() - before - twin.controller.clock.now())
        await advance(twin, 60)
    assert seen == [600, 0, 600, 0]
    end(twin, active)
    assert twin.controller.clock.wall() == before + 240


# --- messages -------------------------------------------------------------------------------------


async def test_messages_wait_while_their_server_is_down(twin: LoopTwin) -> None:
    await twin.ok("/stm.cgi?em1=mail.example&em5=bert@example.org&em6=a@b.c")
    active = add(twin, faults.down("mail"))
    twin.controller.on_notify(Notify("email", 1, True, "test", None, None, "subject", "text"))
    outbox = await twin.json("/api/outbox")
    assert outbox["captured"] == []
    assert [one["problem"] for one in outbox["waiting"]] == [
        "The mail is down because of a simulated fault."
    ]
    snapshot = await take_snapshot(twin.controller)
    for _ in range(2):
        end(twin, active)
        outbox = await twin.json("/api/outbox")
        assert outbox["waiting"] == []
        assert [one["problem"] for one in outbox["captured"]] == [None]
        await go_back(twin.controller, snapshot)


# --- scopes, snapshots, mistakes ------------------------------------------------------------------


async def test_fault_begins_later_and_ends_automatically(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=20")
    add(twin, faults.absent("DS1"), after="10s", for_="5s")
    seen = []
    for _ in range(4):
        seen.append(await reading(twin))
        await advance(twin, 5)
    assert seen == [20, 20, None, 20]


async def test_faults_go_back_in_time_with_the_controller(twin: LoopTwin) -> None:
    await twin.ok("/sim.cgi?DS1=20")
    active = add(twin, faults.noisy("DS1"), seed=3)
    snapshot = await take_snapshot(twin.controller)
    futures = []
    for _ in range(2):
        course = []
        for _ in range(10):
            await advance(twin, 1)
            course.append(await reading(twin))
        futures.append(course)
        end(twin, active)
        await go_back(twin.controller, snapshot)
    assert futures[0] == futures[1]
    assert twin.controller.faults is not None
    assert [one.number for one in twin.controller.faults.report()] == [1]


async def test_faults_are_bounded(twin: LoopTwin) -> None:
    for _ in range(MAX_FAULTS):
        add(twin, faults.frozen())
    with pytest.raises(BadFault, match="up to 100"):
        add(twin, faults.frozen())


@for_each(
    ("make", "reason"),
    [
        (lambda: fault_from_text("melted"), "Allowed: slow, drip"),
        (lambda: faults.slow("soon"), "delay"),
        (lambda: faults.slow(-1), "delay"),
        (lambda: faults.stuck("DS9"), "Allowed: CO2, DISTANCE, DS1"),
        (lambda: faults.chatter("DS1"), "INPD1, INPD2"),
        (lambda: faults.status(99), "300 to 599"),
        (lambda: faults.down("door"), "mail, broker, modem, http"),
        (lambda: faults.refuse().within(path="/x"), "refuse has no 'path'. Allowed: after, for"),
        (lambda: faults.slow(1).within(path="x"), "a path such as"),
        (lambda: faults.slow(1).within(times=0), "1 to 1000000 times"),
        (lambda: fault_from_text("slow"), "slow needs delay"),
        (lambda: fault_from_text("slow*5s"), "NAME:VALUE"),
        (lambda: fault_from_fields("raw", {"key": "x", "value": "y" * 101}), "any text"),
    ],
)
def test_impossible_fault_is_refused_at_the_call(make: Any, reason: str) -> None:
    with pytest.raises(BadFault) as refusal:
        make()
    assert reason in str(refusal.value)


@for_each("kind", FAULTS)
def test_every_kind_has_a_function_docs_and_fields_that_are_known(kind: str) -> None:
    one = FAULTS[kind]
    assert one.doc.endswith(".")
    assert one.real.endswith(".")
    assert set(one.scopes) <= SCOPES.keys()
    assert fields_of(kind).keys() == {*one.fields, *one.scopes}
    makers = {made.kind for made in EVERY}
    assert kind in makers


EVERY = (
    *(faults.slow(1), faults.drip(), faults.refuse(), faults.reset(), faults.reset_after(3)),
    *(faults.cut(), faults.wrong_length(), faults.status(), faults.garbage(), faults.stale()),
    *(faults.content_type(), faults.half_open(), faults.frozen(), faults.raw("ds1", "x")),
    *(faults.mqtt(), faults.reply("/own", "x", headers={"A": "b"})),
    *(faults.reboot(), faults.brown_out(), faults.clock_wrong(), faults.clock_jumps()),
    *(faults.stuck_output("OUT0"), faults.reversed_output("OUT0"), faults.bounce("OUT0")),
    *(faults.stuck("DS1"), faults.noisy("DS1"), faults.drifting("DS1"), faults.spikes("DS1")),
    *(faults.absent("DS1"), faults.reads_85("DS1"), faults.reads_minus_127("DS1")),
    *(faults.chatter("INPD1"), faults.modbus(), faults.down("mail")),
)


@for_each("fault", EVERY, ids=lambda fault: fault.text)
def test_written_fault_is_read_as_the_same_fault(fault: Fault) -> None:
    again = fault_from_text(fault.text)
    assert (again.kind, again.fields) == (fault.kind, fault.fields)
