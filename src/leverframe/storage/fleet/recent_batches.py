"""Batches that are on disk as they came, on their way into the tables of a lane.

The rows of many controllers lie apart: in the tables a batch would change a page or two for each of
them, all of which go to the disk. Behind the last batch it changes a few pages in all. When enough
has gathered it goes into the tables together, where a page then takes several rows at once, and of
what changed often only the last value.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping

import msgspec

from leverframe.storage.statements import Statement
from leverframe.storage.store import Rows

#: So many letters are enough to go into the tables.
ENOUGH = 512 * 1024

FORGETTING: Statement = ("DELETE FROM recent", ())

_decoder = msgspec.json.Decoder(dict[int, Rows])


def text_of(parts: Mapping[int, Rows]) -> str:
    return msgspec.json.encode(parts).decode()


def noting(text: str) -> Statement:
    """Return the SQL that puts a batch behind the others."""
    return ("INSERT INTO recent (parts) VALUES (?)", (text,))


def recent_size(connection: sqlite3.Connection) -> int:
    ((size,),) = connection.execute("SELECT coalesce(sum(length(parts)), 0) FROM recent")
    return int(size)


def recent_rows(
    connection: sqlite3.Connection, controllers: Collection[int] | None = None
) -> defaultdict[int, Rows]:
    """Read what has gathered of controllers, or of all: the rows that result from it in order."""
    found: defaultdict[int, Rows] = defaultdict(Rows)
    # As bytes: in an error, sqlite3 would repeat a text that it cannot decode.
    for (text,) in connection.execute("SELECT CAST(parts AS BLOB) FROM recent ORDER BY number"):
        for controller, rows in _decoder.decode(text).items():
            if controllers is None or controller in controllers:
                found[controller].add(rows)
    return found
