"""The rows of the history: packed columns, journal entries, and reasons as numbers."""

import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from math import nan
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Reason

# The interface of a database connection that the tables of the history need.
#
# The statements are valid in both SQLite and PostgreSQL, with `?` for values.


class Found(Protocol):
    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class HistoryConnection(Protocol):
    @property
    def in_transaction(self) -> bool: ...

    def execute(self, query: str, values: Sequence[Any] = ..., /) -> Found: ...

    def executemany(self, query: str, rows: Iterable[Sequence[Any]], /) -> object: ...

    def close(self) -> None: ...


# Tiers of the history, their columns, and columns packed into bytes.
#
# A value applies until the next one, so only changes are stored. The raw tier has times and values.
# A reduced tier has one row for every interval in which the value changed; the last value of a row
# applies until the next row. NaN stands for an absent value.

#: One array of float64 for each column of a tier, all of the same length.
Columns = list["array[float]"]
Row = tuple[float, ...]
#: A time, and the value from that time on.
Point = tuple[float, float]

ABSENT = nan
_FLOAT_BYTES = 8
#: Bytes of the same significance are adjacent, so the fastest level compresses nearly as well as
#: others.
_LEVEL = 1


class Tier(Struct, frozen=True, order=True):
    number: int
    #: 0 for values as recorded.
    interval_s: int
    columns: int


RAW = Tier(0, 0, 2)
MINUTES = Tier(1, 60, 7)
QUARTERS = Tier(2, 900, 7)
TIERS = (RAW, MINUTES, QUARTERS)
REDUCED = (MINUTES, QUARTERS)

#: The columns of a reduced tier.
TIME, LOW, MEAN, HIGH, LAST, PRESENT_S, COUNT = range(7)
#: The column of the raw tier after TIME.
VALUE = 1


class UnreadableChunk(Exception):
    """The bytes differ from those that were written."""


def columns_from_rows(rows: Sequence[Row]) -> Columns:
    """Sort rows by time, even if the clock was set back, and convert them to columns."""
    ordered = sorted(rows, key=itemgetter(TIME))
    return [array("d", column) for column in zip(*ordered, strict=True)]


def join(parts: Iterable[Columns], count: int) -> Columns:
    """Join rows in order of time; rows with the same time keep their order."""
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


# The table of journal entries: the newest ones as JSON, in the file of the chunks.

#: Maximum number of entries per controller: some weeks of a busy controller, in less than 10 MB.
MAX_ENTRIES = 20_000
#: Bytes of the file's limit for each entry that is kept, so a small file keeps fewer entries.
_BYTES_FOR_EACH = 2048

#: With the same placeholders in braces as the other tables of the file.
ENTRY_TABLE = """
CREATE TABLE IF NOT EXISTS entry (
    {column}
    number INTEGER NOT NULL,
    time REAL NOT NULL,
    cause TEXT NOT NULL,
    which TEXT,
    data BLOB NOT NULL,
    PRIMARY KEY ({of}number)
);
"""
ENTRY_COLUMNS = "number, time, cause, which, data"
#: An entry that is written again replaces the first.
REPLACED = (
    "time = excluded.time, cause = excluded.cause, which = excluded.which, data = excluded.data"
)


class EntryRow(NamedTuple):
    number: int
    time: float
    cause: str
    which: str | None
    data: bytes


class EntryQuestion(NamedTuple):
    first: float
    last: float
    #: Only entries with a greater number.
    after: int = 0
    which: str | None = None
    cause: str | None = None
    most: int = MAX_ENTRIES


class EntryTable:
    """The entries of one controller; the caller commits added entries."""

    def __init__(
        self, connection: HistoryConnection, max_bytes: int, controller: int | None = None
    ) -> None:
        self._connection = connection
        self._most = min(MAX_ENTRIES, max_bytes // _BYTES_FOR_EACH)
        self._own = "true" if controller is None else "controller = ?"
        #: The value that selects the rows of this controller.
        self._which: tuple[int, ...] = () if controller is None else (controller,)
        column, value = ("", "") if controller is None else ("controller, ", "?, ")
        self._insert = (
            f"INSERT INTO entry ({column}{ENTRY_COLUMNS}) VALUES ({value}?, ?, ?, ?, ?) "  # noqa: S608
            f"ON CONFLICT ({column}number) DO UPDATE SET {REPLACED}"
        )

    def newest(self) -> int:
        """Return the number of the newest entry; 0 if there is none."""
        query = f"SELECT coalesce(max(number), 0) FROM entry WHERE {self._own}"  # noqa: S608
        (number,) = self._connection.execute(query, self._which).fetchone()
        return int(number)

    def add(self, rows: Iterable[EntryRow]) -> None:
        """Add entries; remove the oldest if there are too many."""
        self._connection.executemany(self._insert, [(*self._which, *row) for row in rows])
        query = f"DELETE FROM entry WHERE {self._own} AND number <= ?"  # noqa: S608
        self._connection.execute(query, (*self._which, self.newest() - self._most))

    def ask(self, question: EntryQuestion) -> list[bytes]:
        """Return the newest entries that match a query, oldest first."""
        first, last, after, which, cause, most = question
        wanted: list[tuple[str, float | str]] = [
            ("time >= ?", first),
            ("time <= ?", last),
            ("number > ?", after),
        ]
        wanted += [("which = ?", which)] if which is not None else []
        wanted += [("cause = ?", cause)] if cause is not None else []
        where = " AND ".join((self._own, *(text for text, _ in wanted)))
        query = f"SELECT data FROM entry WHERE {where} ORDER BY number DESC LIMIT ?"  # noqa: S608
        values = (*self._which, *(value for _, value in wanted), most)
        found = self._connection.execute(query, values)
        return [data for (data,) in found][::-1]


# The reasons of values as short texts, each with a number: a series contains only numbers.
#
# A number is computed from its text, so it keeps its meaning in another file. Texts of messages are
# not stored, because they may be confidential.

#: Beyond this number of different texts, only the kind of a reason is stored, because a list of the
#: addresses of all clients is of no use in the history.
MAX_TEXTS = 1000
#: A float64 can represent a number of this length exactly.
_NUMBER_BYTES = 6

_decoder = msgspec.json.Decoder(Cause | tuple[str, int, bool, str, str | None])


def text_of(reason: Reason) -> str:
    if isinstance(reason, Cause):
        # The values of the decision are in the history anyway, and differ each time.
        text: object = replace(reason, conditions=(), after=0, seconds=round(reason.seconds))
    else:
        text = [reason.channel, reason.slot, reason.active, reason.reason, reason.label]
    return msgspec.json.encode(text).decode()


def bare_text_of(reason: Reason) -> str:
    """Return a text with only the kind of the reason; there are only few kinds."""
    if isinstance(reason, Cause):
        return text_of(Cause(reason.kind))
    return text_of(Notify(reason.channel, 0, reason.active, ""))


def reason_from(text: str) -> Reason:
    found = _decoder.decode(text)
    return found if isinstance(found, Cause) else Notify(*found)


def number_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=_NUMBER_BYTES).digest())
