"""A board: what drives the pins and senses the world.

The controller tells it what to drive and gets told what it senses. Readings are raw, by label:
volts at the pins of INPA1-INPA6, levels of INPD1-INPD4, temperatures, and `None` for what is not
there; `engine/inputs.py` says what each of them means.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Readings = Mapping[str, Any]
Sense = Callable[[Readings], None]


def nobody_listens(readings: Readings) -> None:
    """Drop readings: no controller is connected yet."""


class Board(Protocol):
    #: How the board is called in `/health` and on the page.
    kind: str

    def connect(self, sense: Sense) -> Readings:
        """Report changes to `sense` from now on; returns everything that is sensed at present."""

    def drive_output(self, index: int, on: bool) -> None: ...

    def drive_pwm(self, index: int, level: float) -> None:
        """Share of time that the pin is high, 0.0 to 1.0."""

    def set_pwm_frequency(self, group: int, hz: int) -> None: ...

    def set_pull_up(self, index: int, on: bool) -> None: ...

    def next_deadline(self) -> float | None:
        """Return the monotonic second at which to call the board; None: it calls by itself."""

    def tick(self, now: float) -> None:
        """Report what is due."""
