"""Plants: what the outputs of the simulated board act on, and how its inputs come to know.

They close the loop from an output back to a reading, so that the regulator, rules and protections
can be tried out. Here is what any plant does, and all plants of a board together.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from leverframe.engine.labels import READINGS

Values = Mapping[str, float]


class Plant(Protocol):
    #: Pins of outputs and readings that it follows.
    inputs: tuple[str, ...]
    #: Readings that it gives.
    feeds: tuple[str, ...]

    def begin(self, now: float, values: Values) -> dict[str, float]:
        """Start the plant with these inputs and return its first readings."""

    def put(self, label: str, value: float, now: float) -> None:
        """Change an input, which held its former value until now."""

    def next_deadline(self) -> float | None: ...

    def tick(self, now: float) -> dict[str, float]:
        """Return what the sensors show now; called when the deadline has come, or earlier."""


class Plants:
    """All plants of one board; the values of pins and readings go in, readings come out."""

    def __init__(self) -> None:
        self.wired: list[Plant] = []
        #: The monotonic second at which to call `tick`; None where no plant wants to be called.
        self.next_due: float | None = None

    @property
    def fed(self) -> set[str]:
        """Return the readings that plants give."""
        return {label for plant in self.wired for label in plant.feeds}

    @property
    def followed(self) -> set[str]:
        """Return the readings that plants follow."""
        return {label for plant in self.wired for label in plant.inputs if label in READINGS}

    def wire(self, plant: Plant, now: float, values: Values) -> dict[str, float]:
        """Add a plant; it takes its readings over from those that fed them before."""
        fed = set(plant.feeds)
        self.wired = [other for other in self.wired if not fed.intersection(other.feeds)]
        self.wired.append(plant)
        readings = plant.begin(now, values)
        self._plan()
        return readings

    def replace(self, plants: Iterable[Plant]) -> None:
        """Replace the wired plants by these, which have begun already."""
        self.wired = list(plants)
        self._plan()

    def clear(self) -> None:
        self.wired.clear()
        self.next_due = None

    def look(self, label: str, now: float) -> dict[str, float]:
        """Return what the plant of a reading shows at this moment, due or not."""
        readings: dict[str, float] = {}
        for plant in self.wired:
            if label in plant.feeds:
                readings |= plant.tick(now)
        self._plan()
        return readings

    def put(self, label: str, value: float, now: float) -> None:
        followers = [plant for plant in self.wired if label in plant.inputs]
        for plant in followers:
            plant.put(label, value, now)
        if followers:
            self._plan()

    def tick(self, now: float) -> dict[str, float]:
        readings: dict[str, float] = {}
        if self.next_due is not None and self.next_due <= now:
            for plant in self.wired:
                due = plant.next_deadline()
                if due is not None and due <= now:
                    readings |= plant.tick(now)
            self._plan()
        return readings

    def _plan(self) -> None:
        dues = [plant.next_deadline() for plant in self.wired]
        self.next_due = min((due for due in dues if due is not None), default=None)
