"""INPD1-INPD4: levels, bistable mode and impulse time.

An open pin reads 1 with a pull-up and 0 without. A falling edge of that level is a press: it flips
a bistable input, starts or ends the impulse time of its pair and counts as a pulse of a meter.
Levels known before the start and changes of settings make no edges.
"""

from collections.abc import Callable
from typing import Any

from leverframe.engine.effects import SetPullUp
from leverframe.engine.input_journal import InputJournal
from leverframe.engine.labels import DIGITAL_INPUTS
from leverframe.engine.machine import Machine
from leverframe.engine.readings import level
from leverframe.engine.settings import DigitalInput, Settings
from leverframe.engine.timers import Key

_INDEX = {label: index for index, label in enumerate(DIGITAL_INPUTS)}
_PAIRS = len(DIGITAL_INPUTS) // 2


class DigitalInputs:
    __slots__ = (
        "_flipped",
        "_flipped_at",
        "_impulse_from",
        "_impulse_s",
        "_journal",
        "_machine",
        "_on_falling_edge",
        "_pins",
        "_started",
    )

    def __init__(self, machine: Machine, on_falling_edge: Callable[[str], None]) -> None:
        self._machine = machine
        self._journal = InputJournal(machine)
        self._on_falling_edge = on_falling_edge
        #: None is open.
        self._pins: list[int | None] = [None] * len(DIGITAL_INPUTS)
        #: The logical states of bistable mode, and when each was last set to 1.
        self._flipped = [0] * len(DIGITAL_INPUTS)
        self._flipped_at = [0.0] * len(DIGITAL_INPUTS)
        self._impulse_from: list[float | None] = [None] * _PAIRS
        self._impulse_s: list[float | None] = [None] * _PAIRS
        self._started = False

    def start(self) -> None:
        self._started = True
        for index, setting in enumerate(self._machine.settings.digital_inputs):
            self._machine.emit(SetPullUp(index, setting.pull_up))
            self._show(index)

    def adopt(self, old: Settings) -> None:
        new = self._machine.settings
        if new.digital_inputs is not old.digital_inputs:
            pairs = zip(old.digital_inputs, new.digital_inputs, strict=True)
            for index, (before, after) in enumerate(pairs):
                if before is not after:
                    self._adopt_input(index, before, after)
        if new.impulse_time is not old.impulse_time:
            for pair, measuring in enumerate(new.impulse_time):
                if not measuring:
                    self._impulse_from[pair] = None
                    self._show_impulse(pair, None)

    def take(self, label: str, value: Any) -> None:
        index = _INDEX[label]
        pin = level(value)
        if pin == self._pins[index]:
            return
        before = self._level(index)
        self._pins[index] = pin
        after = self._level(index)
        if after < before and self._started:
            self._fall(index)
        if self._show(index) and self._started and not self._is_counted(label):
            self._journal.record_change(index)

    def on_timer(self, key: Key) -> None:
        """Reset an input whose bistable time is over, or report the changes that were counted."""
        index = int(key[2])
        if key[1] == "told":
            self._journal.on_timer(index)
            return
        self._flipped[index] = 0
        if self._show(index):
            self._journal.record_change(index)

    def pin(self, label: str) -> int | None:
        return self._pins[_INDEX[label]]

    def impulse_s(self, pair: int) -> float | None:
        return self._impulse_s[pair]

    def _adopt_input(self, index: int, before: DigitalInput, after: DigitalInput) -> None:
        if before.pull_up != after.pull_up:
            self._machine.emit(SetPullUp(index, after.pull_up))
        if before.bistable != after.bistable:
            self._flipped[index] = 0
        self._time_bistable(index)
        self._show(index)

    def _level(self, index: int) -> int:
        pin = self._pins[index]
        return int(self._machine.settings.digital_inputs[index].pull_up) if pin is None else pin

    def _fall(self, index: int) -> None:
        self._on_falling_edge(DIGITAL_INPUTS[index])
        if self._machine.settings.digital_inputs[index].bistable:
            self._flipped[index] ^= 1
            self._flipped_at[index] = self._machine.at.now
            self._time_bistable(index)
        self._time_impulse(index)

    def _time_bistable(self, index: int) -> None:
        key = ("inputs", "bistable", index)
        bistable_time = self._machine.settings.digital_inputs[index].bistable_time
        if self._flipped[index] and bistable_time > 0:
            self._machine.timers.set(key, self._flipped_at[index] + bistable_time)
        else:
            self._machine.timers.cancel(key)

    def _time_impulse(self, index: int) -> None:
        pair, is_second = divmod(index, 2)
        if not self._machine.settings.impulse_time[pair]:
            return
        now = self._machine.at.now
        started = self._impulse_from[pair]
        if not is_second:
            self._impulse_from[pair] = now
        elif started is not None:
            self._impulse_from[pair] = None
            self._show_impulse(pair, now - started)

    def _show_impulse(self, pair: int, seconds: float | None) -> None:
        if seconds != self._impulse_s[pair]:
            self._impulse_s[pair] = seconds
            self._machine.version += 1

    def _is_counted(self, label: str) -> bool:
        """Return True if a meter counts the pulses of an input: its counter reports them."""
        return any(power.current == label for power in self._machine.settings.power)

    def _show(self, index: int) -> bool:
        bistable = self._machine.settings.digital_inputs[index].bistable
        value = self._flipped[index] if bistable else self._level(index)
        return self._machine.put(DIGITAL_INPUTS[index], value)
