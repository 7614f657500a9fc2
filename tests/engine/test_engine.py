"""The engine as a whole: the order of things in one instant, requests, and long runs."""

import gc
import tracemalloc
from zoneinfo import ZoneInfo

import pytest

from leverframe.engine.actions import (
    ON,
    ChangeClock,
    ForgetCounters,
    ModemCommand,
    NextOneWireId,
    RaiseRestartFlag,
    Restart,
    SendTest,
    SetEnergy,
    StartBootloader,
    Switch,
)
from leverframe.engine.effects import (
    DriveOutput,
    DrivePwm,
    EnterBootloader,
    Keep,
    Notify,
    PingHost,
    RestartController,
    SendModem,
    SetClock,
)
from leverframe.engine.engine import MOST_LATE_S, MOST_STEPS, Engine
from leverframe.engine.factory_settings import defaults
from leverframe.engine.labels import EVENT_VARIABLES, LABELS
from leverframe.engine.moment import Moment
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Rule, ScheduleEntry, WatchdogEntry
from leverframe.profile import HARDWARE, Profile

from .bench import BY_TEST, START_NOW, START_WALL, Bench

DAY_S = 86400.0
YEAR_S = 365.25 * DAY_S


def rules(*given: Rule) -> dict[str, object]:
    return {"rules": given}


def rule(source: str, reference: float, action: str, value: int = ON, **more: object) -> Rule:
    settings = {"source": source, "reference": reference, "action": action, "value": value}
    return Rule(**{**settings, "enabled": True, **more})  # type: ignore[arg-type]


#: Switches its own source to and fro without end.
LOOP = rule("OUT0", 0, "OUT0")


# The order of things in one instant


def test_a_reading_and_all_its_consequences_are_one_call() -> None:
    bench = Bench(rules(rule("DS1", 20.0, "OUT0"), rule("OUT0", 1, "EVENT1")))
    bench.effects()
    bench.sense(DS1=20.0)
    assert bench.effects() == [DriveOutput(0, True)]
    assert bench.values["EVENT1"] == 1


def test_rules_see_one_snapshot_and_actions_come_afterwards() -> None:
    # If the first rule's action were seen by the second one at once, the two could not swap.
    bench = Bench()
    bench.switch_on("EVENT1")
    swap = [
        rule("EVENT1", 1, "EVENT2", mode=1),
        rule("EVENT2", 0, "EVENT1", value=0, mode=1),
    ]
    bench.set(rules=tuple(swap))
    assert [bench.values["EVENT1"], bench.values["EVENT2"]] == [0, 1]


def test_derived_readings_are_derived_before_rules_look() -> None:
    bench = Bench(
        {
            "differentials.0.first": "DEWPOINT",
            "differentials.0.second": "T1",
            **rules(rule("DIFF1", -0.5, "OUT0")),
        }
    )
    bench.sense(T1=20.0, H1=50.0)
    assert bench.values["OUT0"] == 0
    bench.sense(H1=100.0)
    assert bench.values["DIFF1"] == pytest.approx(0)
    assert bench.values["OUT0"] == 1


def test_differentials_follow_power_in_the_same_instant() -> None:
    bench = Bench(
        {
            "power.0.current": "m1",
            "differentials.0.first": "POWER1",
            "differentials.0.second": "POWER1",
            "differentials.0.operator": "+",
        }
    )
    bench.sense(m1=2.0)
    assert bench.values["DIFF1"] == 4


def test_derived_readings_belong_to_the_same_snapshot() -> None:
    doubled = {"first": "T1", "operator": "+", "second": "T1"}
    bench = Bench(
        {
            **{f"differentials.0.{name}": value for name, value in doubled.items()},
            **rules(
                rule("T1", 20.0, "EVENT1"),
                rule("DIFF1", 40.0, "OUT0", operator="AND", source2="EVENT1", mode=1),
            ),
        }
    )
    bench.sense(T1=25.0)
    assert (bench.values["EVENT1"], bench.values["OUT0"]) == (1, 1)


def test_timers_of_an_instant_come_after_its_readings() -> None:
    # The reading switches on again and so restarts the return time before it can elapse.
    bench = Bench({"outputs.0.return_time": 5, **rules(rule("DS1", 20.0, "OUT0", mode=1))})
    bench.switch_on("OUT0")
    bench.now += 5
    bench.sense(DS1=25.0)
    assert bench.values["OUT0"] == 1
    assert bench.due_in() == 5


def test_a_deadline_before_the_moment_of_a_reading_is_served_before_it() -> None:
    bench = Bench({"outputs.0.return_time": 5, **rules(rule("DS1", 20.0, "OUT0", mode=1))})
    bench.switch_on("OUT0")
    bench.now += 5.25
    bench.sense(DS1=25.0)
    assert [line.partition(":")[0] for line in bench.history()] == [
        "command test",
        "timer return time",
        "rule 1",
    ]
    journal = bench.engine.machine.journal.entries()
    assert [entry.wall - START_WALL for entry in journal] == [0, 5, 5.25]


def test_a_call_serves_what_is_due_in_its_very_instant() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.now += 5
    bench.connect(True)
    assert bench.values["OUT0"] == 0


def test_what_was_missed_for_long_is_served_late_and_once() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.oversleep(100)
    entry = bench.engine.machine.journal.entries()[-1]
    assert entry.wall == START_WALL + 100 - MOST_LATE_S
    assert entry.text == "OUT0 off"


def test_a_ping_that_was_never_sent_does_not_time_out() -> None:
    watched = WatchdogEntry(enabled=True, host="router", failures=1, interval=60, delay=0)
    bench = Bench({"watchdog.0": watched})
    bench.answer_ping(0, 1.0)
    bench.effects()
    bench.oversleep(3600)
    assert bench.effects() == [PingHost(0, "router", 2.0)]
    assert bench.values["OUT0"] == 0


def test_a_deadline_set_in_the_past_is_due_at_once_and_time_does_not_run_backwards() -> None:
    bench = Bench()
    bench.engine.machine.timers.set(("outputs", "delay", 1), bench.now - 0.1)
    bench.oversleep(0.1)
    (entry,) = bench.engine.machine.journal.entries()
    assert (entry.text, entry.wall) == ("OUT1 on", START_WALL)


def test_what_came_before_the_clock_was_set_is_told_by_the_old_clock() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.switch_on("OUT0")
    bench.now += 5.25
    bench.set_clock(START_WALL + 1_000_000)
    bench.switch_on("OUT1")
    journal = bench.engine.machine.journal.entries()
    assert [entry.wall - START_WALL for entry in journal] == [0, 5, 1_000_000]


# Rules that set each other off


def test_a_loop_of_rules_is_bounded_and_logged() -> None:
    bench = Bench(rules(LOOP))
    drives = [drive for drive in bench.effects(DriveOutput) if drive.index == 0]
    assert len(drives) <= MOST_STEPS + 2
    loop = [line for line in bench.history() if line.startswith("rule loop")]
    assert loop == [f"rule loop: stopped after {MOST_STEPS} steps, unsettled: OUT0"]


def test_what_a_loop_left_over_waits_for_the_next_change_from_outside() -> None:
    bench = Bench(rules(LOOP))
    bench.effects()
    assert bench.due_in() is None
    bench.wait(1)
    assert bench.effects() == []
    bench.sense(DS1=20.0)
    assert len(bench.effects(DriveOutput)) == MOST_STEPS


def test_a_long_chain_of_rules_that_ends_is_no_loop() -> None:
    chain = [
        rule(before, 1, after)
        for before, after in zip(EVENT_VARIABLES, EVENT_VARIABLES[1:], strict=False)
    ]
    bench = Bench(rules(*chain))
    bench.switch_on("EVENT1")
    assert bench.values["EVENT8"] == 1
    assert not [line for line in bench.history() if line.startswith("rule loop")]


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


def test_the_restart_flag_stays_until_the_next_start() -> None:
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
def test_a_test_message_goes_to_the_first_slot(channel: str) -> None:
    bench = Bench()
    bench.effects()
    bench.do(SendTest(channel))
    assert bench.effects() == [Notify(channel, 1, True, "test", text="Test message")]


def test_a_modem_command_is_passed_on() -> None:
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
def test_the_clock_is_set_by_local_time_written_as_if_it_were_utc(local: int, wall: int) -> None:
    bench = Bench(timezone=ZoneInfo("Europe/Warsaw"))
    bench.effects()
    bench.do(ChangeClock(local))
    assert bench.effects() == [SetClock(wall)]


def test_a_restart_is_asked_for() -> None:
    bench = Bench()
    bench.effects()
    bench.do(Restart())
    assert bench.effects() == [RestartController()]


def test_the_bootloader_finds_all_pins_off_and_remembered_states_untouched() -> None:
    bench = Bench({"outputs.0.remember": True, "pwm.1.active_low": True})
    bench.do(Switch("OUT0", 1), Switch("OUT3", 1), Switch("PWM0", 1), Switch("PWM1", 1))
    bench.effects()
    bench.do(StartBootloader())
    assert bench.output_pins == dict.fromkeys(range(6), False)
    assert bench.pwm_pins == {0: 0.0, 1: 1.0, 2: 0.0, 3: 0.0}
    assert bench.kept["output.0"] is True
    assert bench.effects()[-1] == EnterBootloader()


# Other calls


def test_the_mqtt_connection_is_a_state_that_rules_can_watch() -> None:
    bench = Bench(rules(rule("MQTT", 1, "OUT1")))
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


def test_the_schedule_follows_a_clock_that_was_set() -> None:
    entry = ScheduleEntry(action="OUT2", value=1, time=6 * 3600, days=("Mon",), active=True)
    bench = Bench({"schedule.0": entry})
    bench.wait(60)
    bench.set_clock(START_WALL + 6 * 3600 - 10)
    assert bench.due_in() == pytest.approx(10)
    bench.wait(10)
    assert bench.values["OUT2"] == 1
    assert bench.history()[-1] == "schedule 1: OUT2 on"


def test_a_clean_stop_keeps_the_energy() -> None:
    bench = Bench({"power.0.current": "m1", "energy_remember": True})
    bench.sense(m1=3600.0)
    bench.wait(10)
    bench.effects()
    bench.now += 0.5
    bench.stop()
    (keep,) = bench.effects(Keep)
    assert keep.name == "energy.0"
    assert keep.value == pytest.approx(10.5)


def test_a_call_hands_over_each_effect_once() -> None:
    bench = Bench()
    first = bench.engine.tick(bench.at)
    assert first == []
    assert bench.engine.tick(bench.at) is not first


@pytest.mark.parametrize("hw", HARDWARE)
@pytest.mark.parametrize("sw", ["1.19", "1.36", "1.45", "1.58a", "1.75"])
def test_every_profile_starts_idle_with_every_label(hw: str, sw: str) -> None:
    bench = Bench(profile=Profile(hw, sw))
    assert bench.due_in() is None
    assert bench.values.keys() == {*LABELS, *DUTIES}


# Long runs

BUSY = {
    "outputs.0.periodic": True,
    "outputs.0.on_time": 170,
    "outputs.0.off_time": 190,
    "outputs.1.return_time": 30,
    "oled.enabled": True,
    "oled.display_time": 20,
    "pwm.0.change_time": 600,
    "power.0.current": "m1",
    "energy_remember": True,
    "rules": (
        rule("OUT0", 1, "OUT1", on_delay=5, off_delay=7),
        rule("OUT1", 1, "OLED ON/NEXT SCREEN"),
    ),
    "schedule.0": ScheduleEntry(
        action="PWM0", value=2, time=900, days=("Mon", "Wed", "Sun"), active=True
    ),
}


def test_thirty_days_leave_no_deadlines_behind() -> None:
    bench = Bench(BUSY)
    timers = bench.engine.machine.timers
    for day in range(30):
        bench.set(pwm__0__duty=(day * 37) % 101)
        bench.wait(DAY_S)
        bench.effects()
        assert len(timers) <= 10
        assert len(timers._heap) <= 40
    assert len(bench.engine.machine.journal.entries()) == 500
    assert bench.values["OUT0"] == 1  # 30 days are 7200 cycles of 360 s
    assert bench.engine.uptime(bench.at) == 30 * DAY_S


def test_an_hour_of_regulation_leaves_one_deadline() -> None:
    bench = Bench({"pid.enabled": True, "pid.kp": 100})
    bench.wait(3600)
    assert len(bench.engine.machine.timers) == 1
    assert bench.engine.next_deadline() == START_NOW + 3601


@pytest.mark.parametrize("now", [0.0, 10 * YEAR_S, 1e10, 2.0**40])
def test_the_engine_works_the_same_whatever_the_monotonic_clock_shows(now: float) -> None:
    bench = Bench({**BUSY, "pid.enabled": True, "pid.pwm": 1}, now=now)
    bench.set(pwm__0__duty=75)
    bench.wait(50)
    assert bench.engine.pwm.duty(0) == pytest.approx(50 + 25 * 50 / 600, abs=0.01)
    bench.wait(125)
    assert [bench.values["OUT0"], bench.values["OUT1"]] == [0, 0]
    assert bench.engine.uptime(bench.at) == 175


def test_ten_years_of_uptime_do_not_wear_delays_out() -> None:
    bench = Bench({"outputs.0.return_time": 5})
    bench.wait(10 * YEAR_S)
    assert bench.engine.uptime(bench.at) == 10 * YEAR_S
    bench.switch_on("OUT0")
    bench.wait(4.99)
    assert bench.values["OUT0"] == 1
    bench.wait(0.01)
    assert bench.values["OUT0"] == 0


def test_an_idle_controller_takes_little_memory() -> None:
    profile = Profile()
    settings = defaults(profile)

    def started() -> Engine:
        engine = Engine(profile, settings)
        engine.start(Moment(0.0, START_WALL))
        return engine

    started()
    gc.collect()
    tracemalloc.start()
    try:
        fleet = [started() for _ in range(50)]
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert used / len(fleet) < 40_000


def test_two_engines_share_nothing() -> None:
    one, other = Bench(), Bench()
    one.switch_on("OUT0")
    one.sense(DS1=20.0)
    assert (other.values["OUT0"], other.values["DS1"]) == (0, None)
    assert other.history() == []


def test_the_cause_of_a_request_is_in_the_journal() -> None:
    bench = Bench()
    bench.switch_on("OUT0")
    (entry,) = bench.engine.machine.journal.entries()
    assert (entry.cause, entry.wall) == (BY_TEST, START_WALL)
