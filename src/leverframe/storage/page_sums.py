"""Checksums of a store's pages, in a separate file.

SQLite itself does not detect a flipped bit in a value. The main file of a store changes only at a
checkpoint, which copies the log into it. While the store is in use, the sums are updated after each
checkpoint, before the log restarts. So at any time each page is either in the log, which has its
own checksums, or matches its sum. The file also contains the salts of the log in use, with which an
older log or the log of another store is detected.

If sums cannot be written, the file is removed, and the next start does not compare the pages with
sums.
"""

import logging
import os
from array import array
from binascii import crc32
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import msgspec

from leverframe.storage.private_files import open_private
from leverframe.storage.sqlite_log import log_path, read_committed_pages, read_salts

log = logging.getLogger(__name__)

PAGE_BYTES = 4096
_CRC_BYTES = 4
#: Bytes of the first page that are excluded: the journal mode, the format (which every start
#: checks), and counters that SQLite writes when these change.
_NOT_SUMMED = ((18, 20), (24, 28), (60, 64), (92, 100))
#: The value of an unknown sum.
UNKNOWN = 0


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    format: int = 1
    page_size: int = PAGE_BYTES
    #: The salts of the log in use; None if no transaction was written since opening.
    salts: str | None = None
    #: The number of frames of that log that the sums include.
    frames: int = 0


class PageSums:
    """The sums of all pages, counted from 0."""

    def __init__(self, page_size: int = PAGE_BYTES) -> None:
        self.page_size = page_size
        self.sums = array("I")
        self.salts: bytes | None = None
        self.frames = 0

    def set(self, page: int, content: bytes) -> None:
        """Record the sum of a page; pages are counted from 1, as in SQLite."""
        missing = page - len(self.sums)
        if missing > 0:
            self.sums.extend([UNKNOWN] * missing)
        self.sums[page - 1] = sum_of(page, content)

    def of(self, page: int) -> int:
        return self.sums[page - 1] if page <= len(self.sums) else UNKNOWN

    def add_pages(self, pages: Iterable[tuple[int, bytes]]) -> None:
        for page, content in pages:
            self.set(page, content)

    def covers(self, salts: bytes, frames: int) -> bool:
        """Return whether the sums include these frames, which are then in the main file."""
        return self.salts == salts and frames <= self.frames

    def encode(self) -> bytes:
        head = _Head(1, self.page_size, self.salts.hex() if self.salts else None, self.frames)
        whole = msgspec.json.encode(head) + b"\n" + self.sums.tobytes()
        return whole + crc32(whole).to_bytes(_CRC_BYTES, "big")


def sums_path(store_path: Path) -> Path:
    return store_path.with_name(f"{store_path.name}-sums")


def sum_of(page: int, content: bytes) -> int:
    """Return the sum of a page's content; never the value that means unknown."""
    if page == 1:
        cleared = bytearray(content)
        for start, end in _NOT_SUMMED:
            cleared[start:end] = bytes(end - start)
        content = bytes(cleared)
    return crc32(content) or 1


def read_sums(store_path: Path) -> PageSums | None:
    """Read the sums of a store; return None if there are none, or if they are damaged."""
    try:
        data = sums_path(store_path).read_bytes()
    except OSError:
        return None
    whole, expected = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
    if crc32(whole).to_bytes(_CRC_BYTES, "big") != expected:
        return None
    line, _, body = whole.partition(b"\n")
    try:
        head = msgspec.json.decode(line, type=_Head)
        sums = PageSums(head.page_size)
        sums.salts = None if head.salts is None else bytes.fromhex(head.salts)
        sums.sums.frombytes(body)
    except ValueError:
        return None
    sums.frames = head.frames
    return sums if head.format == 1 else None


def write_sums(store_path: Path, sums: PageSums) -> None:
    """Write the sums to disk; if that fails, remove the old file.

    The file is overwritten, which takes half the time of a new file; incomplete sums are ignored.
    """
    try:
        descriptor = open_private(sums_path(store_path))
        try:
            content = sums.encode()
            # A full disk may accept only a part; the file is then truncated, and the sums are
            # ignored.
            os.ftruncate(descriptor, os.pwrite(descriptor, content, 0))
            getattr(os, "fdatasync", os.fsync)(descriptor)  # macOS has only fsync
        finally:
            os.close(descriptor)
    except OSError as error:
        log.warning("the checksums of %s cannot be written: %s", store_path, error.strerror)
        discard_sums(store_path)


def discard_sums(store_path: Path) -> None:
    """Remove sums that are no longer valid."""
    with suppress(OSError):
        sums_path(store_path).unlink(missing_ok=True)


class LiveSums:
    """The sums of a store in use; for one thread at a time.

    The main file is not opened here, because closing it would release SQLite's locks in this
    process.
    """

    def __init__(self, store_path: Path) -> None:
        self._store_path = store_path
        self._log_path = log_path(store_path)
        found = read_sums(store_path)
        if found is None and store_path.stat().st_size <= PAGE_BYTES:
            # In a new store, SQLite has written at most the first page, and will write it again.
            found = PageSums()
        #: None if they are unknown until the next start.
        self._sums = found

    def note_transaction(self) -> None:
        """Record the log to which the first transaction since opening was written."""
        if self._sums is None or self._sums.salts is not None:
            return
        # If no file can be opened now, the next transaction tries again.
        with suppress(OSError):
            salts = read_salts(self._log_path)
            if salts is not None:
                self._sums.salts, self._sums.frames = salts, 0
                write_sums(self._store_path, self._sums)

    def note_folded(self, frames: int) -> None:
        """Record that this number of frames was copied into the main file."""
        if self._sums is None:
            return
        try:
            salts = read_salts(self._log_path)
            if salts is None or self._sums.covers(salts, frames):
                return
            self._sums.add_pages(read_committed_pages(self._log_path, frames))
        except OSError as error:
            log.warning("the checksums of %s are no longer maintained: %s", self._store_path, error)
            self.give_up()
            return
        self._sums.salts, self._sums.frames = salts, frames
        write_sums(self._store_path, self._sums)

    def note_end(self) -> None:
        """Record that the log was removed, because all of it is in the main file."""
        if self._sums is not None and self._sums.salts is not None:
            self._sums.salts, self._sums.frames = None, 0
            write_sums(self._store_path, self._sums)

    def give_up(self) -> None:
        """Remove the sums, because another program has written to the main file."""
        self._sums = None
        discard_sums(self._store_path)
