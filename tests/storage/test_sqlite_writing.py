"""How the durable store writes: many commits in one transaction, and what a failure takes along."""

import asyncio
import contextlib
import resource
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import reason
from leverframe.storage.store import DELETED, Changes, StoreUnavailable

MARK = b"swordfish"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    await opened.close()


@contextlib.contextmanager
def held_by_another_program(path: Path) -> Iterator[None]:
    """Nobody else can write to the database in the meantime."""
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        other.close()


@contextlib.contextmanager
def no_room_for_more_than(size: int) -> Iterator[None]:
    """A file of this process that would become larger than that many bytes cannot be written."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def size_of_log(path: Path) -> int:
    return log_of(path).stat().st_size


async def outcomes(*futures: asyncio.Future[None]) -> list[type | None]:
    results = await asyncio.gather(*futures, return_exceptions=True)
    return [None if result is None else type(result) for result in results]


async def test_commits_that_wait_for_the_disk_share_a_transaction(
    store: SqliteStore, tmp_path: Path
) -> None:
    with held_by_another_program(tmp_path / "store.db"):
        futures = [store.commit(Changes(settings={f"s.{n}": n})) for n in range(64)]
    await asyncio.gather(*futures)
    # The writer may have set out with the first few while the others were still queued.
    assert store.transactions <= 2
    assert store.load().settings == {f"s.{n}": n for n in range(64)}


async def test_a_commit_of_nothing_needs_no_transaction(store: SqliteStore) -> None:
    await store.commit(Changes())
    assert store.transactions == 0


async def test_reads_do_not_wait_for_a_write(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit(Changes(settings={"a": 1}, blobs={"site": b"s"}))
    with held_by_another_program(tmp_path / "store.db"):
        waiting = store.commit(Changes(settings={"a": 2}))
        assert store.load().settings == {"a": 1}
        assert store.blob("site") == b"s"
        assert not waiting.done()
    await waiting


async def test_a_failure_takes_along_what_was_queued_behind_it_and_nothing_else(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"a": "before"}))
    full = size_of_log(tmp_path / "store.db") + 100_000
    with no_room_for_more_than(full):
        too_large = store.commit(Changes(settings={"a": "lost"}, blobs={"site": bytes(200_000)}))
        # Queue the others only when the first is on its way, so that they do not share its fate
        # by sharing its transaction.
        for _ in range(2):  # a round that brings nothing more, after which it is handed over
            await asyncio.sleep(0)
        while size_of_log(tmp_path / "store.db") < full - 5000:
            pass
        behind = [store.commit(Changes(settings={f"b.{n}": n})) for n in range(10)]
        assert await outcomes(too_large, *behind) == [StoreUnavailable] * 11
        assert store.load().settings == {"a": "before"}
        # There is still room for something small.
        await store.commit(Changes(settings={"c": "after"}))
    assert store.load().settings == {"a": "before", "c": "after"}
    assert store.blob("site") is None


async def test_a_failure_leaves_no_trace_of_a_change_in_several_tables(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"a": 1}, kept={"k": 1}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db") + 50_000):
        failed = store.commit(
            Changes({"b": 2}, {"k": 2}, {"site": bytes(200_000)}, replace_settings=True)
        )
        assert await outcomes(failed) == [StoreUnavailable]
    assert (store.load().settings, store.load().kept) == ({"a": 1}, {"k": 1})


async def test_a_change_sqlite_cannot_take_fails_whole_and_stops_nothing(
    store: SqliteStore,
) -> None:
    not_bytes: Any = object()
    failed = store.commit(Changes(settings={"a": 1}, blobs={"site": not_bytes}))
    assert await outcomes(failed) == [StoreUnavailable]
    await store.commit(Changes(settings={"b": 2}, kept={"k": 3}))
    assert store.load().settings == {"b": 2}


async def test_a_store_without_room_works_again_when_there_is_room(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"n": 0}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db")):
        for n in range(1, 4):
            assert await outcomes(store.commit(Changes(settings={"n": n}))) == [StoreUnavailable]
    await store.commit(Changes(settings={"n": 9}))
    assert store.load().settings == {"n": 9}


async def test_a_waiter_that_gave_up_does_not_disturb_a_failure(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"n": 0}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db")):
        given_up = store.commit(Changes(settings={"n": 1}))
        other = store.commit(Changes(settings={"n": 2}))
        given_up.cancel()
        assert await outcomes(other) == [StoreUnavailable]
    await store.commit(Changes(settings={"n": 3}))


async def test_closing_while_a_failure_is_reported_ends_and_fails_the_waiters(
    tmp_path: Path,
) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.commit(Changes(settings={"n": 0}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db")):
        futures = [store.commit(Changes(settings={"n": n})) for n in range(1, 6)]
        await store.close()
    assert await outcomes(*futures) == [StoreUnavailable] * 5


def fail_when_told(_: StoreUnavailable | None) -> None:
    raise ZeroDivisionError("whoever is told has a fault")


@pytest.mark.parametrize("has_room", [True, False])
async def test_a_fault_in_what_follows_a_commit_keeps_nobody_of_its_batch_waiting(
    store: SqliteStore, tmp_path: Path, has_room: bool, caplog: pytest.LogCaptureFixture
) -> None:
    await store.commit(Changes(settings={"n": 0}))
    told: list[StoreUnavailable | None] = []
    size = 2**20 if has_room else size_of_log(tmp_path / "store.db")
    with no_room_for_more_than(size):
        faulty = store.commit(Changes(settings={"a": 1}), fail_when_told)
        behind = store.commit(Changes(settings={"b": 2}), told.append)
        async with asyncio.timeout(10):
            expected = None if has_room else StoreUnavailable
            assert await outcomes(faulty, behind) == [expected, expected]
    assert [None if error is None else type(error) for error in told] == [expected]
    assert "whoever is told has a fault" in caplog.text
    # What is durable is so whatever the one does who hears of it.
    assert store.load().settings == ({"n": 0, "a": 1, "b": 2} if has_room else {"n": 0})


async def test_a_closed_store_refuses_commits(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.commit(Changes(settings={"a": 1}))


def test_a_store_outlives_a_loop_that_ended_without_waiting(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)

    async def commit_twice() -> None:
        store.commit(Changes(settings={"a": 1}))
        store.commit(Changes(settings={"b": 2}))

    async def commit_and_close() -> None:
        waiting = [store.commit(Changes(settings={"c": n})) for n in range(3)]
        await asyncio.gather(*waiting)
        assert store.load().settings == {"a": 1, "b": 2, "c": 2}
        await store.close()

    with held_by_another_program(path):
        asyncio.run(commit_twice())
    asyncio.run(commit_and_close())


def test_a_failure_in_a_loop_that_ended_holds_up_nobody(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)

    async def commit_without_waiting() -> None:
        store.commit(Changes(settings={"a": 1}))

    async def close() -> None:
        await store.close()

    with no_room_for_more_than(size_of_log(path)):
        with held_by_another_program(path):
            asyncio.run(commit_without_waiting())
        asyncio.run(close())
    assert store.transactions == 0


def test_a_new_store_without_room_is_refused_in_plain_words(tmp_path: Path) -> None:
    with (
        no_room_for_more_than(0),
        pytest.raises(StoreUnavailable, match=r"cannot be used: the disk reported an error\.$"),
    ):
        SqliteStore(tmp_path / "store.db")
    store = SqliteStore(tmp_path / "store.db")
    assert store.load().settings == {}
    asyncio.run(store.close())


async def test_the_refusal_says_what_is_wrong_and_that_nothing_changed(
    store: SqliteStore, tmp_path: Path
) -> None:
    held = held_by_another_program(tmp_path / "store.db")
    with held, pytest.raises(StoreUnavailable) as refused:
        await store.commit(Changes(settings={"a": 1}))
    assert str(refused.value) == (
        "The change could not be saved: another program holds the store. "
        "Nothing was changed; try again when this is put right."
    )


def test_a_full_disk_is_called_a_full_disk(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "small.db")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    connection.close()
    assert reason(full.value) == "the disk is full"


def files_with_mark(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if MARK in file.read_bytes())


async def test_a_factory_reset_leaves_no_byte_of_what_was_stored(
    store: SqliteStore, tmp_path: Path
) -> None:
    secret = MARK.decode()
    for n in range(300):
        # Lengths that vary make the tree split and merge its pages.
        text = secret + "x" * (n * 37 % 700)
        await store.commit(Changes(settings={f"gsm.{n * 7 % 100}.code": text}))
    await store.commit(Changes(blobs={"restore": MARK * 10_000}))
    assert files_with_mark(tmp_path)
    await store.commit(Changes(blobs={"restore": None}, replace_settings=True))
    assert files_with_mark(tmp_path) == []


async def test_a_deleted_secret_is_gone_from_the_file_and_from_the_log(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"email.password": MARK.decode(), "email.port": 25}))
    assert files_with_mark(tmp_path)
    await store.commit(Changes(settings={"email.password": DELETED}))
    assert files_with_mark(tmp_path) == []
    assert store.load().settings == {"email.port": 25}


async def test_a_secret_that_was_replaced_is_gone_from_the_file_and_from_the_log(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"email.password": MARK.decode()}))
    await store.commit(Changes(settings={"email.password": ""}))
    assert files_with_mark(tmp_path) == []
