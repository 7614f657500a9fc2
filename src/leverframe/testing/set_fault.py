"""A fault that a test set on a twin, to be ended by it."""

from collections.abc import Callable
from typing import Self


class TwinFault:
    """A fault that acts from its setting on; it ends with its `with`, by `end`, or by itself."""

    def __init__(self, text: str, end: Callable[[], None]) -> None:
        #: What it is, as `/sim.cgi?fault=` takes it.
        self.text = text
        self._end = end

    def end(self) -> None:
        """End it; one that has ended by itself is no mistake."""
        self._end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def __repr__(self) -> str:
        return f"<TwinFault {self.text}>"
