"""Moments, and the engine's deadlines: a heap of (when, key), at most one deadline per key."""

from collections.abc import Collection
from collections.abc import Set as AbstractSet
from heapq import heapify, heappop, heappush, heapreplace
from typing import Annotated

import msgspec

# One reading of the clock.
#
# The engine never reads the clock: every call passes one `Moment`, and everything in the call
# happens at that moment. Delays use `now`; the schedule and the log use `wall`.

#: A moment of the controller's clock in replies.
WallTime = Annotated[float, msgspec.Meta(description="Seconds since 1970.")]

#: A clock with an earlier time than this (1 January 2025) has never been set.
SET_CLOCK = 1_735_689_600.0


class Moment(msgspec.Struct, frozen=True, gc=False):
    #: Monotonic seconds; the value never jumps, and only differences have a meaning.
    now: float
    #: Seconds since 1970 UTC on the controller's own clock; the value jumps when the clock is set.
    wall: float


# The engine's deadlines: a heap of (when, key), at most one deadline per key.
#
# A key is a tuple whose first item names the feature that set it, e.g. `("outputs", "return", 3)`.
# Setting a key again moves its deadline. Replaced and cancelled entries stay in the heap until they
# reach the top or outnumber the valid ones, so moving a deadline needs no search. The top of the
# heap is always valid. Its time is also stored in an attribute, because it is read several times
# before the entry is removed.

Key = tuple[str | int, ...]


#: Time, serial number and key; the serial number orders deadlines of the same time by when they
#: were set.
Entry = tuple[float, int, Key]


class Timers:
    __slots__ = ("_deadlines", "_heap", "next_due", "serial")

    def __init__(self) -> None:
        #: The valid entries; any other entry in the heap was replaced or cancelled.
        self._deadlines: dict[Key, Entry] = {}
        self._heap: list[Entry] = []
        #: The earliest deadline, or None if there is none.
        self.next_due: float | None = None
        #: The number of times that a deadline was set.
        self.serial = 0

    def __len__(self) -> int:
        return len(self._deadlines)

    def set(self, key: Key, when: float) -> None:
        self.serial += 1
        replaced = self._deadlines.get(key)
        entry = self._deadlines[key] = (when, self.serial, key)
        heappush(self._heap, entry)
        if replaced is None:
            self.next_due = self._heap[0][0]
        else:
            self._drop_stale()

    def cancel(self, *keys: Key) -> None:
        for key in keys:
            if self._deadlines.pop(key, None) is not None:
                self._drop_stale()

    def cancel_others(self, features: Collection[str | int]) -> None:
        """Cancel all deadlines except those of these features."""
        kept = {key: due for key, due in self._deadlines.items() if key[0] in features}
        self._deadlines = kept
        self._drop_stale()

    def when(self, key: Key) -> float | None:
        found = self._deadlines.get(key)
        return found[0] if found else None

    def are_set(self, keys: AbstractSet[Key]) -> bool:
        """Return whether any of these keys has a deadline."""
        return not self._deadlines.keys().isdisjoint(keys)

    def in_order(self) -> list[tuple[float, Key]]:
        """List the deadlines in the order in which they were set."""
        entries = sorted(self._deadlines.values(), key=lambda entry: entry[1])
        return [(when, key) for when, _, key in entries]

    def pop(self) -> Key:
        """Remove and return the key of the earliest deadline; there must be one."""
        heap, deadlines = self._heap, self._deadlines
        key = heappop(heap)[2]
        del deadlines[key]
        if len(heap) == len(deadlines):
            self.next_due = heap[0][0] if heap else None
        else:
            self._drop_stale()
        return key

    def repeat(self, key: Key, every_s: float, until: float) -> float | None:
        """Advance a periodic deadline as long as it is due before all others.

        Return when it was last due, up to `until`; None if another deadline is due first.
        """
        heap, entry, last = self._heap, self._deadlines.get(key), None
        while entry is not None and heap[0] is entry and entry[0] <= until:
            last = entry[0]
            self.serial += 1
            entry = (last + every_s, self.serial, key)
            heapreplace(heap, entry)
        if entry is not None and last is not None:
            self._deadlines[key] = entry
            self._drop_stale()
        return last

    def _drop_stale(self) -> None:
        """Remove stale entries from the top of the heap, or all of them if there are many."""
        heap, deadlines = self._heap, self._deadlines
        while heap and deadlines.get(heap[0][2]) is not heap[0]:
            heappop(heap)
        if len(heap) > 2 * len(deadlines) + 16:
            heap[:] = deadlines.values()
            heapify(heap)
        self.next_due = heap[0][0] if heap else None
