"""What holds whatever happens: any mix of settings, commands, readings, restarts and passing time.

Two benches run the same story. The second one is also called at moments when nothing is due, and
resumes as a copy made from its exported state, or from the plain data that another process gets;
none of this may make a difference to what it does.
"""

import os
import subprocess
import sys
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from leverframe.core.engine.actuator import MESSAGES, OTHER_ACTIONS, SWITCHES
from leverframe.core.engine.calls import Action, Effect, PingHost, SetEnergy, Switch
from leverframe.core.engine.journal import KEPT_ENTRIES
from leverframe.core.engine.machine import export_state, import_state
from leverframe.core.engine.portable_state import ENCODER, EngineState, engine_from, portable
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.watchdog import RESTARTING
from leverframe.core.labels import DIGITAL_INPUTS, LABELS, ONEWIRE, OUTPUTS, PWMS, STATES
from leverframe.core.settings import Power, Rule, ScheduleEntry, WatchdogEntry
from tests.effort import examples

from .bench import START_WALL, Bench

seconds = st.integers(0, 20)
flags = st.booleans()
switchable = st.sampled_from([label for label in STATES if label[:3] in ("OUT", "PWM", "EVE")])
analog_labels = st.sampled_from(["DS1", "T1", "DIFF1", "POWER1", "ENERGY1", "m1"])
any_source = st.sampled_from(["DS1", "T1", "INPD1", "EVENT1", "OUT0", "OUT1", "PWM0", "MQTT"])
switching_actions = st.sampled_from(["OUT0", "OUT1", "PWM0", "EVENT1"])
any_action = switching_actions | st.sampled_from(sorted([*SWITCHES, *OTHER_ACTIONS, *MESSAGES]))

some_rules = st.builds(
    Rule,
    source=any_source,
    compare=st.sampled_from([">=", "<"]),
    reference=st.sampled_from([0, 1, 20.0]),
    hysteresis=st.sampled_from([0, 0.5]),
    operator=st.sampled_from(["-", "AND", "XOR"]),
    source2=any_source,
    action=any_action,
    value=st.integers(0, 2),
    on_delay=st.integers(0, 5),
    off_delay=st.integers(0, 5),
    depends=st.sampled_from([0, 0, 1, 2, 21, 22]),
    mode=st.integers(0, 2),
    enabled=st.just(True) | flags,
    permanent=flags,
)
some_schedule_entries = st.none() | st.builds(
    ScheduleEntry,
    action=any_action,
    value=st.integers(0, 2),
    time=st.integers(0, 300),
    days=st.sampled_from([("Mon",), ("Mon", "Tue")]),
    periodic=flags,
    active=st.just(True),
)
some_watchdog_entries = st.builds(
    WatchdogEntry,
    enabled=flags,
    output=st.sampled_from(["OUT0", "OUT1", "PWM0"]),
    host=st.just("router"),
    failures=st.integers(0, 2),
    timeout=st.integers(0, 2),
    interval=st.integers(0, 30),
    wait=seconds,
    length=seconds,
    limit=st.integers(0, 1),
    delay=seconds,
)
some_powers = st.builds(
    Power,
    current=st.sampled_from(["INPA1", "INPD1", "m1"]),
    pulses=st.sampled_from([0, 1, 1000]),
)

SETTINGS: dict[str, st.SearchStrategy[Any]] = {
    **{
        f"outputs.{index}.{name}": values
        for index in (0, 1)
        for name, values in {
            "return_time": seconds,
            "periodic": flags,
            "on_time": seconds,
            "off_time": seconds,
            "on_after_start": flags,
            "start_delay": seconds,
            "remember": flags,
        }.items()
    },
    **{
        f"pwm.{index}.{name}": values
        for index in (0, 1)
        for name, values in {
            "duty": st.integers(0, 100),
            "active_low": flags,
            "on_off_mode": flags,
            "change_time": seconds,
        }.items()
    },
    "pid.enabled": flags,
    "pid.source": analog_labels,
    "pid.target": st.floats(-50, 50),
    "pid.kp": st.integers(-1000, 1000),
    "pid.ki": st.integers(-1000, 1000),
    "pid.kd": st.integers(-1000, 1000),
    "pid.pwm": st.integers(0, 3),
    "oled.enabled": flags,
    "oled.display_time": seconds,
    "oled.screens.1.active": flags,
    "oled.screens.0.active": flags,
    "digital_inputs.0.bistable": flags,
    "digital_inputs.0.bistable_time": seconds,
    "digital_inputs.0.pull_up": flags,
    "differentials.0.first": analog_labels,
    "differentials.0.second": analog_labels,
    "power.0": some_powers,
    "energy_remember": flags,
    "rules": st.lists(some_rules, max_size=4).map(tuple),
    "schedule.0": some_schedule_entries,
    "watchdog.0": some_watchdog_entries,
    "watchdog.1": some_watchdog_entries,
}
changes = st.lists(
    st.sampled_from(sorted(SETTINGS)).flatmap(
        lambda path: st.tuples(st.just(path.replace(".", "__")), SETTINGS[path])
    ),
    min_size=1,
    max_size=5,
).map(dict)
actions = st.lists(
    st.builds(Switch, switchable, st.integers(0, 2))
    | st.builds(SetEnergy, st.integers(0, 3), st.floats(0, 1000)),
    max_size=3,
)
readings = st.dictionaries(
    st.sampled_from(["DS1", "T1", "H1", "INPA1", "m1"]), st.none() | st.floats(-50, 50), max_size=3
) | st.dictionaries(st.sampled_from(DIGITAL_INPUTS), st.sampled_from([0, 1, None]), max_size=2)


class AnyStory(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.bench, self.often_called = Bench(), Bench()
        self.unanswered: set[int] = set()

    @property
    def both(self) -> tuple[Bench, Bench]:
        return self.bench, self.often_called

    @rule(changes=changes, actions=actions)
    def request(self, changes: dict[str, Any], actions: list[Action]) -> None:
        for bench in self.both:
            bench.set(**changes)
            bench.do(*actions)

    @rule(readings=readings)
    def measure(self, readings: dict[str, Any]) -> None:
        for bench in self.both:
            bench.sense(**readings)

    @rule(pause=st.floats(0, 0.5) | st.floats(0, 100) | st.integers(0, 400).map(float))
    def wait(self, pause: float) -> None:
        self.bench.wait(pause)
        until = self.bench.now
        for part in (0.3, 0.5):
            self.often_called.wait((until - self.often_called.now) * part)
            self.often_called.oversleep(0)
        self.often_called.wait(until - self.often_called.now)
        self.often_called.now = until

    @rule(pause=st.floats(0, 100))
    def be_absent(self, pause: float) -> None:
        for bench in self.both:
            bench.oversleep(pause)

    @rule()
    def restart(self) -> None:
        for bench in self.both:
            bench.stop()
            bench.restart()

    @rule()
    def resume_from_exported_state(self) -> None:
        state = export_state(self.often_called.engine)
        self.often_called.wait(10)
        self.often_called.engine = import_state(state)
        self.often_called.rewind_to(self.bench)

    @rule()
    def resume_in_another_process(self) -> None:
        bench = self.often_called
        was, data = bench.engine, ENCODER.encode(portable(bench.engine))
        bench.wait(10)
        state = msgspec.json.decode(data, type=EngineState)
        bench.rewind_to(self.bench)
        bench.engine = engine_from(
            state, bench.profile, was.settings, bench.timezone, dict(bench.kept)
        )
        again = ENCODER.encode(portable(bench.engine))
        assert msgspec.json.decode(again, type=EngineState) == state
        bench.engine.machine.persisted = was.machine.persisted

    @rule(up=flags)
    def broker(self, up: bool) -> None:
        for bench in self.both:
            bench.connect(up)

    @rule(shift=st.floats(-4000, 4000))
    def set_clock(self, shift: float) -> None:
        wall = self.bench.at.wall + shift
        for bench in self.both:
            bench.set_clock(wall)

    @precondition(lambda self: self.unanswered)
    @rule(milliseconds=st.none() | st.floats(0, 100))
    def answer_pings(self, milliseconds: float | None) -> None:
        for entry in sorted(self.unanswered):
            for bench in self.both:
                bench.answer_ping(entry, milliseconds)
        self.unanswered.clear()

    @invariant()
    def calls_at_idle_moments_change_nothing(self) -> None:
        effects = self.bench.effects()
        assert effects == self.often_called.effects()
        assert self.bench.values == self.often_called.values
        assert self.bench.kept == self.often_called.kept
        assert self.journal(self.bench) == self.journal(self.often_called)
        self.note_pings(effects)

    @invariant()
    def deadlines_lie_in_the_future(self) -> None:
        due_in = self.bench.due_in()
        assert due_in is None or due_in > 0

    @invariant()
    def pins_show_the_states(self) -> None:
        bench = self.bench
        for index, label in enumerate(OUTPUTS):
            assert bench.output_pins[index] == bool(bench.values[label])
        for index, label in enumerate(PWMS):
            pwm = bench.settings.pwm[index]
            duty = 100.0 if pwm.on_off_mode else bench.values[DUTIES[index]]
            assert duty is not None
            level = duty / 100 if bench.values[label] else 0.0
            assert bench.pwm_pins[index] == (1.0 - level if pwm.active_low else level)

    @invariant()
    def values_are_what_their_labels_promise(self) -> None:
        values = self.bench.values
        assert values.keys() == {*LABELS, *DUTIES}
        assert all(values[label] in (0, 1) for label in STATES)
        assert all(0 <= (values[label] or 0) <= 100 for label in DUTIES)
        assert all(-55 <= (values[label] or 0) <= 125 for label in ONEWIRE)

    @invariant()
    def an_output_with_a_return_time_is_on_for_no_longer(self) -> None:
        bench = self.bench
        for index, output in enumerate(bench.settings.outputs):
            left = bench.engine.outputs.returns_in(index, bench.now)
            if not bench.values[OUTPUTS[index]]:
                assert left is None
            elif bench.engine.outputs.is_pulsed(index):
                assert left is None or left >= 0
            elif output.return_time:
                assert left is not None
                assert 0 <= left <= output.return_time + 1e-6
            else:
                assert left is None

    @invariant()
    def only_remembered_states_are_kept(self) -> None:
        engine = self.bench.engine
        guards = zip(self.bench.settings.watchdog, engine.watchdog.explain(), strict=True)
        # These are remembered in the state before the restart.
        restarting = {entry.output for entry, guard in guards if guard.state == RESTARTING}
        for index, output in enumerate(self.bench.settings.outputs):
            kept = self.bench.kept.get(f"output.{index}")
            outlasts_a_cut = not engine.outputs.is_pulsed(index) and (
                output.periodic or not engine.outputs.is_periodic(index)
            )
            if not output.remember:
                assert kept is None
            elif OUTPUTS[index] not in restarting:
                assert kept is (bool(self.bench.values[OUTPUTS[index]]) and outlasts_a_cut)

    @invariant()
    def the_display_is_dark_or_shows_a_screen(self) -> None:
        shown = self.bench.engine.display.shown
        assert shown is None or (self.bench.settings.oled.enabled and 0 <= shown < 4)

    @invariant()
    def nothing_piles_up(self) -> None:
        machine = self.bench.engine.machine
        assert machine.effects == []
        assert len(machine.timers) < 40
        assert len(machine.timers._heap) < 100
        entries = machine.journal.entries()
        assert len(entries) <= KEPT_ENTRIES
        numbers = [entry.number for entry in entries]
        assert numbers == sorted(set(numbers))

    @staticmethod
    def journal(bench: Bench) -> list[tuple[str, str]]:
        entries = bench.engine.machine.journal.entries()
        return [(str(entry.cause), entry.text) for entry in entries]

    def note_pings(self, effects: list[Effect]) -> None:
        self.unanswered |= {effect.entry for effect in effects if isinstance(effect, PingHost)}


AnyStory.TestCase.settings = examples(60, stateful_step_count=30)
TestAnyStory = AnyStory.TestCase


#: A story in which many things change in one instant, as effects that can be read.
STORY = f"""
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.calls import Switch
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.timers import Moment
from leverframe.core.settings import Rule, Settings, Power
from leverframe.core.profile import Profile

labels = ["OUT0", "OUT1", "OUT2", "OUT3", "PWM0", "PWM1", "EVENT1", "EVENT2", "EVENT3"]
rules = tuple(
    Rule(source=source, reference=1, action=action, value=2, enabled=True, permanent=n % 2 == 0)
    for n, (source, action) in enumerate(zip(labels, labels[3:] + labels[:3]))
)
power = tuple(Power(current=f"INPA{{n}}") for n in range(1, 7))
settings = Settings(rules=rules, power=power, energy_remember=True)
engine = Engine(Profile(), settings)
print(engine.start(Moment(0.0, {START_WALL})))
for second in range(1, 30):
    at = Moment(float(second), {START_WALL} + second)
    readings = {{f"INPA{{n}}": (second * n) % 7 / 3 for n in range(1, 7)}}
    print(engine.sense(readings, at))
    switches = [Switch(label, (second + n) % 3) for n, label in enumerate(labels)]
    print(engine.apply(settings, switches, at, Cause("command")))
print(engine.machine.journal.entries())
print(engine.values)
"""


def effects_in_new_process(hash_seed: str) -> str:
    """The effects of the story in a new process; sets of texts have another order in each."""
    return subprocess.run(
        [sys.executable, "-c", STORY],
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        check=True,
        capture_output=True,
        text=True,
    ).stdout


def test_same_story_has_the_same_end_in_every_process() -> None:
    assert len({effects_in_new_process(hash_seed) for hash_seed in ("0", "1", "2", "3")}) == 1
