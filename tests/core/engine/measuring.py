"""A bench for the measuring side alone: inputs, energy and differentials on a bare machine.

`wait` serves every deadline at its own moment; `jump` serves them all late, in one go.
"""

from collections.abc import Mapping
from datetime import UTC
from typing import Any

from leverframe.core.engine.calls import Effect
from leverframe.core.engine.energy import Energy
from leverframe.core.engine.inputs import Differentials, Inputs
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Feature, Machine, Value
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value

NOTHING: Mapping[str, Any] = {}
NEWEST = Profile()
BY_TEST = Cause("command", "test")
START = Moment(1000.0, 1_700_000_000.0)


class Measuring:
    def __init__(
        self,
        changes: Mapping[str, Any] = NOTHING,
        *,
        profile: Profile = NEWEST,
        remembered: Mapping[str, Any] = NOTHING,
        sensed_before_start: Mapping[str, Any] = NOTHING,
    ) -> None:
        settings = defaults(profile)
        for path, value in changes.items():
            settings = with_value(settings, path, value)
        self.machine = Machine(profile, settings, UTC, remembered)
        self.energy = Energy(self.machine)
        self.inputs = Inputs(self.machine, self.energy.pulse)
        self.differentials = Differentials(self.machine)
        self.machine.at = START
        self.inputs.sense(sensed_before_start)
        for feature in self._features():
            feature.start()
        self._derive()

    @property
    def values(self) -> Mapping[str, Value]:
        return self.machine.values

    def sense(self, readings: Mapping[str, Any]) -> None:
        self.inputs.sense(readings)
        self._derive()

    def set(self, changes: Mapping[str, Any]) -> None:
        old = self.machine.settings
        for path, value in changes.items():
            self.machine.settings = with_value(self.machine.settings, path, value)
        for feature in self._features():
            feature.adopt(old)
        self._derive()

    def wait(self, seconds: float) -> None:
        end = self.machine.at.now + seconds
        while (when := self.machine.timers.next_due) is not None and when <= end:
            self._move_to(max(when, self.machine.at.now))
            self._fire_due()
        self._move_to(end)

    def jump(self, seconds: float) -> None:
        self._move_to(self.machine.at.now + seconds)
        while (when := self.machine.timers.next_due) is not None and when <= self.machine.at.now:
            self._fire_due()

    def effects(self, kind: type[Effect]) -> list[Effect]:
        """The effects of one kind since the last look."""
        taken, self.machine.effects = self.machine.effects, []
        return [effect for effect in taken if isinstance(effect, kind)]

    def version_grows(self) -> bool:
        """Did anything change that a status file shows, since the last look?"""
        before, self.machine.version = self.machine.version, 0
        return before > 0

    def _features(self) -> tuple[Feature, ...]:
        return (self.inputs, self.energy, self.differentials)

    def _derive(self) -> None:
        self.inputs.derive(self.machine.changed)
        self.energy.derive(self.machine.changed)
        self.differentials.derive(self.machine.changed)
        self.machine.changed.clear()

    def _move_to(self, now: float) -> None:
        self.machine.at = Moment(now, START.wall + now - START.now)

    def _fire_due(self) -> None:
        key = self.machine.timers.pop()
        {"inputs": self.inputs, "energy": self.energy}[str(key[0])].on_timer(key)
        self._derive()
