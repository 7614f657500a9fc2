"""`leverframe data`: a data folder can be checked, repaired, shown and reset."""

import asyncio
import json
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.storage.snapshots import Snapshots
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Stored
from tests.host.maintenance.data_folder import fill


def load_stored(folder: Path) -> Stored:
    async def load() -> Stored:
        store = SqliteStore(folder / "store.db")
        try:
            return store.load()
        finally:
            await store.close()

    return asyncio.run(load())


def spoil(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    fill(path)
    return path


def test_check_says_whether_store_and_snapshots_are_sound(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "check", "--data", str(folder)]) == 0
    assert "is not damaged" in capsys.readouterr().out
    spoil(folder / "store.db")
    assert main(["data", "check", "--data", str(folder)]) == 1
    output = capsys.readouterr().out
    assert "damaged" in output
    assert "Snapshot 1 is not damaged" in output


def test_repair_uses_the_last_snapshot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spoil(folder / "store.db")
    assert main(["data", "repair", "--data", str(folder)]) == 0
    assert "snapshot-1.db" in capsys.readouterr().out
    assert load_stored(folder).settings["outputs.0.name"] == "Lamp"


def test_repair_saves_what_can_be_read_where_there_is_no_snapshot(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "snapshot-1.db").unlink()
    path = folder / "store.db"
    path.write_bytes(path.read_bytes().replace(b'"Lamp"', b'"Lam\xff"'))
    assert main(["data", "repair", "--data", str(folder)]) == 0
    assert "3 settings were recovered" in capsys.readouterr().out
    assert load_stored(folder).settings["access.required"] is True
    assert (folder / "damaged-1" / "store.db").exists()
    assert main(["data", "check", "--data", str(folder)]) == 0


def test_repair_leaves_a_sound_store_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = load_stored(folder)
    assert main(["data", "repair", "--data", str(folder)]) == 0
    assert "nothing needs repair" in capsys.readouterr().out
    assert load_stored(folder) == before


def test_show_prints_everything_but_secrets(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["data", "show", "--data", str(folder)]) == 0
    text = capsys.readouterr().out
    document = json.loads(text)
    assert document["settings"]["outputs.0.name"] == "Lamp"
    assert document["settings"]["email.password"] == "***"
    assert document["kept"] == {"energy.0": 1.5}
    assert "argon2" not in text


def test_reset_keeps_the_accounts(folder: Path) -> None:
    assert main(["data", "reset", "--data", str(folder)]) == 0
    assert set(load_stored(folder).settings) == {"access.admin.password", "access.required"}


def test_reset_with_accounts_leaves_no_secret_on_the_disk(folder: Path) -> None:
    Snapshots(folder / "store.db").take()
    sealed = load_stored(folder).settings["email.password"].encode()
    assert main(["data", "reset", "--accounts", "--data", str(folder)]) == 0
    assert load_stored(folder).settings == {}
    assert not (folder / "secrets.key").exists()
    for file in folder.iterdir():
        content = file.read_bytes()
        assert b"hash-of-the-admin" not in content, file
        assert sealed not in content, file


@pytest.mark.parametrize("task", ["check", "repair", "show", "reset"])
def test_folder_without_a_store_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    assert main(["data", task, "--data", str(tmp_path)]) == 2
    assert "contains no store" in capsys.readouterr().err
