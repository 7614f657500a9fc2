"""Snapshots: a damaged store is set aside and the last good copy takes its place."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.storage.snapshots import KEPT, TROUBLE, Snapshots, SnapshotService, recover
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import StoreDamaged, findings
from leverframe.storage.store import Changes, StoreUnavailable
from tests.patience import PATIENCE_S

NAMES = {f"outputs.{place}.name": f"name {place}" for place in range(6)}
LARGE = {f"large.{number}": "x" * 500 for number in range(100)}


async def write_store(path: Path, settings: Mapping[str, object]) -> None:
    store = SqliteStore(path)
    await store.commit(Changes(settings=dict(settings), kept=dict(LARGE)))
    await store.close()


async def names(path: Path) -> dict[str, object]:
    store = SqliteStore(path)
    try:
        return store.load().settings
    finally:
        await store.close()


def snapshots_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("snapshot*"))


def files_with(folder: Path, text: bytes) -> list[Path]:
    return [file for file in folder.iterdir() if text in file.read_bytes()]


def flip_header(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[3] ^= 0xFF
    path.write_bytes(data)


def flip_everywhere(path: Path) -> None:
    data, random = bytearray(path.read_bytes()), Random(1)
    for _ in range(200):
        data[random.randrange(100, len(data))] ^= 0xFF
    path.write_bytes(data)


def cut(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def garble_value(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"name 3"', b'"name 3\xff'))


def change_kind(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"name 3"', b"[123456]"))


@pytest.mark.parametrize("damage", [flip_header, flip_everywhere, cut, garble_value, change_kind])
async def test_damaged_store_is_set_aside_and_the_last_snapshot_is_used(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    damage(path)
    report = recover(path)
    assert report is not None
    assert "damaged-1" in report
    assert "snapshot-1.db" in report
    assert await names(path) == NAMES
    assert (tmp_path / "damaged-1" / "store.db").exists()
    assert recover(path) is None


async def test_sound_store_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    assert recover(path) is None
    assert not path.exists()
    await write_store(path, NAMES)
    assert recover(path) is None


async def test_without_a_sound_snapshot_nothing_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    cut(path)
    cut(tmp_path / "snapshot-1.db")
    before = path.read_bytes()
    with pytest.raises(StoreDamaged, match="leverframe data repair"):
        recover(path)
    assert path.read_bytes() == before


async def test_older_snapshot_is_used_where_the_newest_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    Snapshots(path).take()
    cut(path)
    flip_header(tmp_path / "snapshot-1.db")
    assert "snapshot-2.db" in (recover(path) or "")
    assert await names(path) == NAMES


@pytest.mark.parametrize("damage", [Path.unlink, empty])
async def test_store_that_is_missing_or_empty_gives_way_to_the_last_snapshot(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    damage(path)
    report = recover(path)
    assert report is not None
    assert "snapshot-1.db" in report
    assert await names(path) == NAMES


async def test_log_that_is_left_alone_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    path.rename(tmp_path / "store.db-wal")
    assert "What is left of it was set aside in" in (recover(path) or "")
    assert await names(path) == NAMES


async def test_empty_store_is_no_snapshot(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    Snapshots(path).take()
    empty(path)
    with pytest.raises(StoreUnavailable, match="is empty"):
        Snapshots(path).take()
    assert findings(tmp_path / "snapshot-1.db") == ""
    assert not (tmp_path / "snapshot-2.db").exists()


async def test_lost_log_is_no_damage(tmp_path: Path) -> None:
    """What was folded in is there; what was only in the log is gone, and the store opens."""
    path, copy = tmp_path / "store.db", tmp_path / "copy.db"
    await write_store(path, NAMES)
    store = SqliteStore(path)
    await store.commit(Changes(settings={"outputs.0.name": "later"}))
    copy.write_bytes(path.read_bytes())
    await store.close()
    assert recover(copy) is None
    assert (await names(copy))["outputs.1.name"] == "name 1"


async def test_snapshot_is_taken_while_the_store_is_written(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    writes = [store.commit(Changes(settings={"pwm.0.duty": duty})) for duty in range(100)]
    await asyncio.to_thread(Snapshots(path).take)
    await asyncio.gather(*writes)
    await store.close()
    assert findings(tmp_path / "snapshot-1.db") == ""


async def test_only_a_few_snapshots_are_kept_and_only_for_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    for _ in range(KEPT + 2):
        Snapshots(path).take()
    found = snapshots_in(tmp_path)
    assert [file.name for file in found] == [f"snapshot-{n}.db" for n in range(1, KEPT + 1)]
    assert {file.stat().st_mode & 0o777 for file in found} == {0o600}


async def test_changed_secret_leaves_all_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.commit(Changes(settings={"email.password": "hunter2 of the mail"}))
    for _ in range(KEPT):
        await asyncio.to_thread(Snapshots(path).take)
    service = SnapshotService(Snapshots(path), {})
    await store.commit(Changes(settings={"email.password": ""}))
    old = with_value(defaults(Profile()), "email.password", "hunter2 of the mail")
    service.settings_changed(old, defaults(Profile()))
    await service.close()
    await store.close()
    assert files_with(tmp_path, b"hunter2") == []


class TroubleRecord(dict[str, str]):
    """Problems that a test waits for."""

    def __init__(self) -> None:
        self.begun, self.over = asyncio.Event(), asyncio.Event()

    def __setitem__(self, part: str, sentence: str) -> None:
        super().__setitem__(part, sentence)
        self.begun.set()

    def pop(self, part: str, default: str | None = None) -> str | None:  # type: ignore[override]
        self.over.set()
        return super().pop(part, "") or default


async def test_failed_snapshot_is_reported_and_retried(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "store.db"
    troubles = TroubleRecord()
    service = SnapshotService(Snapshots(path), troubles, interval_s=0.01)
    await troubles.begun.wait()
    assert "No snapshot" in troubles[TROUBLE]
    path.parent.mkdir()
    await write_store(path, NAMES)
    await troubles.over.wait()
    await service.close()
    assert TROUBLE not in troubles


async def test_snapshot_that_failed_is_made_once_the_disk_takes_a_change(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "store.db"
    troubles = TroubleRecord()
    service = SnapshotService(Snapshots(path), troubles)
    await troubles.begun.wait()
    path.parent.mkdir()
    await write_store(path, NAMES)
    settings = defaults(Profile())
    service.settings_changed(settings, with_value(settings, "outputs.0.name", "Pump"))
    async with asyncio.timeout(PATIENCE_S):
        await troubles.over.wait()
    await service.close()
    assert TROUBLE not in troubles


async def test_snapshot_that_cannot_be_removed_is_reported_and_the_store_closes(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    (tmp_path / f"snapshot-{KEPT}.db").mkdir()
    troubles = TroubleRecord()
    service = SnapshotService(Snapshots(path), troubles)
    settings = defaults(Profile())
    service.settings_changed(settings, with_value(settings, "email.password", "hunter2"))
    async with asyncio.timeout(PATIENCE_S):
        await troubles.begun.wait()
    assert "erased secrets could not be removed" in troubles[TROUBLE]
    assert troubles[TROUBLE] in caplog.text
    await service.close()


async def test_fault_does_not_end_the_taking_of_snapshots(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await write_store(path, NAMES)
    faults = iter([ZeroDivisionError()])

    def settle() -> None:
        for fault in faults:
            raise fault

    troubles = TroubleRecord()
    service = SnapshotService(Snapshots(path, settle), troubles, interval_s=0.01)
    async with asyncio.timeout(PATIENCE_S):
        await troubles.begun.wait()
        assert "ZeroDivisionError" in troubles[TROUBLE]
        await troubles.over.wait()
    await service.close()
    assert (tmp_path / "snapshot-1.db").exists()
