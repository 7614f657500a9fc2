"""The live state of an engine as plain data, with which another process can resume the engine.

`portable` exports everything that an engine needs to resume and that does not follow from its
settings: values, timers, ramps, delays, counters, the journal. From it, `engine_from` creates an
engine that continues exactly as the first would have. State that does not match the engine is
rejected before it is used. Monotonic times are not converted, because the other process also
continues the monotonic clock.

The structs below are the format. Their fields are the slots of the engine's parts, without the
underscore. Increase `FORMAT` whenever you change them or their meaning; a test fails otherwise.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import tzinfo
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Literal

import msgspec
from msgspec import Struct

from leverframe.core.engine.digital_inputs import _Changes
from leverframe.core.engine.engine import Engine, Persisted
from leverframe.core.engine.inputs import NUMBERS
from leverframe.core.engine.journal import KEPT_ENTRIES, Cause, Fact, Journal
from leverframe.core.engine.live_rule import Firing, LiveRule
from leverframe.core.engine.machine import Value
from leverframe.core.engine.missed_runs import EntryPlan
from leverframe.core.engine.rules import RESTED
from leverframe.core.engine.timers import Key, Moment
from leverframe.core.engine.watchdog import _Guard
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings, number_rules

#: Increased with every change of the exported state; states with another number are rejected.
FORMAT = 3

_DAMAGED = "The live state is damaged"
Switched = dict[str, tuple[float, Cause, int]]


class UnfitState(ErrorForPeople):
    """Live state that cannot be restored; the message is one sentence."""


class _State(Struct, array_like=True, forbid_unknown_fields=True):
    """The attributes of one part of the engine, in order."""


class MachineState(_State):
    absent_since: dict[str, float]
    at: Moment
    changed: set[str]
    dsid: str
    regulated: Switched
    restart_flag: bool
    resting: dict[str, float]
    running: set[str]
    started: Moment
    switched: Switched
    values: dict[str, Value]
    version: int


class OutputsState(_State):
    in_on_phase: list[bool]
    switched_on_at: list[float]


class ChannelState(_State):
    began: float
    end: float
    lasts_s: float
    level: float
    parked: bool
    regulated: bool
    start: float
    step: int
    steps: int


class PidState(_State):
    fresh: bool
    holding: str | None
    last_input: Value
    terms: dict[str, float]


class DisplayState(_State):
    lit_at: float
    shown: int | None


class InputsState(_State):
    raw: dict[str, float | int | None]
    barcode: str | None
    i2c_found: str | None
    lighting: dict[str, float | int | None]
    module_readings: dict[int, tuple[float | int | None, ...]]


class DigitalState(_State):
    flipped: list[int]
    flipped_at: list[float]
    impulse_from: list[float | None]
    impulse_s: list[float | None]
    pins: list[int | None]
    started: bool


class ChangesState(_State):
    changed_at: float
    counted: int
    counted_from: float
    pause_s: float
    told: int


class OneWireState(_State):
    bus: tuple[str, ...]
    by_id: dict[str, float | int]
    by_label: dict[str, float | int | None]
    powered_up: set[str]
    step: int


class MeterState(_State):
    counting: bool
    energy: float
    kept: float
    kept_power: float | int | None
    power: float | int | None
    restored_power: float | int | None


class CounterState(_State):
    rate_per_h: float
    base: float
    pulses: int
    pulses_per_unit: int
    since: float


class PulseRateState(_State):
    interval_s: float | None
    last: float | None
    waits_since: float | None


class RulesState(_State):
    activations: int
    serial: int


class LiveRuleState(_State):
    acted: int
    cause: Cause
    combined: bool
    firings: tuple[Firing, ...]
    held: int | None
    key: tuple[Literal["rules"], int]
    met: bool
    pending: Literal["activate", "deactivate"] | None
    unconfirmed: bool


class PlanState(_State):
    last_run: float | None
    next_run: float | None
    missed: float | None
    caught_up: float | None


class GuardState(_State):
    cause: Cause
    failures: int
    last_answer: float | str | None
    normal_state: int
    pinged_at: float | None
    restarts: int
    state: Literal["off", "waiting", "running", "restarting", "given up"]


class EngineState(Struct, frozen=True, forbid_unknown_fields=True):
    """The state of all parts of an engine."""

    machine: MachineState
    timers: list[tuple[float, tuple[str | int, ...]]]
    #: The number of all entries, and the newest entries.
    journal: tuple[int, list[tuple[float, Cause, Fact]]]
    outputs: OutputsState
    pwm: list[ChannelState]
    pid: PidState
    display: DisplayState
    inputs: InputsState
    digital: DigitalState
    contacts: dict[int, ChangesState]
    onewire: OneWireState
    meters: list[MeterState]
    counters: list[CounterState]
    pulse_rates: list[PulseRateState]
    rules: RulesState
    live_rules: list[LiveRuleState]
    #: The last results of each rule's conditions.
    results: list[tuple[bool | None, ...]]
    plans: dict[int, PlanState]
    guards: list[GuardState]


#: Structs with mappings or deques, which must be converted before encoding.
_WITH_CONTAINERS = frozenset((MachineState, PidState, InputsState, OneWireState, LiveRuleState))


def portable(engine: Engine, entries: int = KEPT_ENTRIES) -> EngineState:
    """Return the state of an engine, with the newest entries of its journal; only for `ENCODER`.

    Encode it immediately, because it refers to objects that the engine changes.
    """
    machine, inputs = engine.machine, engine.inputs
    meters, lives = engine.energy._meters, engine.rules._live
    return EngineState(
        machine=_state(MachineState, machine),
        timers=machine.timers.in_order(),
        journal=(machine.journal.count, machine.journal.newest(entries)),
        outputs=_state(OutputsState, engine.outputs),
        pwm=[_state(ChannelState, channel) for channel in engine.pwm._channels],
        pid=_state(PidState, engine.pid),
        display=_state(DisplayState, engine.display),
        inputs=_state(InputsState, inputs),
        digital=_state(DigitalState, inputs._digital),
        contacts={
            index: _state(ChangesState, row)
            for index, row in inputs._digital._journal._rows.items()
        },
        onewire=_state(OneWireState, inputs._onewire),
        meters=[_state(MeterState, meter) for meter in meters],
        counters=[_state(CounterState, meter.counter) for meter in meters],
        pulse_rates=[_state(PulseRateState, meter.pulse_rate) for meter in meters],
        rules=_state(RulesState, engine.rules),
        live_rules=[_state(LiveRuleState, live) for live in lives],
        results=[tuple(one.result for one in live.conditions()) for live in lives],
        plans={index: _state(PlanState, plan) for index, plan in engine.schedule._plans.items()},
        guards=[_state(GuardState, guard) for guard in engine.watchdog._guards],
    )


def changes_of(engine: Engine) -> tuple[int, ...]:
    """Return a tuple that differs whenever the state differs."""
    machine = engine.machine
    return machine.version, machine.journal.count, machine.timers.serial, len(machine.timers)


def _encode_hook(value: Any) -> Any:
    """Encode the figures of facts, whose type msgspec does not support."""
    if isinstance(value, MappingProxyType):
        return dict(value)
    raise NotImplementedError(type(value))


#: Encodes a state, or an object that contains one.
ENCODER = msgspec.json.Encoder(enc_hook=_encode_hook)


def engine_from(
    state: EngineState,
    profile: Profile,
    settings: Settings,
    timezone: tzinfo,
    persisted: Persisted,
) -> Engine:
    """Create an engine from a saved state; raise UnfitState if the state does not fit.

    `settings` and `persisted` are those of the other engine.
    """
    engine = Engine(profile, settings, timezone, persisted)
    try:
        _fill(engine, state)
    except (LookupError, ValueError, TypeError, AttributeError) as error:
        raise UnfitState(f"{_DAMAGED}: {error}.") from error
    return engine


def _fill(engine: Engine, state: EngineState) -> None:
    inputs, energy = engine.inputs, engine.energy
    _restore_all(engine.pwm._channels, state.pwm)
    for part, of_part in (
        (engine.outputs, state.outputs),
        (engine.pid, state.pid),
        (engine.display, state.display),
        (inputs, state.inputs),
        (inputs._digital, state.digital),
        (inputs._onewire, state.onewire),
    ):
        _restore(part, of_part)
    if strangers := state.inputs.raw.keys() - NUMBERS:
        raise ValueError(f"raw has {min(strangers)}")
    shown = engine.display.shown
    if shown is not None and not 0 <= shown < len(engine.settings.oled.screens):
        raise ValueError(f"there is no screen {shown}")
    for index, row in state.contacts.items():
        _restore(inputs._digital._journal._rows.setdefault(index, _Changes()), row)
    for meter, setting in zip(energy._meters, engine.settings.power, strict=True):
        meter.follow(setting)
    energy._bind()
    _restore_all(energy._meters, state.meters)
    _restore_all([meter.counter for meter in energy._meters], state.counters)
    _restore_all([meter.pulse_rate for meter in energy._meters], state.pulse_rates)
    engine.differentials._bind()
    _fill_rules(engine, state)
    _fill_plans(engine, state.plans)
    engine.watchdog._guards = [
        _Guard(index, entry) for index, entry in enumerate(engine.settings.watchdog)
    ]
    _restore_all(engine.watchdog._guards, state.guards)
    engine._note_listeners()
    machine = engine.machine
    _restore(machine, state.machine)
    machine.journal = Journal.resume(*state.journal)
    known = set(_keys_of(engine, state))
    for when, key in state.timers:
        if key not in known:
            raise ValueError(f"there is no timer {key}")
        machine.timers.set(key, when)
    # The stored data about rules may be newer than this state.
    engine.rules._memory.keep_all(engine.rules._live)


def _fill_rules(engine: Engine, state: EngineState) -> None:
    rules = engine.rules
    of_rules = zip(number_rules(engine.settings.rules), state.live_rules, strict=True)
    rules._live = [LiveRule(rule, one.key, number) for (number, rule), one in of_rules]
    rules._link()
    _restore_all(rules._live, state.live_rules)
    for live, results in zip(rules._live, state.results, strict=True):
        for condition, result in zip(live.conditions(), results, strict=True):
            condition.result = result
    rules._waiting = {live.key: live for live in rules._live if live.pending}
    _restore(rules, state.rules)


def _fill_plans(engine: Engine, plans: Mapping[int, PlanState]) -> None:
    entries = engine.settings.schedule
    active = {index for index, entry in enumerate(entries) if entry is not None and entry.active}
    if active != plans.keys():
        raise ValueError("the controller has other schedule entries")
    engine.schedule._has_looked_back = True
    for index, plan in plans.items():
        entry = entries[index]
        assert entry is not None
        _restore(engine.schedule._plans.setdefault(index, EntryPlan(index, entry)), plan)


def _keys_of(engine: Engine, state: EngineState) -> Iterator[Key]:
    """Yield the keys that deadlines of this engine may have."""
    yield from (("pid", "sample"), ("display", "dark"), ("schedule",), ("http period",))
    yield from (("rules", "unconfirmed"), RESTED, ("energy", "show"), ("energy", "keep"))
    yield from engine.rules._waiting
    indexed: tuple[tuple[Key, Iterable[int]], ...] = (
        *((("outputs", kind), range(6)) for kind in ("return", "pulse", "phase", "delay")),
        *((("energy", kind), range(len(state.meters))) for kind in ("overdue", "restored")),
        (("pwm", "step"), range(len(state.pwm))),
        (("inputs", "bistable"), range(len(state.digital.pins))),
        (("inputs", "told"), state.contacts),
        (("watchdog",), range(len(state.guards))),
    )
    for key, indices in indexed:
        yield from ((*key, index) for index in indices)


# --- slots ----------------------------------------------------------------------------------------


#: Getters that read all slots of a struct in one call, because states are read every second.
_READERS: dict[type[_State], Callable[[Any], tuple[Any, ...]]] = {}


def _slots(kind: type[_State], part: Any) -> list[str]:
    names = kind.__struct_fields__
    return [f"_{name}" if hasattr(part, f"_{name}") else name for name in names]


def _state(kind: type[_State], part: Any) -> Any:
    """Return the slots of a part as a tuple, which is encoded like the struct."""
    read = _READERS.get(kind)
    if read is None:
        read = _READERS[kind] = attrgetter(*_slots(kind, part))
    return tuple(map(_plain, read(part))) if kind in _WITH_CONTAINERS else read(part)


def _plain(value: Any) -> Any:
    kind = type(value)
    if kind is dict:
        # All engines have the same labels, and most of them are absent.
        return {key: one for key, one in value.items() if one is not None}
    return tuple(value) if kind is deque else value


def _restore_all(parts: Iterable[object], states: Iterable[_State]) -> None:
    for part, state in zip(parts, states, strict=True):
        _restore(part, state)


def _restore(part: Any, state: _State) -> None:
    for name, slot in zip(state.__struct_fields__, _slots(type(state), part), strict=True):
        now, value = getattr(part, slot), getattr(state, name)
        if type(now) is list and len(now) != len(value):
            raise ValueError(f"{name} has {len(value)} places instead of {len(now)}")
        if type(now) is dict and now:
            # The keys are always the same; absent values are omitted.
            if strangers := value.keys() - now.keys():
                raise ValueError(f"{name} has {min(strangers)}")
            value = {**dict.fromkeys(now), **value}
        elif type(now) is deque:
            value = deque(value, now.maxlen)
        setattr(part, slot, value)
