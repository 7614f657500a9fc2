"""The engine's deadlines: a heap of (when, key), at most one deadline per key.

A key is a tuple whose first item names the feature that set it, e.g. `("outputs", "return", 3)`.
Setting a key again moves its deadline. Replaced and cancelled entries stay in the heap until they
come up or outnumber the live ones, so that moving a deadline costs no search.
"""

from collections.abc import Collection
from heapq import heapify, heappop, heappush

Key = tuple[str | int, ...]


class Timers:
    __slots__ = ("_deadlines", "_heap", "_serial")

    def __init__(self) -> None:
        self._deadlines: dict[Key, tuple[float, int]] = {}
        #: The serial number keeps keys of one instant in the order they were set.
        self._heap: list[tuple[float, int, Key]] = []
        self._serial = 0

    def __len__(self) -> int:
        return len(self._deadlines)

    def set(self, key: Key, when: float) -> None:
        self._serial += 1
        self._deadlines[key] = (when, self._serial)
        heappush(self._heap, (when, self._serial, key))
        if len(self._heap) > 2 * len(self._deadlines) + 16:
            self._drop_stale()

    def cancel(self, key: Key) -> None:
        self._deadlines.pop(key, None)

    def cancel_others(self, features: Collection[str | int]) -> None:
        """Cancel all deadlines but those of some features."""
        kept = {key: due for key, due in self._deadlines.items() if key[0] in features}
        self._deadlines = kept

    def when(self, key: Key) -> float | None:
        found = self._deadlines.get(key)
        return found[0] if found else None

    def next(self) -> float | None:
        """Return the earliest deadline, or None if there is none."""
        heap = self._heap
        while heap:
            when, serial, key = heap[0]
            if self._deadlines.get(key) == (when, serial):
                return when
            heappop(heap)
        return None

    def pop_due(self, now: float) -> Key | None:
        """Remove and return the earliest key whose deadline has come, or None."""
        when = self.next()
        if when is None or when > now:
            return None
        key = heappop(self._heap)[2]
        del self._deadlines[key]
        return key

    def _drop_stale(self) -> None:
        self._heap = [(when, serial, key) for key, (when, serial) in self._deadlines.items()]
        heapify(self._heap)
