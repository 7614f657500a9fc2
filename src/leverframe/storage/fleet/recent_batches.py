"""Batches that are on disk as they came, on their way into the tables of a lane.

The rows of many controllers lie apart: in the tables a batch would change a page or two for each of
them, all of which go to the disk. Behind the last batch it changes a few pages in all. When enough
has gathered it goes into the tables together, where a page then takes several rows together, and
only the last of several values.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping

import msgspec

from leverframe.storage.statements import Statement
from leverframe.storage.store import Rows

#: From this number of letters on, batches go into the tables.
ENOUGH = 512 * 1024

FORGETTING: Statement = ("DELETE FROM recent", ())

_decoder = msgspec.json.Decoder(dict[int, Rows])
# As bytes: in an error, sqlite3 would repeat a text that it cannot decode.
_ALL = "SELECT number, CAST(parts AS BLOB) FROM recent ORDER BY number"
_CHOSEN = (
    "SELECT number, CAST(parts AS BLOB) FROM recent "
    "WHERE number IN (SELECT value FROM json_each(?)) ORDER BY number"
)


class RecentBatches:
    """Where the batches are; the lane's thread changes it, and readers look here first."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.size = 0
        self._last_number = 0
        #: The batches that hold something of a controller: most hold nothing of most controllers.
        self._numbers: dict[int, list[int]] = {}
        for number, text in connection.execute(_ALL):
            self._note(number, _decoder.decode(text), len(text))

    def adding(self, parts: Mapping[int, Rows]) -> Statement:
        """Return the SQL that puts a batch behind the others."""
        text = msgspec.json.encode(parts).decode()
        return ("INSERT INTO recent (number, parts) VALUES (?, ?)", (self._last_number + 1, text))

    def add(self, parts: Mapping[int, Rows], statement: Statement) -> None:
        """Take note of a batch that is on disk."""
        number, text = statement[1]
        self._note(number, parts, len(text))

    def _note(self, number: int, controllers: Iterable[int], size: int) -> None:
        self._last_number = number
        self.size += size
        for controller in controllers:
            self._numbers.setdefault(controller, []).append(number)

    def forgotten(self) -> None:
        """Take note that all batches are in the tables."""
        self.size = 0
        self._numbers = {}

    def of(self, controllers: Iterable[int]) -> list[int]:
        """Return the numbers of the batches that hold something of controllers.

        Call it before the tables are read: what leaves the batches after that is in the tables.
        """
        numbers = self._numbers
        return [number for one in controllers for number in numbers.get(one, ())]


def recent_rows(
    connection: sqlite3.Connection, numbers: Collection[int], controllers: Collection[int]
) -> defaultdict[int, Rows]:
    """Read what batches hold of controllers: the rows that result from writing them in order."""
    if not numbers:
        return defaultdict(Rows)
    return _merge(connection.execute(_CHOSEN, (str(list(numbers)),)), controllers)


def all_recent_rows(connection: sqlite3.Connection) -> dict[int, Rows]:
    return _merge(connection.execute(_ALL), None)


def _merge(
    batches: Iterable[tuple[int, bytes]], controllers: Collection[int] | None
) -> defaultdict[int, Rows]:
    found: defaultdict[int, Rows] = defaultdict(Rows)
    for _, text in batches:
        for controller, rows in _decoder.decode(text).items():
            if controllers is None or controller in controllers:
                found[controller].add(rows)
    return found
