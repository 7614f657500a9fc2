"""The table of chunks: packed rows of one label, in a separate file or in memory.

The file is separate from the store of the settings, so that the store never waits for it. It is
written without waiting for the disk: a power failure may lose the last seconds, but never damages
the file. Chunks are written once and never changed; `merge` combines several into one. Chunks of
one label may overlap in time if the clock was set back. Only one thread at a time uses a store.
"""

import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from leverframe.core.engine.machine import Reason
from leverframe.storage.history.rows import (
    ENTRY_TABLE,
    MAX_TEXTS,
    TIERS,
    TIME,
    Columns,
    EntryRow,
    EntryTable,
    Found,
    HistoryConnection,
    Tier,
    UnreadableChunk,
    bare_text_of,
    join,
    number_of,
    pack,
    text_of,
    unpack,
)
from leverframe.storage.private_files import open_private
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew, connect, roll_back, sentences

_FORMAT = 2
IN_MEMORY = Path(":memory:")
#: The tables for one controller, and for many controllers with an additional column and one mark
#: per controller.
OF_ONE = {"column": "", "of": "", "marks": "CHECK (id = 1)"}
OF_MANY = {"column": "controller INTEGER NOT NULL,", "of": "controller, ", "marks": ""}
_TABLES = """
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    {column}
    tier INTEGER NOT NULL,
    label TEXT NOT NULL,
    start REAL NOT NULL,
    end REAL NOT NULL,
    points INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX chunk_by_label ON chunk ({of}tier, label, start);
CREATE INDEX chunk_by_age ON chunk ({of}tier, end, cost, points);
CREATE TABLE mark (id INTEGER PRIMARY KEY {marks}, at REAL NOT NULL);
"""
#: Texts of the reasons of values, by the numbers in their series (`rows.py`); since format 2. The
#: table keeps its name `told`, because files on disk have it.
_TEXTS = """
CREATE TABLE told ({column} number INTEGER NOT NULL, text TEXT NOT NULL, UNIQUE ({of}number));
"""
#: Scripts that upgrade the file from each format to the next.
_STEPS = (_TABLES, _TEXTS)
#: At this number of pages (1 MB), SQLite checkpoints its log and truncates it to that size.
_CHECKPOINT_PAGES = 256
_LOG_BYTES = 1024 * 1024
_PAGE_BYTES = 4096
#: The approximate cost of a chunk in addition to its data.
_CHUNK_BYTES = 80
CHUNK_COLUMNS = 'tier, label, start, "end", points, cost, data'
OF_SIZE = "tier = ? AND label = ? AND points >= ? AND points < ?"
_OVERLAPPING = 'tier = ? AND label = ? AND start <= ? AND "end" >= ?'

#: Tier, label, first and last time, number of rows, cost, packed columns.
ChunkRow = tuple[int, str, float, float, int, int, bytes]


class ChunkStore:
    """The chunks in a file, or in memory without a path.

    Raises StoreDamaged, StoreTooNew or StoreUnavailable when opened.
    """

    _connection: HistoryConnection
    #: The condition that selects this controller's rows, its value, and (below) the controller's
    #: mark.
    _own = "true"
    _which: tuple[int, ...] = ()
    _insert = f"INSERT INTO chunk ({CHUNK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
    _insert_reason = "INSERT INTO told (number, text) VALUES (?, ?)"
    _mark = (1,)
    #: The texts of reasons that were read so far; None before the first read.
    _texts: dict[int, str] | None = None

    def __init__(self, path: Path | None, max_bytes: int) -> None:
        with sentences(path or IN_MEMORY):
            self._connection = open_file(path, max_bytes, OF_ONE)
            if path is None:
                # A history in memory must be freed with its controller, even if the controller is
                # not closed.
                weakref.finalize(self, self._connection.close)
            try:
                self.entries = EntryTable(self._connection, max_bytes)
                self._count_tiers()
            except BaseException:
                self._connection.close()
                raise

    def _find(self, query: str, *values: float | str) -> Found:
        """Run a query; its first parameters select the controller's rows, `values` follow."""
        return self._connection.execute(query, (*self._which, *values))

    def _count_tiers(self) -> None:
        self._cost = {tier.number: 0 for tier in TIERS}
        self._points = dict(self._cost)
        query = f"SELECT tier, sum(cost), sum(points) FROM chunk WHERE {self._own} GROUP BY tier"  # noqa: S608
        for number, cost, points in self._find(query):
            self._cost[number], self._points[number] = cost, points

    # --- queries ----------------------------------------------------------------------------------

    def reading_ahead(self, since: float) -> AbstractContextManager[None]:
        """Prepare for queries about each label from a time on, and about its value at that time.

        Nothing may be written until the context ends. Files need no preparation.
        """
        return nullcontext()

    def small_chunks(self) -> dict[tuple[Tier, str], int] | None:
        """Return the number of the smallest chunks by tier and label, or None if they were not
        counted.
        """
        return None

    def labels(self) -> list[str]:
        """List the labels that have chunks."""
        query = f"SELECT DISTINCT label FROM chunk WHERE {self._own} ORDER BY label"  # noqa: S608
        return [label for (label,) in self._find(query)]

    def since(self, tier: Tier) -> float | None:
        """Find the earliest time in a tier."""
        # The chunk that ends first also begins first, unless the clock was set back in between.
        query = f'SELECT start FROM chunk WHERE {self._own} AND tier = ? ORDER BY "end" LIMIT 1'  # noqa: S608
        found = self._find(query, tier.number).fetchone()
        return None if found is None else float(found[0])

    def end_of_record(self) -> float | None:
        """Return the time up to which all values are recorded."""
        found = self._connection.execute("SELECT at FROM mark WHERE id = ?", self._mark).fetchone()
        return None if found is None else float(found[0])

    def stop_time(self) -> float | None:
        """Return when recording ended properly, if the gap since then is not recorded yet."""
        return None

    def cost(self, tier: Tier) -> int:
        """Return the number of bytes that the chunks of a tier occupy."""
        return self._cost[tier.number]

    def points(self, tier: Tier) -> int:
        """Return the number of rows in a tier."""
        return self._points[tier.number]

    def bytes_in_use(self) -> int:
        """Return the bytes in use, including the space lost between chunks."""
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE_BYTES

    def chunks(self, tier: Tier, label: str, min_rows: int, below: int) -> int:
        """Count the chunks of a label that have at least `min_rows` and fewer than `below` rows."""
        query = f"SELECT count(*) FROM chunk WHERE {self._own} AND {OF_SIZE}"  # noqa: S608
        (count,) = self._find(query, tier.number, label, min_rows, below).fetchone()
        return int(count)

    def count(self, tier: Tier, label: str, first: float, last: float) -> int:
        """Count the rows of all chunks that overlap a span of time."""
        query = (
            "SELECT coalesce(sum(points), 0) FROM chunk "  # noqa: S608
            f"WHERE {self._own} AND {_OVERLAPPING}"
        )
        (count,) = self._find(query, tier.number, label, last, first).fetchone()
        return int(count)

    def counts(self, tier: Tier, first: float, last: float) -> dict[str, int]:
        """Count the rows of all chunks that overlap a span of time, by label."""
        query = (
            f"SELECT label, sum(points) FROM chunk WHERE {self._own} "  # noqa: S608
            'AND tier = ? AND start <= ? AND "end" >= ? GROUP BY label'
        )
        return {label: int(count) for label, count in self._find(query, tier.number, last, first)}

    def chunk_ends(
        self, tier: Tier, label: str, first: float, last: float
    ) -> list[tuple[float, int]]:
        """List the ends of the chunks that overlap a time span, and their numbers of rows."""
        query = (
            f'SELECT "end", points FROM chunk WHERE {self._own} AND {_OVERLAPPING} '  # noqa: S608
            'ORDER BY "end", id'
        )
        return self._find(query, tier.number, label, last, first).fetchall()

    def rows(self, tier: Tier, label: str, first: float, last: float) -> Columns:
        """Read all rows of chunks that overlap a span of time, in order."""
        which = (tier.number, label, last, first)
        return self._read(tier, f"{_OVERLAPPING} ORDER BY start, id", which)

    def before(self, tier: Tier, label: str, at: float) -> Columns:
        """Read the rows of the last chunk that begins before a time."""
        last = "tier = ? AND label = ? AND start < ? ORDER BY start DESC, id DESC LIMIT 1"
        return self._read(tier, last, (tier.number, label, at))

    def reason_texts(self) -> dict[int, str]:
        """Return the texts of the reasons of values, by their numbers."""
        if self._texts is None:
            query = f"SELECT number, text FROM told WHERE {self._own}"  # noqa: S608
            self._texts = dict(self._find(query).fetchall())
        return self._texts

    def _read(self, tier: Tier, where: str, values: tuple[float | str, ...]) -> Columns:
        # The conditions are constants of this program; values are passed as parameters.
        query = f"SELECT data FROM chunk WHERE {self._own} AND {where}"  # noqa: S608
        found = (data for (data,) in self._find(query, *values))
        return join(readable(found, tier), tier.columns)

    def reason_number(self, reason: Reason) -> int:
        """Return the number of a reason; store its text if it is new."""
        texts, text = self.reason_texts(), text_of(reason)
        number = number_of(text)
        if number not in texts and len(texts) >= MAX_TEXTS:
            text = bare_text_of(reason)
            number = number_of(text)
        if number not in texts:
            self._explain(number, text)
            texts[number] = text
        return number

    def _explain(self, number: int, text: str) -> None:
        self._begin()
        self._find(self._insert_reason, number, text)

    # --- changes ----------------------------------------------------------------------------------

    def append(self, tier: Tier, label: str, columns: Columns) -> None:
        """Store rows as a chunk."""
        times, data = columns[TIME], pack(columns)
        cost = len(data) + _CHUNK_BYTES
        self._put((tier.number, label, min(times), max(times), len(times), cost, data))
        self._count(tier.number, label, cost, len(times))

    def _put(self, row: ChunkRow) -> None:
        self._begin()
        self._connection.execute(self._insert, (*self._which, *row))

    def merge(self, tier: Tier, label: str, min_rows: int, below: int) -> None:
        """Combine all chunks that have at least `min_rows` and fewer than `below` rows into one."""
        which = (tier.number, label, min_rows, below)
        rows = self._read(tier, f"{OF_SIZE} ORDER BY start, id", which)
        self._delete(tier, OF_SIZE, which)
        if rows[TIME]:
            self.append(tier, label, rows)

    def drop_oldest(self, tier: Tier, *, older: float, most: int, keep_newest: bool) -> int:
        """Remove at most `most` chunks that end before `older`; return how many were removed.

        With `keep_newest`, the newest chunk of every label is kept, so that its current value is
        known.
        """
        newest = f"SELECT max(id) FROM chunk WHERE {self._own} AND tier = ? GROUP BY label"  # noqa: S608
        stays = f"AND id NOT IN ({newest})" if keep_newest else ""
        oldest = (
            f"id IN (SELECT id FROM chunk WHERE {self._own} AND tier = ? "  # noqa: S608
            f'AND "end" < ? {stays} ORDER BY "end" LIMIT ?)'
        )
        kept = (*self._which, tier.number) if keep_newest else ()
        return self._delete(tier, oldest, (*self._which, tier.number, older, *kept, most))

    def _delete(self, tier: Tier, where: str, values: tuple[float | str, ...]) -> int:
        self._begin()
        query = (
            f"DELETE FROM chunk WHERE {self._own} AND {where} "  # noqa: S608
            "RETURNING label, cost, points"
        )
        deleted = self._find(query, *values).fetchall()
        for label, cost, points in deleted:
            self._count(tier.number, label, -cost, -points)
        return len(deleted)

    def _count(self, tier: int, label: str, cost: int, points: int) -> None:
        """Add a chunk to the counts; negative numbers remove one."""
        self._cost[tier] += cost
        self._points[tier] += points

    def add_entries(self, rows: Sequence[EntryRow]) -> None:
        self._begin()
        self.entries.add(rows)

    def set_recorded_until(self, at: float) -> None:
        """Store the time up to which all values are recorded."""
        self._begin()
        self._connection.execute(
            "INSERT INTO mark (id, at) VALUES (?, ?) "
            "ON CONFLICT (id) DO UPDATE SET at = excluded.at",
            (*self._mark, at),
        )

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit all changes since the last commit as one transaction."""
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        """Undo all changes since the last commit."""
        roll_back(self._connection)
        self._texts = None
        self._count_tiers()

    def close(self) -> None:
        self._connection.close()


def open_file(path: Path | None, max_bytes: int, tables: Mapping[str, str]) -> sqlite3.Connection:
    """Open a file or an in-memory database, and create its tables if it is new."""
    if path is not None:
        os.close(open_private(path))
    connection = connect(path or IN_MEMORY)
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise StoreTooNew(
                f"The history {path} has format {version}, but this program knows formats up to "
                f"{_FORMAT}; nothing is recorded."
            )
        for setting in (
            "journal_mode = WAL",
            "synchronous = NORMAL",
            f"wal_autocheckpoint = {_CHECKPOINT_PAGES}",
            f"journal_size_limit = {_LOG_BYTES}",
        ):
            connection.execute(f"PRAGMA {setting}").fetchall()
        if version < _FORMAT:
            steps = "".join(step.format(**tables) for step in _STEPS[version:])
            connection.executescript(f"BEGIN;{steps}PRAGMA user_version = {_FORMAT};COMMIT;")
        # Files of earlier programs lack this table; those programs ignore it.
        connection.executescript(ENTRY_TABLE.format(**tables))
        connection.execute(f"PRAGMA max_page_count = {max_bytes // _PAGE_BYTES}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def readable(chunks: Iterable[bytes], tier: Tier) -> Iterator[Columns]:
    """Unpack chunks; omit unreadable ones, so that the earlier values remain visible."""
    for data in chunks:
        try:
            yield unpack(data, tier.columns)
        except UnreadableChunk:
            continue


def check_file(path: Path) -> int:
    """Read every chunk and return the number of chunks. Raises StoreDamaged if one is damaged."""
    with sentences(path), closing(connect(path)) as connection:
        found = [text for (text,) in connection.execute("PRAGMA integrity_check(1)")]
        if found != ["ok"]:
            raise StoreDamaged(f"The history {path} is damaged ({' '.join(found[0].split())}).")
        columns = {tier.number: tier.columns for tier in TIERS}
        count = 0
        for number, tier, data in connection.execute("SELECT id, tier, data FROM chunk"):
            try:
                unpack(data, columns[tier])
            except (KeyError, TypeError, UnreadableChunk) as error:
                raise StoreDamaged(
                    f"The history {path} is damaged (chunk {number}: {error})."
                ) from error
            count += 1
        return count
