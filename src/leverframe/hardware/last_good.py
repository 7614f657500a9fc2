"""The last good value of each sensor, for one failure.

A long line has a disturbance now and then: a sensor that fails once keeps its value, one that fails
twice in a row is absent.
"""

from typing import Generic, TypeVar

Value = TypeVar("Value")


class LastGood(Generic[Value]):
    def __init__(self) -> None:
        self._values: dict[str, Value] = {}

    def judge(self, sensor: str, value: Value | None) -> Value | None:
        """Return the value to show for a sensor that gave this one; None is a failure."""
        if value is None:
            return self._values.pop(sensor, None)
        self._values[sensor] = value
        return value
