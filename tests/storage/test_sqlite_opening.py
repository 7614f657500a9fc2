"""Opening the store's file: old formats, foreign and damaged files, who may read it.

`tests/fixtures/databases/` holds one dump per format that was ever shipped, made with the content
below. A new migration leaves them as they are and adds one.
"""

import asyncio
import contextlib
import os
import re
import sqlite3
import stat
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.sqlite_file import (
    StoreDamaged,
    StoreTooNew,
    migrate,
    open_file,
    read_migrations,
)
from leverframe.storage.store import Changes, StoreUnavailable
from tests.effort import examples

DUMPS = sorted((Path(__file__).parent.parent / "fixtures" / "databases").glob("v*.sql"))
FIRST_FORMAT = DUMPS[0]
SETTINGS = {
    "email.password": "gr\u00fcn & \u201eleise\u201c",
    "outputs.0.name": "Pump",
    "outputs.0.remember": True,
    "pid.target": 21.5,
    "rules.0.depends": None,
}
KEPT = {"energy.0": 12.345, "output.0": True}
PICTURE = b"\x89PNG\r\n\x00"
PRESENT_FORMAT = len(read_migrations())


def database_from_dump(dump: Path, path: Path) -> Path:
    run_sql(path, dump.read_text(encoding="utf-8"))
    return path


def run_sql(path: Path, script: str) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def ask(path: Path, question: str) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(path)
    answer = connection.execute(question).fetchall()
    connection.close()
    return answer


def schema(path: Path) -> list[tuple[Any, ...]]:
    return ask(path, "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY name")


async def make_store(path: Path) -> None:
    store = SqliteStore(path)
    await store.commit(Changes(dict(SETTINGS), dict(KEPT), {"picture": PICTURE}))
    await store.close()


def test_every_format_has_a_dump() -> None:
    assert [dump.name for dump in DUMPS] == [f"v{n + 1}.sql" for n in range(PRESENT_FORMAT)]


def test_migrations_are_numbered_without_a_hole() -> None:
    folder = resources.files("leverframe.storage") / "migrations"
    names = sorted(script.name for script in folder.iterdir())
    assert all(re.fullmatch(r"\d{3}_[a-z_]+\.sql", name) for name in names)
    assert [int(name[:3]) for name in names] == list(range(1, len(names) + 1))


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_old_database_opens_twice_with_all_it_held(dump: Path, tmp_path: Path) -> None:
    path = database_from_dump(dump, tmp_path / "store.db")
    for _ in range(2):
        store = SqliteStore(path)
        stored = store.load()
        assert (stored.settings, stored.kept, await store.blob("picture")) == (
            SETTINGS,
            KEPT,
            PICTURE,
        )
        await store.close()
        assert ask(path, "PRAGMA user_version") == [(PRESENT_FORMAT,)]


@pytest.mark.parametrize("dump", DUMPS, ids=lambda dump: dump.stem)
async def test_old_database_gets_the_same_tables_as_a_new_one(dump: Path, tmp_path: Path) -> None:
    await SqliteStore(tmp_path / "new.db").close()
    path = database_from_dump(dump, tmp_path / "old.db")
    await SqliteStore(path).close()
    assert schema(path) == schema(tmp_path / "new.db")


def test_migration_that_fails_leaves_the_format_before_it() -> None:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    broken = ["CREATE TABLE a (x);", "CREATE TABLE b (x); INSERT INTO nowhere VALUES (1);"]
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, broken)
    assert connection.execute("PRAGMA user_version").fetchone() == (1,)
    assert connection.execute("SELECT name FROM sqlite_schema").fetchall() == [("a",)]
    repaired = [broken[0], "CREATE TABLE b (x);"]
    migrate(connection, repaired)
    migrate(connection, repaired)
    assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()


async def test_store_is_copied_before_its_format_changes_and_restored_from_the_copy(
    tmp_path: Path,
) -> None:
    path = database_from_dump(FIRST_FORMAT, tmp_path / "store.db")
    before = schema(path)
    for _ in range(2):
        await SqliteStore(path).close()
    copy = tmp_path / "store-format-1.db"
    assert ask(copy, "PRAGMA user_version") == [(1,)]
    assert schema(copy) == before
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o600
    assert sorted(os.listdir(tmp_path)) == [
        "store-format-1.db",
        "store.db",
        "store.db-sums",
    ]
    os.replace(copy, path)
    store = SqliteStore(path)
    assert store.load().settings == SETTINGS
    await store.close()


async def test_new_store_and_one_in_the_present_format_are_not_copied(tmp_path: Path) -> None:
    for _ in range(2):
        await SqliteStore(tmp_path / "store.db").close()
    assert sorted(os.listdir(tmp_path)) == ["store.db", "store.db-sums"]


async def test_newer_database_is_refused_by_both_numbers_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    run_sql(path, f"PRAGMA user_version = {PRESENT_FORMAT + 1}")
    before = path.read_bytes()
    with pytest.raises(StoreTooNew) as refused:
        SqliteStore(path)
    assert f"has format {PRESENT_FORMAT + 1}" in str(refused.value)
    assert f"formats up to {PRESENT_FORMAT}." in str(refused.value)
    assert path.read_bytes() == before


def garble_start(path: Path) -> None:
    path.write_bytes(b"something else" + path.read_bytes()[14:])


def garble_a_page(path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xaa" * 4096 + whole[8192:])


def cut_in_half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def break_a_value(path: Path) -> None:
    run_sql(path, "UPDATE setting SET value = '{' WHERE path = 'pid.target'")


def drop_a_table(path: Path) -> None:
    run_sql(path, "DROP TABLE kept")


@pytest.mark.parametrize(
    "damage", [garble_start, garble_a_page, cut_in_half, break_a_value, drop_a_table]
)
async def test_damaged_database_is_refused_in_plain_words(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    damage(path)
    with pytest.raises(StoreDamaged, match=r"store\.db is damaged \(.+\)\."):
        await open_and_read(path)


async def test_refusal_does_not_repeat_the_value_it_could_not_read(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await make_store(path)
    run_sql(path, "UPDATE setting SET value = CAST(X'22736563726574FF22' AS TEXT)")
    with pytest.raises(StoreDamaged) as refused:
        await open_and_read(path)
    assert "secret" not in str(refused.value)


async def open_and_read(path: Path) -> None:
    store = SqliteStore(path)
    try:
        store.load()
        await store.blob("picture")
    finally:
        await store.close()


@pytest.fixture(scope="module")
def sound_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "store.db"
    asyncio.run(make_store(path))
    return path


@examples(100)
@given(data=st.data())
def test_file_with_foreign_bytes_is_read_or_refused_in_plain_words(
    sound_file: Path, data: st.DataObject
) -> None:
    garbled = bytearray(sound_file.read_bytes())
    # Most of the file is empty space: aim at the places that mean something.
    nonzero = [n for n, byte in enumerate(garbled) if byte]
    for place in data.draw(st.lists(st.sampled_from(nonzero), min_size=1, max_size=5)):
        garbled[place] = data.draw(st.integers(0, 255))
    copy = sound_file.with_name("garbled.db")
    copy.write_bytes(garbled)
    with contextlib.suppress(StoreDamaged, StoreTooNew, StoreUnavailable):
        asyncio.run(open_and_read(copy))
    for file in copy.parent.glob("garbled.db*"):
        file.unlink()


def test_place_that_cannot_be_written_is_refused_in_plain_words(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match=r"cannot be used: Is a directory\."):
        SqliteStore(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"cannot be used: No such file or directory\."):
        SqliteStore(tmp_path / "missing" / "store.db")


def test_commit_is_on_the_disk_before_it_is_acknowledged(tmp_path: Path) -> None:
    connection = open_file(tmp_path / "store.db")
    pragmas = ("journal_mode", "synchronous", "secure_delete")
    found = [connection.execute(f"PRAGMA {pragma}").fetchone()[0] for pragma in pragmas]
    connection.close()
    full, fast = 2, 2
    assert found == ["wal", full, fast]


def test_no_temporary_file_holds_what_is_replaced(tmp_path: Path) -> None:
    connection = open_file(tmp_path / "store.db")
    in_memory = 2
    assert connection.execute("PRAGMA temp_store").fetchone() == (in_memory,)
    connection.close()


def modes_of_files(folder: Path) -> dict[str, str]:
    return {file.name: oct(file.stat().st_mode & 0o777) for file in folder.iterdir()}


async def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(mode=0o644)
    store = SqliteStore(path)
    await store.commit(Changes(settings={"a": 1}))
    assert modes_of_files(tmp_path) == dict.fromkeys(
        ["store.db", "store.db-shm", "store.db-sums", "store.db-wal"], "0o600"
    )
    await store.close()


async def test_closed_store_has_no_log(tmp_path: Path) -> None:
    await make_store(tmp_path / "store.db")
    assert sorted(modes_of_files(tmp_path)) == ["store.db", "store.db-sums"]
