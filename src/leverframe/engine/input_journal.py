"""What the journal says of digital inputs: that a contact opened or closed.

People want to read when the door opened. A contact that bounces or counts would push everything
else out of the journal, so only the first few changes in a row are reported one by one; later
changes are counted and reported together, at growing intervals. After a quiet time each change is
reported again.
"""

from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.engine.labels import DIGITAL_INPUTS
from leverframe.engine.machine import Machine
from leverframe.engine.timers import Key

#: Changes in a row that are reported one by one.
MAX_SINGLE = 10
#: A pause of this many seconds between two changes ends the row.
QUIET_S = 600.0
#: Seconds until the counted changes are reported; they double from the first pause to the longest.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 1800.0

BY_INPUT = Cause("input")
_OFTEN = {"opened": "opened_often", "closed": "closed_often"}


class _Changes:
    """Changes of one input that follow each other."""

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
        #: By the place of the input; only of those that have changed.
        self._rows: dict[int, _Changes] = {}

    def record_change(self, index: int) -> None:
        """Enter the new value of an input in the journal, now or together with the next ones."""
        now = self._machine.at.now
        row = self._rows.get(index)
        if row is not None and now - row.changed_at >= QUIET_S:
            # What was counted was before the quiet time.
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
        """Enter what was counted in the journal, and wait longer the next time."""
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
        machine, label = self._machine, DIGITAL_INPUTS[index]
        machine.switched[label] = machine.at.wall, BY_INPUT, machine.log(BY_INPUT, fact)

    def _change(self, index: int) -> tuple[int, int]:
        value = int(self._machine.values[DIGITAL_INPUTS[index]] or 0)
        return 1 - value, value

    def _state(self, index: int) -> str:
        is_high = bool(self._machine.values[DIGITAL_INPUTS[index]])
        is_negated = self._machine.settings.digital_inputs[index].negate_display
        return "opened" if is_high != is_negated else "closed"


def _report_key(index: int) -> Key:
    return "inputs", "told", index
