"""SQLite's write-ahead log as bytes: its content, and the part that SQLite would recover.

After an unclean stop, SQLite silently drops all frames from the first one with a wrong checksum on.
An interrupted write leaves such a frame at the end, and its change was not acknowledged. But if a
frame in the middle is damaged, acknowledged changes after it are dropped, too.

The index of the log (`-shm`) shows the difference. It survives a killed process, and SQLite writes
to it only after a commit is on disk. So it shows the number of acknowledged frames, or, after a
power failure, possibly fewer. The formats are those of https://sqlite.org/fileformat2.html and
https://sqlite.org/walformat.html.
"""

import os
import sqlite3
import sys
from array import array
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from struct import Struct as Layout
from typing import BinaryIO

from msgspec import Struct

HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
_FORMAT = 3007000
#: The lowest bit is the byte order in which the checksums read the content.
_MAGIC = 0x377F0682
_HEADER = Layout(">IIII8sII")
#: Page, size of the database after a commit or 0, salts, checksums.
_FRAME = Layout(">II8sII")
#: Format, flags (one of them means "in use"), page size, frames, checksum of the last frame, salts.
_INDEX = Layout("=III4sIIII8sII")
_INDEX_COPIES = (0, 48)
_SUMMED_OF_INDEX = 40
_FOLDED = Layout("=I")
_FOLDED_AT = 96
_MASK = 0xFFFFFFFF
#: The salt increases by one when the log restarts; between two comparisons, it cannot restart more
#: than this number of times.
_MOST_RESTARTS = 1000


class LogIndex(Struct, frozen=True):
    """The content of the index: acknowledged frames, and those already in the main file."""

    salts: bytes
    frames: int
    folded: int

    @property
    def is_all_in_main_file(self) -> bool:
        return self.folded >= self.frames


class LogHeader(Struct, frozen=True):
    page_size: int
    #: The byte order in which checksums read the content.
    order: str
    salts: bytes
    #: The start value of the checksums of the frames.
    sums: tuple[int, int]


class SqliteLog(Struct, frozen=True):
    """A log with a sound header."""

    salts: bytes
    page_size: int
    #: Frames up to the last commit that SQLite would recover.
    frames: int
    #: The database size in pages after that commit.
    page_count: int
    #: The last recoverable frame of each page; frames are counted from 0.
    frame_of_page: dict[int, int]
    #: Whether a committed transaction follows the frames that SQLite would recover.
    has_lost_commit: bool

    def frame_end(self, frames: int) -> int:
        """Return the size of the file with this number of frames."""
        return HEADER_BYTES + frames * (FRAME_HEADER_BYTES + self.page_size)


def log_path(store_path: Path) -> Path:
    return store_path.with_name(f"{store_path.name}-wal")


def index_path(store_path: Path) -> Path:
    return store_path.with_name(f"{store_path.name}-shm")


def is_later_log(salts: bytes, earlier: bytes) -> bool:
    """Return whether salts belong to a log that was started after the earlier one."""
    restarts = int.from_bytes(salts[:4], "big") - int.from_bytes(earlier[:4], "big")
    return 0 < restarts & _MASK <= _MOST_RESTARTS


def read_index(path: Path) -> LogIndex | None:
    """Read the index that a killed process left; return None if there is none or it is damaged.

    Not for a store in use: closing the file would release the locks of SQLite in this process.
    """
    try:
        with path.open("rb") as file:
            data = file.read(_FOLDED_AT + _FOLDED.size)
    except OSError:
        return None
    if len(data) < _FOLDED_AT + _FOLDED.size:
        return None
    for place in _INDEX_COPIES:
        copy = data[place : place + _INDEX.size]
        form, _, _, flags, frames, _, _, _, salts, *sums = _INDEX.unpack(copy)
        is_sound = tuple(sums) == _checksum(copy[:_SUMMED_OF_INDEX], (0, 0), sys.byteorder)
        if is_sound and form == _FORMAT and flags[0] == 1:
            (folded,) = _FOLDED.unpack_from(data, _FOLDED_AT)
            # Only a damaged index has more frames than the log.
            return LogIndex(salts, frames, folded if folded <= frames else 0)
    return None


def read_salts(path: Path) -> bytes | None:
    """Return the salts that identify a log; None if it is empty or has no sound header."""
    try:
        with path.open("rb") as file:
            header = _read_header(file)
    except FileNotFoundError:
        return None
    return None if header is None else header.salts


def read_log(store_path: Path) -> SqliteLog | None:
    """Read a store's log; None if it is missing or empty, or has no sound header."""
    path = log_path(store_path)
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        header = _read_header(file)
        if header is None:
            return None
        frames = count_recoverable_frames(store_path, header)
        page_count, pages = 0, {}
        for number in range(frames):
            page, page_count, *_ = _frame_header(file, header, number)
            pages[page] = number
        has_lost_commit = _has_commit_behind(file, header, frames)
    return SqliteLog(header.salts, header.page_size, frames, page_count, pages, has_lost_commit)


def count_recoverable_frames(store_path: Path, header: LogHeader) -> int:
    """Return the number of frames that SQLite would recover."""
    # Imported here, because a store that was closed properly has no log.
    import shutil
    from tempfile import TemporaryDirectory

    try:
        with TemporaryDirectory(prefix="leverframe-") as folder:
            # Use a copy, so that the index of the store is not changed. The first page of the main
            # file is enough.
            copy = Path(folder) / "store.db"
            with store_path.open("rb") as store:
                copy.write_bytes(store.read(header.page_size))
            shutil.copyfile(log_path(store_path), log_path(copy))
            with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro", uri=True)) as connection:
                connection.execute("PRAGMA schema_version").fetchall()
            index = read_index(index_path(copy))
    except (OSError, sqlite3.Error):
        index = None
    if index is not None and index.salts == header.salts:
        return index.frames
    # There is no space for the copy, or the first page is damaged.
    with log_path(store_path).open("rb") as file:
        return recoverable_frames(file)


def recoverable_frames(file: BinaryIO) -> int:
    """Count the frames that SQLite would recover, in the same way but a hundred times slower."""
    header = _read_header(file)
    if header is None:
        return 0
    frames, sums = 0, header.sums
    for number, (frame, content) in enumerate(_frames(file, header.page_size), start=1):
        page, size_after, salts, *frame_sums = _FRAME.unpack(frame)
        sums = _checksum(content, _checksum(frame[:8], sums, header.order), header.order)
        if page == 0 or salts != header.salts or sums != tuple(frame_sums):
            break
        if size_after:
            frames = number
    return frames


def read_committed_pages(path: Path, frames: int) -> list[tuple[int, bytes]]:
    """Return the number and the last content of each page in the first frames.

    If a page occurs several times, the last content is valid. Raise OSError if they are incomplete.
    The frames are not checked, because the caller has written them itself.
    """
    with path.open("rb") as file:
        header = _read_header(file)
        if header is None:
            raise OSError(f"{path} has no header")
        step = FRAME_HEADER_BYTES + header.page_size
        # Ignore the rest of a file that was longer before.
        content = file.read(frames * step)
    if len(content) < frames * step:
        raise OSError(f"{path} is shorter than {frames} frames")
    size_after, last = 0, dict[int, int]()
    for start in range(0, frames * step, step):
        number, size_after, salts, *_ = _FRAME.unpack_from(content, start)
        if salts != header.salts:
            raise OSError(f"{path} has frames of another log")
        last[number] = start
    if not size_after:
        raise OSError(f"{path} does not end with a commit")
    # Read each page only once: a log of 1,000 frames has about 200 pages, which saves 5 ms per
    # checkpoint.
    return [
        (number, content[start + FRAME_HEADER_BYTES : start + step])
        for number, start in last.items()
    ]


def _read_header(file: BinaryIO) -> LogHeader | None:
    header = file.read(HEADER_BYTES)
    if len(header) < HEADER_BYTES:
        return None
    magic, form, page_size, _, salts, *sums = _HEADER.unpack(header)
    order = "big" if magic & 1 else "little"
    is_page_size = 512 <= page_size <= 65536 and not page_size & (page_size - 1)
    if magic & ~1 != _MAGIC or form != _FORMAT or not is_page_size:
        return None
    summed = _checksum(header[:24], (0, 0), order)
    return LogHeader(page_size, order, salts, summed) if summed == tuple(sums) else None


def _frames(file: BinaryIO, page_size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield header and page of each complete frame that follows."""
    while True:
        frame, page = file.read(FRAME_HEADER_BYTES), file.read(page_size)
        if len(page) < page_size:
            return
        yield frame, page


def _frame_header(file: BinaryIO, header: LogHeader, number: int) -> tuple[int, int, bytes]:
    """Return the page, the database size after a commit, and the salts of a frame."""
    place = HEADER_BYTES + number * (FRAME_HEADER_BYTES + header.page_size)
    page, size_after, salts, *_ = _FRAME.unpack(os.pread(file.fileno(), FRAME_HEADER_BYTES, place))
    return page, size_after, salts


def _has_commit_behind(file: BinaryIO, header: LogHeader, frames: int) -> bool:
    """Return whether a committed transaction that was certainly on disk follows these frames.

    The last transaction may not have been on disk: a power failure may leave any of its frames.
    Frames of a transaction that was rolled back or killed do not count.
    """
    size = os.fstat(file.fileno()).st_size
    has_commit = False
    every = (size - HEADER_BYTES) // (FRAME_HEADER_BYTES + header.page_size)
    for number in range(frames, every):
        _, size_after, salts = _frame_header(file, header, number)
        if salts == header.salts and has_commit:
            return True
        has_commit = has_commit or (salts == header.salts and size_after > 0)
    return False


def _checksum(data: bytes, sums: tuple[int, int], order: str) -> tuple[int, int]:
    """Continue SQLite's checksum over content whose length is a multiple of eight."""
    words = array("I", data)
    if order != sys.byteorder:
        words.byteswap()
    first, second = sums
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & _MASK
        second = (second + other + first) & _MASK
    return first, second
