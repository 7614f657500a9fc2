"""What lanes promise beyond stores: many controllers, none of which touches another.

What each controller's part promises is in `test_store_contract.py`, which asks lanes, too.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from leverframe.core.runtime.clock import VirtualClock
from leverframe.host.assembly import build
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.lanes import sqlite_lane
from leverframe.storage.lanes.lane import GroupCommitLane, Lane, MemoryLane
from leverframe.storage.lanes.postgres_connection import connect
from leverframe.storage.lanes.sqlite_lane import SqliteLane
from leverframe.storage.store import DELETED, Changes, Rows, StoreUnavailable
from leverframe.storage.writer import Writer
from tests.boundary_profiles import NEWEST
from tests.devices.waiting import until
from tests.postgres_server import server_of_process
from tests.storage.lanes.postgres_lanes import postgres_lane

LANES: dict[str, Callable[[Path], Lane]] = {
    "memory": lambda folder: MemoryLane(),
    "sqlite": lambda folder: SqliteLane(folder / "fleet.db", folder / "fleet.key"),
    "postgres": postgres_lane,
}


@pytest.fixture(params=LANES.values(), ids=list(LANES))
async def lane(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Lane]:
    opened: Lane = request.param(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture
async def on_disk(tmp_path: Path) -> AsyncIterator[SqliteLane]:
    opened = SqliteLane(tmp_path / "fleet.db", tmp_path / "fleet.key")
    yield opened
    await opened.close()


def everything(number: int) -> Changes:
    return Changes(
        settings={"a": number, "email.password": f"secret {number}"},
        kept={"b": number, "audit.000000000001": f"[{number}]"},
        blobs={"site": bytes([number])},
        messages={1: number},
    )


async def test_controllers_do_not_see_each_other(lane: Lane) -> None:
    for number in (1, 2, 3):
        await lane.store(number).commit(everything(number))
    await lane.store(2).commit(
        Changes({"c": 1}, {"b": 0}, {"site": None}, replace_settings=True, messages={1: "x"})
    )
    for number in (1, 3):
        store, stored = lane.store(number), lane.store(number).load()
        assert stored.settings == {"a": number, "email.password": f"secret {number}"}
        assert (stored.kept, await store.blob("site")) == ({"b": number}, bytes([number]))
        assert (await store.audit(), store.messages()) == (
            {"audit.000000000001": f"[{number}]"},
            {1: number},
        )
    assert lane.store(2).load().settings == {"c": 1}
    assert lane.store(4).load().settings == {}


async def test_lane_fetches_many_controllers_in_one_transaction(lane: Lane) -> None:
    await asyncio.gather(*(lane.store(n).commit(everything(n)) for n in range(1, 21)))
    fetched = await lane.fetch(range(5, 25))
    assert list(fetched) == list(range(5, 25))
    for number in range(5, 21):
        assert fetched[number].settings == {"a": number, "email.password": f"secret {number}"}
        assert fetched[number].kept == {"b": number}
        assert fetched[number].audit == ["audit.000000000001"]
    assert (fetched[24].settings, fetched[24].kept, fetched[24].audit) == ({}, {}, [])
    assert fetched[5] == lane.store(5).load()


async def test_forgetting_a_controller_removes_only_its_rows(lane: Lane) -> None:
    for number in (1, 2, 3):
        await lane.store(number).commit(everything(number))
    await lane.forget([1, 3, 9])
    for number in (1, 3):
        store = lane.store(number)
        assert (store.load().settings, store.load().kept, store.messages()) == ({}, {}, {})
        assert (await store.blob("site"), await store.audit()) == (None, {})
    assert lane.store(2).load().settings["a"] == 2


async def test_last_written_rows_are_forgotten_like_the_rest(lane: Lane) -> None:
    for number in (1, 2):
        await lane.store(number).commit(Changes({"a": number}, {"b": number}, messages={1: number}))
    await lane.forget([1])
    for number, held in ((1, {}), (2, {"a": 2})):
        assert lane.store(number).load().settings == held
    assert (lane.store(1).load().kept, lane.store(1).messages()) == ({}, {})
    await lane.store(1).commit(Changes({"c": 3}))
    assert lane.store(1).load().settings == {"c": 3}


async def test_closing_a_part_leaves_the_lane_open(lane: Lane) -> None:
    await lane.store(1).close()
    await lane.store(1).commit(Changes({"a": 1}))
    assert lane.store(1).load().settings == {"a": 1}


async def test_commits_of_all_controllers_share_a_transaction(on_disk: SqliteLane) -> None:
    writers = [Writer(on_disk.store(number)) for number in range(50)]
    await asyncio.gather(*(writer.commit(Changes({"a": 1})) for writer in writers))
    assert on_disk.transactions == 1


async def test_part_that_cannot_be_written_takes_along_only_its_own(
    on_disk: SqliteLane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = on_disk._file.write

    def failing(statements: Any, **how: Any) -> None:
        if any("poison" in str(values) for _, values in statements):
            raise OSError(28, "No space left on device")
        write(statements, **how)

    monkeypatch.setattr(on_disk._file, "write", failing)
    writers = {number: Writer(on_disk.store(number)) for number in (1, 2, 3)}
    first = {n: w.commit(Changes({"a": "poison" if n == 2 else n})) for n, w in writers.items()}
    second = {number: writer.commit(Changes({"b": 1})) for number, writer in writers.items()}
    with caplog.at_level(logging.CRITICAL):
        done = await asyncio.gather(*first.values(), *second.values(), return_exceptions=True)
    refused = [isinstance(outcome, StoreUnavailable) for outcome in done]
    assert refused == [False, True, False] * 2
    assert "No space left on device" in str(done[1])
    assert [on_disk.store(n).load().settings for n in (1, 2, 3)] == [
        {"a": 1, "b": 1},
        {},
        {"a": 3, "b": 1},
    ]
    await writers[2].commit(Changes({"a": 2}))
    assert on_disk.store(2).load().settings == {"a": 2}


async def test_parts_of_one_controller_keep_their_order(on_disk: SqliteLane) -> None:
    store = on_disk.store(1)
    await asyncio.gather(
        store.write(Rows({"a": "1", "b": "1"})),
        store.write(Rows({"a": "2"}, replace_settings=True)),
        store.write(Rows({"c": "3"})),
    )
    assert store.load().settings == {"a": 2, "c": 3}


async def test_batches_stay_readable_where_they_cannot_go_into_the_tables(
    on_disk: SqliteLane, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    write = on_disk._file.write

    def full_but_for_batches(statements: Any, **how: Any) -> None:
        if len(statements) > 1:
            raise OSError(28, "No space left on device")
        write(statements, **how)

    monkeypatch.setattr(on_disk._file, "write", full_but_for_batches)
    monkeypatch.setattr(sqlite_lane, "ENOUGH", 1)
    store = on_disk.store(1)
    with caplog.at_level(logging.CRITICAL):
        for number in range(3):
            audit = f"audit.{number:012d}"
            await store.commit(Changes({"a": number}, {"b": number, audit: "[]"}))
    assert (store.load().settings, store.load().kept) == ({"a": 2}, {"b": 2})
    assert store.load().audit == list(await store.audit()) == [f"audit.{n:012d}" for n in range(3)]
    monkeypatch.setattr(on_disk._file, "write", write)
    await store.commit(Changes({"a": 3}, {"audit.000000000000": DELETED}))
    await asyncio.to_thread(on_disk.fill_tables)
    assert (store.load().settings, store.load().kept) == ({"a": 3}, {"b": 2})
    assert list(await store.audit()) == ["audit.000000000001", "audit.000000000002"]


async def test_readers_see_whole_batches_while_these_go_into_the_tables(
    on_disk: SqliteLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_lane, "ENOUGH", 1)
    store, written, has_ended = on_disk.store(1), [0], asyncio.Event()
    await store.commit(Changes({"a": 0}, {"b": 0}))

    async def read() -> int:
        count = 0
        while not has_ended.is_set():
            least, count = written[0], count + 1
            stored = (await on_disk.fetch([1]))[1]
            assert stored.settings["a"] == stored.kept["b"] >= least
        return count

    reading = asyncio.create_task(read())
    for number in range(1, 60):
        # Now and then something is removed, which goes into the tables immediately.
        removed = {"c": DELETED} if number % 7 == 0 else {"c": number}
        await store.commit(Changes({"a": number} | removed, {"b": number}))
        written[0] = number
    has_ended.set()
    assert await reading > 1


async def test_reading_one_controller_skips_batches_of_others(
    on_disk: SqliteLane,
) -> None:
    for number in (1, 2, 1):
        await on_disk.store(number).commit(Changes({"a": 1}))
    assert [len(on_disk._recent.of([number])) for number in (1, 2, 3)] == [2, 1, 0]
    on_disk.fill_tables()
    assert on_disk._recent.of([1, 2, 3]) == []


def read_files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.glob("fleet.db*"))


async def test_nothing_forgotten_is_left_in_the_file(on_disk: SqliteLane, tmp_path: Path) -> None:
    controllers = range(1, 101)
    for number in range(10):
        rows = Rows({"a": '"canary"'}, {f"audit.{number:012d}": '"canary"' * 20})
        on_disk.write_parts(dict.fromkeys(controllers, rows))
    assert b"canary" in read_files(tmp_path)
    on_disk.fill_tables()
    await on_disk.forget(controllers)
    assert b"canary" not in read_files(tmp_path)


def read_database_log(folder: Path) -> bytes:
    """Return the newest part of its log: whatever enters a database stands there first."""
    server = server_of_process()
    with connect(server.fleet_of(folder)) as connection:
        ((name,),) = connection.execute("SELECT pg_walfile_name(pg_current_wal_lsn())")
    return (server.data / "pg_wal" / str(name)).read_bytes()


@pytest.mark.parametrize(
    ("kind", "written"), [("sqlite", read_files), ("postgres", read_database_log)]
)
async def test_secrets_are_sealed_for_their_controller_alone(
    tmp_path: Path, kind: str, written: Callable[[Path], bytes]
) -> None:
    lane = LANES[kind](tmp_path)
    assert isinstance(lane, GroupCommitLane)
    for number in (1, 2):
        settings = {
            "email.password": "canary",
            "http.1.url": "https://hooks.example/canary",
            "http.1.body": "canary",
            "name": "in clear",
        }
        messages = {4: {"content": {"path": "/canary"}}}
        blobs = {EARLIER: b"canary"}
        await lane.store(number).commit(Changes(settings, {}, blobs, messages=messages))
        assert lane.store(number).load().settings == settings
        assert lane.store(number).messages() == messages
        assert await lane.store(number).blob(EARLIER) == b"canary"
    sealed = [lane.read([number])[number] for number in (1, 2)]
    assert "canary" not in str(sealed)
    # A row that is put into another controller's part opens nothing.
    moved = lane.read([1])[1]
    assert "email.password" not in lane.store(2).open_secrets(moved).settings
    assert lane.store(1).open_secrets(sealed[0]).settings["email.password"] == "canary"
    everything = written(tmp_path)
    assert b"in clear" in everything
    assert b"canary" not in everything
    assert (tmp_path / "fleet.key").read_bytes() not in everything
    await lane.close()


@pytest.mark.parametrize(
    ("kind", "written"), [("sqlite", read_files), ("postgres", read_database_log)]
)
async def test_web_hooks_of_an_earlier_program_are_sealed_at_the_next_start(
    tmp_path: Path, kind: str, written: Callable[[Path], bytes]
) -> None:
    lane = LANES[kind](tmp_path)
    assert isinstance(lane, GroupCommitLane)
    openly = {"http.0.url": "https://hooks.example/token", "http.0.body": "hello"}
    texts = {path: f'"{value}"' for path, value in openly.items()}
    lane.write_parts({1: Rows(texts), 2: Rows(texts)})
    assert b"hooks.example" in written(tmp_path)
    stored = (await lane.fetch([1]))[1]
    clock = VirtualClock()
    built = await build(NEWEST, lane.store(1), clock, UTC, stored=stored)
    for _ in range(2):
        assert built.controller.engine.settings.http[0].url == openly["http.0.url"]
        await built.stop()
        assert "hooks.example" not in str(lane.read([1])[1].settings)
        built = await build(NEWEST, lane.store(1), clock, UTC)
    await built.stop()
    # Others are as they were until they start.
    assert lane.read([2])[2].settings == openly
    await lane.close()


async def test_closed_lane_says_so(tmp_path: Path) -> None:
    lane = SqliteLane(tmp_path / "fleet.db", tmp_path / "key")
    store, writing = lane.store(1), lane.store(2).commit(Changes({"a": 1}))
    task = asyncio.create_task(writing)
    await asyncio.sleep(0)
    await lane.close()
    await lane.close()
    await task
    with pytest.raises(StoreUnavailable, match="the program is stopping"):
        await store.commit(Changes({"a": 1}))


async def test_cancelled_wait_does_not_undo_the_commit(on_disk: SqliteLane) -> None:
    task = asyncio.create_task(on_disk.store(1).commit(Changes({"a": 1})))
    await asyncio.sleep(0)
    task.cancel()
    await until(lambda: on_disk.transactions == 1)
    await on_disk.store(2).commit(Changes({"a": 2}))
    assert on_disk.store(1).load().settings == {"a": 1}


async def test_forgetting_that_fails_says_why(
    on_disk: SqliteLane, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(statements: Any, **how: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(on_disk._file, "write", full)
    with pytest.raises(StoreUnavailable, match="No space left"):
        await on_disk.forget([1])

    def away(statements: Any, **how: Any) -> None:
        raise StoreUnavailable("It is away.")

    monkeypatch.setattr(on_disk._file, "write", away)
    with pytest.raises(StoreUnavailable, match="It is away"):
        await on_disk.forget([1])
    with pytest.raises(StoreUnavailable, match="It is away"):
        await on_disk.store(1).commit(Changes({"a": 1}))
