"""The last moments of a run, which the next one records.

What a history has not recorded when its controller stops is kept as it came for who opens it next.
To record it takes as long as to open a history and build its intervals, some hundred times as long
as to store it: a node with thousands of controllers would stop for minutes.
"""

import logging
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from leverframe.core.engine.machine import Traced
from leverframe.storage.history.compactor import Compactor, NewEntries
from leverframe.storage.history.rows import reason_from, text_of

log = logging.getLogger(__name__)

#: A sample with a reason as its text.
_Plain = tuple[float, str, float | int | bool | str | None]


class RunEnd(NamedTuple):
    """When a controller was stopped, and what was not recorded until then, if anything."""

    at: float
    unrecorded: bytes | None = None


class LastMoments(Struct, frozen=True, array_like=True):
    """The end of a run, from what was recorded last on."""

    ended: float
    #: Something of this run is recorded, so that no gap comes before this.
    continues: bool
    samples: list[_Plain]
    entries: list[NewEntries]

    def pack(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), level=1)


_decoder = msgspec.msgpack.Decoder(LastMoments)


def last_moments(
    ended: float, samples: Sequence[Traced], entries: Sequence[NewEntries], *, continues: bool
) -> LastMoments:
    plain: list[_Plain] = [
        (wall, label, value if value is None or isinstance(value, int | float) else text_of(value))
        for wall, label, value in samples
    ]
    return LastMoments(ended, continues, plain, list(entries))


def unpack_last_moments(found: Sequence[bytes]) -> list[LastMoments]:
    """Read the ends of several runs; leave out what cannot be read."""
    runs = []
    for data in found:
        try:
            runs.append(_decoder.decode(zlib.decompress(data)))
        except (zlib.error, msgspec.MsgspecError) as error:
            log.warning("the last moments of a history cannot be read: %s", error)
    return runs


def record(compactor: Compactor, runs: Sequence[LastMoments]) -> None:
    """Record the ends of runs, each with the gap after it, all of them or none."""
    for run in runs:
        for entries in run.entries:
            entries.stage_in(compactor)
    compactor.add(_samples_of(runs, compactor.labels()))


def _samples_of(runs: Sequence[LastMoments], labels: Sequence[str]) -> Iterator[Traced]:
    known = dict.fromkeys(labels)
    for run in runs:
        ended = run.ended
        for wall, label, value in run.samples:
            known[label] = None
            ended = max(ended, wall)
            yield wall, label, reason_from(value) if isinstance(value, str) else value
        yield from ((ended, label, None) for label in known)
