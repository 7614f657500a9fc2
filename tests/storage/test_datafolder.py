"""The data folder: one process at a time, and only its owner may look inside."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from leverframe.storage.datafolder import (
    DataFolder,
    FolderInUse,
    FolderOpenToOthers,
    FolderUnusable,
)

HOLD_UNTIL_INPUT = """
import sys
from pathlib import Path
from leverframe.storage.datafolder import DataFolder
folder = DataFolder(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o777)


def test_new_folder_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    with DataFolder(tmp_path / "deep" / "data") as folder:
        assert mode(folder.path) == "0o700"
        assert mode(folder.path / "lock") == "0o600"
        assert folder.store_path.parent == folder.path


def test_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    with DataFolder(tmp_path):
        assert mode(tmp_path) == "0o755"


def test_folder_in_which_all_users_may_replace_files_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(
        FolderOpenToOthers, match=f"Remove that permission with `chmod o-w {tmp_path}`"
    ):
        DataFolder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_folder_to_which_all_users_may_add_files_causes_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tmp_path.chmod(0o1777)
    with DataFolder(tmp_path):
        (line,) = caplog.messages
    assert "All users of this machine can write to the data folder" in line
    caplog.clear()
    tmp_path.chmod(0o770)
    with DataFolder(tmp_path):
        assert caplog.messages == []


@pytest.mark.parametrize("name", ["store.db", "secrets.key"])
def test_store_that_others_may_write_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    (tmp_path / name).chmod(0o666)
    tmp_path.chmod(0o755)
    with pytest.raises(FolderOpenToOthers, match=f"Other users can write .*{name}"):
        DataFolder(tmp_path)
    # No other user reaches it there.
    tmp_path.chmod(0o700)
    DataFolder(tmp_path).close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can create files of another user")
def test_store_of_another_user_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    (tmp_path / "store.db").touch(0o600)
    DataFolder(tmp_path).close()
    os.chown(tmp_path / "store.db", 47110, 47110)
    with pytest.raises(FolderOpenToOthers, match="or another user created this file"):
        DataFolder(tmp_path)


def test_folder_in_use_is_refused_and_the_holder_named(tmp_path: Path) -> None:
    with DataFolder(tmp_path), pytest.raises(FolderInUse) as refused:
        DataFolder(tmp_path)
    assert str(refused.value) == (
        f"The data folder {tmp_path} is in use by process {os.getpid()}; "
        "stop it or choose another folder with --data."
    )


def test_holder_without_a_number_is_another_process(tmp_path: Path) -> None:
    with DataFolder(tmp_path):
        (tmp_path / "lock").write_text("")
        with pytest.raises(FolderInUse, match="in use by another process; stop it"):
            DataFolder(tmp_path)


def test_refusal_does_not_disturb_the_holder(tmp_path: Path) -> None:
    with DataFolder(tmp_path):
        for _ in range(2):
            with pytest.raises(FolderInUse, match=f"process {os.getpid()}"):
                DataFolder(tmp_path)


def test_folder_given_back_can_be_taken_again(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    folder.close()
    folder.close()
    DataFolder(tmp_path).close()


def test_another_process_is_named_and_its_end_frees_the_folder(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD_UNTIL_INPUT, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(FolderInUse, match=f"in use by process {holder.pid};"):
            DataFolder(tmp_path)
        holder.kill()
    DataFolder(tmp_path).close()


def test_place_that_cannot_be_a_folder_is_refused_in_plain_words(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file", tmp_path / "file" / "data"):
        with pytest.raises(FolderUnusable, match=r"cannot be used: .+\. Make it writable"):
            DataFolder(place)


@pytest.mark.parametrize(
    ("to", "why"), [("itself", "Too many levels of symbolic links"), ("gone", "No such file")]
)
def test_link_that_leads_nowhere_is_refused_for_what_it_is(
    tmp_path: Path, to: str, why: str
) -> None:
    link = tmp_path / "itself"
    link.symlink_to(to)
    with pytest.raises(FolderUnusable, match=f"cannot be used: {why}"):
        DataFolder(link)


def test_folder_knows_whether_it_was_released(tmp_path: Path) -> None:
    with DataFolder(tmp_path) as folder:
        assert folder.was_given_back
    with DataFolder(tmp_path) as folder:
        assert folder.was_given_back
        # What a process that was killed leaves behind.
        number = (tmp_path / "lock").read_text()
    (tmp_path / "lock").write_text(number)
    with DataFolder(tmp_path) as folder:
        assert not folder.was_given_back
    with DataFolder(tmp_path) as folder:
        assert folder.was_given_back
