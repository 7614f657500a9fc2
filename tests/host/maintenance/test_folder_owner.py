"""The folder of a stopped controller stays its owner's, and a missing one is never made."""

import io
import os
import stat
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, with_value
from leverframe.host.command_line.table import COMMANDS
from leverframe.host.command_line.task import DATA, Group
from leverframe.storage.backup import encode_backup
from leverframe.storage.datafolder import DataFolder, FolderUnusable
from leverframe.storage.history.chunks import ChunkStore
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.private_files import create_private
from tests.host.controller_process import controller_process
from tests.host.maintenance.data_folder import fill

#: A user and a group that do not exist.
OWNER = (47110, 47111)
#: What each task with a data folder needs besides.
ARGUMENTS = {
    "passwd": ["--generate"],
    "backup create": ["new.bin", "--passphrase"],
    "backup restore": ["a.bin", "--passphrase"],
    "data check": [],
    "data repair": [],
    "data show": [],
    "data export": [],
    "data reset": ["--accounts"],
    "site reset": [],
}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can leave files of root behind")
every_task = pytest.mark.parametrize("task", ARGUMENTS)


def test_every_task_with_a_data_folder_is_tried_here() -> None:
    groups = [
        (f"{command.name} " if isinstance(command, Group) else "", task)
        for command in COMMANDS
        # Those of a node's folder are tried in `tests/fleet/test_moving.py`.
        if command.name != "fleet"
        for task in (command.tasks if isinstance(command, Group) else (command,))
    ]
    assert {group + task.name for group, task in groups if task.config == DATA} == set(ARGUMENTS)


@pytest.fixture(autouse=True)
def backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that changes a secret, so that key and snapshots are created again."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("correct horse\n"))
    tree = with_value(defaults(Profile()), "email.password", "hunter2 of the mail")
    (tmp_path / "a.bin").write_bytes(encode_backup(Profile(), tree, "correct horse"))


def run(task: str, folder: Path) -> int:
    return main([*task.split(), *ARGUMENTS[task], "--data", str(folder)])


def owners(folder: Path) -> dict[str, tuple[int, int]]:
    found = {path.name: path.lstat() for path in folder.rglob("*")}
    return {name: (state.st_uid, state.st_gid) for name, state in found.items()}


def hand_over(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, *OWNER)


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[100:4096] = b"\xff" * (4096 - 100)
    path.write_bytes(content)


@as_root
@every_task
def test_root_leaves_the_files_to_the_owner_of_the_folder(tmp_path: Path, task: str) -> None:
    folder = tmp_path / "data"
    fill(folder)
    ChunkStore(folder / "history.db", Bounds().max_bytes).close()
    hand_over(folder)
    run(task, folder)
    assert set(owners(folder).values()) == {OWNER}
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@as_root
@pytest.mark.parametrize("task", ["passwd", "backup restore"])
def test_root_begins_an_empty_folder_for_its_owner(tmp_path: Path, task: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    hand_over(folder)
    assert run(task, folder) == 0
    assert "store.db" in owners(folder)
    assert set(owners(folder).values()) == {OWNER}


@as_root
def test_root_repairs_and_sets_aside_for_the_owner(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    for damaged in (["store.db"], ["store.db", "snapshot-1.db"]):
        if not folder.exists():
            fill(folder)
        ChunkStore(folder / "history.db", Bounds().max_bytes).close()
        for name in [*damaged, "history.db"]:
            damage(folder / name)
        hand_over(folder)
        assert run("data repair", folder) == 0
        assert "damaged-1" in owners(folder)
        assert set(owners(folder).values()) == {OWNER}


@pytest.mark.thorough
@as_root
def test_controller_that_root_runs_leaves_the_files_to_the_owner(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    hand_over(tmp_path / "data")
    with controller_process(tmp_path, "--tls") as process:
        running = owners(process.folder)
    found = running | owners(process.folder)
    assert {"lock", "store.db-wal", "history.db", "snapshot-1.db", "tls-key.pem"} <= set(found)
    assert set(found.values()) == {OWNER}


@as_root
def test_root_follows_no_link_that_the_owner_of_the_folder_has_laid(tmp_path: Path) -> None:
    precious, folder = tmp_path / "precious", tmp_path / "data"
    precious.write_text("of root")
    folder.mkdir()
    (folder / "lock").symlink_to(precious)
    os.chown(folder, *OWNER)
    with pytest.raises(FolderUnusable):
        DataFolder(folder)
    assert precious.read_text() == "of root"
    assert precious.stat().st_uid == 0


@as_root
def test_file_that_cannot_be_handed_over_is_not_left_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_named: object) -> None:
        raise PermissionError

    os.chown(tmp_path, *OWNER)
    monkeypatch.setattr(os, "chown", refuse)
    with pytest.raises(PermissionError):
        create_private(tmp_path / "key")
    assert not (tmp_path / "key").exists()


@every_task
def test_missing_folder_is_a_mistake_and_nothing_is_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    mistyped = tmp_path / "dta"
    assert run(task, mistyped) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"The folder {mistyped} does not exist. " in output.err
    assert output.err.count("\n") == 1
    assert not mistyped.exists()


@pytest.mark.parametrize("file", ["fleet.db", "fleet.key"])
@pytest.mark.parametrize("task", [*sorted(ARGUMENTS.keys() - {"passwd"}), "what-if", "run"])
def test_folder_of_a_node_is_refused_and_nothing_is_created(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, file: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / file).write_bytes(b"of a node")
    more = {"what-if": ["--commands", "a.txt"], "run": ["--port", "0"], **ARGUMENTS}[task]
    assert main([*task.split(), *more, "--data", str(folder)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"{folder} is the folder of a node, not of a single controller" in output.err
    assert f"`leverframe fleet run --data {folder}`" in output.err
    assert [path.name for path in folder.iterdir()] == [file]
