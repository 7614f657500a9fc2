"""Real disks that fail, full, read-only, and refusing every write; and files damaged on purpose.

Outputs keep working, changes get 507, and `/health` reports it. After a failed disk is back under a
running process, everything works again without a restart. Where the machine does not let a test
mount anything, the test is skipped.
"""

import json
import os
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.crash.ended_process import ask, end_by_signal
from tests.host.controller_process import (
    PATIENCE_S,
    PROGRAM,
    ControllerProcess,
    controller_process,
)

#: In a namespace of its own, so that the mount goes with the process.
OWN_DISK = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
MOUNT_SMALL = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
#: A disk that fits some changes takes them; one of these no longer fits.
MANY_CHANGES = 400


def may_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    tried = subprocess.run(
        [*OWN_DISK, MOUNT_SMALL, str(folder), "true"], capture_output=True, check=False
    )
    return tried.returncode == 0


def rename(process: ControllerProcess, number: int) -> int:
    name = f"Name{number}" + "x" * 8
    return process.ask(f"/stm.cgi?oname={number % 6}{name}&pname={number % 4}{name}")[0]


def health(process: ControllerProcess) -> dict[str, object]:
    answer: dict[str, object] = json.loads(process.ask("/health")[1])
    return answer


def assert_refuses_changes_and_switches(process: ControllerProcess, reason: str) -> None:
    status = next(
        (status for number in range(MANY_CHANGES) if (status := rename(process, number)) != 200),
        200,
    )
    assert status == 507
    assert health(process)["status"] == "degraded"
    assert "store" in health(process)["troubles"]  # type: ignore[operator]
    state = json.loads(process.ask("/api/state")[1])
    assert reason in state["troubles"]["store"]
    for on in (1, 0, 1):
        assert process.ask(f"/outs.cgi?out2={on}")[0] == 200
        assert json.loads(process.ask("/api/state")[1])["OUT2"] == on


def assert_is_well(process: ControllerProcess) -> None:
    # A name that is new, whatever was taken before.
    assert rename(process, MANY_CHANGES) == 200
    # A snapshot that the disk refused is written a moment after the change.
    end = time.monotonic() + PATIENCE_S
    while health(process)["status"] != "ok" and time.monotonic() < end:
        pass
    assert health(process)["status"] == "ok"
    assert "troubles" not in health(process)


def names(process: ControllerProcess) -> list[str]:
    outputs = json.loads(process.ask("/api/settings")[1])["outputs"]
    return [output["name"] for output in outputs]


def fill(disk: Path) -> Path:
    """Leave no byte free; the file to delete when it is enough."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (65536, 4096, 1):
            with suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return filler


def test_full_disk_stops_changes_only_and_only_while_it_is_full(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    if not may_mount(data):
        pytest.skip("this machine does not let a test mount a small disk of its own")
    mounted = (*OWN_DISK, MOUNT_SMALL, str(data))
    with controller_process(tmp_path, within=mounted) as process:
        assert rename(process, 0) == 200
        filler = fill(Path(f"/proc/{process.pid}/root{data}"))
        assert_refuses_changes_and_switches(process, "the disk is full")
        kept = names(process)
        filler.unlink()
        assert names(process) == kept
        assert_is_well(process)


@pytest.mark.thorough
def test_disk_that_takes_no_write_stops_changes_only(tmp_path: Path) -> None:
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
        limits = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, limits[1]))
        # The first secret needs a key file.
        assert process.ask("/stm.cgi?em4=hunter2")[0] == 507
        assert_refuses_changes_and_switches(process, "disk")
        before = names(process)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, limits)
        assert names(process) == before
        assert_is_well(process)
        assert process.ask("/stm.cgi?em4=hunter2")[0] == 200
        kept = names(process)
    with controller_process(tmp_path) as process:
        assert names(process) == kept


@contextmanager
def loop_disk(folder: Path) -> Iterator[Callable[[str], None]]:
    """A file system of its own in `folder`, and what mounts it again with other options."""
    image = folder.with_suffix(".image")
    image.write_bytes(bytes(8 << 20))

    def run(*command: str) -> None:
        subprocess.run(command, capture_output=True, check=True, timeout=PATIENCE_S)

    try:
        run("mkfs.ext4", "-q", str(image))
        run("mount", "-o", "loop", str(image), str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine does not let a test mount a file system")
    try:
        yield lambda options: run("mount", "-o", f"remount,{options}", str(folder))
    finally:
        run("umount", str(folder))


only_root_can_mount = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can mount a file system"
)


def fail_to_start(data: Path, *options: str) -> str:
    """The line that a start ends with."""
    started = subprocess.run(
        [*PROGRAM, "run", "--port", "0", "--data", str(data), *options],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert started.returncode == 2
    return started.stderr.splitlines()[-1]


@pytest.mark.thorough
@only_root_can_mount
def test_disk_that_becomes_read_only_stops_only_changes_even_after_a_restart(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with loop_disk(data) as remount:
        with controller_process(tmp_path) as process:
            assert rename(process, 0) == 200
            kept = names(process)
            # What the kernel does to a file system in which it has found an error.
            remount("abort")
            assert_refuses_changes_and_switches(process, "")
            assert names(process) == kept
        with controller_process(tmp_path) as process:
            assert_refuses_changes_and_switches(process, "Read-only file system")
            assert names(process) == kept


def identity(process: ControllerProcess) -> str:
    return process.printed.split()[0]


@pytest.mark.thorough
@only_root_can_mount
def test_start_on_a_read_only_disk_uses_the_stored_settings(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with loop_disk(data) as remount:
        with controller_process(tmp_path) as process:
            assert rename(process, 0) == 200
            assert process.ask("/outs.cgi?roafs=01")[0] == 200
            assert process.ask("/outs.cgi?out0=1")[0] == 200
            kept, itself = names(process), identity(process)
        remount("ro")
        with controller_process(tmp_path) as process:
            assert health(process)["status"] == "degraded"
            assert (names(process), identity(process)) == (kept, itself)
            assert json.loads(process.ask("/api/state")[1])["OUT0"] == 1
            assert_refuses_changes_and_switches(process, "Read-only file system")
            status, body = process.ask("/stm.cgi?oname=0Lamp")
            assert status == 507
            assert "the controller is restarted" in json.loads(body)["detail"]
            # As on a full disk: the output is switched, and `/health` reports the disk.
            assert process.ask("/outs.cgi?out0=0")[0] == 200
            assert json.loads(process.ask("/api/state")[1])["OUT0"] == 0
            assert "in use by" in fail_to_start(data)
        remount("rw")
        with controller_process(tmp_path) as process:
            assert json.loads(process.ask("/api/state")[1])["OUT0"] == 1
            assert_is_well(process)


@pytest.mark.thorough
@only_root_can_mount
def test_start_on_a_full_disk_uses_the_stored_settings(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with loop_disk(data):
        with controller_process(tmp_path) as process:
            assert rename(process, 0) == 200
            kept = names(process)
        filler = fill(data)
        with controller_process(tmp_path) as process:
            assert names(process) == kept
            assert_refuses_changes_and_switches(process, "the disk is full")
        filler.unlink()
        with controller_process(tmp_path) as process:
            assert names(process) == kept
            assert_is_well(process)


@only_root_can_mount
def test_first_start_on_a_read_only_disk_is_refused(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    with loop_disk(data) as remount:
        remount("ro")
        assert "cannot be used: Read-only file system. Make it writable" in fail_to_start(data)


def flip(file: Path) -> None:
    """A few bytes of the first page, which is in no log."""
    with file.open("r+b") as opened:
        opened.seek(100)
        opened.write(b"\xa5" * 8)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def wait_for(file: Path) -> None:
    end = time.monotonic() + PATIENCE_S
    while not file.exists():
        assert time.monotonic() < end, f"{file} has not come"


def read_troubles(process: ControllerProcess) -> dict[str, str]:
    troubles: dict[str, str] = json.loads(process.ask("/api/state")[1])["troubles"]
    return troubles


@pytest.mark.thorough
@pytest.mark.parametrize("damage", [flip, cut, Path.unlink])
def test_store_damaged_under_a_running_process_refuses_changes_and_is_set_aside(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
    # The second start takes a snapshot of it.
    with controller_process(tmp_path) as process:
        kept = names(process)
        wait_for(process.folder / "snapshot-2.db")
        wait_for(process.folder / "snapshot-1.db")
        damage(process.folder / "store.db")
        assert {rename(process, number) for number in range(1, 8)} == {507}
        assert_refuses_changes_and_switches(process, "Restart the controller")
        assert names(process) == kept
        assert process.ask("/")[0] == 200
    with controller_process(tmp_path) as process:
        assert names(process) == kept
        assert health(process)["status"] == "degraded"
        (sentence,) = read_troubles(process).values()
        assert "set aside in" in sentence
        assert "snapshot" in sentence
        assert sentence in process.log.read_text()
        assert rename(process, 3) == 200
    assert (tmp_path / "data" / "damaged-1").exists()


def test_log_removed_under_a_running_process_loses_no_acknowledged_change(
    tmp_path: Path,
) -> None:
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
        kept = names(process)
        (process.folder / "store.db-wal").unlink()
        assert rename(process, 1) == 507
        assert_refuses_changes_and_switches(process, "log")
    with controller_process(tmp_path) as process:
        assert names(process) == kept
        assert_is_well(process)


@pytest.mark.thorough
def test_log_removed_after_a_kill_is_reported_and_loses_only_changes_since_the_snapshot(
    tmp_path: Path,
) -> None:
    data = tmp_path / "data"
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
        kept = names(process)
    with end_by_signal(signal.SIGKILL, data) as port:
        # The snapshot of the start.
        wait_for(data / "snapshot-2.db")
        wait_for(data / "snapshot-1.db")
        ask(port, "/stm.cgi?oname=1Later")
    (data / "store.db-wal").unlink()
    with controller_process(tmp_path) as process:
        assert names(process) == kept
        assert health(process)["status"] == "degraded"
        assert "The latest changes are lost" in read_troubles(process)["recovery"]
        assert rename(process, 1) == 200
    with controller_process(tmp_path) as process:
        # Until the operator removes the copy.
        assert health(process)["status"] == "degraded"
    shutil.rmtree(data / "damaged-1")
    with controller_process(tmp_path) as process:
        assert_is_well(process)
