"""`leverframe data` and the history: it is checked, set aside when damaged, and written as CSV."""

from contextlib import closing
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds, Compactor
from tests.host.maintenance.data_folder import fill

START = 1767571200.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    fill(path)
    with closing(ChunkStore(path / "history.db", Bounds().max_bytes)) as chunk_store:
        compactor = Compactor(chunk_store, Bounds())
        compactor.add([(START, "DS1", 20.0), (START, "OUT0", 0), (START + 60, "DS1", 21.5)])
        compactor.add([(START + 120, "OUT0", 1)])
    return path


def export(folder: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    assert main(["data", "export", "--data", str(folder), *arguments]) == 0
    return capsys.readouterr().out.splitlines()


def test_everything_is_written_without_further_words(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(folder, capsys) == [
        "time,DS1,OUT0",
        "2026-01-05T00:00:00.000Z,20,0",
        "2026-01-05T00:01:00.000Z,21.5,0",
        "2026-01-05T00:02:00.000Z,21.5,1",
    ]


def test_labels_and_times_choose_what_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    span = ("--from", "2026-01-05T00:00:30", "--to", "1767571290")
    assert export(folder, capsys, "--labels", "DS1", *span) == [
        "time,DS1",
        "2026-01-05T00:00:30.000Z,20",
        "2026-01-05T00:01:00.000Z,21.5",
    ]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--labels", "DS9"), "Unknown label 'DS9'"),
        (("--from", "yesterday"), "is not a time"),
        (("--from", "2030-01-01"), "The history has no values in this period"),
        (("-o", "/nowhere/at/all.csv"), "cannot be written"),
    ],
)
def test_mistake_is_reported_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, str], says: str
) -> None:
    assert main(["data", "export", "--data", str(folder), *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert says in line


def test_folder_without_history_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(tmp_path / "data")
    assert main(["data", "export", "--data", str(tmp_path / "data")]) == 2
    assert "no history" in capsys.readouterr().err


def test_damaged_history_is_found_and_set_aside_by_repair(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "history.db").write_bytes(b"nothing that a database begins with" * 200)
    assert main(["data", "check", "--data", str(folder)]) == 1
    assert main(["data", "repair", "--data", str(folder)]) == 0
    assert (folder / "damaged-1" / "history.db").exists()
    assert main(["data", "check", "--data", str(folder)]) == 0
