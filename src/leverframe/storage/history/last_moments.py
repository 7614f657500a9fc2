"""The last samples of a run, which the next run records in the history.

When a controller stops, samples that its history has not recorded yet are stored unchanged. The
next process that opens the history records them. Recording requires opening the history with its
intervals, which takes a hundred times as long as storing the samples: a node with thousands of
controllers would need minutes to stop.
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

#: A sample whose value is a number, or the text of a reason.
_Plain = tuple[float, str, float | int | bool | str | None]


class RunEnd(NamedTuple):
    """The time when a controller stopped, and its packed `LastMoments` if there are any."""

    at: float
    unrecorded: bytes | None = None


class LastMoments(Struct, frozen=True, array_like=True):
    """The samples and journal entries of a run that its history has not recorded."""

    ended: float
    #: Whether earlier samples of this run are recorded, so that there is no gap before these.
    continues: bool
    samples: list[_Plain]
    entries: list[NewEntries]

    def pack(self) -> bytes:
        return zlib.compress(msgspec.msgpack.encode(self), level=1)


_decoder = msgspec.msgpack.Decoder(LastMoments)


def gather_last_moments(
    ended: float, samples: Sequence[Traced], entries: Sequence[NewEntries], *, continues: bool
) -> LastMoments:
    plain: list[_Plain] = [
        (wall, label, value if value is None or isinstance(value, int | float) else text_of(value))
        for wall, label, value in samples
    ]
    return LastMoments(ended, continues, plain, list(entries))


def unpack_last_moments(found: Sequence[bytes]) -> list[LastMoments]:
    """Decode the last moments of several runs; skip and log damaged ones."""
    runs = []
    for data in found:
        try:
            runs.append(_decoder.decode(zlib.decompress(data)))
        except (zlib.error, msgspec.MsgspecError) as error:
            log.warning("the last moments of a history cannot be read: %s", error)
    return runs


def record(compactor: Compactor, runs: Sequence[LastMoments]) -> None:
    """Record the last moments of runs, each followed by a gap; all of them or none."""
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
