"""What a kill, a power cut or a bad disk leaves of the store's files, and what is reported."""

import asyncio
import shutil
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.__main__ import main
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from leverframe.storage.history.rows import RAW
from leverframe.storage.page_sums import read_sums
from leverframe.storage.sqlite import SqliteStore, open_read_only, open_store
from leverframe.storage.sqlite_log import (
    index_path,
    log_path,
    read_index,
    read_log,
    recoverable_frames,
)
from leverframe.storage.store import Changes, StoreUnavailable
from leverframe.storage.unclean_stop import secure
from tests.effort import examples
from tests.storage.history_model import START

HEADER, FRAME = 32, 24 + 4096
LAST = "outputs.0.name"


class Killed:
    """A store that was killed after a few commits, and again in the middle of one more."""

    def __init__(self, folder: Path) -> None:
        self.before, self.after = folder / "before", folder / "after"
        asyncio.run(self._live(folder / "running" / "store.db"))

    async def _live(self, path: Path) -> None:
        path.parent.mkdir()
        store = SqliteStore(path)
        await store.commit(Changes(settings={f"outputs.{n}.name": "first" for n in range(6)}))
        store.settle()
        for number in range(8):
            await store.commit(Changes(settings={LAST: str(number)}))
        shutil.copytree(path.parent, self.before)
        await store.commit(Changes(settings={LAST: "last", "x": "y" * 20_000}))
        shutil.copytree(path.parent, self.after)
        await store.close()


@pytest.fixture(scope="module")
def store_after_kill(tmp_path_factory: pytest.TempPathFactory) -> Killed:
    return Killed(tmp_path_factory.mktemp("killed"))


@pytest.fixture
def path(store_after_kill: Killed, tmp_path: Path) -> Path:
    """The files of a store that was killed between two commits."""
    shutil.copytree(store_after_kill.before, tmp_path / "data")
    return tmp_path / "data" / "store.db"


def flip(file: Path, place: int) -> None:
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


def flip_in_value(file: Path, name: bytes) -> None:
    flip(file, file.read_bytes().index(name) + len(name) + 2)


async def start_after_kill(path: Path, *, was_closed: bool = False) -> tuple[str | None, str]:
    """What is reported at a start, and the value that was set last."""
    found = open_store(path, was_closed=was_closed)
    value = found.store.load().settings[LAST]
    await found.store.close()
    return found.troubles.get("recovery"), value


def frames(path: Path) -> int:
    found = read_log(path)
    assert found is not None
    return found.frames


async def test_log_without_damage_is_not_reported(path: Path) -> None:
    assert await start_after_kill(path) == (None, "7")
    assert not list(path.parent.glob("damaged-*"))


@pytest.mark.parametrize("back", [1, 2, 5, 10])
async def test_flipped_bit_in_the_log_is_reported_and_the_files_are_kept(
    path: Path, back: int
) -> None:
    flip(log_path(path), HEADER + (frames(path) - back) * FRAME + 1000)
    damaged = log_path(path).read_bytes()
    report, value = await start_after_kill(path)
    assert report is not None
    assert "log" in report
    assert value != "7"
    aside = path.parent / "damaged-1"
    assert (aside / "store.db-wal").read_bytes() == damaged
    assert (aside / "store.db-wal").stat().st_mode & 0o777 == 0o600
    assert (aside / "store.db-shm").exists()


async def test_report_outlasts_restarts_until_the_copies_are_removed(path: Path) -> None:
    flip(log_path(path), HEADER + 1000)
    first, value = await start_after_kill(path)
    again, same = await start_after_kill(path)
    assert first == again is not None
    assert value == same
    assert [one.name for one in path.parent.glob("damaged-*")] == ["damaged-1"]
    shutil.rmtree(path.parent / "damaged-1")
    assert await start_after_kill(path) == (None, value)


async def test_log_that_is_wholly_in_the_main_file_may_be_damaged(tmp_path: Path) -> None:
    running, copy = tmp_path / "running", tmp_path / "copy"
    running.mkdir()
    store = SqliteStore(running / "store.db")
    await store.commit(Changes(settings={LAST: "a"}))
    await store.commit(Changes(settings={LAST: "b"}))
    store.settle()
    await asyncio.to_thread(shutil.copytree, running, copy)
    await store.close()
    flip(log_path(copy / "store.db"), HEADER + 1000)
    assert await start_after_kill(copy / "store.db") == (None, "b")


@examples(60)
@given(cut=st.floats(0, 1))
def test_interrupted_transaction_is_not_reported(
    store_after_kill: Killed, tmp_path_factory: pytest.TempPathFactory, cut: float
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    shutil.copytree(store_after_kill.before, folder, dirs_exist_ok=True)
    before, after = (
        log_path(one / "store.db") for one in (store_after_kill.before, store_after_kill.after)
    )
    length = before.stat().st_size + int(cut * (after.stat().st_size - before.stat().st_size))
    log_path(folder / "store.db").write_bytes(after.read_bytes()[:length])
    value = "last" if length == after.stat().st_size else "7"
    assert asyncio.run(start_after_kill(folder / "store.db")) == (None, value)
    shutil.rmtree(folder)


@examples(60)
@given(data=st.data())
def test_power_cut_in_a_transaction_is_not_reported(
    store_after_kill: Killed, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any of its frames may have reached the disk, and the index is of before or is missing."""
    folder = tmp_path_factory.mktemp("power")
    shutil.copytree(store_after_kill.before, folder, dirs_exist_ok=True)
    path = folder / "store.db"
    content = bytearray((store_after_kill.after / "store.db-wal").read_bytes())
    first, end = frames(path), (len(content) - HEADER) // FRAME
    for number in data.draw(st.sets(st.integers(first, end - 1), min_size=1)):
        start = HEADER + number * FRAME
        content[start : start + FRAME] = bytes(FRAME)
    log_path(path).write_bytes(content)
    if data.draw(st.booleans()):
        index_path(path).unlink()
    assert asyncio.run(start_after_kill(path)) == (None, "7")
    shutil.rmtree(folder)


@examples(40)
@given(data=st.data())
def test_frames_are_counted_as_sqlite_counts_them(
    store_after_kill: Killed, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("counted")
    shutil.copytree(store_after_kill.after, folder, dirs_exist_ok=True)
    log = log_path(folder / "store.db")
    flip(log, data.draw(st.integers(HEADER, log.stat().st_size - 1)))
    with log.open("rb") as file:
        assert recoverable_frames(file) == frames(folder / "store.db")
    shutil.rmtree(folder)


async def test_damage_in_the_middle_is_reported_also_without_an_index(path: Path) -> None:
    flip(log_path(path), HEADER + 1000)
    index_path(path).unlink()
    report, _ = await start_after_kill(path)
    assert report is not None


async def test_log_that_is_missing_without_an_index_is_reported(path: Path) -> None:
    log_path(path).unlink()
    index_path(path).unlink()
    report, _ = await start_after_kill(path)
    assert report is not None


async def test_kill_before_the_first_transaction_is_not_reported(path: Path) -> None:
    DataFolder(path.parent).close()
    await start_after_kill(path)
    with DataFolder(path.parent):
        assert not log_path(path).exists()
        assert await start_after_kill(path) == (None, "7")


def test_frames_of_a_transaction_that_was_rolled_back_are_not_reported(tmp_path: Path) -> None:
    running, path = tmp_path / "running.db", tmp_path / "killed.db"
    connection = sqlite3.connect(running, isolation_level=None)
    for statement in (
        *("PRAGMA journal_mode = WAL", "PRAGMA wal_autocheckpoint = 0", "PRAGMA cache_size = 5"),
        *("CREATE TABLE t (x)", "INSERT INTO t VALUES ('acknowledged')"),
        *("BEGIN", f"INSERT INTO t VALUES (hex(zeroblob({100 * 4096})))", "ROLLBACK"),
        "INSERT INTO t VALUES ('later')",
    ):
        connection.execute(statement).fetchall()
    for beside in ("", "-wal", "-shm"):
        shutil.copyfile(f"{running}{beside}", f"{path}{beside}")
    connection.close()
    found, index = read_log(path), read_index(index_path(path))
    assert found is not None
    assert index is not None
    assert log_path(path).stat().st_size > found.frame_end(found.frames) + 20 * FRAME
    assert found.frames == index.frames
    assert secure(path) is None
    index_path(path).unlink()
    assert secure(path) is None


def zero_the_frames(index: bytes) -> bytes:
    return index[:16] + struct.pack("=I", 1) + index[20:]


@pytest.mark.parametrize("damage", [lambda _: b"", lambda index: index[:50], zero_the_frames])
async def test_damaged_index_alone_loses_nothing(
    path: Path, damage: Callable[[bytes], bytes]
) -> None:
    index_path(path).write_bytes(damage(index_path(path).read_bytes()))
    assert await start_after_kill(path) == (None, "7")


async def test_flipped_bit_in_a_value_of_the_main_file_is_reported(path: Path) -> None:
    await start_after_kill(path)
    flip_in_value(path, b"outputs.3.name")
    report, _ = await start_after_kill(path)
    assert report is not None
    assert "1 of its pages" in report
    assert (path.parent / "damaged-1" / "store.db").exists()


async def test_store_that_an_older_program_has_written_is_not_compared(path: Path) -> None:
    DataFolder(path.parent).close()
    await start_after_kill(path)
    assert read_sums(path) is not None
    connection = sqlite3.connect(path)
    connection.execute("UPDATE setting SET value = '\"by an older one\"'")
    connection.commit()
    connection.close()
    (path.parent / "lock").write_bytes(b"")
    with DataFolder(path.parent):
        assert await start_after_kill(path, was_closed=True) == (None, "by an older one")


def test_store_that_another_program_uses_is_left_alone(path: Path) -> None:
    program = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); "
        "c.execute('SELECT * FROM setting').fetchall(); print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout is not None
        other.stdout.readline()
        before = log_path(path).read_bytes()
        flip(log_path(path), HEADER + 1000)
        assert secure(path) is None
        assert len(before) == log_path(path).stat().st_size
        other.communicate()


def test_check_of_the_data_folder_reports_a_damaged_log(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(log_path(path), HEADER + 1000)
    assert main(["data", "check", "--data", str(path.parent)]) == 1
    assert "store.db-wal is damaged or missing" in capsys.readouterr().out
    report, _ = asyncio.run(start_after_kill(path))
    assert report is not None


async def test_result_of_a_maintenance_command_is_shown_by_the_next_start(path: Path) -> None:
    flip(log_path(path), HEADER + 1000)
    await SqliteStore(path).close()
    report, _ = await start_after_kill(path)
    assert report is not None


async def test_damaged_log_on_a_disk_that_cannot_be_written_is_reported(path: Path) -> None:
    flip(log_path(path), HEADER + (frames(path) - 1) * FRAME + 1000)
    files = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    store = open_read_only(path, StoreUnavailable("The disk is read-only."))
    assert str(log_path(path)) in store.sentence
    assert store.load().settings[LAST] == "6"
    assert files == {file.name: file.read_bytes() for file in path.parent.iterdir()}


# --- the history ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder_with_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a program that was killed while it recorded a history."""
    running, killed = (tmp_path_factory.mktemp("recorded") / name for name in ("running", "killed"))
    with (
        DataFolder(running) as folder,
        closing(ChunkStore(folder.history_path, Bounds().max_bytes)) as chunk_store,
    ):
        compactor = Compactor(chunk_store, Bounds())
        for minute in range(20):
            compactor.add([(START + 60.0 * minute, "DS1", float(minute))])
        shutil.copytree(running, killed)
    return killed


def start_on_history(folder: Path) -> str | None:
    with DataFolder(folder) as held:
        store = open_store(held.store_path, killed_history=held.killed_history)
        asyncio.run(store.store.close())
        with closing(ChunkStore(held.history_path, Bounds().max_bytes)) as chunk_store:
            assert chunk_store.since(RAW) == START
    return store.troubles.get("recovery")


def history_of(folder_with_history: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder_with_history, tmp_path / "data")) / "history.db"


def test_history_that_was_only_killed_is_not_reported(
    folder_with_history: Path, tmp_path: Path
) -> None:
    path = history_of(folder_with_history, tmp_path)
    assert start_on_history(path.parent) is None
    assert not list(path.parent.glob("damaged-*"))


@pytest.mark.parametrize("back", [1, 2, 7])
def test_flipped_bit_in_the_log_of_the_history_is_reported(
    folder_with_history: Path, tmp_path: Path, back: int
) -> None:
    path = history_of(folder_with_history, tmp_path)
    flip(log_path(path), HEADER + (frames(path) - back) * FRAME + 1000)
    report = start_on_history(path.parent)
    assert report is not None
    assert "The latest values and journal entries are lost" in report
    assert (path.parent / "damaged-1" / "history.db-wal").exists()
    assert start_on_history(path.parent) == report


def test_history_after_a_power_cut_is_not_reported(
    folder_with_history: Path, tmp_path: Path
) -> None:
    """Without waiting for the disk, the end of the log may be missing, and the index be older."""
    path = history_of(folder_with_history, tmp_path)
    lock = path.with_name("lock")
    number, _, _ = lock.read_text().partition("\n")
    lock.write_text(f"{number}\n".ljust(32, "\n") + "another start of the machine")
    flip(log_path(path), HEADER + (frames(path) - 2) * FRAME + 1000)
    assert start_on_history(path.parent) is None
