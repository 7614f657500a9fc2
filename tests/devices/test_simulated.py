"""The simulated board: readings that are set or fed by plants, and which hosts answer."""

from collections.abc import Mapping
from typing import Any

import pytest

from leverframe.core.engine.calls import PingHost
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.simulated.plant_wiring import plant_from_text
from leverframe.devices.simulated.simulated_board import SimulatedBoard

ROOM = "room*heater:PWM0*reading:DS1*outside:5*power:30*time_constant:600*sample:10"


class Bench:
    """A board, its time, and all that it reported."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.board = SimulatedBoard(lambda: self.clock.read().now)
        self.heard: list[Mapping[str, Any]] = []
        self.board.connect(self.heard.append)

    def wire(self, text: str) -> None:
        self.board.wire(plant_from_text(text))

    def wait(self, seconds: float) -> None:
        target = self.clock.read().now + seconds
        served = 0
        while (due := self.board.next_deadline()) is not None and due <= target:
            self.clock.move_to(due)
            self.board.tick(due)
            served += 1
            assert served < 100_000, "the board holds time still"
        self.clock.move_to(target)

    def readings(self) -> Mapping[str, Any]:
        return self.board.connect(self.heard.append)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_bare_board_is_never_due(bench: Bench) -> None:
    bench.board.set_readings({"DS1": 20.0, "INPD1": 0})
    bench.board.drive_output(0, True)
    bench.board.drive_pwm(0, 0.5)
    assert bench.board.next_deadline() is None


def test_new_plant_shows_its_readings_immediately(bench: Bench) -> None:
    bench.wire(ROOM)
    assert bench.heard == [{"DS1": 5.0}]


def test_plant_takes_outputs_as_it_finds_them(bench: Bench) -> None:
    bench.board.drive_pwm(0, 1.0)
    bench.wire(ROOM)
    bench.wait(36_000)
    assert bench.readings()["DS1"] == 35.0


def test_only_what_changed_is_reported(bench: Bench) -> None:
    bench.wire("tank*pump:OUT0*reading:DISTANCE*switch:INPD1*height:1000*fill:1*start:500")
    bench.board.drive_output(0, True)
    bench.heard.clear()
    bench.wait(2)
    assert bench.heard == [{"DISTANCE": 499.0}, {"DISTANCE": 498.0}]


def test_unplugged_sensor_stays_unplugged_whatever_its_plant_does(bench: Bench) -> None:
    bench.wire(ROOM)
    bench.board.set_readings({"DS1": None})
    bench.board.drive_pwm(0, 1.0)
    bench.wait(3600)
    assert bench.readings()["DS1"] is None


def test_reconnected_sensor_shows_its_plant_immediately(bench: Bench) -> None:
    bench.wire(ROOM)
    bench.board.set_readings({"DS1": None})
    bench.board.drive_pwm(0, 1.0)
    bench.wait(36_000)
    bench.board.plug("DS1")
    assert bench.readings()["DS1"] == 35.0


def test_plugging_in_where_no_plant_is_changes_nothing(bench: Bench) -> None:
    bench.board.set_readings({"DS1": None})
    bench.board.plug("DS1")
    assert bench.readings()["DS1"] is None


def test_value_set_by_hand_lasts_until_the_plant_moves(bench: Bench) -> None:
    bench.wire(ROOM)
    bench.board.set_readings({"DS1": 50.0})
    bench.wait(3600)
    assert bench.readings()["DS1"] == 50.0
    bench.board.drive_pwm(0, 1.0)
    bench.wait(10)
    assert bench.readings()["DS1"] == pytest.approx(5.5, abs=0.02)


def test_room_in_a_house_follows_the_house(bench: Bench) -> None:
    bench.wire("room*heater:PWM0*reading:DS2*outside:5*power:30*time_constant:60")
    bench.wire("room*heater:PWM1*reading:DS1*outside:DS2*power:10*time_constant:60")
    bench.board.drive_pwm(0, 0.5)
    bench.wait(3600)
    assert (bench.readings()["DS2"], bench.readings()["DS1"]) == (20.0, 20.0)


def test_without_plants_readings_stay_as_they_are(bench: Bench) -> None:
    bench.board.drive_pwm(0, 1.0)
    bench.wire(ROOM)
    bench.wait(100)
    before = bench.readings()["DS1"]
    bench.board.unwire_all()
    assert bench.board.next_deadline() is None
    bench.wait(3600)
    assert bench.readings()["DS1"] == before


def test_load_that_switches_itself_off_does_not_hold_time_still(bench: Bench) -> None:
    bench.wire("load*switch:OUT0*reading:INPA1*on:1")
    bench.board.connect(lambda news: bench.board.drive_output(0, not news.get("INPA1")))
    bench.board.drive_output(0, True)
    driven = len(bench.board.history)
    bench.wait(10)
    assert len(bench.board.history) - driven == 100


# --- hosts ----------------------------------------------------------------------------------------


def answers(bench: Bench) -> list[tuple[float, int, float | None]]:
    heard: list[tuple[float, int, float | None]] = []
    bench.board.hosts.answered = lambda entry, ms: heard.append((bench.clock.read().now, entry, ms))
    return heard


def test_host_answers_after_its_milliseconds(bench: Bench) -> None:
    heard = answers(bench)
    bench.board.hosts.set_answer("router", 250.0)
    bench.board.hosts.ping(PingHost(3, "router", 2.0))
    bench.wait(60)
    assert heard == [(0.25, 3, 250.0)]
    assert bench.board.next_deadline() is None


def test_host_without_a_simulated_answer_is_silent(bench: Bench) -> None:
    heard = answers(bench)
    bench.board.hosts.ping(PingHost(0, "router", 2.0))
    assert bench.board.next_deadline() is None
    bench.board.hosts.set_answer("router", 5.0)
    bench.board.hosts.set_answer("router", None)
    bench.board.hosts.ping(PingHost(0, "router", 2.0))
    bench.wait(60)
    assert heard == []


def test_answer_after_the_timeout_is_none(bench: Bench) -> None:
    heard = answers(bench)
    bench.board.hosts.set_answer("router", 3000.0)
    bench.board.hosts.ping(PingHost(0, "router", 2.0))
    bench.wait(60)
    assert heard == []


def test_new_ping_of_an_entry_ends_the_one_before(bench: Bench) -> None:
    heard = answers(bench)
    bench.board.hosts.set_answer("far", 1000.0)
    bench.board.hosts.set_answer("near", 10.0)
    bench.board.hosts.ping(PingHost(0, "far", 2.0))
    bench.board.hosts.ping(PingHost(0, "near", 2.0))
    bench.board.hosts.ping(PingHost(1, "far", 2.0))
    bench.wait(60)
    assert heard == [(0.01, 0, 10.0), (1.0, 1, 1000.0)]
