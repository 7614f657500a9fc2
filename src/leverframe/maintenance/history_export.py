"""`leverframe data export`: the history of a stopped controller as CSV."""

import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from math import inf
from pathlib import Path

from leverframe.errors import ErrorForPeople
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.reading import (
    RECORDED,
    TimeSpan,
    csv_pieces,
    list_recorded_labels,
    since,
)

#: Large enough to export every stored value without averaging.
_ALL_POINTS = 10**9


class NoHistory(ErrorForPeople):
    """The history is empty: one sentence."""


class BadExport(ErrorForPeople):
    """An export that cannot be written: one sentence."""


def export_history(
    data_folder: Path,
    labels: str | None,
    first: str | None,
    last: str | None,
    output: Path | None,
) -> None:
    asked = _labels(labels)
    begin, end = _second(first, -inf), _second(last, inf)
    with folder_with_store(data_folder) as folder:
        if not folder.history_path.exists():
            raise NoHistory(
                f"There is no history in {data_folder}; choose the data folder with --data."
            )
        with closing(ChunkStore(folder.history_path, Bounds().max_bytes)) as chunk_store:
            _write(_pieces(Compactor(chunk_store, Bounds()), asked, begin, end), output)


def _pieces(
    compactor: Compactor, labels: tuple[str, ...], begin: float, end: float
) -> Iterator[bytes]:
    now, earliest = compactor.chunk_store.end_of_record(), since(compactor)
    if now is None or earliest is None:
        raise NoHistory("The history is empty.")
    first, last = max(begin, earliest), min(end, now)
    if first > last:
        raise NoHistory(
            f"The history has no values in this period; it begins {_format_time(earliest)}."
        )
    return csv_pieces(
        compactor,
        TimeSpan(labels or list_recorded_labels(compactor), first, last, _ALL_POINTS, now),
    )


def _write(pieces: Iterator[bytes], output: Path | None) -> None:
    if output is None:
        for piece in pieces:
            sys.stdout.write(piece.decode().replace("\r\n", "\n"))
        return
    try:
        with output.open("wb") as file:
            file.writelines(pieces)
    except OSError as error:
        raise BadExport(f"{output} cannot be written: {error.strerror}.") from error


def _labels(text: str | None) -> tuple[str, ...]:
    labels = tuple(dict.fromkeys(text.split(","))) if text else ()
    for label in labels:
        if label not in RECORDED:
            raise BadExport(f"Unknown label {label!r}; write labels like DS1,OUT0.")
    return labels


def _second(text: str | None, usual: float) -> float:
    """Parse an ISO 8601 time (UTC without an offset) or seconds since 1970."""
    if text is None:
        return usual
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadExport(
            f"{text!r} is no time; write it like 2026-01-05, 2026-01-05T12:00 or 1767571200."
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _format_time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(sep=" ", timespec="seconds")
