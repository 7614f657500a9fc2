"""The history in a database: whose it is, what an absent database costs, and what it asks."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from random import Random
from threading import Event, Thread
from typing import Any
from unittest.mock import Mock

import msgspec
import psycopg
import pytest

from leverframe.core.engine.journal import Cause, Fact, Journal
from leverframe.core.engine.machine import CAUSE_TRACES, Traced
from leverframe.core.runtime.clock import SystemClock
from leverframe.fleet.cluster import membership
from leverframe.storage.history import shared
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import MERGED, SIZES, Bounds, Compactor
from leverframe.storage.history.journal_recorder import JournalRecorder
from leverframe.storage.history.queries import raw
from leverframe.storage.history.rows import TIERS, EntryQuestion, EntryRow
from leverframe.storage.history.worker import BacklogLimits, HistoryRecorder
from leverframe.storage.lanes import postgres_history_session
from leverframe.storage.lanes.postgres_chunks import ChunksInDatabase
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.postgres_history import DatabaseHistory, WorkerInDatabase
from leverframe.storage.lanes.postgres_history_session import HistorySession, RunEnd
from leverframe.storage.store import StoreUnavailable
from tests.devices.waiting import until
from tests.patience import PATIENCE_S
from tests.storage.history_model import START, answer, fill, span
from tests.storage.lanes.postgres_histories import (
    CONTROLLERS,
    REASON_TEXTS,
    HistoryDatabase,
    chunks_in,
)

BOUNDS = Bounds()


@pytest.fixture
def database() -> HistoryDatabase:
    return HistoryDatabase()


@pytest.fixture
def session(database: HistoryDatabase) -> Iterator[HistorySession]:
    session = database.session()
    yield session
    session.close()


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Note what the database is asked."""
    asked: list[str] = []
    run = HistorySession._run

    def record(session: HistorySession, query: str, values: Any = ()) -> Any:
        asked.append(query)
        return run(session, query, values)

    monkeypatch.setattr(HistorySession, "_run", record)
    return asked


ENTRY = EntryRow(1, START, "rule", None, b"{}")


def remove_oldest(chunks: ChunksInDatabase) -> None:
    """Begin a transaction."""
    chunks.drop_oldest(TIERS[0], older=9e9, most=9, keep_newest=False)


def values_of(compactor: Compactor) -> list[float]:
    return raw(compactor, span(0, 9e9), "DS1")[1]


def labels_of(compactor: Compactor) -> list[str]:
    return compactor.labels()


def sample(number: float) -> Traced:
    return (START + number, "DS1", number)


# --- whose it is ----------------------------------------------------------------------------------


def test_node_that_lost_a_controller_writes_nothing_of_its_history(
    database: HistoryDatabase, session: HistorySession
) -> None:
    former = Compactor(chunks_in(session), BOUNDS)
    former.add([sample(n) for n in range(3)])
    with connect(database.address) as connection:
        assert membership.declare_dead(connection, membership.read_nodes(connection)[0])
    there = database.session(database.give_all_to("b"))
    latter = Compactor(chunks_in(there), BOUNDS)
    latter.add([sample(10)])
    refused: list[Callable[[ChunksInDatabase], object]] = [
        # One statement, a transaction that only removes, and one that explains a value.
        lambda _: former.add([sample(20)]),
        remove_oldest,
        lambda chunks: (chunks.reason_number(Cause("command", "late")), chunks.commit()),
        lambda chunks: (chunks.add_entries([ENTRY]), chunks.commit()),
    ]
    for write in refused:
        with pytest.raises(StoreUnavailable, match="does not run the controller"):
            write(chunks_in(session))
    session.leave({1: RunEnd(START + 99), 2: RunEnd(START + 99, b"late")})
    assert values_of(Compactor(chunks_in(there), BOUNDS)) == [0, 1, 2, 10]
    assert chunks_in(there).stop_time() is None
    assert all(not database.count(table) for table in (REASON_TEXTS, "entry", "last_moments"))
    there.close()


def test_earlier_life_of_the_same_node_writes_nothing(
    database: HistoryDatabase, session: HistorySession
) -> None:
    former = Compactor(chunks_in(session), BOUNDS)
    database.give_all_to("a")
    with pytest.raises(StoreUnavailable, match="does not run the controller"):
        former.add([sample(1)])


@pytest.mark.parametrize("is_in_transaction", [False, True])
def test_pending_values_of_an_ended_life_are_not_written(
    database: HistoryDatabase, session: HistorySession, is_in_transaction: bool
) -> None:
    chunks = chunks_in(session)
    former = Compactor(chunks, BOUNDS)
    refused: list[str] = []

    def write() -> None:
        try:
            if is_in_transaction:
                remove_oldest(chunks)
            else:
                former.add([sample(1)])
        except StoreUnavailable as error:
            refused.append(str(error))

    writing = Thread(target=write)
    with connect(database.address) as connection:
        with connection.transaction():
            # Death, next life and claim are done before the statement sees any of them.
            (seen,) = membership.read_nodes(connection)
            assert membership.declare_dead(connection, seen)
            membership.register(connection, "a", "", 1)
            connection.execute("UPDATE controller SET node = 'a'")
            writing.start()
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            with connect(database.address) as other:
                until = time.monotonic() + PATIENCE_S
                while other.execute(waiting).fetchone() == (0,) and time.monotonic() < until:
                    time.sleep(0.01)
        writing.join()
    assert refused == [postgres_history_session._NOT_OURS]
    assert database.count("chunk") == database.count(REASON_TEXTS) == 0


def test_controller_is_taken_over_when_what_is_being_written_is_written(
    database: HistoryDatabase, session: HistorySession
) -> None:
    chunks = chunks_in(session)
    remove_oldest(chunks)
    with connect(database.address) as connection:
        connection.execute("SET lock_timeout = 50")
        take = "UPDATE controller SET node = NULL WHERE number = 1"
        with pytest.raises(psycopg.errors.LockNotAvailable):
            connection.execute(take)
        chunks.commit()
        assert connection.execute(take).rowcount == 1


async def test_next_node_of_a_controller_has_all_recorded_values(
    database: HistoryDatabase,
) -> None:
    here = database.history(BOUNDS)
    worker = here.worker(1)
    worker.add([sample(1), sample(2)])
    row = EntryRow(1, START, "rule", "OUT0", b"{}")

    def note(compactor: Compactor) -> None:
        compactor.chunk_store.add_entries([row])
        compactor.chunk_store.commit()

    await worker.ask(note)
    await worker.close(START + 5)
    await here.close()
    there = database.history(BOUNDS, database.give_all_to("b"))
    other = there.worker(1)
    other.add([sample(9)])
    times, values = await other.ask(lambda it: raw(it, span(0, 9e9), "DS1"))
    assert [at - START for at in times] == [1, 2, 5, 9]
    assert str(values) == "[1.0, 2.0, nan, 9.0]"
    question = EntryQuestion(0, 9e9)
    assert await other.ask(lambda it: it.chunk_store.entries.ask(question)) == [b"{}"]
    await other.close(START + 10)
    await there.close()


# --- what is left when a controller stops --------------------------------------------------------


class LeftHistory:
    """Runs of a controller on a database, one after the other."""

    def __init__(self, database: HistoryDatabase) -> None:
        self._database = database

    @asynccontextmanager
    async def run(self, ended: float) -> AsyncIterator[WorkerInDatabase]:
        history = self._database.history(BOUNDS)
        worker = history.worker(1)
        yield worker
        await worker.close(START + ended)
        await history.close()

    async def leave(self, *samples: Traced, ended: float) -> None:
        """Run for a moment that is not recorded when it is over."""
        async with self.run(ended) as worker:
            worker.begin_close()
            worker.add(samples)

    async def raw(self, label: str = "DS1") -> str:
        """Open the history and return its values with their times."""
        async with self.run(9e8) as worker:
            times, values = await worker.ask(lambda it: raw(it, span(0, 9e9), label))
        return str([(at - START, value) for at, value in zip(times, values, strict=True)])


@pytest.fixture
def history_with_ends(database: HistoryDatabase) -> LeftHistory:
    return LeftHistory(database)


async def test_last_moments_of_a_run_are_stored_without_opening_and_recorded_by_the_next(
    database: HistoryDatabase, history_with_ends: LeftHistory, statements: list[str]
) -> None:
    reason = (START + 2, CAUSE_TRACES["OUT0"], Cause("command", "left"))
    await history_with_ends.leave(sample(1), sample(2), reason, ended=5)
    assert len(statements) == 1
    assert (database.count("last_moments"), database.count("chunk")) == (1, 0)
    await history_with_ends.leave(sample(7), ended=8)
    assert database.count("last_moments") == 2
    assert (
        await history_with_ends.raw()
        == "[(1.0, 1.0), (2.0, 2.0), (5.0, nan), (7.0, 7.0), (8.0, nan)]"
    )
    assert database.count("last_moments") == 0
    assert database.count(REASON_TEXTS) == 1


async def test_no_gap_is_before_what_is_left_of_a_run_that_has_recorded_something(
    history_with_ends: LeftHistory,
) -> None:
    async with history_with_ends.run(9) as worker:
        worker.add([sample(1), (START + 1, "DS2", 4.0)])
        await worker.ask(labels_of)
        worker.begin_close()
        worker.add([sample(6)])
    assert await history_with_ends.raw() == "[(1.0, 1.0), (6.0, 6.0), (9.0, nan)]"
    assert await history_with_ends.raw("DS2") == "[(1.0, 4.0), (9.0, nan)]"


async def test_gap_after_a_killed_run_precedes_the_entries_of_the_next_run(
    database: HistoryDatabase, history_with_ends: LeftHistory
) -> None:
    killed = database.history(BOUNDS)
    worker = killed.worker(1)
    worker.add([sample(1)])
    await worker.ask(labels_of)
    await killed.close()
    await history_with_ends.leave(sample(6), ended=9)
    assert await history_with_ends.raw() == "[(1.0, 1.0), (1.0, nan), (6.0, 6.0), (9.0, nan)]"


async def test_pending_values_are_left_when_a_controller_stops(
    history_with_ends: LeftHistory, statements: list[str]
) -> None:
    async with history_with_ends.run(5) as worker:
        is_free = Event()
        blocking = asyncio.get_running_loop().run_in_executor(worker._asked, is_free.wait)
        worker.add([sample(1)])
        asked = asyncio.ensure_future(worker.ask(values_of, is_awaited=False))
        await asyncio.sleep(0)
        worker.begin_close()
        is_free.set()
        await blocking
        with pytest.raises(StoreUnavailable, match="is stopping on this node"):
            await asked
    assert len(statements) == 1
    assert await history_with_ends.raw() == "[(1.0, 1.0), (5.0, nan)]"


async def test_controllers_that_stop_together_are_written_together(
    database: HistoryDatabase, statements: list[str]
) -> None:
    history = database.history(BOUNDS)
    workers = [history.worker(number) for number in CONTROLLERS]
    is_free = Event()
    blocking = asyncio.get_running_loop().run_in_executor(history._executor, is_free.wait)
    for worker in workers:
        worker.begin_close()
        worker.add([sample(1)])
    closing = [asyncio.ensure_future(worker.close(START + 5)) for worker in workers]
    await asyncio.sleep(0)
    is_free.set()
    await asyncio.gather(blocking, *closing)
    assert len(statements) <= 2
    assert database.count("last_moments") == len(workers)
    await history.close()


async def test_ends_that_were_written_when_the_connection_broke_are_written_once(
    database: HistoryDatabase, history_with_ends: LeftHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave = HistorySession.leave
    broken: list[int] = []

    def leave_and_break(session: HistorySession, ends: dict[int, RunEnd]) -> None:
        leave(session, ends)
        if not broken:
            broken.append(1)
            session.close()
            raise StoreUnavailable("It broke.")

    monkeypatch.setattr(HistorySession, "leave", leave_and_break)
    await history_with_ends.leave(sample(1), ended=5)
    assert broken
    assert database.count("last_moments") == 1
    assert await history_with_ends.raw() == "[(1.0, 1.0), (5.0, nan)]"


async def test_last_moments_that_cannot_be_recorded_now_are_recorded_later(
    database: HistoryDatabase, history_with_ends: LeftHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    await history_with_ends.leave(sample(1), ended=5)
    with monkeypatch.context() as patch:
        put = Mock(side_effect=StoreUnavailable("It broke."))
        patch.setattr(HistorySession, "put", put)
        async with history_with_ends.run(6) as worker:
            with pytest.raises(StoreUnavailable):
                await worker.ask(values_of)
    assert database.count("last_moments") == 1
    assert await history_with_ends.raw() == "[(1.0, 1.0), (5.0, nan)]"


async def test_last_moments_left_by_an_earlier_program_are_recorded_later(
    database: HistoryDatabase, history_with_ends: LeftHistory
) -> None:
    await history_with_ends.leave(sample(1), ended=5)
    with connect(database.address) as connection:
        hidden = connection.execute("DELETE FROM last_moments RETURNING ended, data").fetchone()
    async with history_with_ends.run(9) as worker:
        worker.add([sample(7)])
        await worker.ask(labels_of)
    with connect(database.address) as connection:
        query = "INSERT INTO last_moments (controller, ended, data) VALUES (1, %s, %s)"
        connection.execute(query, hidden)
    assert await history_with_ends.raw() == "[(1.0, 1.0), (5.0, nan), (7.0, 7.0), (9.0, nan)]"


async def test_last_moments_that_cannot_be_read_are_let_go(
    database: HistoryDatabase, history_with_ends: LeftHistory, caplog: pytest.LogCaptureFixture
) -> None:
    with connect(database.address) as connection:
        connection.execute("INSERT INTO last_moments (controller, ended, data) VALUES (1, 0, '?')")
    await history_with_ends.leave(sample(1), ended=5)
    assert await history_with_ends.raw() == "[(1.0, 1.0), (5.0, nan)]"
    assert "cannot be read" in caplog.text
    assert database.count("last_moments") == 0


async def test_entries_that_a_run_leaves_are_numbered_on_from_those_before(
    database: HistoryDatabase, statements: list[str]
) -> None:
    batches: list[list[int]] = []
    for is_asked in (True, False, False, True):
        history = database.history(BOUNDS)
        recorder = HistoryRecorder(history.worker(1), SystemClock())
        journal = Journal()
        journal_recorder = JournalRecorder(
            recorder, lambda it=journal: it, SystemClock(), lambda: "1"
        )
        journal.add(START, Cause("command"), Fact("on", "OUT0", 0, 1))
        journal_recorder.record_if_due()
        if is_asked:
            found = await journal_recorder.ask(EntryQuestion(0, 9e9))
            batches.append([msgspec.json.decode(one)["number"] for one in found])
        statements.clear()
        await journal_recorder.close()
        await recorder.close()
        assert len(statements) == 1
        await history.close()
    assert batches == [[1, 2], [1, 2, 3, 4, 5, 6, 7, 8]]


# --- a database that is away ----------------------------------------------------------------------


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_history_session, "PAUSE_S", 0.01)


@pytest.mark.usefixtures("impatient")
async def test_values_wait_and_are_reported_while_the_database_is_away(
    database: HistoryDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    history = database.history(BOUNDS)
    sentences: dict[int, str | None] = {}
    workers = [history.worker(number) for number in (1, 2)]
    for number, worker in enumerate(workers):
        worker.on_trouble = lambda sentence, number=number: sentences.update({number: sentence})
        worker.add([sample(1)])
        assert await worker.ask(values_of) == [1]
    with database.away():
        for worker in workers:
            worker.add([sample(2)])
        await until(lambda: len(sentences) == 2)
        assert set(sentences.values()) == {postgres_history_session._AWAY}
        assert caplog.text.count("waits in memory") == 1
        with pytest.raises(StoreUnavailable, match="cannot be reached"):
            await workers[0].ask(values_of)
    await until(lambda: set(sentences.values()) == {None})
    for worker in workers:
        worker.add([sample(3)])
        assert await worker.ask(values_of) == [1, 2, 3]
        assert worker.figures.dropped == 0
        await worker.close(START + 4)
    await history.close()


@pytest.mark.usefixtures("impatient")
async def test_values_without_room_are_dropped_oldest_first_and_reported(
    database: HistoryDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(shared, "OF_ALL", BacklogLimits(10, 10, 6))
    monkeypatch.setattr(shared, "OF_ONE", BacklogLimits(1, 1, 1))
    history = database.history(BOUNDS)
    worker, _ = history.worker(1), history.worker(2)
    sentences: list[str | None] = []
    worker.on_trouble = sentences.append
    assert worker.max_entries == 3
    with database.away():
        worker.add([sample(n) for n in range(8)])
        await until(lambda: bool(sentences) and "the oldest values are lost" in str(sentences[-1]))
    await until(lambda: sentences[-1] is None)
    assert await worker.ask(values_of) == [3, 4, 5, 6, 7]
    assert worker.figures.lost == 3
    assert caplog.text.count("the oldest values are lost") == 1
    await worker.close(START + 9)
    await history.close()


async def test_controller_that_stops_while_the_database_is_away_does_not_wait(
    database: HistoryDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    history = database.history(BOUNDS)
    worker = history.worker(1)
    worker.add([sample(1)])
    await worker.ask(values_of)
    with database.away():
        worker.add([sample(2)])
        await worker.close(START + 3)
        await history.forget([2])
    assert "waits in memory" in caplog.text
    assert "could not be deleted" in caplog.text
    await history.close()


@pytest.mark.usefixtures("impatient")
async def test_values_stored_when_the_connection_broke_are_not_stored_twice(
    database: HistoryDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = HistorySession.put
    broken: list[int] = []

    def put_and_break(session: HistorySession, *values: Any) -> None:
        put(session, *values)
        if not broken:
            broken.append(1)
            session.close()
            raise StoreUnavailable("It broke.")

    history = database.history(BOUNDS)
    worker = history.worker(1)
    worker.add([sample(1)])
    await worker.ask(values_of)
    monkeypatch.setattr(HistorySession, "put", put_and_break)
    worker.add([sample(2), sample(3)])
    worker.add([sample(4)])
    assert await worker.ask(values_of) == [1, 2, 3, 4]
    assert broken
    await worker.close(START + 9)
    await history.close()


async def test_refusal_of_the_database_is_reported_in_its_words(
    database: HistoryDatabase, session: HistorySession
) -> None:
    with connect(database.address) as connection:
        connection.execute("ALTER TABLE chunk ADD CONSTRAINT single CHECK (points < 2)")
        with pytest.raises(StoreUnavailable, match="rejects the history: new row"):
            Compactor(chunks_in(session), BOUNDS).add([sample(1), sample(2)])
        connection.execute("ALTER TABLE chunk DROP CONSTRAINT single")
    assert chunks_in(session).labels() == []


async def test_query_is_refused_in_time_if_the_database_does_not_answer(
    database: HistoryDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    history = database.history(BOUNDS)
    worker, other = history.worker(1), history.worker(2)
    assert await worker.ask(values_of) == await other.ask(values_of) == []
    monkeypatch.setattr(DatabaseHistory, "answer_within_s", 0.1)
    with connect(database.address) as connection, connection.transaction():
        connection.execute("LOCK TABLE chunk")
        with pytest.raises(StoreUnavailable, match="not available now"):
            await worker.ask(values_of)
        # The thread is free again, and stopping a controller does not wait for ever either.
        other.add([sample(1)])
        await asyncio.wait_for(other.close(START + 2), PATIENCE_S)
    monkeypatch.undo()
    assert await worker.ask(values_of) == []
    await worker.close(START)
    await history.close()


# --- what it asks ---------------------------------------------------------------------------------


def test_history_does_not_wait_for_the_disk_of_the_database(session: HistorySession) -> None:
    assert session.execute("SHOW synchronous_commit").fetchone() == ("off",)


async def test_fresh_controller_takes_four_statements_from_its_start_to_its_end(
    database: HistoryDatabase, statements: list[str]
) -> None:
    history = database.history(BOUNDS)
    worker = history.worker(1)

    def note(compactor: Compactor) -> None:
        assert compactor.chunk_store.entries.newest() == 0
        compactor.chunk_store.add_entries([ENTRY, ENTRY._replace(number=2, which="OUT0")])
        compactor.chunk_store.commit()

    await worker.ask(note)
    reasons = [(START, CAUSE_TRACES[label], Cause("command", label)) for label in ("OUT0", "OUT1")]
    worker.add([sample(1), *reasons])
    await worker.ask(labels_of)
    await worker.close(START + 5)
    # It is opened; entries; values with what explains them; its end.
    assert len(statements) == 4
    await history.close()
    assert [database.count(table) for table in ("entry", REASON_TEXTS, "mark")] == [2, 2, 1]
    session = database.session()
    chunks = chunks_in(session)
    assert (chunks.stop_time(), chunks.end_of_record()) == (START + 5, START)
    assert chunks.entries.newest() == 2
    session.close()


def test_entries_beyond_the_bound_go_in_the_statement_that_adds_newer_ones(
    database: HistoryDatabase, session: HistorySession, statements: list[str]
) -> None:
    session.require()
    chunks = ChunksInDatabase(session, 1, 10 * 2048)
    for first in (1, 8, 40):
        statements.clear()
        chunks.add_entries([ENTRY._replace(number=first + n) for n in range(15)])
        chunks.commit()
        assert len(statements) == 1
        question = EntryQuestion(0, 9e9)
        assert len(chunks.entries.ask(question)) == database.count("entry") == 10
    assert chunks.entries.newest() == 54


def test_uncommitted_values_are_forgotten(session: HistorySession) -> None:
    chunks = chunks_in(session)
    chunks.set_recorded_until(START)
    chunks.add_entries([ENTRY])
    chunks.commit()
    chunks.set_recorded_until(START + 1)
    chunks.add_entries([ENTRY._replace(number=2)])
    chunks.reason_number(Cause("command", "late"))
    assert (chunks.end_of_record(), chunks.entries.newest()) == (START + 1, 2)
    chunks.roll_back()
    assert (chunks.end_of_record(), chunks.entries.newest(), chunks.reason_texts()) == (
        START,
        1,
        {},
    )


def test_controller_is_opened_and_written_with_few_statements(
    session: HistorySession, statements: list[str]
) -> None:
    labels = [f"m{n}" for n in range(1, 31)]
    Compactor(chunks_in(session), BOUNDS).add([(START, label, 1.0) for label in labels])
    statements.clear()
    compactor = Compactor(chunks_in(session), BOUNDS)
    assert len(statements) == 4
    statements.clear()
    compactor.add([(START + 100, label, 2.0) for label in labels])
    assert len(statements) == 1
    # Merging asks nothing: it takes the chunks of a label out by one statement.
    for number in range(2, MERGED):
        statements.clear()
        compactor.add([(START + 100 + number, label, number + 1.0) for label in labels])
    assert [query.partition(" ")[0] for query in statements] == [
        *("BEGIN", "SELECT"),
        *["DELETE"] * len(labels),
        *("WITH", "COMMIT"),
    ]


@pytest.mark.parametrize("seed", range(2))
def test_reopened_database_history_continues_like_a_file(
    seed: int, session: HistorySession
) -> None:
    random = Random(seed)
    model_chunks = ChunkStore(None, BOUNDS.max_bytes)
    at = START
    for _ in range(6):
        model = Compactor(model_chunks, Bounds(raw_days=0.02))
        compactor = Compactor(chunks_in(session), Bounds(raw_days=0.02))
        for _ in range(random.randrange(1, 2 * MERGED)):
            at += random.choice((0.5, 7, 70, 1000, 5000))
            samples = [(at, f"DS{random.randrange(1, 4)}", random.randrange(4)) for _ in range(2)]
            model.add(samples)
            compactor.add(samples)
        chunks = compactor.chunk_store
        counted = [
            (store.chunks(tier, label, *size), store.cost(tier), store.points(tier))
            for store in (chunks, chunks_in(session), model_chunks)
            for tier in TIERS
            for label in ("DS1", "DS2", "DS3")
            for size in SIZES
        ]
        third = len(counted) // 3
        assert counted[:third] == counted[third : 2 * third] == counted[2 * third :]
        assert [str(answer(one, span(START, at, 60))) for one in (compactor, model)] == [
            str(answer(model, span(START, at, 60)))
        ] * 2


async def test_histories_of_controllers_that_are_gone_go_with_the_next_ones(
    database: HistoryDatabase,
) -> None:
    history = database.history(BOUNDS)
    workers = [history.worker(number) for number in (1, 2, 3)]
    for worker in workers:
        worker.add([sample(1), (START, CAUSE_TRACES["OUT0"], Cause("command", "test"))])
        await worker.ask(labels_of)
        worker.begin_close()
        worker.add([sample(2)])
        await worker.close(START + 3)
    with connect(database.address) as connection:
        # A node died before it could remove the history of the first.
        connection.execute("DELETE FROM controller WHERE number IN (1, 2)")
    await history.forget([2])
    for table in ("chunk", REASON_TEXTS, "mark", "last_moments"):
        column = "id" if table == "mark" else "controller"
        with connect(database.address) as connection:
            rows = connection.execute(f"SELECT DISTINCT {column} FROM {table}").fetchall()
        assert rows == [(3,)]
    await history.close()


async def test_bytes_are_shared_with_the_controllers_of_all_nodes(
    database: HistoryDatabase,
) -> None:
    claim = database.claim
    history = DatabaseHistory(database.address, lambda: claim, BOUNDS, lambda: 64)
    worker = history.worker(1)
    assert history.bounds().max_bytes == BOUNDS.max_bytes // 64
    assert worker.gather_s == 60
    await asyncio.gather(worker.close(START), history.close())


def test_nothing_is_left_of_what_was_rolled_back(session: HistorySession) -> None:
    chunks = chunks_in(session)
    compactor = Compactor(chunks, BOUNDS)
    fill(compactor, [(START, 1.0)])
    before = chunks.points(TIERS[0])
    no_number: Any = object()
    with pytest.raises(TypeError):
        compactor.add([sample(1), (START + 2, "DS1", no_number)])
    chunks.reason_number(Cause("command", "never committed"))
    chunks.roll_back()
    assert (chunks.points(TIERS[0]), chunks.reason_texts()) == (before, {})
