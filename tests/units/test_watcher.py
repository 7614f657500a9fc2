"""The watch over units: what they measure, or nothing; and every trouble in words."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from leverframe.core.engine.pwm import DUTIES
from leverframe.core.labels import LABELS
from leverframe.devices.wire.prometheus import prometheus_text
from leverframe.testing import Twin, faults
from leverframe.testing.faults import Fault
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.comparison import DriftedSetting
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_health import (
    ANSWER,
    DOUBLE,
    DRIFT,
    FINDING,
    MAC,
    REACH,
    SIGN_IN,
    STALE,
    VALUES,
    UnitHealth,
    worst_first,
)
from leverframe.units.watch_web import unit_families
from leverframe.units.watcher import WatchedUnit
from tests.patience import PATIENCE_S
from tests.ports import free_port

from .watch_bench import LOOK_S, as_real_unit, watching

#: What the twins measure; a watcher may report this, or nothing.
DRIFTED = DriftedSetting("outputs.1.name", "nothing", '"Pump"')
TRUTH = {"DS1": 21.5, "T1": -3.0, "CO2": 612.0, "VCC": 12.0}


@pytest.fixture(params=[("3.9", "1.75"), ("3.0", "1.58a")])
def unit(request: pytest.FixtureRequest) -> Iterator[Twin]:
    hw, sw = request.param
    with Twin(hw=hw, sw=sw, name="Cellar", mac="02:11:22:33:44:55") as twin:
        as_real_unit(twin)
        twin.sense(TRUTH)
        twin.command("/outs.cgi?out1=1")
        yield twin


def is_never_wrong(health: UnitHealth, twin: Twin) -> None:
    """Each reported value is that of the twin; a sign for absent may be 0 there."""
    state = twin.state
    for label, value in health.values.items():
        known = state[label]
        assert value == known or (known is None and value == 0), label


async def test_real_unit_is_reported_with_all_its_values(unit: Twin) -> None:
    async with watching(WatchedUnit("cellar", unit.url)) as bench:
        await unit.aadvance(60)
        health = await bench.look()
        is_never_wrong(health, unit)
        assert health.is_up
        assert health.troubles == {}
        assert (health.mac, health.hardware) == ("02:11:22:33:44:55", unit.profile.hw)
        assert health.values["DS1"] == 21.5
        assert health.values["OUT1"] == 1
        assert health.values["DS2"] is None
        assert health.uptime_s == 60


async def test_leverframe_reports_its_values_exactly_and_its_findings_worst_first() -> None:
    async with Twin() as twin:
        await twin.asense(INPA1=1.23456)
        async with watching(WatchedUnit("cellar", twin.url)) as bench:
            health = await bench.look()
            state = await twin.astate()
            assert health.values == {label: state[label] for label in (*LABELS, *DUTIES)}
            assert (health.troubles, health.health) == ({}, "fine")
            # Its regulator is on, but drives nothing.
            await twin.acommand("/stm.cgi?pidvalue=1*0*300*200*0*0*1")
            twin.controller.troubles["store"] = "The disk is full."
            await bench.look()
            health = await bench.look()
            assert list(health.troubles.values()) == [
                "Storage: The disk is full.",
                "The PID regulator is on, but its output PWM1 is off.",
            ]
            assert [one.page for one in health.findings] == ["system?open=storage", "pid"]
            assert health.health == "fault"
            # One message for each, with its end.
            assert bench.notice_states() == [
                (f"{FINDING}trouble.store", True),
                (f"{FINDING}pid_output_off.PWM1", True),
            ]
            assert [notice.severity for notice in bench.notices] == ["fault", "attention"]
            del twin.controller.troubles["store"]
            health = await bench.look()
            assert bench.notices[-1].sentence == "No longer found: Storage: The disk is full."
            assert health.health == "attention"


async def test_dead_unit_has_no_findings_and_no_drift() -> None:
    async with Twin() as unit:
        watched = WatchedUnit("cellar", unit.url, compare=lambda pulled: [DRIFTED])
        async with watching(watched) as bench:
            unit.controller.troubles["store"] = "The disk is full."
            await bench.look()
            await bench.look()
            await bench.watcher.pull("cellar")
            known = bench.notice_states()
            assert (len(known), bench.watcher.health["cellar"].health) == (2, "fault")
            with unit.fault(faults.status(500)):
                for _ in range(2):
                    health = await bench.look()
                    shown = health.public_fields()
                    assert list(shown["troubles"]) == [ANSWER]
                    assert (shown["drift"], shown["differences"]) == (None, None)
                    assert (shown["findings"], shown["uptime_s"]) == ([], None)
                    assert health.health == "lost"
                    text = prometheus_text(unit_families([health])).decode()
                    assert "leverframe_unit_drift{" not in text
            # What was known before is known again, and is no news.
            assert len((await bench.look()).troubles) == 2
            assert bench.notice_states() == [*known, (ANSWER, True), (ANSWER, False)]


WRONG = UnitLogin("admin", "wrong")


@pytest.mark.parametrize(
    ("status", "login"), [(401, None), (401, WRONG), (403, WRONG), (429, WRONG)]
)
async def test_refused_login_is_reported_as_such(status: int, login: UnitLogin | None) -> None:
    async with Twin() as unit, watching(WatchedUnit("cellar", unit.url, login)) as bench:
        with unit.fault(faults.status(status)):
            (sentence,) = (await bench.look()).troubles.values()
            await bench.watcher.pull("cellar")
        health = bench.watcher.health["cellar"]
        assert list(health.troubles) == [SIGN_IN]
        assert "login" in sentence
        assert "--user" not in sentence + health.beside.get("pull", ("", ""))[1]


async def test_refused_login_is_not_repeated_often_so_that_no_unit_locks_it() -> None:
    async with Twin() as unit:
        watched = (WatchedUnit("cellar", unit.url, WRONG), WatchedUnit("attic", unit.url))
        async with watching(*watched, look_every_s=30.0, pull_every_s=900.0) as bench:
            waits = bench.watcher.seconds_to_next_look
            with unit.fault(faults.status(401)):
                await bench.look("cellar")
                await bench.look("attic")
            # Without a login none can be locked.
            assert (waits("cellar"), waits("attic")) == (900.0, 30.0)
            await bench.look("cellar")
            assert waits("cellar") == 30.0


@pytest.mark.parametrize(
    ("uptime_s", "age"),
    [(20, "20s"), (310, "5m10s"), (9005, "2h30m"), (86400 * 3 + 4 * 3600 + 59, "3d4h")],
)
async def test_restart_is_dated_by_the_uptime(uptime_s: int, age: str) -> None:
    async with Twin() as unit:
        as_real_unit(unit)
        async with watching(WatchedUnit("cellar", unit.url)) as bench:
            await unit.aadvance("5d")
            await bench.look()
            unit.reboot()
            # It needs 5 s to start.
            await unit.aadvance(uptime_s + 5)
            health = await bench.look(after_s=uptime_s + 60)
            assert [one.sentence for one in bench.notices] == [f"The unit restarted {age} ago."]
            assert health.restarted == bench.clock.wall() - uptime_s


@pytest.fixture(scope="module")
def faulty() -> Iterator[Twin]:
    with Twin() as twin:
        as_real_unit(twin)
        twin.sense(TRUTH)
        yield twin


#: Faults that are waited for until the patience ends.
NEVER_DONE = ("slow", "drip", "frozen")
#: What units do most; the others are tried in thorough runs.
FAULTS: list[tuple[Fault, str]] = [
    (faults.slow("5s"), REACH),
    (faults.refuse(), REACH),
    (faults.reboot("1h"), REACH),
    (faults.status(401), SIGN_IN),
    (faults.garbage("body"), ANSWER),
    (faults.raw("ds1", "abc"), VALUES),
    (faults.raw("ind", "99"), VALUES),
    (faults.raw("mac", "02:00:00:00:00:01"), MAC),
]
RARER_FAULTS: list[tuple[Fault, str]] = [
    (faults.drip(50), REACH),
    (faults.reset(), REACH),
    (faults.reset_after(200), REACH),
    (faults.cut(), REACH),
    (faults.wrong_length(10), REACH),
    (faults.frozen(), REACH),
    (faults.status(500), ANSWER),
    (faults.status(503), ANSWER),
    (faults.garbage("answer"), REACH),
    (faults.raw("ds1", "21.5"), VALUES),
    (faults.raw("out1", "yes"), VALUES),
    (faults.raw("mac", "nonsense"), ANSWER),
    (faults.raw("sw", "nonsense"), ANSWER),
    (faults.raw("hw", "9.9"), ANSWER),
    (faults.raw("uptimeSeconds", "77"), ANSWER),
]


@pytest.mark.parametrize(
    ("fault", "kind"),
    [*FAULTS, *(pytest.param(*one, marks=pytest.mark.thorough) for one in RARER_FAULTS)],
    ids=lambda one: getattr(one, "kind", str(one)),
)
async def test_fault_is_reported_and_no_value_is_ever_wrong(
    faulty: Twin, fault: Fault, kind: str
) -> None:
    async with watching(WatchedUnit("cellar", faulty.url)) as bench:
        await faulty.aadvance(LOOK_S)
        assert (await bench.look()).troubles == {}
        with faulty.fault(fault):
            if fault.kind in NEVER_DONE:
                bench.wait_for_answers(0.25)
            for _ in range(2):
                await faulty.aadvance(LOOK_S)
                health = await bench.look()
                is_never_wrong(health, faulty)
                assert kind in health.troubles, health.troubles
                assert health.is_up == (kind == VALUES)
                if not health.is_up:
                    assert health.values == {}
            assert (kind, True) in bench.notice_states()
        bench.wait_for_answers(PATIENCE_S)
        await faulty.aadvance("2h")
        health = await bench.look(after_s=7200)
        assert health.troubles == {}
        is_never_wrong(health, faulty)
        assert health.values["DS1"] == 21.5
        assert (kind, False) in bench.notice_states()


async def test_old_answer_that_is_given_again_is_not_taken_for_news() -> None:
    async with Twin() as unit:
        as_real_unit(unit)
        await unit.asense(DS1=20.0)
        async with watching(WatchedUnit("cellar", unit.url)) as bench:
            await unit.aadvance(LOOK_S)
            await bench.look()
            with unit.fault(faults.stale()):
                await unit.aadvance(LOOK_S)
                # The first answer under the fault is the one that is given again.
                await bench.look()
                await unit.asense(DS1=90.0)
                await unit.aadvance(LOOK_S)
                health = await bench.look()
                assert STALE in health.troubles
                assert health.values == {}
            await unit.aadvance(LOOK_S)
            assert (await bench.look()).values["DS1"] == 90.0


async def test_one_glitch_is_shown_but_no_reason_for_a_message() -> None:
    async with Twin() as unit, watching(WatchedUnit("cellar", unit.url)) as bench:
        await bench.look()
        with unit.fault(faults.status(500)):
            assert ANSWER in (await bench.look()).troubles
        assert (await bench.look()).troubles == {}
        assert bench.notices == []


async def test_restart_is_counted_and_reported_even_after_a_long_run() -> None:
    async with Twin() as unit:
        as_real_unit(unit)
        async with watching(WatchedUnit("cellar", unit.url)) as bench:
            await unit.aadvance("1h")
            await bench.look()
            await unit.aadvance(LOOK_S)
            assert (await bench.look()).restarts == 0
            unit.reboot()
            await unit.aadvance(20)
            health = await bench.look()
            assert health.restarts == 1
            assert bench.notice_states() == [("restart", True)]
            unit.reboot()
            # It has run for longer than before, but not for as long as time has passed.
            await unit.aadvance(500)
            assert (await bench.look(after_s=900)).restarts == 2


async def test_sensor_that_disappears_is_reported_and_its_return_too() -> None:
    async with Twin() as unit:
        as_real_unit(unit)
        await unit.asense(DS1=20.0, DS2=30.0)
        async with watching(WatchedUnit("cellar", unit.url)) as bench:
            for kind in ({}, {"lost DS1": "DS1 no longer has a value."}):
                await unit.aadvance(LOOK_S)
                assert (await bench.look()).troubles == kind
                unit.unplug("DS1")
            await unit.aadvance(LOOK_S)
            await bench.look()
            await unit.asense(DS1=21.0)
            await unit.aadvance(LOOK_S)
            await bench.look()
            assert bench.notice_states() == [("lost DS1", True), ("lost DS1", False)]


async def test_history_has_every_change_and_a_gap_where_nothing_is_known() -> None:
    async with Twin() as unit:
        await unit.asense(DS1=20.0)
        async with watching(WatchedUnit("cellar", unit.url)) as bench:
            await bench.look()
            await bench.look()
            await unit.asense(DS1=21.0)
            await bench.look()
            with unit.fault(faults.status(500)):
                await bench.look()
            await bench.look()
            values = [value for _, label, value in bench.samples if label == "cellar/DS1"]
            assert values == [20.0, 21.0, None, 21.0]


async def test_two_units_with_one_mac_address_are_reported() -> None:
    mac = "02:11:22:33:44:55"
    async with Twin(mac=mac) as first, Twin(mac=mac) as second:
        units = (WatchedUnit("one", first.url), WatchedUnit("two", second.url))
        async with watching(*units) as bench:
            await bench.look("one")
            await bench.look("two")
            for name, other in (("one", "two"), ("two", "one")):
                sentence = bench.watcher.health[name].troubles[DOUBLE]
                assert mac in sentence
                assert other in sentence


async def test_address_without_a_unit_is_reported_and_delays_no_other_unit() -> None:
    async with Twin() as unit:
        absent = WatchedUnit("absent", f"http://127.0.0.1:{free_port()}")
        async with watching(WatchedUnit("cellar", unit.url), absent) as bench:
            await bench.look("cellar")
            assert REACH in (await bench.look("absent")).troubles
            units = bench.watcher.health.values()
            assert [unit.name for unit in worst_first(units)] == ["absent", "cellar"]


async def test_unit_that_differs_from_its_file_is_reported_by_its_first_difference() -> None:
    async with Twin() as unit:
        wanted = [DRIFTED]
        watched = WatchedUnit("cellar", unit.url, compare=lambda pulled: list(wanted))
        async with watching(watched) as bench:
            await bench.look()
            await bench.watcher.pull("cellar")
            health = bench.watcher.health["cellar"]
            assert health.drift == ['outputs.OUT1.name is nothing, not "Pump"']
            assert health.differences == wanted
            assert health.drift[0] in health.troubles[DRIFT]
            assert bench.notice_states() == [(DRIFT, True)]
            await bench.look()
            assert DRIFT in health.troubles
            wanted.clear()
            await bench.watcher.pull("cellar")
            assert health.drift == []
            assert bench.notice_states() == [(DRIFT, True), (DRIFT, False)]


async def test_settings_that_cannot_be_read_are_no_drift_but_a_trouble() -> None:
    def nonsense(_: Any) -> list[DriftedSetting]:
        raise RuntimeError("a fault of ours")

    async with (
        Twin() as unit,
        watching(WatchedUnit("cellar", unit.url, compare=nonsense)) as bench,
    ):
        health = bench.watcher.health["cellar"]
        assert await bench.watcher.pull("cellar") is None
        assert health.drift is None
        assert "pull" in health.troubles
        with unit.fault(faults.status(401)):
            assert await bench.watcher.pull("cellar") is None
        assert "cannot be compared" in health.troubles["pull"]


async def test_watch_continues_automatically_and_ends_in_order() -> None:
    looked = asyncio.Event()

    def compare(_: PulledUnit) -> list[DriftedSetting]:
        looked.set()
        return []

    async with (
        Twin() as unit,
        watching(WatchedUnit("cellar", unit.url, compare=compare), look_every_s=0.01) as bench,
    ):
        bench.watcher.start()
        async with asyncio.timeout(PATIENCE_S):
            await looked.wait()
            looked.clear()
            bench.clock.move_to(bench.clock.now() + 3600)
            await looked.wait()
        assert bench.watcher.health["cellar"].looks >= 2


def test_figures_leave_out_what_is_not_known() -> None:
    up = UnitHealth("cellar", "http://192.0.2.1", mac="02:11:22:33:44:55", hardware="3.9")
    up.is_up, up.values, up.uptime_s = True, {"DS1": 21.5, "OUT0": 1, "PWM0.duty": 40.0}, 5.0
    up.compared = []
    lost = UnitHealth("attic", "http://192.0.2.2")
    lost.fail(REACH, "No answer.")
    text = prometheus_text(unit_families([up, lost])).decode()
    assert 'leverframe_unit_reading{name="cellar",label="DS1"} 21.5' in text
    assert 'leverframe_unit_state{name="cellar",label="OUT0"} 1' in text
    assert 'leverframe_unit_pwm_duty_percent{name="cellar",label="PWM0"} 40.0' in text
    assert 'leverframe_unit_up{name="attic"} 0' in text
    assert 'leverframe_unit_trouble{name="attic",kind="reach",severity="lost"} 1' in text
    assert 'leverframe_unit_drift{name="cellar"} 0' in text
    assert not [line for line in text.splitlines() if "attic" in line and "drift" in line]
