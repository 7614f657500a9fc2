"""Tiers of the history, their columns, and columns packed into bytes.

A value holds until the next one, so only changes are kept. The raw tier has times and values; a
reduced tier has one row for every interval in which something changed, and between two rows the
last value of the earlier one holds. NaN stands for an absent value.
"""

import zlib
from array import array
from collections.abc import Iterable, Sequence
from math import nan
from operator import itemgetter

from msgspec import Struct

#: One array of float64 for each column of a tier, all of the same length.
Columns = list["array[float]"]
Row = tuple[float, ...]
#: A time and the value that came then.
Point = tuple[float, float]

ABSENT = nan
_FLOAT_BYTES = 8
#: Bytes of the same significance lie side by side, so the fastest level compresses nearly as well.
_LEVEL = 1


class Tier(Struct, frozen=True, order=True):
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
#: The column of the raw tier besides TIME.
VALUE = 1


class UnreadableChunk(Exception):
    """The bytes are not those that were written."""


def columns_from_rows(rows: Sequence[Row]) -> Columns:
    """Sort rows by time, even if the clock was set back, and turn them into columns."""
    ordered = sorted(rows, key=itemgetter(TIME))
    return [array("d", column) for column in zip(*ordered, strict=True)]


def join(parts: Iterable[Columns], count: int) -> Columns:
    """Join rows in the order of time; rows of the same time keep their order."""
    columns: Columns = [array("d") for _ in range(count)]
    is_ordered = True
    for part in parts:
        if columns[TIME] and part[TIME] and part[TIME][0] < columns[TIME][-1]:
            is_ordered = False
        for column, more in zip(columns, part, strict=True):
            column.extend(more)
    if is_ordered:
        return columns
    # The clock was set back between two rows.
    times = columns[TIME]
    order = sorted(range(len(times)), key=times.__getitem__)
    return [array("d", map(column.__getitem__, order)) for column in columns]


def pack(columns: Columns) -> bytes:
    """Compress columns, bytes of the same significance first."""
    plain = b"".join(column.tobytes() for column in columns)
    shuffled = b"".join(plain[place::_FLOAT_BYTES] for place in range(_FLOAT_BYTES))
    return zlib.compress(shuffled, _LEVEL)


def unpack(data: bytes, count: int) -> Columns:
    """Restore `count` packed columns. Raises UnreadableChunk."""
    try:
        shuffled = zlib.decompress(data)
    except zlib.error as error:
        raise UnreadableChunk(str(error)) from error
    numbers, rest = divmod(len(shuffled), _FLOAT_BYTES)
    rows, odd = divmod(numbers, count)
    if rest or odd:
        raise UnreadableChunk("it has the wrong length")
    plain = bytearray(len(shuffled))
    for place in range(_FLOAT_BYTES):
        plain[place::_FLOAT_BYTES] = shuffled[place * numbers : (place + 1) * numbers]
    width = rows * _FLOAT_BYTES
    return [array("d", bytes(plain[at * width : (at + 1) * width])) for at in range(count)]
