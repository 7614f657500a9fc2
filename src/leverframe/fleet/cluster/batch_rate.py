"""How many batches a second all nodes write, by numbers that are read now and then."""

from collections import deque

#: So many readings back the number is compared with: five seconds of beats.
READINGS = 10


class BatchRate:
    def __init__(self) -> None:
        self._readings: deque[tuple[float, int]] = deque(maxlen=READINGS + 1)

    def note(self, batches: int, now: float) -> None:
        """Take a reading; begin anew where the number has gone back."""
        if self._readings and batches < self._readings[-1][1]:
            self._readings.clear()
        self._readings.append((now, batches))

    @property
    def per_second(self) -> float:
        if not self._readings:
            return 0.0
        (begin, before), (end, after) = self._readings[0], self._readings[-1]
        return round((after - before) / (end - begin), 1) if end > begin else 0.0
