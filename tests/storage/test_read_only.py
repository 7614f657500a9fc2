"""A store that can be read but not written, and what is opened at a start in such cases."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from leverframe.storage.datafolder import DataFolder, FolderUnusable
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import ReadOnlyStore, SqliteStore, open_read_only, open_store
from leverframe.storage.store import Changes, StoreUnavailable
from tests.storage.test_sqlite_opening import (
    DUMPS,
    KEPT,
    PICTURE,
    SETTINGS,
    database_from_dump,
    run_sql,
)

REFUSAL = StoreUnavailable("The store cannot be written: Read-only file system.")
WHAT_TO_DO = "Nothing can be saved until this is fixed and the controller is restarted."
CHANGES = Changes({"outputs.0.name": "Pump"}, {"energy.0": 1.5}, {"picture": b"p"}, False, {7: "m"})


@pytest.fixture
async def path(tmp_path: Path) -> AsyncIterator[Path]:
    """A store as a kill leaves it: what it holds is in its log alone."""
    used, left = tmp_path / "used", tmp_path / "left"
    used.mkdir()
    left.mkdir()
    store = SqliteStore(used / "store.db")
    await store.commit(CHANGES)
    for file in ("store.db", "store.db-wal"):
        shutil.copy(used / file, left / file)
    yield left / "store.db"
    await store.close()


async def assert_is_all_there(store: ReadOnlyStore) -> None:
    stored = store.load()
    assert (stored.settings, stored.kept) == (CHANGES.settings, CHANGES.kept)
    assert await store.blob("picture") == b"p"
    assert await store.blob("site") is None
    assert store.messages() == {7: "m"}


def files_in(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


async def test_store_is_read_with_its_log_and_no_file_is_touched(path: Path) -> None:
    before = files_in(path.parent)
    await assert_is_all_there(open_read_only(path, REFUSAL))
    assert files_in(path.parent) == before


READ = """
import sys, tempfile
from pathlib import Path
from leverframe.storage.sqlite import open_read_only
from leverframe.storage.store import StoreUnavailable
print(tempfile.gettempdir(), len(open_read_only(Path(sys.argv[1]), StoreUnavailable()).messages()))
"""


def test_copy_that_is_read_is_gone_afterwards(path: Path, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir()
    read = subprocess.run(
        [sys.executable, "-c", READ, str(path)],
        env={**os.environ, "TMPDIR": str(private)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert read.stdout.split() == [str(private), "1"]
    assert list(private.iterdir()) == []


async def test_every_change_fails_with_the_reason_and_changes_nothing(path: Path) -> None:
    store = open_read_only(path, REFUSAL)
    with pytest.raises(StoreUnavailable) as refused:
        await store.commit(Changes({"outputs.0.name": "Lamp"}))
    assert str(refused.value) == f"{REFUSAL} {WHAT_TO_DO}"
    await assert_is_all_there(store)


async def test_damaged_store_that_cannot_be_replaced_gives_way_to_its_snapshot(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    await store.commit(CHANGES)
    await store.close()
    Snapshots(path).take()
    os.truncate(path, 5000)
    read = open_read_only(path, REFUSAL)
    await assert_is_all_there(read)
    assert read.sentence == (
        f"{REFUSAL} The last good snapshot (snapshot-1.db) is in use. {WHAT_TO_DO}"
    )


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_store_in_an_older_format_is_read_as_it_would_be_opened(
    dump: Path, tmp_path: Path
) -> None:
    path = database_from_dump(dump, tmp_path / "store.db")
    # The dumps hold every kind of value, also where no setting has it.
    run_sql(path, "DELETE FROM setting WHERE path = 'rules.0.depends'")
    before = path.read_bytes()
    read = open_read_only(path, REFUSAL)
    settings = {path: value for path, value in SETTINGS.items() if path != "rules.0.depends"}
    assert (read.load().settings, read.load().kept) == (settings, KEPT)
    assert await read.blob("picture") == PICTURE
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [None, b"", b"something else" * 1000])
def test_refusal_stands_where_there_is_nothing_to_read(
    tmp_path: Path, content: bytes | None
) -> None:
    path = tmp_path / "store.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(StoreUnavailable) as refused:
        open_read_only(path, REFUSAL)
    assert refused.value is REFUSAL


async def test_unclosed_store_without_its_log_is_reported(path: Path) -> None:
    (path.parent / "store.db-wal").unlink()
    opened = open_store(path, was_closed=False)
    await opened.store.close()
    assert "log" in opened.troubles["recovery"]
    assert "missing" in opened.troubles["recovery"]


async def test_store_that_has_its_log_or_was_closed_is_not_worth_a_word(path: Path) -> None:
    for was_closed in (False, True):
        opened = open_store(path, was_closed=was_closed)
        await opened.store.close()
        assert opened.troubles == {}
    assert not (path.parent / "store.db-wal").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
async def test_folder_of_another_user_is_read_and_an_empty_folder_refused(path: Path) -> None:
    DataFolder(path.parent).close()
    path.parent.chmod(0o500)
    try:
        with DataFolder(path.parent, reading_will_do=True) as folder:
            opened = open_store(folder.store_path)
        assert isinstance(opened.store, ReadOnlyStore)
        await assert_is_all_there(opened.store)
        assert "no write permission for the data folder" in opened.troubles["store"]
        await asyncio.to_thread(path.chmod, 0o400)
        assert "Permission denied" in open_store(path).troubles["store"]
    finally:
        path.parent.chmod(0o700)
    empty = path.parent / "empty"
    empty.mkdir(mode=0o500)
    with pytest.raises(FolderUnusable, match="Permission denied"):
        DataFolder(empty, reading_will_do=True)
