"""The interface of decoders of serial modules, and frames of one length.

A decoder is fed with whatever arrives, in pieces of any size, and gives the readings that were
complete in it, by label; None is a reading that the module itself calls absent. Bytes that are no
frame are skipped one by one until something fits again, so garbage costs at most the frames that it
touches.
"""

from collections.abc import Callable
from typing import Protocol

#: Numbers by label, and the text of a scanner.
Found = dict[str, float | str | None]


class Decoder(Protocol):
    def feed(self, data: bytes) -> list[Found]:
        """Take bytes and return the readings that end in them."""


class FixedFrames:
    """Frames that all have one length and begin with one byte; `read` says what is in one."""

    def __init__(self, head: int, length: int, read: Callable[[bytes], Found | None]) -> None:
        self._head = head
        self._length = length
        self._read = read
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Found]:
        pending, length = self._pending, self._length
        pending += data
        found = []
        start = pending.find(self._head)
        while start >= 0 and start + length <= len(pending):
            reading = self._read(bytes(pending[start : start + length]))
            if reading is None:
                start = pending.find(self._head, start + 1)
            else:
                found.append(reading)
                start = pending.find(self._head, start + length)
        del pending[: len(pending) if start < 0 else start]
        return found
