"""A store whose files are damaged while it is in use: nothing more is acknowledged into it."""

import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import pytest

from leverframe.storage.snapshots import Snapshots, recover
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import StoreDamaged
from leverframe.storage.store import Changes, StoreUnavailable

NAME = "outputs.0.name"
#: Values that fill many pages, so that damage finds something.
LARGE = {f"large.{number}": "x" * 500 for number in range(100)}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
async def store(path: Path) -> AsyncIterator[SqliteStore]:
    """A store with a snapshot of the name `snapshot`, and the name `later` in it."""
    opened = SqliteStore(path)
    await opened.commit(Changes({NAME: "snapshot"}, dict(LARGE), {"site": b"s"}))
    Snapshots(path, opened.settle).take()
    await opened.commit(Changes({NAME: "later"}))
    yield opened
    await opened.close()


def log_of(path: Path) -> Path:
    return path.with_name("store.db-wal")


def flip(path: Path) -> None:
    with path.open("r+b") as file:
        data = file.read()
        file.seek(100)
        file.write(bytes(byte ^ 0x5A for byte in data[100:]))


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def flip_and_hide_the_time(path: Path) -> None:
    before = path.stat()
    flip(path)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace(path: Path) -> None:
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    copy.rename(path)


def size_and_time(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


async def refusal(store: SqliteStore) -> str:
    with pytest.raises(StoreUnavailable) as refused:
        await store.commit(Changes({NAME: "after"}))
    return str(refused.value)


async def name_in(path: Path) -> object:
    store = SqliteStore(path)
    try:
        return store.load().settings[NAME]
    finally:
        await store.close()


each_damage = pytest.mark.parametrize(
    "damage", [flip, flip_and_hide_the_time, cut, empty, Path.unlink]
)


@each_damage
async def test_next_change_after_damage_is_refused_and_every_later_one(
    store: SqliteStore, path: Path, damage: Callable[[Path], None]
) -> None:
    damage(path)
    reason = await refusal(store)
    assert str(path) in reason
    assert "while the controller was running" in reason
    assert "Restart the controller: it then uses the last good snapshot." in reason
    assert await refusal(store) == reason


@each_damage
async def test_damaged_database_is_replaced_by_its_snapshot_at_the_next_start(
    store: SqliteStore, path: Path, damage: Callable[[Path], None]
) -> None:
    damage(path)
    await refusal(store)
    await store.close()
    report = recover(path)
    assert report is not None
    assert "snapshot-1.db" in report
    assert await name_in(path) == "snapshot"


@each_damage
async def test_no_snapshot_of_a_damaged_store_pushes_out_a_good_one(
    store: SqliteStore, path: Path, damage: Callable[[Path], None]
) -> None:
    good = path.with_name("snapshot-1.db").read_bytes()
    damage(path)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="Restart the controller"):
            Snapshots(path, store.settle).take()
    assert path.with_name("snapshot-1.db").read_bytes() == good
    assert not path.with_name("snapshot-2.db").exists()
    assert "Restart" in await refusal(store)


async def test_another_file_in_its_place_takes_no_change(store: SqliteStore, path: Path) -> None:
    replace(path)
    assert "replaced by another file" in await refusal(store)
    with pytest.raises(StoreUnavailable, match="replaced"):
        Snapshots(path, store.settle).take()


def cut_short(path: Path) -> None:
    """In the middle of the first page that is in the log."""
    os.truncate(path, 1000)


@pytest.mark.parametrize("damage", [flip, cut_short, empty, Path.unlink, replace])
async def test_damaged_or_removed_log_takes_no_change(
    store: SqliteStore, path: Path, damage: Callable[[Path], None]
) -> None:
    damage(log_of(path))
    reason = await refusal(store)
    assert "while the controller was running" in reason
    assert "Restart the controller" in reason
    assert await refusal(store) == reason


def flip_header(path: Path) -> None:
    """A running process never looks at it again, but a start would drop the whole log."""
    with path.open("r+b") as file:
        file.write(b"\xa5" * 32)


def write_by_sqlite(log: Path) -> None:
    with closing(sqlite3.connect(log.with_name("store.db"))) as other, other:
        other.execute("UPDATE kept SET value = '2' WHERE name = 'large.1'")


@pytest.mark.parametrize("tamper", [flip_header, write_by_sqlite, os.utime])
async def test_sound_log_written_by_others_is_emptied_before_it_takes_a_change(
    store: SqliteStore, path: Path, tmp_path: Path, tamper: Callable[[Path], None]
) -> None:
    tamper(log_of(path))
    await store.commit(Changes(kept={"after": 1}))
    killed = tmp_path / "killed" / "store.db"
    killed.parent.mkdir()
    for file in (path, log_of(path)):
        shutil.copy(file, killed.parent / file.name)
    reopened = SqliteStore(killed)
    assert reopened.load().settings[NAME] == "later"
    assert reopened.load().kept["after"] == 1
    await reopened.close()


async def test_log_that_is_held_while_it_must_be_emptied_takes_no_change_only_now(
    store: SqliteStore, path: Path
) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM kept").fetchone()
        os.utime(log_of(path))
        assert "Another program has locked the store's log" in await refusal(store)
    await store.commit(Changes({NAME: "after"}))


@pytest.mark.parametrize("damage", [Path.unlink, replace])
async def test_change_acknowledged_into_a_removed_log_is_saved(
    store: SqliteStore, path: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    damage(log_of(path))
    await refusal(store)
    # As a kill leaves it: without the log that has no name any more.
    killed = tmp_path / "killed" / "store.db"
    killed.parent.mkdir()
    shutil.copy(path, killed)
    assert await name_in(killed) == "later"


async def test_lost_log_takes_nothing_along_that_a_snapshot_has(
    store: SqliteStore, path: Path, tmp_path: Path
) -> None:
    Snapshots(path, store.settle).take()
    alone = tmp_path / "alone" / "store.db"
    alone.parent.mkdir()
    shutil.copy(path, alone)
    assert await name_in(alone) == "later"


async def test_damage_that_is_met_by_a_read_takes_no_change_either(
    store: SqliteStore, path: Path
) -> None:
    flip(path)
    with pytest.raises(StoreDamaged):
        await store.blob("site")
    assert "Restart the controller" in await refusal(store)


async def test_damage_found_by_a_write_is_reported_alike(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    await SqliteStore(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TABLE setting")
    store = SqliteStore(path)
    reason = await refusal(store)
    assert f"The store {path} is damaged" in reason
    assert "Restart the controller" in reason
    with pytest.raises(StoreUnavailable, match="Restart the controller"):
        await store.commit(Changes(kept={"k": 1}))
    await store.close()


async def test_file_that_was_only_touched_or_read_is_no_damage(
    store: SqliteStore, path: Path
) -> None:
    os.utime(path)
    with closing(sqlite3.connect(path)) as other:
        assert other.execute("SELECT count(*) FROM setting").fetchone() == (1,)
    await store.commit(Changes({NAME: "after"}))
    assert store.load().settings[NAME] == "after"


async def test_own_checkpoint_is_not_mistaken_for_another_program(
    store: SqliteStore, path: Path
) -> None:
    before = size_and_time(path)
    for number in range(5):
        await store.commit(Changes(blobs={"site": bytes(1 << 20)}, kept={"number": number}))
        await store.commit(Changes({"email.password": f"secret {number}"}))
    assert size_and_time(path) != before
    await store.commit(Changes({NAME: "after"}))
    assert await name_in(path) == "after"


async def test_log_does_not_grow_for_ever(store: SqliteStore, path: Path) -> None:
    for number in range(40):
        await store.commit(Changes(blobs={"site": bytes(1 << 20)}, kept={"number": number}))
    size, _ = size_and_time(log_of(path))
    assert size < 12 << 20


async def test_folder_out_of_reach_is_no_damage(store: SqliteStore, path: Path) -> None:
    """What cannot be looked at may be there again a moment later."""
    if os.geteuid() == 0:
        pytest.skip("everything is within reach of root")
    path.parent.chmod(0)
    try:
        assert "out of reach" in await refusal(store)
    finally:
        path.parent.chmod(0o700)
    await store.commit(Changes({NAME: "after"}))
