"""The outputs and digital inputs of a Linux board, on GPIO lines.

Lines are opened on first use, in the thread of their chip, and reopened after a failure. A reopened
output gets its last commanded state, and an input reports its current level. Edges reach the event
loop directly.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from leverframe.devices.linux.device_thread import DeviceThread
from leverframe.devices.readings import Troubles, Unusable, not_installed
from leverframe.devices.wiring import FilteredPin, Pin

# GPIO lines: the interface that the board needs.
#
# The rest of the code uses only `Lines`, which `kernel_drivers.py` implements with the kernel and a
# substitute can implement for tests. Each line is opened separately: a line that is in use or
# missing does not affect the others. Methods raise `Unusable` with a sentence; all but `fileno` and
# `edges` may block.


class OutputLine(Protocol):
    def drive(self, on: bool) -> None: ...

    def close(self) -> None: ...


class InputLine(Protocol):
    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when there are edges."""

    def level(self) -> int: ...

    def edges(self) -> Sequence[int]:
        """Return the levels after the edges since the last call; called when there are edges."""

    def close(self) -> None: ...


class Lines(Protocol):
    def open_output(self, pin: Pin, on: bool) -> OutputLine: ...

    def open_input(self, pin: FilteredPin, pull_up: bool) -> InputLine: ...

    def describe(self, pin: Pin) -> str:
        """Describe the line or its problem without opening it."""


class NoLines:
    """The lines of a system without the package for GPIO lines."""

    def open_output(self, pin: Pin, on: bool) -> OutputLine:
        raise not_installed("gpiod")

    def open_input(self, pin: FilteredPin, pull_up: bool) -> InputLine:
        raise not_installed("gpiod")

    def describe(self, pin: Pin) -> str:
        raise not_installed("gpiod")


def kernel_lines() -> Lines:
    """Return the GPIO lines of /dev/gpiochip*."""
    try:
        from leverframe.devices.linux.kernel_drivers import KernelLines
    except ImportError:
        return NoLines()
    return KernelLines()


class OutputPin:
    """An output; every call runs in the thread of its chip."""

    def __init__(self, lines: Lines, pin: Pin) -> None:
        self._lines = lines
        self._pin = pin
        self._line: OutputLine | None = None

    def drive(self, on: bool) -> None:
        if self._line is None:
            self._line = self._lines.open_output(self._pin, on)
            return
        try:
            self._line.drive(on)
        except Unusable:
            self.close()
            raise

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


class InputPin:
    """A digital input; `report` receives its levels, None while it cannot be read."""

    def __init__(
        self,
        label: str,
        pin: FilteredPin,
        lines: Lines,
        thread: DeviceThread,
        report: Callable[[str, int | None], None],
        troubles: Troubles,
    ) -> None:
        self.label = label
        self._pin = pin
        self._lines = lines
        self._thread = thread
        self._report = report
        self._troubles = troubles
        self._loop = asyncio.get_running_loop()
        self._line: InputLine | None = None
        self._pull_up: bool | None = None
        self._closed = False

    def set_pull_up(self, on: bool) -> None:
        """Queue opening the line with or without pull-up; an open line is briefly closed."""
        if on == self._pull_up:
            return
        self._pull_up = on
        self._reopen()

    def reopen(self) -> None:
        """Reopen the line whose chip was pulled or plugged in; its level is unknown until then."""
        self._report(self.label, None)
        self._reopen()

    def close(self) -> None:
        self._closed = True
        self._let_go()

    def _reopen(self) -> None:
        self._let_go()
        pull_up = bool(self._pull_up)

        def reopen() -> None:
            line = self._lines.open_input(self._pin, pull_up)
            try:
                level = line.level()
            except Unusable:
                line.close()
                raise
            self._thread.in_loop(self._use_line, line, level)

        self._thread.drive(self.label, reopen)

    def _use_line(self, line: InputLine, level: int) -> None:
        self._let_go()
        self._line = line
        if self._closed:
            self._let_go()
            return
        self._loop.add_reader(line.fileno(), self._readable)
        self._report(self.label, level)

    def _readable(self) -> None:
        assert self._line is not None
        try:
            levels = self._line.edges()
        except Unusable as fault:
            self._troubles.note(self.label, str(fault))
            self.reopen()
            return
        for level in levels:
            self._report(self.label, level)

    def _let_go(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            self._loop.remove_reader(line.fileno())
            self._thread.ask(line.close)
