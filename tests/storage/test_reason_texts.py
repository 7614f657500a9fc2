"""What explains values: kept as numbers that mean the same in every file, and never too many."""

import sqlite3
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause, Decided
from leverframe.core.engine.machine import CAUSE_TRACES
from leverframe.storage.history import rows
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.rows import MAX_TEXTS, RAW, VALUE, reason_from
from leverframe.storage.history.shared_chunks import SharedChunks
from leverframe.storage.sqlite_file import connect
from tests.storage.history_model import START

BYTES = Bounds().max_bytes
HAND = Cause("command", "admin 10.0.0.7", "admin", "10.0.0.7")
HEATING = Cause("rule", "Heating", number=3, name="Heating")
MAIL = Notify("email", 2, True, "rule 3", "DS1", 21.5, "the secret text", "and a body")
TRACE = CAUSE_TRACES["OUT0"]


def test_reason_text_is_read_again_without_the_text_of_a_message() -> None:
    with closing(ChunkStore(None, BYTES)) as chunks:
        numbers = [
            chunks.reason_number(HAND),
            chunks.reason_number(MAIL),
            chunks.reason_number(HAND),
        ]
        assert numbers[0] == numbers[2]
        assert float(numbers[0]) == numbers[0]
        assert reason_from(chunks.reason_texts()[numbers[0]]) == HAND
        assert reason_from(chunks.reason_texts()[numbers[1]]) == Notify(
            "email", 2, True, "rule 3", "DS1"
        )
        assert "secret" not in str(chunks.reason_texts())
        decided = replace(HEATING, conditions=(Decided("DS1", 17.7, "<", 18, True),), after=9)
        assert reason_from(chunks.reason_texts()[chunks.reason_number(decided)]) == HEATING


def test_callers_without_a_number_are_named_by_their_kind() -> None:
    with closing(ChunkStore(None, BYTES)) as chunks:
        for number in range(MAX_TEXTS + 50):
            last = chunks.reason_number(Cause("command", f"10.0.0.{number}"))
        assert len(chunks.reason_texts()) == MAX_TEXTS + 1
        assert reason_from(chunks.reason_texts()[last]) == Cause("command")
        late = chunks.reason_number(MAIL)
        assert reason_from(chunks.reason_texts()[late]) == Notify("email", 0, True, "")


def test_reason_text_is_written_again_after_a_rollback() -> None:
    with closing(ChunkStore(None, BYTES)) as chunks:
        chunks.reason_number(HAND)
        chunks.roll_back()
        assert chunks.reason_texts() == {}
        chunks.reason_number(HAND)
        chunks.commit()
        assert len(chunks.reason_texts()) == 1


def test_file_of_an_earlier_release_is_taken_on(tmp_path: Path) -> None:
    dump = Path(__file__).parent.parent / "fixtures" / "databases" / "history-1.sql"
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(dump.read_text())
    with closing(ChunkStore(path, BYTES)) as chunks:
        Compactor(chunks, Bounds()).add([(START + 1e6, TRACE, HAND)])
    with closing(ChunkStore(path, BYTES)) as chunks:
        (number,) = chunks.rows(RAW, TRACE, START, START + 2e6)[VALUE]
        assert reason_from(chunks.reason_texts()[int(number)]) == HAND


def test_reasons_move_with_their_values_between_files(tmp_path: Path) -> None:
    own, back = tmp_path / "own.db", tmp_path / "back.db"
    with closing(ChunkStore(own, BYTES)) as chunks:
        Compactor(chunks, Bounds()).add([(START, TRACE, HAND)])
        texts = dict(chunks.reason_texts())
    ChunkStore(back, BYTES).close()
    with closing(SharedChunks(tmp_path / "many.db", BYTES)) as shared:
        shared.take_in(7, own)
        shared.take_in(7, own)
        shared.of(8).reason_number(MAIL)
        shared.of(8).commit()
        assert shared.of(7).reason_texts() == texts
        shared.give_out(7, back)
        shared.forget([7])
        assert shared.of(7).reason_texts() == {}
        assert len(shared.of(8).reason_texts()) == 1
    with closing(ChunkStore(back, BYTES)) as chunks:
        assert chunks.reason_texts() == texts
    # A file of the first format has none.
    with closing(connect(own)) as connection:
        connection.execute("DROP TABLE told")
    with closing(SharedChunks(None, BYTES)) as shared:
        shared.take_in(7, own)
        assert shared.of(7).labels() == [TRACE]


def test_numbers_follow_from_the_texts_alone() -> None:
    assert rows.number_of("[]") == rows.number_of("[]") != rows.number_of("{}")
