"""A recording as a file: written line by line, read line by line."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import takewhile
from pathlib import Path

from leverframe.exchanges.exchange import (
    FORMAT,
    MAX_LINE_BYTES,
    Exchange,
    RecordingHead,
    exchanges_in,
    head_in,
    line_of,
)
from leverframe.storage.private_file import create_private


class RecordingFile:
    """A new recording; every line is with the system when `add` returns."""

    def __init__(self, path: Path, unit: str) -> None:
        self.exchanges = 0
        self.masked = 0
        # Other people's requests are in it, even if no secrets are.
        self._descriptor = create_private(path)
        self._write(line_of(RecordingHead(FORMAT, unit, datetime.now(UTC))))

    def add(self, exchange: Exchange) -> None:
        self._write(line_of(exchange))
        self.exchanges += 1
        self.masked += exchange.masked

    def _write(self, line: bytes) -> None:
        # Without a buffer: what cannot be written now must not be tried again at the end.
        while line:
            line = line[os.write(self._descriptor, line) :]

    def close(self) -> None:
        os.close(self._descriptor)


def read_recording(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a recording, or raise `NoRecording`."""
    with path.open("rb") as file:
        head_in(file.readline(MAX_LINE_BYTES), str(path))
        lines = takewhile(bool, iter(lambda: file.readline(MAX_LINE_BYTES), None))
        yield from exchanges_in(lines, str(path))
