"""What is kept and for how long: tiers, their columns, and columns as compact bytes.

A value holds until the next one, so only changes are kept. The raw tier has times and values; a
reduced tier has one row for every interval in which something changed, and between two rows the
last value of the earlier one holds. NaN stands for an absent value.
"""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from math import nan
from operator import itemgetter
from typing import NamedTuple

#: One array of float64 for each column of a tier, all of the same length.
Columns = list["array[float]"]
Row = tuple[float, ...]
#: A moment and the value that came then.
Point = tuple[float, float]

ABSENT = nan
_BYTES = 8
#: Bytes of the same weight lie side by side, so the fastest level does nearly all there is to do.
_LEVEL = 1


class Tier(NamedTuple):
    number: int
    #: 0 for values as they came.
    interval_s: int
    columns: int


RAW = Tier(0, 0, 2)
MINUTES = Tier(1, 60, 7)
QUARTERS = Tier(2, 900, 7)
TIERS = (RAW, MINUTES, QUARTERS)
REDUCED = (MINUTES, QUARTERS)

#: The columns of a reduced tier.
TIME, LOW, MEAN, HIGH, LAST, PRESENT_S, COUNT = range(7)
#: The columns of the raw tier besides TIME.
VALUE = 1


class UnreadableChunk(Exception):
    """The bytes are not those that were written."""


def columns_from_rows(rows: Sequence[Row]) -> Columns:
    """The rows in the order of time, whatever the clock did meanwhile."""
    ordered = sorted(rows, key=itemgetter(TIME))
    return [array("d", column) for column in zip(*ordered, strict=True)]


def joined(parts: Iterable[Columns], count: int) -> Columns:
    """The rows of all parts in the order of time; of the same time, in the order they came."""
    columns: Columns = [array("d") for _ in range(count)]
    ordered = True
    for part in parts:
        if columns[TIME] and part[TIME] and part[TIME][0] < columns[TIME][-1]:
            ordered = False
        for column, more in zip(columns, part, strict=True):
            column.extend(more)
    return columns if ordered else _sorted(columns)


def _sorted(columns: Columns) -> Columns:
    """The clock was set back between two rows."""
    times = columns[TIME]
    order = sorted(range(len(times)), key=times.__getitem__)
    return [array("d", map(column.__getitem__, order)) for column in columns]


def pack(columns: Columns) -> bytes:
    plain = b"".join(column.tobytes() for column in columns)
    return zlib.compress(b"".join(plain[weight::_BYTES] for weight in range(_BYTES)), _LEVEL)


def unpack(data: bytes, count: int) -> Columns:
    """What was packed, in `count` columns. Raises UnreadableChunk."""
    try:
        shuffled = zlib.decompress(data)
    except zlib.error as error:
        raise UnreadableChunk(str(error)) from error
    numbers, rest = divmod(len(shuffled), _BYTES)
    rows, odd = divmod(numbers, count)
    if rest or odd:
        raise UnreadableChunk("it has the wrong length")
    plain = bytearray(len(shuffled))
    for weight in range(_BYTES):
        plain[weight::_BYTES] = shuffled[weight * numbers : (weight + 1) * numbers]
    width = rows * _BYTES
    return [array("d", bytes(plain[at * width : (at + 1) * width])) for at in range(count)]
