"""What is on the disk when the power goes: every acknowledged change, and never half of one.

A crash is played by copying the files of a running store, sometimes with the log cut short or
damaged as an interrupted write leaves it, and opening the copy.
"""

import asyncio
import itertools
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import DELETED, Changes
from tests.effort import examples

LOG_HEADER = 32
LOG_FRAME = 24 + 4096


def copy_as_after_a_crash(path: Path, folder: Path) -> Path:
    """The files a restart would find. The index of the log (-shm) is not one of them."""
    folder.mkdir()
    copy = folder / "store.db"
    shutil.copyfile(path, copy)
    shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    return copy


async def content(path: Path) -> tuple[dict[str, Any], dict[str, Any], bytes | None]:
    store = SqliteStore(path)
    stored = store.load()
    upload = await store.blob("site")
    await store.close()
    return stored.settings, stored.kept, upload


async def test_every_acknowledged_change_is_there_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    expected: dict[str, Any] = {}
    for n in range(40):
        key, old = f"s.{n}", f"s.{n - 5}"
        # The uploads are large enough to fold the log into the main file a few times on the way.
        upload = bytes([n]) * 300_000
        await store.commit(Changes({key: n, old: DELETED}, {"n": n}, {"site": upload}))
        expected[key] = n
        expected.pop(old, None)
        copy = copy_as_after_a_crash(path, tmp_path / str(n))
        assert await content(copy) == (expected, {"n": n}, upload)
        shutil.rmtree(copy.parent)
    await store.close()


async def test_factory_reset_is_there_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.commit(Changes({f"s.{n}": n for n in range(500)}, {"n": 1}))
    await store.commit(Changes({"only": 1}, replace_settings=True))
    copy = copy_as_after_a_crash(path, tmp_path / "copy")
    assert await content(copy) == ({"only": 1}, {"n": 1}, None)
    await store.close()


class CrashedStore:
    """The files of a store that crashed after many commits, and what it held after each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.states: list[tuple[dict[str, Any], dict[str, Any], bytes | None]] = [({}, {}, None)]
        self._copies = itertools.count()
        asyncio.run(self._fill(folder / "running.db"))
        self.main = (folder / "crashed" / "store.db").read_bytes()
        self.log = (folder / "crashed" / "store.db-wal").read_bytes()

    async def _fill(self, path: Path) -> None:
        store = SqliteStore(path)
        rows: dict[str, Any] = {}
        for n in range(1, 13):
            changed = {f"s.{n}.{i}": "x" * 40 * n for i in range(3)} | {"n": n}
            await store.commit(Changes(changed, {"n": n}, {"site": bytes([n]) * 3000}))
            rows |= changed
            self.states.append((dict(rows), {"n": n}, bytes([n]) * 3000))
        copy_as_after_a_crash(path, self.folder / "crashed")
        await store.close()

    def commits_left_with(self, log: bytes) -> int:
        """How many commits a restart with this log finds; fails if it is not a whole number."""
        path = self.folder / f"restart{next(self._copies)}" / "store.db"
        path.parent.mkdir()
        path.write_bytes(self.main)
        Path(f"{path}-wal").write_bytes(log)
        found = asyncio.run(content(path))
        shutil.rmtree(path.parent)
        return self.states.index(found)


@pytest.fixture(scope="module")
def store_after_crash(tmp_path_factory: pytest.TempPathFactory) -> CrashedStore:
    return CrashedStore(tmp_path_factory.mktemp("crash"))


def test_log_cut_between_two_frames_leaves_the_first_commits_whole(
    store_after_crash: CrashedStore,
) -> None:
    frames = (len(store_after_crash.log) - LOG_HEADER) // LOG_FRAME
    assert frames > 20
    lengths = [LOG_HEADER + n * LOG_FRAME for n in range(frames + 1)]
    left = [
        store_after_crash.commits_left_with(store_after_crash.log[:length]) for length in lengths
    ]
    assert left == sorted(left)
    assert set(left) == set(range(len(store_after_crash.states)))


@examples(80)
@given(data=st.data())
def test_log_cut_anywhere_leaves_the_first_commits_whole(
    store_after_crash: CrashedStore, data: st.DataObject
) -> None:
    length = data.draw(st.integers(0, len(store_after_crash.log)))
    whole_frames = max(0, (length - LOG_HEADER) // LOG_FRAME)
    until_last_frame = store_after_crash.log[: LOG_HEADER + whole_frames * LOG_FRAME]
    left = store_after_crash.commits_left_with(store_after_crash.log[:length])
    assert left == store_after_crash.commits_left_with(
        until_last_frame if length >= LOG_HEADER else b""
    )


def flip(log: bytes, place: int, bits: int) -> bytes:
    return log[:place] + bytes([log[place] ^ bits]) + log[place + 1 :]


def zero(log: bytes, place: int, length: int) -> bytes:
    return log[:place] + bytes(len(log[place : place + length])) + log[place + length :]


@pytest.mark.parametrize(("damage", "size"), [(flip, 255), (zero, 2 * LOG_FRAME)])
@examples(60)
@given(data=st.data())
def test_log_damaged_anywhere_leaves_the_commits_before_the_damage_whole(
    store_after_crash: CrashedStore,
    damage: Callable[[bytes, int, int], bytes],
    size: int,
    data: st.DataObject,
) -> None:
    place = data.draw(st.integers(0, len(store_after_crash.log) - 1))
    damaged = damage(store_after_crash.log, place, data.draw(st.integers(1, size)))
    sound_frames = max(0, (place - LOG_HEADER) // LOG_FRAME)
    sound = (
        store_after_crash.log[: LOG_HEADER + sound_frames * LOG_FRAME]
        if place >= LOG_HEADER
        else b""
    )
    assert store_after_crash.commits_left_with(damaged) >= store_after_crash.commits_left_with(
        sound
    )
