"""Where chunks of columns lie, by tier and label; and a store in memory.

A chunk store is used by one thread at a time. Chunks are written once and never changed; `merge`
makes one of many. Chunks of one label may overlap in time where the clock was set back.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from leverframe.storage.history.columns import (
    TIERS,
    TIME,
    Columns,
    Tier,
    UnreadableChunk,
    joined,
    pack,
    unpack,
)

#: What a chunk costs besides its data, about.
CHUNK_BYTES = 80


@dataclass(frozen=True, slots=True)
class Chunk:
    label: str
    start: float
    end: float
    points: int
    data: bytes

    @property
    def cost(self) -> int:
        return len(self.data) + CHUNK_BYTES


def chunk_of(label: str, columns: Columns) -> Chunk:
    times = columns[TIME]
    return Chunk(label, min(times), max(times), len(times), pack(columns))


def readable(chunks: Iterable[Chunk], tier: Tier) -> Iterator[Columns]:
    """The rows of chunks; one whose bytes went bad is left out, which shows as what held before."""
    for chunk in chunks:
        try:
            yield unpack(chunk.data, tier.columns)
        except UnreadableChunk:
            continue


class ChunkStore(Protocol):
    def labels(self) -> list[str]:
        """Those that anything is kept of."""

    def since(self, tier: Tier) -> float | None:
        """The earliest time in a tier."""

    def cost(self, tier: Tier) -> int:
        """Bytes that the chunks of a tier take."""

    def used(self) -> int:
        """Bytes that are in use in all."""

    def points(self, tier: Tier) -> int:
        """Rows in a tier."""

    def chunks(self, tier: Tier, label: str, fewest: int, below: int) -> int:
        """How many chunks of a label have at least and less than so many rows."""

    def count(self, tier: Tier, label: str, first: float, last: float) -> int:
        """At most this many rows lie in a span of time."""

    def rows(self, tier: Tier, label: str, first: float, last: float) -> Columns:
        """All rows of chunks that overlap a span of time, in order."""

    def before(self, tier: Tier, label: str, at: float) -> Columns:
        """The rows of the last chunk that begins before a moment."""

    def append(self, tier: Tier, label: str, columns: Columns) -> None: ...

    def merge(self, tier: Tier, label: str, fewest: int, below: int) -> None:
        """Make one chunk of all that have at least and less than so many rows."""

    def drop_oldest(self, tier: Tier, *, older: float, most: int, keep_newest: bool) -> int:
        """Remove at most so many chunks that end before a moment; how many there were.

        With `keep_newest` the newest chunk of every label stays, so that what holds is known.
        """

    def mark(self, at: float) -> None:
        """Remember up to when everything is kept."""

    def marked(self) -> float | None: ...

    def commit(self) -> None:
        """Everything since the last commit belongs together and is now kept."""

    def roll_back(self) -> None: ...

    def close(self) -> None: ...


class MemoryChunkStore:
    """Lasts as long as the process."""

    def __init__(self) -> None:
        self._chunks: dict[int, dict[str, list[Chunk]]] = {tier.number: {} for tier in TIERS}
        self._cost = dict.fromkeys(self._chunks, 0)
        self._mark: float | None = None

    def labels(self) -> list[str]:
        return list(dict.fromkeys(label for kept in self._chunks.values() for label in kept))

    def since(self, tier: Tier) -> float | None:
        return min((chunk.start for chunk in self._all(tier)), default=None)

    def cost(self, tier: Tier) -> int:
        return self._cost[tier.number]

    def used(self) -> int:
        return sum(self._cost.values())

    def points(self, tier: Tier) -> int:
        return sum(chunk.points for chunk in self._all(tier))

    def chunks(self, tier: Tier, label: str, fewest: int, below: int) -> int:
        return sum(fewest <= chunk.points < below for chunk in self._of(tier, label))

    def count(self, tier: Tier, label: str, first: float, last: float) -> int:
        return sum(chunk.points for chunk in self._overlapping(tier, label, first, last))

    def rows(self, tier: Tier, label: str, first: float, last: float) -> Columns:
        overlapping = self._overlapping(tier, label, first, last)
        return joined(readable(overlapping, tier), tier.columns)

    def before(self, tier: Tier, label: str, at: float) -> Columns:
        earlier = [chunk for chunk in self._of(tier, label) if chunk.start < at]
        latest = sorted(earlier, key=lambda chunk: chunk.start)[-1:]
        return joined(readable(latest, tier), tier.columns)

    def append(self, tier: Tier, label: str, columns: Columns) -> None:
        self._put(tier, chunk_of(label, columns))

    def merge(self, tier: Tier, label: str, fewest: int, below: int) -> None:
        chunks = self._of(tier, label)
        small = [chunk for chunk in chunks if fewest <= chunk.points < below]
        others = [chunk for chunk in chunks if not fewest <= chunk.points < below]
        self._chunks[tier.number][label] = others
        self._cost[tier.number] -= sum(chunk.cost for chunk in small)
        rows = joined(readable(small, tier), tier.columns)
        if rows[TIME]:
            self._put(tier, chunk_of(label, rows))

    def drop_oldest(self, tier: Tier, *, older: float, most: int, keep_newest: bool) -> int:
        kept = self._chunks[tier.number]
        newest = {id(chunks[-1]) for chunks in kept.values() if chunks} if keep_newest else set()
        old = [chunk for chunk in self._all(tier) if chunk.end < older and id(chunk) not in newest]
        gone = sorted(old, key=lambda chunk: chunk.end)[:most]
        for chunk in gone:
            kept[chunk.label].remove(chunk)
            self._cost[tier.number] -= chunk.cost
        return len(gone)

    def mark(self, at: float) -> None:
        self._mark = at

    def marked(self) -> float | None:
        return self._mark

    def commit(self) -> None:
        """It is kept already."""

    def roll_back(self) -> None:
        """Nothing here can fail half-way."""

    def close(self) -> None:
        """Nothing to let go of."""

    def _put(self, tier: Tier, chunk: Chunk) -> None:
        self._chunks[tier.number].setdefault(chunk.label, []).append(chunk)
        self._cost[tier.number] += chunk.cost

    def _of(self, tier: Tier, label: str) -> list[Chunk]:
        return self._chunks[tier.number].get(label, [])

    def _all(self, tier: Tier) -> Iterator[Chunk]:
        for chunks in self._chunks[tier.number].values():
            yield from chunks

    def _overlapping(self, tier: Tier, label: str, first: float, last: float) -> list[Chunk]:
        return [c for c in self._of(tier, label) if c.end >= first and c.start <= last]
