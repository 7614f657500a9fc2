"""The chunk_store in a file of its own, so that the store of the settings never waits for it.

The file is written without waiting for the disk: a power cut may take the last seconds, never the
soundness of the file. What is found damaged is for the caller to set aside.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from leverframe.storage.history.chunk_store import Chunk, chunk_of, readable
from leverframe.storage.history.columns import (
    TIERS,
    TIME,
    Columns,
    Tier,
    UnreadableChunk,
    joined,
    unpack,
)
from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew, connect, roll_back, sentences

_FORMAT = 1
_TABLES = f"""
BEGIN;
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    tier INTEGER NOT NULL,
    label TEXT NOT NULL,
    start REAL NOT NULL,
    end REAL NOT NULL,
    points INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX chunk_by_label ON chunk (tier, label, start);
CREATE INDEX chunk_by_age ON chunk (tier, end, cost, points);
CREATE TABLE mark (id INTEGER PRIMARY KEY CHECK (id = 1), at REAL NOT NULL);
PRAGMA user_version = {_FORMAT};
COMMIT;
"""
#: The log beside the file is folded into it at this many pages (1 MB), and cut back to that.
_CHECKPOINT_PAGES = 256
_LOG_BYTES = 1024 * 1024
_PAGE_BYTES = 4096
_OF_SIZE = "tier = ? AND label = ? AND points >= ? AND points < ?"
#: A parameter list must end somewhere; SQLite takes many more.
_AT_A_TIME = 500


class SqliteChunkStore:
    """Raises StoreDamaged, StoreTooNew or StoreUnavailable when opened."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        with sentences(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            self._connection = connect(path)
            try:
                self._prepare(path, max_bytes)
                self._cost: dict[int, int] = {}
                self._points: dict[int, int] = {}
                self._tally()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self, path: Path, max_bytes: int) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version > _FORMAT:
            raise StoreTooNew(
                f"The history {path} has format {version}, but this program knows formats up to "
                f"{_FORMAT}; nothing is recorded."
            )
        self._connection.execute("PRAGMA journal_mode = WAL").fetchall()
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}").fetchall()
        self._connection.execute(f"PRAGMA journal_size_limit = {_LOG_BYTES}").fetchall()
        if version == 0:
            self._connection.executescript(_TABLES)
        pages = max_bytes // _PAGE_BYTES
        self._connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()

    def _tally(self) -> None:
        self._cost = {tier.number: 0 for tier in TIERS}
        self._points = dict(self._cost)
        query = "SELECT tier, sum(cost), sum(points) FROM chunk GROUP BY tier"
        for number, cost, points in self._connection.execute(query):
            self._cost[number], self._points[number] = cost, points

    def labels(self) -> list[str]:
        query = "SELECT DISTINCT label FROM chunk ORDER BY label"
        return [label for (label,) in self._connection.execute(query)]

    def since(self, tier: Tier) -> float | None:
        # The chunk that ends first also begins first, unless the clock was set back meanwhile.
        query = "SELECT start FROM chunk WHERE tier = ? ORDER BY end LIMIT 1"
        found = self._connection.execute(query, (tier.number,)).fetchone()
        return None if found is None else float(found[0])

    def cost(self, tier: Tier) -> int:
        return self._cost[tier.number]

    def used(self) -> int:
        (pages,) = self._connection.execute("PRAGMA page_count").fetchone()
        (free,) = self._connection.execute("PRAGMA freelist_count").fetchone()
        return int(pages - free) * _PAGE_BYTES

    def points(self, tier: Tier) -> int:
        return self._points[tier.number]

    def chunks(self, tier: Tier, label: str, fewest: int, below: int) -> int:
        query = f"SELECT count(*) FROM chunk WHERE {_OF_SIZE}"  # nosec B608
        which = (tier.number, label, fewest, below)
        (count,) = self._connection.execute(query, which).fetchone()
        return int(count)

    def count(self, tier: Tier, label: str, first: float, last: float) -> int:
        query = (
            "SELECT coalesce(sum(points), 0) FROM chunk "
            "WHERE tier = ? AND label = ? AND start <= ? AND end >= ?"
        )
        (count,) = self._connection.execute(query, (tier.number, label, last, first)).fetchone()
        return int(count)

    def rows(self, tier: Tier, label: str, first: float, last: float) -> Columns:
        found = self._chunks(
            "tier = ? AND label = ? AND start <= ? AND end >= ? ORDER BY start, id",
            (tier.number, label, last, first),
        )
        return joined(readable(found, tier), tier.columns)

    def before(self, tier: Tier, label: str, at: float) -> Columns:
        found = self._chunks(
            "tier = ? AND label = ? AND start < ? ORDER BY start DESC, id DESC LIMIT 1",
            (tier.number, label, at),
        )
        return joined(readable(found, tier), tier.columns)

    def append(self, tier: Tier, label: str, columns: Columns) -> None:
        self._insert(tier, chunk_of(label, columns))

    def merge(self, tier: Tier, label: str, fewest: int, below: int) -> None:
        which = (tier.number, label, fewest, below)
        chunks = list(self._chunks(f"{_OF_SIZE} ORDER BY start, id", which))
        self._begin()
        self._connection.execute(f"DELETE FROM chunk WHERE {_OF_SIZE}", which)  # nosec B608
        self._forget(tier, sum(c.cost for c in chunks), sum(c.points for c in chunks))
        rows = joined(readable(chunks, tier), tier.columns)
        if rows[TIME]:
            self._insert(tier, chunk_of(label, rows))

    def drop_oldest(self, tier: Tier, *, older: float, most: int, keep_newest: bool) -> int:
        newest = "AND id NOT IN (SELECT max(id) FROM chunk WHERE tier = :tier GROUP BY label)"
        query = (
            "SELECT id, cost, points FROM chunk WHERE tier = :tier AND end < :older "
            f"{newest if keep_newest else ''} ORDER BY end LIMIT :most"
        )
        named = {"tier": tier.number, "older": older, "most": min(most, _AT_A_TIME)}
        gone = self._connection.execute(query, named).fetchall()
        if gone:
            self._begin()
            self._connection.executemany(
                "DELETE FROM chunk WHERE id = ?", [(number,) for number, _, _ in gone]
            )
            self._forget(tier, sum(row[1] for row in gone), sum(row[2] for row in gone))
        return len(gone)

    def mark(self, at: float) -> None:
        self._begin()
        self._connection.execute("REPLACE INTO mark (id, at) VALUES (1, ?)", (at,))

    def marked(self) -> float | None:
        found = self._connection.execute("SELECT at FROM mark").fetchone()
        return None if found is None else float(found[0])

    def commit(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")

    def roll_back(self) -> None:
        roll_back(self._connection)
        self._tally()

    def close(self) -> None:
        self._connection.close()

    def _begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def _insert(self, tier: Tier, chunk: Chunk) -> None:
        self._begin()
        self._connection.execute(
            "INSERT INTO chunk (tier, label, start, end, points, cost, data) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                *(tier.number, chunk.label, chunk.start, chunk.end),
                *(chunk.points, chunk.cost, chunk.data),
            ),
        )
        self._cost[tier.number] += chunk.cost
        self._points[tier.number] += chunk.points

    def _forget(self, tier: Tier, cost: int, points: int) -> None:
        self._cost[tier.number] -= cost
        self._points[tier.number] -= points

    def _chunks(self, where: str, values: tuple[float | str, ...]) -> Iterator[Chunk]:
        # Conditions of our own; what comes from outside is in the values.
        query = f"SELECT label, start, end, points, data FROM chunk WHERE {where}"  # nosec B608
        for row in self._connection.execute(query, values):
            yield Chunk(*row)


def check_file(path: Path) -> int:
    """Read every chunk; how many there are. Raises StoreDamaged where one is not sound."""
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
