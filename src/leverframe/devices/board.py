"""The interface of a board, which drives the pins and measures the inputs.

The controller drives the outputs through it and receives its readings (`readings.py`).
"""

from collections.abc import MutableMapping
from typing import Protocol

from leverframe.core.settings import Settings
from leverframe.devices.readings import Readings, Sense
from leverframe.devices.simulated.simulated_board import SimulatedBoard


class Board(Protocol):
    """The interface of a board, used in this order: open, connect, drive, close.

    All methods are called on the event loop and must not block it. A package can provide its own
    board as an entry point of the group `leverframe.boards`. The name of the entry point is the
    `kind` in the configuration; it is called with the wiring and the clock.
    """

    #: The name of the board in `/health` and on the page.
    kind: str

    #: The simulated environment of the board, which `/sim.cgi` controls; None for a real board.
    @property
    def bench(self) -> SimulatedBoard | None: ...

    async def open(self, settings: Settings, troubles: MutableMapping[str, str]) -> None:
        """Open the devices; record the problem of each device that does not work in `troubles`."""

    async def close(self) -> None:
        """Release the devices."""

    def adopt(self, settings: Settings) -> None:
        """Apply the settings of the controller that concern devices."""

    def connect(self, sense: Sense) -> Readings:
        """Pass changes of readings to `sense` from now on; return all current readings."""

    def drive_output(self, index: int, on: bool) -> None:
        """Set the pin of OUT0 to OUT5."""

    def drive_pwm(self, index: int, level: float) -> None:
        """Set the share of time that the pin of PWM0 to PWM3 is high, 0.0 to 1.0."""

    def set_pwm_frequency(self, group: int, hz: int) -> None:
        """Set the frequency of PWM0 (group 0), or of PWM1 to PWM3 (group 1)."""

    def set_pull_up(self, index: int, on: bool) -> None:
        """Switch the pull-up of one of INPD1 to INPD4 on or off."""

    def next_deadline(self) -> float | None:
        """Return the monotonic second of the next `tick`; None if the board needs no call."""

    def tick(self, now: float) -> None:
        """Report the readings that are due."""
