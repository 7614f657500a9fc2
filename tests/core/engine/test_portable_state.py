"""The live state of an engine as plain data: complete, identified by its format, and checked.

That an engine made from it continues exactly as the original is in `test_engine_properties.py`.
"""

import inspect
from datetime import UTC
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine import portable_state
from leverframe.core.engine.calls import PingHost
from leverframe.core.engine.digital_inputs import DigitalInputs, _Changes
from leverframe.core.engine.display import Display
from leverframe.core.engine.energy import Counter, PulseRate, _Meter
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.inputs import Inputs, OneWire
from leverframe.core.engine.live_rule import LiveRule
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.missed_runs import EntryPlan
from leverframe.core.engine.outputs import Outputs
from leverframe.core.engine.pid import PidRegulator
from leverframe.core.engine.portable_state import (
    ENCODER,
    EngineState,
    UnfitState,
    engine_from,
    portable,
)
from leverframe.core.engine.pwm import _Channel
from leverframe.core.engine.rules import Rules
from leverframe.core.engine.timers import Moment
from leverframe.core.engine.watchdog import _Guard
from leverframe.core.settings import Differential, Power, Rule, ScheduleEntry, WatchdogEntry
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import examples
from tests.random_settings import random_settings

from .bench import Bench, check_that_both_continue_alike, with_values
from .test_engine_properties import SETTINGS, actions, readings, some_rules


class Event(NamedTuple):
    """Something that happens to a controller."""

    kind: str
    what: Any

    def happen(self, bench: Bench) -> None:
        if self.kind == "sense":
            bench.sense(**self.what)
        elif self.kind == "do":
            bench.do(*self.what)
        elif self.kind == "answer":
            bench.answer_ping(0, self.what)
        elif self.kind == "connect":
            bench.connect(self.what)
        else:
            bench.wait(self.what)


#: Part -> the struct that names its slots, and the slots that follow from settings or from others.
PARTS: dict[type, tuple[type, set[str]]] = {
    Machine: (
        portable_state.MachineState,
        {"configured_timezone", "effects", "journal", "persisted", "profile"}
        | {"recent", "samples", "settings", "timers", "timezone"},
    ),
    Outputs: (portable_state.OutputsState, {"_machine", "find_wish"}),
    _Channel: (portable_state.ChannelState, set()),
    PidRegulator: (portable_state.PidState, {"_is_settled", "_machine", "_pwm"}),
    Display: (portable_state.DisplayState, {"_machine"}),
    Inputs: (portable_state.InputsState, {"_digital", "_machine", "_onewire"}),
    DigitalInputs: (
        portable_state.DigitalState,
        {"_journal", "_machine", "_on_falling_edge"},
    ),
    _Changes: (portable_state.ChangesState, set()),
    OneWire: (portable_state.OneWireState, {"_machine", "_places", "bound"}),
    _Meter: (
        portable_state.MeterState,
        {"by_pulses", "counted_factor", "counter", "kilowatts", "pulse_rate", "setting"}
        | {"shown_factor"},
    ),
    Counter: (portable_state.CounterState, set()),
    PulseRate: (portable_state.PulseRateState, set()),
    Rules: (
        portable_state.RulesState,
        {"_actuator", "_by_source", "_by_target", "_holders", "_live", "_machine", "_memory"}
        | {"_waiting"},
    ),
    LiveRule: (
        portable_state.LiveRuleState,
        {"combine", "dependents", "first", "needed", "number", "rule", "second", "switches"}
        | {"target"},
    ),
    EntryPlan: (portable_state.PlanState, {"cause", "entry"}),
    _Guard: (portable_state.GuardState, {"entry", "index", "key"}),
}
#: Parts that have no state of their own to resume from.
STATELESS = {
    *("Actuator", "Differentials", "Energy", "Engine", "EventVariables", "HttpPeriod"),
    *("InputJournal", "PwmOutputs", "RuleMemory", "Schedule", "Watchdog"),
}


@for_each("part", list(PARTS), ids=lambda part: part.__name__)
def test_every_slot_is_exported_or_follows_from_what_is(part: type) -> None:
    kind, rebuilt = PARTS[part]
    assert issubclass(kind, msgspec.Struct)
    named = set(kind.__struct_fields__)
    slots = set(part.__slots__)  # type: ignore[attr-defined]
    assert rebuilt <= slots
    assert {slot.removeprefix("_") for slot in slots - rebuilt} == named


def test_no_part_of_the_engine_is_forgotten() -> None:
    found: set[type] = set()

    def look(value: Any) -> None:
        kind = type(value)
        if kind in found or isinstance(value, msgspec.Struct):
            return
        if isinstance(value, dict):
            value = [*value.values()]
        if isinstance(value, list | tuple):
            for one in value:
                look(one)
        elif kind.__module__.startswith("leverframe.core.engine"):
            found.add(kind)
            for slot in kind.__slots__:
                look(getattr(value, slot))

    entry = ScheduleEntry(action="OUT0", time=60, days=("Mon",), active=True)
    bench = Bench({"rules": (Rule(source="DS1", enabled=True),), "schedule.0": entry})
    bench.sense(INPD1=0)
    look(bench.engine)
    beside = {"Condition", "Journal", "Timers"}
    assert {part.__name__ for part in found} == {
        *(part.__name__ for part in PARTS),
        *STATELESS,
        *beside,
    }


def take_over(bench: Bench, engine: Engine) -> Bench:
    state = msgspec.json.decode(ENCODER.encode(portable(engine)), type=EngineState)
    copy = Bench(profile=bench.profile)
    copy.engine = engine_from(
        state, bench.profile, engine.settings, bench.timezone, dict(bench.kept)
    )
    copy.rewind_to(bench)
    return copy


@for_each("seed", range(8))
def test_any_settings_of_any_version_resume_in_another_process(seed: int) -> None:
    random = Random(seed)
    profile = random.choice(PROFILES)
    bench = Bench(profile=profile, timezone=UTC)
    bench.apply(random_settings(profile, random))
    bench.sense(DS1=20.0, INPD1=1, T1=19.5)
    bench.wait(100)
    copy = take_over(bench, bench.engine)
    bench.effects()
    copy.effects()
    check_that_both_continue_alike(bench, copy)


def test_manual_hold_survives_in_another_process() -> None:
    lit = Rule(source="INPD1", reference=1, action="OUT0", value=1, enabled=True)
    bench = Bench({"rules": (lit,)})
    bench.sense(INPD1=1)
    bench.switch_off("OUT0")
    (deviation,) = bench.engine.find_deviations()
    assert (deviation.label, deviation.since) == ("OUT0", bench.at.wall)
    assert take_over(bench, bench.engine).engine.find_deviations() == [deviation]


#: Settings with which much runs at the same time: every one of them is set, and there are rules.
busy_settings = st.fixed_dictionaries(
    SETTINGS | {"rules": st.lists(some_rules, min_size=2, max_size=5).map(tuple)}
)
events = st.lists(
    st.builds(Event, st.just("sense"), readings)
    | st.builds(Event, st.just("do"), actions)
    | st.builds(Event, st.just("wait"), st.floats(0, 30) | st.integers(0, 60).map(float))
    | st.builds(Event, st.just("answer"), st.none() | st.floats(0, 100))
    | st.builds(Event, st.just("connect"), st.booleans()),
    min_size=3,
    max_size=10,
)


@examples(80)
@given(changes=busy_settings, before=events, after=events)
def test_everything_that_runs_resumes_unchanged_in_another_process(
    changes: dict[str, Any], before: list[Event], after: list[Event]
) -> None:
    bench = Bench()
    bench.apply(with_values(bench.settings, changes))
    for event in before:
        event.happen(bench)
    copy = take_over(bench, bench.engine)
    state, again = (
        msgspec.json.decode(ENCODER.encode(portable(one.engine)), type=EngineState)
        for one in (bench, copy)
    )
    assert again == state
    # The benches hand the store over as it was at the start.
    copy.engine.machine.persisted = bench.engine.machine.persisted
    for event in (*after, Event("wait", 100.0)):
        for one in (bench, copy):
            event.happen(one)
        assert copy.effects() == bench.effects()
        assert copy.values == bench.values
    assert copy.history() == bench.history()


def test_derived_and_counted_values_resume() -> None:
    bench = Bench(
        {
            "differentials.0": Differential(first="DS1", second="T1"),
            "power.0": Power(current="m1"),
            "power.1": Power(current="INPD1", pulses=1000),
        }
    )
    bench.sense(DS1=20.0, T1=15.0, m1=1.0, INPD1=1)
    copy = take_over(bench, bench.engine)
    for one in (bench, copy):
        one.sense(DS1=25.0, m1=2.0, INPD1=0)
        one.wait(3600)
    assert copy.values == bench.values
    assert bench.values["DIFF1"] == 10
    assert (bench.values["ENERGY1"] or 0) > 0
    assert bench.values["ENERGY2"] == 0.001


def test_few_entries_of_the_journal_are_enough_and_numbers_continue() -> None:
    bench = Bench()
    for _ in range(5):
        bench.reverse("OUT0")
    data = ENCODER.encode(portable(bench.engine, entries=2))
    state = msgspec.json.decode(data, type=EngineState)
    engine = engine_from(state, bench.profile, bench.settings, UTC, {})
    assert [entry.number for entry in engine.machine.journal.entries()] == [4, 5]
    assert engine.machine.log(bench.engine.machine.mover("OUT0"), state.journal[1][0][2]) == 6


def test_ping_with_a_lost_answer_is_repeated_after_the_move() -> None:
    guarded = WatchdogEntry(
        enabled=True, host="router", output="OUT0", failures=1, timeout=2, interval=10, length=5
    )
    bench = Bench({"watchdog.0": guarded})
    bench.wait(guarded.delay)
    assert bench.effects(PingHost)
    copy = take_over(bench, bench.engine)
    copy.effects()
    copy.now += 30
    copy._carry_out(copy.engine.resume(copy.at, {}))
    assert copy.effects(PingHost) == [PingHost(0, "router", 2.0)]
    assert copy.engine.watchdog.explain()[0].failures == 0
    copy.wait(2)
    assert copy.values["OUT0"] == 1


DAMAGE = {
    "a list that is too short": lambda state: state["outputs"][0].pop(),
    "an unknown label": lambda state: state["machine"][10].update(OUT77=1),
    "a timer without a handler": lambda state: state["timers"].append([5.0, ["outputs", "x", 1]]),
    "a screen that there is not": lambda state: state["display"].__setitem__(1, 77),
    "another number of rules": lambda state: state["live_rules"].clear(),
    "an entry of the schedule that is not there": lambda state: state["plans"].update(
        {"3": [None, 5.0, None, None]}
    ),
    "another number of meters": lambda state: state["meters"].pop(),
}


@for_each("damage", list(DAMAGE.values()), ids=list(DAMAGE))
def test_unsuitable_state_is_refused_in_words(damage: Any) -> None:
    bench = Bench({"rules": (Rule(source="DS1", enabled=True),)})
    plain = msgspec.json.decode(ENCODER.encode(portable(bench.engine)))
    damage(plain)
    state = msgspec.convert(plain, EngineState, strict=False)
    with pytest.raises(UnfitState, match="The live state is damaged: .*"):
        engine_from(state, bench.profile, bench.settings, UTC, {})


def test_state_that_is_no_plain_data_is_not_exported() -> None:
    with pytest.raises(NotImplementedError):
        ENCODER.encode(inspect)
    assert msgspec.json.decode(ENCODER.encode(Moment(1.0, 2.0))) == {"now": 1.0, "wall": 2.0}
