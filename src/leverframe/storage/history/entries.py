"""The table of the journal's entries: the newest of them, as JSON, beside the chunks of values."""

from collections.abc import Iterable
from typing import NamedTuple

from leverframe.storage.history.connection import HistoryConnection

#: Entries of one controller that are kept: some weeks of a busy one, and less than 10 MB.
MAX_ENTRIES = 20_000
#: Bytes of the whole file for each entry: a small file keeps few.
_BYTES_FOR_EACH = 2048

#: With the same words in braces as the other tables of the file.
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
#: An entry that is written twice replaces the first.
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
    #: Only entries after this number.
    after: int = 0
    which: str | None = None
    cause: str | None = None
    most: int = MAX_ENTRIES


class EntryTable:
    """The entries of one controller; the caller that adds entries commits them."""

    def __init__(
        self, connection: HistoryConnection, max_bytes: int, controller: int | None = None
    ) -> None:
        self._connection = connection
        self._most = min(MAX_ENTRIES, max_bytes // _BYTES_FOR_EACH)
        self._own = "true" if controller is None else "controller = ?"
        #: The value of what is our own.
        self._which: tuple[int, ...] = () if controller is None else (controller,)
        column, value = ("", "") if controller is None else ("controller, ", "?, ")
        self._insert = (
            f"INSERT INTO entry ({column}{ENTRY_COLUMNS}) VALUES ({value}?, ?, ?, ?, ?) "  # noqa: S608
            f"ON CONFLICT ({column}number) DO UPDATE SET {REPLACED}"
        )

    def newest(self) -> int:
        """Return the number of the newest entry; 0 where there is none."""
        query = f"SELECT coalesce(max(number), 0) FROM entry WHERE {self._own}"  # noqa: S608
        (number,) = self._connection.execute(query, self._which).fetchone()
        return int(number)

    def add(self, rows: Iterable[EntryRow]) -> None:
        """Add entries; the oldest go where there are too many."""
        self._connection.executemany(self._insert, [(*self._which, *row) for row in rows])
        query = f"DELETE FROM entry WHERE {self._own} AND number <= ?"  # noqa: S608
        self._connection.execute(query, (*self._which, self.newest() - self._most))

    def ask(self, question: EntryQuestion) -> list[bytes]:
        """Return the newest entries that are asked for, oldest first."""
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
