"""The ordered writer: many commits in one transaction, and what a failure takes along."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from functools import partial
from pathlib import Path

import pytest

from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, MemoryStore, Rows, StoreUnavailable
from leverframe.storage.writer import BATCH_SIZE, Commit, GroupCommit, Writer
from tests.devices.waiting import until
from tests.patience import PATIENCE_S


class HeldStore(MemoryStore):
    """A store whose writes end when the test says how."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[tuple[Rows, asyncio.Future[None]]] = []

    async def write(self, rows: Rows) -> None:
        self.writes.append((rows, asyncio.get_running_loop().create_future()))
        await self.writes[-1][1]
        await super().write(rows)

    async def wait_for_write(self, number: int) -> asyncio.Future[None]:
        """Wait for the write with that number."""
        await until(lambda: len(self.writes) > number)
        return self.writes[number][1]


FULL = StoreUnavailable("The disk is full.")


async def outcomes(*futures: asyncio.Future[None]) -> list[type | None]:
    async with asyncio.timeout(PATIENCE_S):
        results = await asyncio.gather(*futures, return_exceptions=True)
    return [None if result is None else type(result) for result in results]


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    await opened.close()


@pytest.mark.parametrize("count", [2, BATCH_SIZE, 3 * BATCH_SIZE])
async def test_commits_of_one_round_share_a_transaction(store: SqliteStore, count: int) -> None:
    writer = Writer(store)
    await asyncio.gather(*(writer.commit(Changes(settings={f"s.{n}": n})) for n in range(count)))
    assert store.transactions == 1
    assert store.load().settings == {f"s.{n}": n for n in range(count)}


async def test_commits_that_come_while_the_disk_is_busy_share_the_next_transaction() -> None:
    store = HeldStore()
    writer = Writer(store)
    first = writer.commit(Changes(settings={"n": 0}))
    write = await store.wait_for_write(0)
    others = []
    for n in range(1, 6):
        others.append(writer.commit(Changes(settings={"n": n})))
        await asyncio.sleep(0)
    write.set_result(None)
    (await store.wait_for_write(1)).set_result(None)
    assert await outcomes(first, *others) == [None] * 6
    assert len(store.writes) == 2
    assert store.load().settings == {"n": 5}


async def test_failure_takes_along_what_was_queued_behind_it_and_nothing_else() -> None:
    store = HeldStore()
    writer = Writer(store)
    failing = writer.commit(Changes(settings={"a": "lost"}))
    write = await store.wait_for_write(0)
    behind = [writer.commit(Changes(settings={f"b.{n}": n})) for n in range(10)]
    write.set_exception(FULL)
    assert await outcomes(failing, *behind) == [StoreUnavailable] * 11
    after = writer.commit(Changes(settings={"c": "after"}))
    (await store.wait_for_write(1)).set_result(None)
    assert await outcomes(after) == [None]
    assert store.load().settings == {"c": "after"}


@pytest.mark.parametrize("fault", [ZeroDivisionError(), asyncio.CancelledError(), FULL])
async def test_any_failure_refuses_the_waiting_callers(
    fault: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    class FaultyStore(MemoryStore):
        async def write(self, rows: Rows) -> None:
            raise fault

    assert await outcomes(Writer(FaultyStore()).commit(Changes())) == [StoreUnavailable]
    assert "a change was not saved" in caplog.text


@pytest.mark.parametrize("is_full", [False, True])
async def test_cancelled_commit_stays_written_and_disturbs_no_other(is_full: bool) -> None:
    store = HeldStore()
    writer = Writer(store)
    given_up, other = (writer.commit(Changes(settings={name: 1})) for name in "ab")
    write = await store.wait_for_write(0)
    given_up.cancel()
    if is_full:
        write.set_exception(FULL)
    else:
        write.set_result(None)
    assert await outcomes(other) == [StoreUnavailable if is_full else None]
    assert store.load().settings == ({} if is_full else {"a": 1, "b": 1})


@pytest.mark.parametrize("is_full", [False, True])
async def test_writer_that_is_cancelled_sees_through_what_it_has_begun(is_full: bool) -> None:
    store = HeldStore()
    writer = Writer(store)
    begun = writer.commit(Changes(settings={"a": 1}))
    write = await store.wait_for_write(0)
    assert isinstance(writer._group, GroupCommit)
    assert writer._group.task is not None
    writer._group.task.cancel()
    await asyncio.sleep(0)
    assert not begun.done()
    if is_full:
        write.set_exception(FULL)
    else:
        write.set_result(None)
    assert await outcomes(begun) == [StoreUnavailable if is_full else None]
    assert store.load().settings == ({} if is_full else {"a": 1})


async def test_writer_that_is_collected_without_its_loop_ends_and_settles_nothing() -> None:
    store = HeldStore()
    writer = Writer(store)
    begun = writer.commit(Changes(settings={"a": 1}))
    write = await store.wait_for_write(0)
    assert isinstance(writer._group, GroupCommit)
    assert writer._group.task is not None
    coroutine = writer._group.task.get_coro()
    assert isinstance(coroutine, Coroutine)
    coroutine.close()
    assert not begun.done()
    write.set_result(None)
    # The task finds that it has nothing left to do.
    writer._group.task.cancel()
    await asyncio.wait([writer._group.task])
    assert isinstance(writer._group.task.exception(), RuntimeError)


@pytest.mark.parametrize("is_full", [False, True])
async def test_commit_callbacks_run_in_order_and_before_waiting_callers(is_full: bool) -> None:
    store = HeldStore()
    writer = Writer(store)
    commits_seen: list[tuple[str, tuple[object, ...], bool]] = []
    futures: list[asyncio.Future[None]] = []

    def hear(name: str, commits: Sequence[Commit], error: StoreUnavailable | None) -> None:
        commits_seen.append((name, tuple(commit.subject for commit in commits), error is None))
        assert not any(future.done() for future in futures)

    together, alone = partial(hear, "together"), partial(hear, "alone")
    listeners = [together, together, None, together, alone]
    for number, listener in enumerate(listeners):
        futures.append(writer.commit(Changes(settings={"n": number}), listener, number))
    write = await store.wait_for_write(0)
    if is_full:
        write.set_exception(FULL)
    else:
        write.set_result(None)
    await outcomes(*futures)
    assert commits_seen == [
        ("together", (0, 1), not is_full),
        ("together", (3,), not is_full),
        ("alone", (4,), not is_full),
    ]


@pytest.mark.parametrize("is_full", [False, True])
async def test_fault_of_who_hears_is_theirs_alone(
    is_full: bool, caplog: pytest.LogCaptureFixture
) -> None:
    store = HeldStore()
    writer = Writer(store)

    def fail(_: Sequence[Commit], error: StoreUnavailable | None) -> None:
        raise ZeroDivisionError("the callback has a fault")

    heard: list[StoreUnavailable | None] = []
    faulty = writer.commit(Changes(settings={"a": 1}), fail)
    behind = writer.commit(Changes(settings={"b": 2}), lambda _, error: heard.append(error))
    write = await store.wait_for_write(0)
    if is_full:
        write.set_exception(FULL)
        assert await outcomes(faulty, behind) == [StoreUnavailable, StoreUnavailable]
    else:
        write.set_result(None)
        assert await outcomes(faulty, behind) == [ZeroDivisionError, None]
    assert len(heard) == 1
    assert "the callback has a fault" in caplog.text
    # What is durable is so whatever the one does who hears of it.
    assert store.load().settings == ({} if is_full else {"a": 1, "b": 2})


async def test_reported_failure_causes_no_warning_for_callers_that_do_not_wait() -> None:
    """The loop reports failures that were never retrieved."""
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, about: complaints.append(about))
    store = HeldStore()
    writer = Writer(store)
    writer.commit(Changes(settings={"a": 1}))
    (await store.wait_for_write(0)).set_exception(FULL)
    await until(lambda: writer.is_idle)
    assert complaints == []


async def test_closing_writes_what_is_queued(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    writer = Writer(SqliteStore(path))
    futures = [writer.commit(Changes(settings={str(n): n})) for n in range(20)]
    await writer.close()
    assert all(future.done() and future.exception() is None for future in futures)
    with pytest.raises(StoreUnavailable, match="closed"):
        await writer.commit(Changes(settings={"late": 1}))
    reopened = SqliteStore(path)
    assert reopened.load().settings == {str(n): n for n in range(20)}
    await reopened.close()


async def test_later_changes_of_passed_objects_have_no_effect() -> None:
    store = MemoryStore()
    names = ["a"]
    changes = Changes(settings={"names": names}, blobs={"site": b"1"})
    future = Writer(store).commit(changes)
    names.append("b")
    changes.settings["other"] = 1
    changes.blobs["site"] = b"2"
    await future
    assert (store.load().settings, await store.blob("site")) == ({"names": ["a"]}, b"1")


async def test_unstorable_value_is_refused_immediately_and_not_queued() -> None:
    writer = Writer(MemoryStore())
    with pytest.raises(TypeError):
        writer.commit(Changes(settings={"good": 1, "bad": object()}))
    await writer.commit(Changes(settings={"a": 1}))
    assert writer.store.load().settings == {"a": 1}
