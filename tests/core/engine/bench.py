"""A bench for the engine: one controller, a clock that is set by hand, and all effects so far.

`Bench({"outputs.0.return_time": 5})` starts a controller with these settings. Tests speak to it by
settings, actions, readings and seconds, and look at values, effects and the journal.
"""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from typing import Any, TypeVar, overload

from leverframe.core.engine.calls import (
    OFF,
    ON,
    REVERSE,
    Action,
    DriveOutput,
    DrivePwm,
    Effect,
    Persist,
    Switch,
)
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Value
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, with_value

_Kind = TypeVar("_Kind")

NEWEST = Profile()
NOTHING: Mapping[str, Any] = {}
BY_TEST = Cause("command", "test")
START_NOW = 1000.0
#: 2025-06-02 00:00 UTC, a Monday.
START_WALL = 1_748_822_400.0


def with_values(settings: Settings, changes: Mapping[str, Any]) -> Settings:
    for path, value in changes.items():
        settings = with_value(settings, path, value)
    return settings


class Bench:
    def __init__(
        self,
        changes: Mapping[str, Any] = NOTHING,
        *,
        profile: Profile = NEWEST,
        timezone: tzinfo = UTC,
        now: float = START_NOW,
        remembered: Mapping[str, Any] = NOTHING,
    ) -> None:
        self.profile = profile
        self.timezone = timezone
        self.now = now
        self.kept = dict(remembered)
        self._wall_offset = START_WALL - now
        #: What the pins were last driven to, by index.
        self.output_pins: dict[int, bool] = {}
        self.pwm_pins: dict[int, float] = {}
        #: All effects since the last look.
        self._effects: list[Effect] = []
        self._start(with_values(defaults(profile), changes))

    def _start(self, settings: Settings, readings: Mapping[str, Any] = NOTHING) -> None:
        self.engine = Engine(self.profile, settings, self.timezone, dict(self.kept))
        self._carry_out(self.engine.start(self.at, readings))

    @property
    def at(self) -> Moment:
        return Moment(self.now, self.now + self._wall_offset)

    @property
    def values(self) -> Mapping[str, Value]:
        return self.engine.values

    @property
    def settings(self) -> Settings:
        return self.engine.settings

    def set(self, **changes: Any) -> None:
        """Change settings; paths are written with two underscores: `outputs__0__name="x"`."""
        dotted = {path.replace("__", "."): value for path, value in changes.items()}
        self.apply(with_values(self.settings, dotted))

    def do(self, *actions: Action) -> None:
        self.apply(self.settings, *actions)

    def apply(self, settings: Settings, *actions: Action) -> None:
        self._carry_out(self.engine.apply(settings, actions, self.at, BY_TEST))

    def switch_on(self, label: str) -> None:
        self.do(Switch(label, ON))

    def switch_off(self, label: str) -> None:
        self.do(Switch(label, OFF))

    def reverse(self, label: str) -> None:
        self.do(Switch(label, REVERSE))

    def connect(self, mqtt: bool) -> None:
        self._carry_out(self.engine.note_connection(mqtt, self.at))

    def answer_ping(self, entry: int, milliseconds: float | None) -> None:
        self._carry_out(self.engine.ping_answered(entry, milliseconds, self.at))

    def set_clock(self, wall: float) -> None:
        """The wall clock shows another time from now on."""
        self._wall_offset = wall - self.now
        self._carry_out(self.engine.clock_changed(self.at))

    def stop(self) -> None:
        self._carry_out(self.engine.stop(self.at))

    def sense(self, **readings: Any) -> None:
        self._carry_out(self.engine.sense(readings, self.at))

    def wait(self, seconds: float) -> None:
        """Let time pass; all that is due in between happens when it is due."""
        until = self.now + seconds
        while (when := self.engine.next_deadline()) is not None and when <= until:
            self.now = max(when, self.now)
            self._carry_out(self.engine.tick(self.at))
        self.oversleep(until - self.now)

    def oversleep(self, seconds: float) -> None:
        """Let time pass without serving what is due in between until the end."""
        self.now += seconds
        self._carry_out(self.engine.tick(self.at))

    def restart(self, **readings: Any) -> None:
        """Off and on again: the same settings, what was remembered, and the first readings."""
        self._start(self.settings, readings)

    def rewind_to(self, other: "Bench") -> None:
        """Forget what happened since the other bench lived the same; the engine is not touched."""
        self.now, self.kept = other.now, dict(other.kept)
        self.output_pins, self.pwm_pins = dict(other.output_pins), dict(other.pwm_pins)
        self._effects = list(other._effects)

    @overload
    def effects(self) -> list[Effect]: ...

    @overload
    def effects(self, kind: type[_Kind]) -> list[_Kind]: ...

    def effects(self, kind: type[Any] = object) -> list[Any]:
        """The effects since the last look, or those of one kind; the others are looked at, too."""
        taken, self._effects = self._effects, []
        return [effect for effect in taken if isinstance(effect, kind)]

    def history(self) -> list[str]:
        """The journal's texts with their causes."""
        return [f"{entry.cause}: {entry.text}" for entry in self.engine.machine.journal.entries()]

    def due_in(self) -> float | None:
        """Seconds until the next deadline."""
        when = self.engine.next_deadline()
        return None if when is None else when - self.now

    def _carry_out(self, effects: list[Effect]) -> None:
        self._effects += effects
        for effect in effects:
            if isinstance(effect, Persist):
                self.kept[effect.name] = effect.value
            elif isinstance(effect, DriveOutput):
                self.output_pins[effect.index] = effect.on
            elif isinstance(effect, DrivePwm):
                self.pwm_pins[effect.index] = effect.level


def check_that_both_continue_alike(bench: Bench, copy: Bench) -> None:
    for one in (bench, copy):
        one.sense(DS1=40.0, INPD1=0)
        one.wait(5000)
    assert copy.effects() == bench.effects()
    assert copy.values == bench.values
    assert copy.history() == bench.history()
