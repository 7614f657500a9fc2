"""How the durable store writes: whole transactions, and nothing left of what is removed."""

import asyncio
import contextlib
import resource
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import MIGRATIONS, reason
from leverframe.storage.statements import Statement
from leverframe.storage.store import DELETED, Changes, StoreUnavailable
from leverframe.storage.watched_file import WatchedFile
from tests.devices.waiting import until
from tests.patience import PATIENCE_S

MARK = b"swordfish"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    await opened.close()


@contextlib.contextmanager
def lock_by_another_program(path: Path) -> Iterator[None]:
    """No other program can write to the database in the meantime."""
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


async def test_commit_of_nothing_needs_no_transaction(store: SqliteStore) -> None:
    await store.commit(Changes())
    assert store.transactions == 0


async def test_reads_do_not_wait_for_a_write(store: SqliteStore, tmp_path: Path) -> None:
    await store.commit(Changes(settings={"a": 1}, blobs={"site": b"s"}))
    with lock_by_another_program(tmp_path / "store.db"):
        waiting = asyncio.create_task(store.commit(Changes(settings={"a": 2})))
        await asyncio.sleep(0)
        assert store.load().settings == {"a": 1}
        assert await store.blob("site") == b"s"
        assert not waiting.done()
    await waiting


async def test_failure_leaves_no_trace_of_a_change_in_several_tables(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"a": 1}, kept={"k": 1}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db") + 50_000):
        changes = Changes({"b": 2}, {"k": 2}, {"site": bytes(200_000)}, replace_settings=True)
        with pytest.raises(StoreUnavailable):
            await store.commit(changes)
    assert (store.load().settings, store.load().kept) == ({"a": 1}, {"k": 1})


async def test_change_sqlite_cannot_take_fails_whole_and_stops_nothing(
    store: SqliteStore,
) -> None:
    not_bytes: Any = object()
    with pytest.raises(StoreUnavailable):
        await store.commit(Changes(settings={"a": 1}, blobs={"site": not_bytes}))
    await store.commit(Changes(settings={"b": 2}, kept={"k": 3}))
    assert store.load().settings == {"b": 2}


async def test_store_without_room_works_again_when_there_is_room(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"n": 0}))
    with no_room_for_more_than(size_of_log(tmp_path / "store.db")):
        for n in range(1, 4):
            with pytest.raises(StoreUnavailable):
                await store.commit(Changes(settings={"n": n}))
    await store.commit(Changes(settings={"n": 9}))
    assert store.load().settings == {"n": 9}


async def test_closed_store_refuses_commits(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    await store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        await store.commit(Changes(settings={"a": 1}))


def test_store_serves_one_loop_after_the_other(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.db")
    asyncio.run(store.commit(Changes(settings={"a": 1})))
    asyncio.run(store.commit(Changes(settings={"b": 2})))
    assert store.load().settings == {"a": 1, "b": 2}
    asyncio.run(store.close())


async def test_error_after_a_transaction_does_not_fail_it(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> int:
        raise ZeroDivisionError("pages cannot be counted")

    monkeypatch.setattr("leverframe.storage.watched_file.pages_of", fail)
    await store.commit(Changes(settings={"a": 1}))
    assert store.load().settings == {"a": 1}
    assert "pages cannot be counted" in caplog.text


def test_new_store_without_room_is_refused_in_plain_words(tmp_path: Path) -> None:
    with (
        no_room_for_more_than(0),
        pytest.raises(StoreUnavailable, match=r"cannot be used: the disk reported an error\.$"),
    ):
        SqliteStore(tmp_path / "store.db")
    store = SqliteStore(tmp_path / "store.db")
    assert store.load().settings == {}
    asyncio.run(store.close())


async def test_refusal_says_what_is_wrong_and_that_nothing_changed(
    store: SqliteStore, tmp_path: Path
) -> None:
    held = lock_by_another_program(tmp_path / "store.db")
    with held, pytest.raises(StoreUnavailable) as refused:
        await store.commit(Changes(settings={"a": 1}))
    assert str(refused.value) == (
        "The change could not be saved: another program has locked the store. Nothing was "
        "changed; try again when this is fixed."
    )


def test_full_disk_is_called_a_full_disk(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "small.db")
    connection.execute("CREATE TABLE t (x)")
    connection.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("INSERT INTO t VALUES (zeroblob(100000))")
    connection.close()
    assert reason(full.value) == "the disk is full"


def files_with_mark(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir() if MARK in file.read_bytes())


async def test_factory_reset_leaves_no_byte_of_what_was_stored(
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


async def test_deleted_secret_is_gone_from_the_file_and_from_the_log(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"email.password": MARK.decode(), "email.port": 25}))
    assert files_with_mark(tmp_path)
    await store.commit(Changes(settings={"email.password": DELETED}))
    assert files_with_mark(tmp_path) == []
    assert store.load().settings == {"email.port": 25}


async def test_secret_that_was_replaced_is_gone_from_the_file_and_from_the_log(
    store: SqliteStore, tmp_path: Path
) -> None:
    await store.commit(Changes(settings={"email.password": MARK.decode()}))
    await store.commit(Changes(settings={"email.password": ""}))
    assert files_with_mark(tmp_path) == []


async def test_long_log_is_checkpointed_after_the_commit_was_answered(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered, checkpoint = threading.Event(), WatchedFile.checkpoint

    def checkpoint_afterwards(file: WatchedFile) -> None:
        assert answered.wait(PATIENCE_S)
        checkpoint(file)

    monkeypatch.setattr(WatchedFile, "checkpoint", checkpoint_afterwards)
    size = 5_000_000
    await store.commit(Changes(blobs={"large": bytes(size)}))
    assert (tmp_path / "store.db").stat().st_size < size
    answered.set()
    await until(lambda: (tmp_path / "store.db").stat().st_size > size)


def test_long_log_is_checkpointed_once_however_many_transactions_come_before(
    tmp_path: Path,
) -> None:
    later: list[Callable[[], None]] = []
    file = WatchedFile(tmp_path / "store.db", MIGRATIONS, later.append)
    large: Statement = ("REPLACE INTO blob (name, data) VALUES ('large', ?)", (bytes(5_000_000),))
    for _ in range(3):
        file.write([large], erases=False)
    (checkpoint,) = later
    checkpoint()
    file.write([large], erases=False)
    assert len(later) == 2
    file.close()
