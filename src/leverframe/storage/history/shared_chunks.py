"""The file of the histories of many controllers, in which each row has a controller's number."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leverframe.storage.history.chunks import (
    CHUNK_COLUMNS,
    IN_MEMORY,
    OF_MANY,
    OF_ONE,
    ChunkStore,
    open_file,
)
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.last_moments import RunEnd, record, unpack_last_moments
from leverframe.storage.history.rows import (
    ENTRY_COLUMNS,
    ENTRY_TABLE,
    EntryTable,
    HistoryConnection,
)
from leverframe.storage.sqlite_file import roll_back, sentences

#: The tables of a file with many histories, and the columns that name the controller.
_TABLES_OF_ONE = (
    *(("chunk", "controller"), ("entry", "controller")),
    *(("mark", "id"), ("told", "controller"), ("stopped", "controller")),
    ("last_moments", "controller"),
)
#: The times at which controllers stopped properly, and data that was not recorded by then. The rows
#: are removed when the next run records them. Files of earlier programs lack these tables, and
#: those programs ignore them.
_STOPPED = """
CREATE TABLE IF NOT EXISTS stopped (controller INTEGER PRIMARY KEY, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS last_moments
    (id INTEGER PRIMARY KEY, controller INTEGER NOT NULL, data BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS last_moments_by_controller ON last_moments (controller);
"""


class SharedChunks:
    """The file with the histories of many controllers; only one history is used at a time."""

    def __init__(self, path: Path | None, max_bytes: int) -> None:
        self._path = path or IN_MEMORY
        self._max_bytes = max_bytes
        with sentences(self._path):
            self._connection = open_file(path, max_bytes, OF_MANY)
            self._connection.executescript(_STOPPED)

    def of(self, controller: int, max_bytes: int = 0) -> "ChunksOfOne":
        """Return the chunks of a controller; by default, they may use all bytes of the file."""
        with sentences(self._path):
            return ChunksOfOne(self._connection, controller, max_bytes or self._max_bytes)

    def leave(self, ends: Mapping[int, RunEnd]) -> None:
        """Store the ends of runs; the next run records the remaining data and the gap."""
        self._transact(
            ("REPLACE INTO stopped VALUES (?, ?)", (controller, end.at))
            if end.unrecorded is None
            else (
                "INSERT INTO last_moments (controller, data) VALUES (?, ?)",
                (controller, end.unrecorded),
            )
            for controller, end in ends.items()
        )

    def forget(self, controllers: Iterable[int]) -> None:
        """Remove the histories of controllers."""
        self._transact(
            (f"DELETE FROM {table} WHERE {key} = ?", (controller,))  # noqa: S608
            for controller in controllers
            for table, key in _TABLES_OF_ONE
        )

    def take_in(self, controller: int, path: Path) -> None:
        """Import the history in a separate file as the history of a controller in this file."""
        with self._beside(path):
            # A file of format 1 has no texts, and is not upgraded, because it is only read.
            (has_texts,) = self._connection.execute(
                "SELECT count(*) FROM own.sqlite_master WHERE name = 'told'"
            ).fetchone()
            texts = (
                "INSERT INTO main.told (controller, number, text) "
                "SELECT ?, number, text FROM own.told",
                (controller,),
            )
            self._transact(
                [
                    ("DELETE FROM chunk WHERE controller = ?", (controller,)),
                    (
                        f"INSERT INTO main.chunk (controller, {CHUNK_COLUMNS}) "  # noqa: S608
                        f"SELECT ?, {CHUNK_COLUMNS} FROM own.chunk ORDER BY id",
                        (controller,),
                    ),
                    ("DELETE FROM entry WHERE controller = ?", (controller,)),
                    (
                        f"INSERT INTO main.entry (controller, {ENTRY_COLUMNS}) "  # noqa: S608
                        f"SELECT ?, {ENTRY_COLUMNS} FROM own.entry",
                        (controller,),
                    ),
                    ("REPLACE INTO main.mark SELECT ?, at FROM own.mark", (controller,)),
                    ("DELETE FROM told WHERE controller = ?", (controller,)),
                    ("DELETE FROM stopped WHERE controller = ?", (controller,)),
                    ("DELETE FROM last_moments WHERE controller = ?", (controller,)),
                    *([texts] if has_texts else ()),
                ]
            )

    def give_out(self, controller: int, path: Path) -> None:
        """Write the history of a controller to an empty separate file."""
        chunks = self.of(controller)
        record_gap(Compactor(chunks, Bounds()), chunks)
        with self._beside(path):
            self._transact(
                [
                    (
                        f"INSERT INTO own.chunk ({CHUNK_COLUMNS}) SELECT {CHUNK_COLUMNS} "  # noqa: S608
                        "FROM main.chunk WHERE controller = ? ORDER BY id",
                        (controller,),
                    ),
                    (
                        f"INSERT INTO own.entry ({ENTRY_COLUMNS}) SELECT {ENTRY_COLUMNS} "  # noqa: S608
                        "FROM main.entry WHERE controller = ?",
                        (controller,),
                    ),
                    (
                        "INSERT INTO own.mark SELECT 1, at FROM main.mark WHERE id = ?",
                        (controller,),
                    ),
                    (
                        "INSERT INTO own.told (number, text) "
                        "SELECT number, text FROM main.told WHERE controller = ?",
                        (controller,),
                    ),
                ]
            )

    @contextmanager
    def _beside(self, path: Path) -> Iterator[None]:
        """Attach the separate file of one controller to this connection."""
        with sentences(path):
            self._connection.execute("ATTACH ? AS own", (str(path),))
            try:
                own = ENTRY_TABLE.format(**OF_ONE).replace("EXISTS entry", "EXISTS own.entry")
                self._connection.execute(own)
                yield
            finally:
                self._connection.execute("DETACH own")

    def _transact(self, statements: Iterable[tuple[str, tuple[Any, ...]]]) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                self._connection.execute(*statement)
            self._connection.execute("COMMIT")
        finally:
            roll_back(self._connection)

    def close(self) -> None:
        self._connection.close()


class ChunksOfOne(ChunkStore):
    """The chunks of one controller in a file of many; closing them leaves the file open."""

    _own = "controller = ?"
    _insert = f"INSERT INTO chunk (controller, {CHUNK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608
    _insert_reason = "INSERT INTO told (controller, number, text) VALUES (?, ?, ?)"

    def __init__(self, connection: HistoryConnection, controller: int, max_bytes: int) -> None:
        self._connection = connection
        self.entries = EntryTable(connection, max_bytes, controller)
        self._which = self._mark = (controller,)
        self._count_tiers()

    def stop_time(self) -> float | None:
        query = "SELECT at FROM stopped WHERE controller = ?"
        found = self._connection.execute(query, self._which).fetchone()
        return None if found is None else found[0]

    def list_last_moments(self) -> list[bytes]:
        """Return the data of earlier runs that must still be recorded."""
        query = "SELECT data FROM last_moments WHERE controller = ? ORDER BY id"
        return [data for (data,) in self._connection.execute(query, self._which)]

    def let_go_left(self) -> None:
        """Delete the last moments of earlier runs in the next commit."""
        self._begin()
        self._connection.execute("DELETE FROM last_moments WHERE controller = ?", self._which)

    def bytes_in_use(self) -> int:
        return sum(self._cost.values())

    def close(self) -> None:
        """Leave the file open, because other controllers use it."""


def record_gap(compactor: Compactor, chunks: ChunksOfOne) -> None:
    """Record the last moments of earlier runs, and that the controller was off since then."""
    found, until = chunks.list_last_moments(), chunks.end_of_record()
    left = unpack_last_moments(found)
    continues = bool(left) and left[0].continues and (until is None or left[0].ended >= until)
    if not continues:
        # The controller was off, or was killed, after its last record.
        compactor.silence(chunks.stop_time())
    if found:
        chunks.let_go_left()
        record(compactor, left)
