"""GPIO lines: what the board needs of them.

`Lines` is all that the rest knows; `gpiod_lines.py` are the kernel's, and others can stand in for
them. Each line is opened separately: one that is in use or missing does not affect the rest.
Methods raise `Unusable` with a sentence; all but `fileno` and `edges` may block.
"""

from collections.abc import Sequence
from typing import Protocol

from leverframe.hardware.troubles import not_installed
from leverframe.wiring import Pin


class OutputLine(Protocol):
    def drive(self, on: bool) -> None: ...

    def close(self) -> None: ...


class InputLine(Protocol):
    def fileno(self) -> int:
        """Return a file descriptor that becomes readable when there are edges."""

    def level(self) -> int: ...

    def edges(self) -> Sequence[int]:
        """Return the levels after the edges since the last call; called when there are some."""

    def close(self) -> None: ...


class Lines(Protocol):
    def open_output(self, pin: Pin, on: bool) -> OutputLine: ...

    def open_input(self, pin: Pin, pull_up: bool) -> InputLine: ...

    def describe(self, pin: Pin) -> str:
        """Describe the line without touching it, or what is wrong with it."""


class NoLines:
    """A substitute where the package for GPIO lines is not installed."""

    def open_output(self, pin: Pin, on: bool) -> OutputLine:
        raise not_installed("gpiod")

    def open_input(self, pin: Pin, pull_up: bool) -> InputLine:
        raise not_installed("gpiod")

    def describe(self, pin: Pin) -> str:
        raise not_installed("gpiod")


def kernel_lines() -> Lines:
    """Open the lines of /dev/gpiochip*."""
    try:
        from leverframe.hardware.gpiod_lines import KernelLines
    except ImportError:
        return NoLines()
    return KernelLines()
