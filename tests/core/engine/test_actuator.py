"""Every action by its printed name: what its activation and its deactivation do."""

import pytest

from leverframe.core.engine.actuator import Actuator
from leverframe.core.engine.calls import OFF, ON, REVERSE, Notify, RestartController, ShowScreen
from leverframe.core.engine.journal import Cause
from leverframe.core.labels import ENERGIES, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.profile import Profile
from tests.cases import for_each

from .bench import Bench

BY_RULE = Cause("rule", "3")


def perform(bench: Bench, action: str, value: int = ON, active: bool = True) -> None:
    bench.engine.actuator.perform(action, value, active, BY_RULE, "DS1", 21.5)
    bench.wait(0)


def activate(bench: Bench, action: str, value: int = ON) -> None:
    perform(bench, action, value)


def deactivate(bench: Bench, action: str, value: int = ON) -> None:
    perform(bench, action, Actuator.opposite(value), active=False)


@for_each("label", [*OUTPUTS, *PWMS, *EVENT_VARIABLES])
@for_each(
    ("value", "before", "activated", "deactivated"),
    [
        (OFF, 1, 0, 1),
        (OFF, 0, 0, 1),
        (ON, 0, 1, 0),
        (ON, 1, 1, 0),
        (REVERSE, 0, 1, 0),
        (REVERSE, 1, 0, 1),
    ],
)
def test_switching_action_sets_or_reverses_and_its_end_does_the_opposite(
    label: str, value: int, before: int, activated: int, deactivated: int
) -> None:
    bench = Bench()
    bench.engine.actuator.switch(label, before, BY_RULE)
    activate(bench, label, value)
    assert bench.values[label] == bench.engine.actuator.current(label) == activated
    deactivate(bench, label, value)
    assert bench.values[label] == bench.engine.actuator.current(label) == deactivated


def test_actions_switch_outputs_also_while_they_are_locked() -> None:
    bench = Bench({"output_flags.lock": True})
    activate(bench, "OUT5")
    assert bench.values["OUT5"] == 1
    assert bench.history() == ["rule 3: OUT5 on"]


@for_each("index", range(6))
def test_autoswitch_switches_periodically_while_active(index: int) -> None:
    bench = Bench({f"outputs.{index}.on_time": 2, f"outputs.{index}.off_time": 2})
    label = OUTPUTS[index]
    activate(bench, f"AutoSwitch {label}")
    assert bench.values[label] == 1
    bench.wait(2)
    assert bench.values[label] == 0
    deactivate(bench, f"AutoSwitch {label}")
    assert bench.due_in() is None


@for_each(
    ("action", "channel", "slot"),
    [
        *((f"HTTP{n}", "http", n) for n in range(1, 5)),
        *((f"eMail {n}", "email", n) for n in range(1, 5)),
        *((f"SMS{n}", "sms", n) for n in range(1, 5)),
        ("eMail", "email", 1),
        ("SNMP trap", "snmp", 0),
        ("MQTT", "mqtt", 0),
    ],
)
def test_message_goes_out_for_both_edges(action: str, channel: str, slot: int) -> None:
    bench = Bench()
    bench.effects()
    activate(bench, action)
    deactivate(bench, action)
    assert bench.effects() == [
        Notify(channel, slot, True, "rule 3", "DS1", 21.5, cause=BY_RULE),
        Notify(channel, slot, False, "rule 3", "DS1", 21.5, cause=BY_RULE),
    ]


@for_each("index", range(6))
def test_reset_energy_sets_one_counter_to_0_on_activation_only(index: int) -> None:
    bench = Bench()
    for other in range(6):
        bench.engine.energy.set_energy(other, 5.0, BY_RULE)
    deactivate(bench, f"RESET {ENERGIES[index]}")
    assert bench.values[ENERGIES[index]] == 5
    activate(bench, f"RESET {ENERGIES[index]}")
    assert [bench.values[label] for label in ENERGIES] == [5 * (n != index) for n in range(6)]


def test_count_energy_switches_counting_by_the_value() -> None:
    bench = Bench({"power.2.current": "m1"})
    bench.sense(m1=3600.0)
    bench.wait(1)
    assert bench.values["ENERGY3"] == pytest.approx(1)
    activate(bench, "COUNT ENERGY3", OFF)
    bench.wait(1)
    assert bench.values["ENERGY3"] == pytest.approx(1)
    activate(bench, "COUNT ENERGY3", ON)
    bench.wait(1)
    assert bench.values["ENERGY3"] == pytest.approx(2)
    activate(bench, "COUNT ENERGY3", REVERSE)
    bench.wait(1)
    assert bench.values["ENERGY3"] == pytest.approx(2)
    activate(bench, "COUNT ENERGY3", REVERSE)
    bench.wait(1)
    assert bench.values["ENERGY3"] == pytest.approx(3)


@pytest.mark.parametrize("action", ["RESET ENERGY5", "COUNT ENERGY6"])
def test_meter_that_the_profile_does_not_have_is_left_alone(action: str) -> None:
    bench = Bench(profile=Profile("3.5", "1.45"))
    activate(bench, action, OFF)
    assert bench.due_in() is None


def test_display_is_led_on_by_activation_only() -> None:
    bench = Bench({"oled.enabled": True, "oled.screens.1.active": True})
    bench.effects()
    activate(bench, "OLED ON/NEXT SCREEN")
    deactivate(bench, "OLED ON/NEXT SCREEN")
    activate(bench, "OLED - SET SCREEN 4")
    deactivate(bench, "OLED - SET SCREEN 2")
    activate(bench, "OLED - SET SCREEN 1")
    assert bench.effects() == [ShowScreen(1), ShowScreen(3), ShowScreen(0)]


def test_enable_pid_regulates_while_active() -> None:
    bench = Bench()
    activate(bench, "ENABLE PID")
    assert bench.engine.pid.explain()["enabled"] is True
    deactivate(bench, "ENABLE PID")
    assert bench.engine.pid.explain()["enabled"] is False


def test_restart_asks_for_a_restart() -> None:
    bench = Bench()
    bench.effects()
    deactivate(bench, "RESTART")
    assert bench.effects() == []
    activate(bench, "RESTART")
    assert bench.effects() == [RestartController()]
    assert bench.history() == ["rule 3: controller restarts"]


def test_action_that_does_not_exist_is_logged_and_stops_nothing() -> None:
    bench = Bench()
    bench.effects()
    activate(bench, "OUT9")
    assert bench.effects() == []
    assert bench.history() == ["rule 3: there is no action 'OUT9': nothing was done"]
