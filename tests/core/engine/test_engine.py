"""The engine as a whole: its requests, its other calls, and that two of them share nothing."""

from zoneinfo import ZoneInfo

import pytest

from leverframe.core.engine.calls import (
    ChangeClock,
    DriveOutput,
    DrivePwm,
    EnterBootloader,
    ForgetCounters,
    ModemCommand,
    NextOneWireId,
    Notify,
    Persist,
    PingHost,
    RaiseRestartFlag,
    Restart,
    RestartController,
    SendModem,
    SendTest,
    SetClock,
    SetEnergy,
    StartBootloader,
    Switch,
)
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.labels import LABELS
from leverframe.core.profile import HARDWARE, Profile
from leverframe.core.settings import ScheduleEntry, WatchdogEntry
from tests.cases import for_each

from .bench import BY_TEST, START_WALL, Bench
from .rule_bench import bench_with, rule

# Requests


def test_settings_are_adopted_before_the_actions_of_a_request() -> None:
    bench = Bench()
    settings = Bench({"outputs.0.return_time": 5}).settings
    bench.apply(settings, Switch("OUT0", 1))
    assert bench.due_in() == 5
    assert bench.settings is settings


def test_actions_of_a_request_run_in_order() -> None:
    bench = Bench()
    bench.effects()
    bench.do(Switch("OUT0", 1), Switch("PWM0", 1), Switch("OUT0", 2), Switch("EVENT1", 1))
    assert bench.effects() == [DriveOutput(0, True), DrivePwm(0, 0.5), DriveOutput(0, False)]
    assert bench.values["EVENT1"] == 1


def test_new_settings_are_news_for_the_status() -> None:
    bench = Bench()
    before = bench.engine.machine.version
    bench.set(outputs__0__name="pump")
    assert bench.engine.machine.version > before


def test_energy_can_be_set() -> None:
    bench = Bench()
    bench.do(SetEnergy(2, 12.5))
    assert bench.values["ENERGY3"] == 12.5


def test_one_wire_ids_are_shown_one_after_the_other() -> None:
    bench = Bench()
    bench.sense(onewire=("28:00:00:00:00:00:00:01", "28:00:00:00:00:00:00:02"))
    shown = []
    for _ in range(2):
        bench.do(NextOneWireId())
        shown.append(bench.engine.machine.dsid[-2:])
    assert shown == ["01", "02"]


def test_restart_flag_stays_until_the_next_start() -> None:
    bench = Bench()
    assert bench.engine.machine.restart_flag is False
    bench.do(RaiseRestartFlag())
    assert bench.engine.machine.restart_flag is True
    bench.restart()
    assert bench.engine.machine.restart_flag is False


def test_forgetting_counters_clears_energy() -> None:
    bench = Bench()
    bench.do(SetEnergy(0, 5.0))
    bench.do(ForgetCounters())
    assert bench.values["ENERGY1"] == 0


@pytest.mark.parametrize("channel", ["email", "sms"])
def test_test_message_goes_to_the_first_slot(channel: str) -> None:
    bench = Bench()
    bench.effects()
    bench.do(SendTest(channel))
    assert bench.effects() == [Notify(channel, 1, True, "test", text="Test message")]


def test_modem_command_is_passed_on() -> None:
    bench = Bench()
    bench.effects()
    bench.do(ModemCommand("AT+CSQ"))
    assert bench.effects() == [SendModem("AT+CSQ")]


@pytest.mark.parametrize(
    ("local", "wall"),
    [
        pytest.param(1_735_732_800, 1_735_729_200, id="winter, an hour ahead of UTC"),
        pytest.param(1_751_371_200, 1_751_364_000, id="summer, two hours ahead"),
        pytest.param(1_743_301_800, 1_743_298_200, id="in the skipped hour"),
        pytest.param(1_761_445_800, 1_761_438_600, id="in the repeated hour, the first time"),
        pytest.param(0, -3600, id="the beginning of 1970"),
    ],
)
def test_clock_is_set_by_local_time_written_as_if_it_were_utc(local: int, wall: int) -> None:
    bench = Bench(timezone=ZoneInfo("Europe/Warsaw"))
    bench.effects()
    bench.do(ChangeClock(local))
    assert bench.effects() == [SetClock(wall)]


def test_restart_is_asked_for() -> None:
    bench = Bench()
    bench.effects()
    bench.do(Restart())
    assert bench.effects() == [RestartController()]


def test_bootloader_finds_all_pins_off_and_remembered_states_untouched() -> None:
    bench = Bench({"outputs.0.remember": True, "pwm.1.active_low": True})
    bench.do(Switch("OUT0", 1), Switch("OUT3", 1), Switch("PWM0", 1), Switch("PWM1", 1))
    bench.effects()
    bench.do(StartBootloader())
    assert bench.output_pins == dict.fromkeys(range(6), False)
    assert bench.pwm_pins == {0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0}
    assert bench.kept["output.0"] is True
    assert bench.effects()[-1] == EnterBootloader()


# Other calls


def test_mqtt_connection_is_a_state_that_rules_can_watch() -> None:
    bench = bench_with(rule(source="MQTT", reference=1, action="OUT1"))
    bench.connect(True)
    assert (bench.values["MQTT"], bench.values["OUT1"]) == (1, 1)
    bench.connect(False)
    assert (bench.values["MQTT"], bench.values["OUT1"]) == (0, 0)


def test_pings_are_asked_for_and_their_answers_taken() -> None:
    watched = WatchdogEntry(enabled=True, host="router", failures=2, interval=60, delay=5)
    bench = Bench({"watchdog.3": watched})
    bench.effects()
    bench.wait(5)
    assert bench.effects() == [PingHost(3, "router", 2.0)]
    bench.answer_ping(3, None)
    bench.wait(60)
    bench.answer_ping(3, None)
    assert bench.values["OUT0"] == 1


def test_schedule_follows_a_clock_that_was_set() -> None:
    entry = ScheduleEntry(action="OUT2", value=1, time=6 * 3600, days=("Mon",), active=True)
    bench = Bench({"schedule.0": entry})
    bench.wait(60)
    bench.set_clock(START_WALL + 6 * 3600 - 10)
    assert bench.due_in() == pytest.approx(10)
    bench.wait(10)
    assert bench.values["OUT2"] == 1
    assert bench.history()[-1] == "schedule 1: OUT2 on"


def test_clean_stop_keeps_the_energy() -> None:
    bench = Bench({"power.0.current": "m1", "energy_remember": True})
    bench.sense(m1=3600.0)
    bench.wait(10)
    bench.effects()
    bench.now += 0.5
    bench.stop()
    kept = {effect.name: effect.value for effect in bench.effects(Persist)}
    assert kept == {"energy.0": pytest.approx(10.5), "power.0": 3600.0}


def test_call_hands_over_each_effect_once() -> None:
    bench = Bench()
    first = bench.engine.tick(bench.at)
    assert first == []
    assert bench.engine.tick(bench.at) is not first


@for_each("hw", HARDWARE)
@for_each("sw", ["1.19", "1.36", "1.45", "1.58a", "1.75"])
def test_every_profile_starts_idle_with_every_label(hw: str, sw: str) -> None:
    bench = Bench(profile=Profile(hw, sw))
    assert bench.due_in() is None
    assert bench.values.keys() == {*LABELS, *DUTIES}


def test_two_engines_share_nothing() -> None:
    one, other = Bench(), Bench()
    one.switch_on("OUT0")
    one.sense(DS1=20.0)
    assert (other.values["OUT0"], other.values["DS1"]) == (0, None)
    assert other.history() == []


def test_cause_of_a_request_is_in_the_journal() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    (entry,) = bench.engine.machine.journal.entries()
    assert (entry.cause, entry.wall) == (BY_TEST, START_WALL)
