"""INPD1-INPD4: levels, bistable mode and impulse time.

An open pin reads 1 with a pull-up and 0 without. A falling edge is a key press: it toggles a
bistable input, starts or ends the impulse time of its pair, and counts as a pulse of a meter. The
levels at startup and changes of settings cause no edges.
"""

from collections.abc import Callable
from typing import Any

from leverframe.core.engine.calls import SetPullUp
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.timers import Key
from leverframe.core.labels import DIGITAL_INPUTS, level
from leverframe.core.settings import DigitalInput, Settings

# Journal entries of digital inputs: a contact opened or closed.
#
# Users want to see when a door was opened. But a contact that bounces or counts pulses would
# displace all other journal entries, so only the first few changes in a row are reported
# individually. Later changes are counted and reported together, at growing intervals. After a
# pause, changes are reported individually again.

#: The number of consecutive changes that are reported individually.
MAX_SINGLE = 10
#: A pause of this many seconds ends a series of consecutive changes.
QUIET_S = 600.0
#: Seconds until counted changes are reported: the first interval, which doubles up to the second.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 1800.0

BY_INPUT = Cause("input")
_OFTEN = {"opened": "opened_often", "closed": "closed_often"}


class _Changes:
    """A series of consecutive changes of one input."""

    __slots__ = ("changed_at", "counted", "counted_from", "pause_s", "told")

    def __init__(self) -> None:
        self.told = 0
        self.counted = 0
        self.counted_from = self.changed_at = 0.0
        self.pause_s = FIRST_PAUSE_S


class InputJournal:
    __slots__ = ("_machine", "_rows")

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        #: The last series of changes of each input that has changed, by the index of the input.
        self._rows: dict[int, _Changes] = {}

    def record_change(self, index: int) -> None:
        """Record the new value of an input in the journal, now or together with later ones."""
        now = self._machine.at.now
        row = self._rows.get(index)
        if row is not None and now - row.changed_at >= QUIET_S:
            # The counted changes happened before the pause.
            self._add_counted(index, row)
            row = None
        if row is None:
            row = self._rows[index] = _Changes()
        row.changed_at = now
        if row.told < MAX_SINGLE:
            row.told += 1
            self._add_entry(
                index, Fact(self._state(index), DIGITAL_INPUTS[index], *self._change(index))
            )
            return
        if row.counted == 0:
            row.counted_from = now
            self._machine.timers.set(_report_key(index), now + row.pause_s)
        row.counted += 1

    def on_timer(self, index: int) -> None:
        """Record the counted changes in the journal, and double the interval."""
        row = self._rows[index]
        self._add_counted(index, row)
        row.pause_s = min(2 * row.pause_s, LONGEST_PAUSE_S)

    def _add_counted(self, index: int, row: _Changes) -> None:
        if row.counted:
            seconds = max(1, round(row.changed_at - row.counted_from))
            figures = {"count": row.counted, "seconds": seconds}
            what = _OFTEN[self._state(index)]
            self._add_entry(index, Fact(what, DIGITAL_INPUTS[index], figures=figures))
            self._machine.timers.cancel(_report_key(index))
            row.counted = 0

    def _add_entry(self, index: int, fact: Fact) -> None:
        self._machine.note_switching(DIGITAL_INPUTS[index], BY_INPUT, fact)

    def _change(self, index: int) -> tuple[int, int]:
        value = int(self._machine.values[DIGITAL_INPUTS[index]] or 0)
        return 1 - value, value

    def _state(self, index: int) -> str:
        is_high = bool(self._machine.values[DIGITAL_INPUTS[index]])
        is_negated = self._machine.settings.digital_inputs[index].negate_display
        return "opened" if is_high != is_negated else "closed"


def _report_key(index: int) -> Key:
    return "inputs", "told", index


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
        #: Levels at the pins; None for an open pin.
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
        if not self._started:
            self._show(index)
            return
        if self._level(index) < before:
            self._fall(index)
        if self._show(index) and not self._is_counted(label):
            self._journal.record_change(index)

    def on_timer(self, key: Key) -> None:
        """Reset an input whose bistable time is over, or report the counted changes."""
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
            self._machine.mark("impulses")

    def _is_counted(self, label: str) -> bool:
        """Return True if a meter counts the pulses of an input; the journal then omits them."""
        for power in self._machine.settings.power:  # noqa: SIM110 - takes half the time of `any`
            if power.current == label:
                return True
        return False

    def _show(self, index: int) -> bool:
        bistable = self._machine.settings.digital_inputs[index].bistable
        value = self._flipped[index] if bistable else self._level(index)
        return self._machine.put(DIGITAL_INPUTS[index], value)
