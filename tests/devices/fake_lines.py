"""GPIO lines without a chip: what is driven can be read, and levels can be set like from outside.

An input has a queue of edges and a descriptor that is readable while there are some, as the
kernel's have. A chip that is not among the given ones is missing.
"""

import os
import threading
from collections.abc import Sequence

from leverframe.devices.readings import Unusable
from leverframe.devices.wiring import FilteredPin, Pin

CHIP = "/dev/gpiochip0"


class FakeLines:
    def __init__(self, *chips: str) -> None:
        self.chips = set(chips or (CHIP,))
        self.driven: dict[int | str, bool] = {}
        self.inputs: dict[int | str, FakeInput] = {}
        #: Levels of lines that are driven from outside; the rest are open.
        self.held: dict[int | str, int] = {}
        #: Chips on which driving hangs until the event is set.
        self.hanging: dict[str, threading.Event] = {}

    def open_output(self, pin: Pin, on: bool) -> "FakeOutput":
        self.need(pin)
        output = FakeOutput(self, pin)
        output.drive(on)
        return output

    def open_input(self, pin: FilteredPin, pull_up: bool) -> "FakeInput":
        self.need(pin)
        line = self.inputs[pin.line] = FakeInput(self, self.held.get(pin.line, int(pull_up)))
        return line

    def describe(self, pin: Pin) -> str:
        self.need(pin)
        return "free"

    def hold(self, line: int | str, *levels: int) -> None:
        """Set these levels on the line from outside, one after another."""
        self.held[line] = levels[-1]
        self.inputs[line].queue(levels)

    def need(self, pin: Pin) -> None:
        if pin.chip not in self.chips:
            raise Unusable(f"{pin.chip} is not there.")


class FakeOutput:
    def __init__(self, lines: FakeLines, pin: Pin) -> None:
        self._lines = lines
        self._pin = pin

    def drive(self, on: bool) -> None:
        if self._pin.chip in self._lines.hanging:
            self._lines.hanging[self._pin.chip].wait()
        self._lines.need(self._pin)
        self._lines.driven[self._pin.line] = on

    def close(self) -> None:
        """The line keeps its level."""


class FakeInput:
    def __init__(self, lines: FakeLines, level: int) -> None:
        self._lines = lines
        self._level = level
        self._readable, self._writable = os.pipe()

    def queue(self, levels: Sequence[int]) -> None:
        os.write(self._writable, bytes(levels))

    def break_down(self) -> None:
        """From now on the line can only be waited for in vain."""
        os.write(self._writable, b"\xff")

    def fileno(self) -> int:
        return self._readable

    def level(self) -> int:
        return self._level

    def edges(self) -> Sequence[int]:
        data = os.read(self._readable, 64)
        if 0xFF in data:
            raise Unusable("the chip was unplugged.")
        return list(data)

    def close(self) -> None:
        os.close(self._readable)
        os.close(self._writable)
