"""Real disks that fail under a running process: full, read-only, and refusing every write.

Outputs go on, changes get 507, `/health` says so, and all is well again without a restart once the
disk is. Where the machine does not let a test mount anything, the test is skipped.
"""

import json
import os
import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.process.controller_process import (
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
    assert rename(process, 3) == 200
    # A snapshot that the disk refused meanwhile is made up for, a moment after the change.
    end = time.monotonic() + PATIENCE_S
    while health(process)["status"] != "ok" and time.monotonic() < end:
        pass
    assert health(process) == {"status": "ok", "board": "simulated"}


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


def test_a_full_disk_stops_changes_only_and_only_while_it_is_full(tmp_path: Path) -> None:
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


def test_a_disk_that_takes_no_write_stops_changes_only(tmp_path: Path) -> None:
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
        subprocess.run(command, capture_output=True, check=True, timeout=20)

    try:
        run("mkfs.ext4", "-q", str(image))
        run("mount", "-o", "loop", str(image), str(folder))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine does not let a test mount a file system")
    try:
        yield lambda options: run("mount", "-o", f"remount,{options}", str(folder))
    finally:
        run("umount", str(folder))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")
def test_a_disk_that_becomes_read_only_stops_changes_only(tmp_path: Path) -> None:
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
        started = subprocess.run(
            [*PROGRAM, "run", "--port", "0", "--data", str(data)],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert started.returncode == 1
        (line,) = started.stderr.splitlines()
        assert "Read-only file system" in line


def flip(store: Path) -> None:
    data = bytearray(store.read_bytes())
    for place in range(100, len(data)):
        data[place] ^= 0x5A
    store.write_bytes(data)


def test_a_store_damaged_under_a_running_process_costs_no_output_and_is_set_aside(
    tmp_path: Path,
) -> None:
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
    # The second start takes a snapshot of it.
    with controller_process(tmp_path) as process:
        kept = names(process)
        flip(process.folder / "store.db")
        # With luck the damage is noticed by then; what is certain is that nothing else happens.
        assert {rename(process, number) for number in range(1, 8)} <= {200, 507}
        for on in (1, 0, 1):
            assert process.ask(f"/outs.cgi?out2={on}")[0] == 200
            assert json.loads(process.ask("/api/state")[1])["OUT2"] == on
    flip(tmp_path / "data" / "store.db")
    with controller_process(tmp_path) as process:
        assert names(process) == kept
        assert health(process)["status"] == "degraded"
        (told,) = json.loads(process.ask("/api/state")[1])["troubles"].values()
        assert "set aside in" in told
        assert "snapshot" in told
        assert told in process.log.read_text()
        assert rename(process, 3) == 200
    assert (tmp_path / "data" / "damaged-1" / "store.db").exists()


def test_a_log_removed_after_a_kill_leaves_a_sound_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with controller_process(tmp_path) as process:
        assert rename(process, 0) == 200
        kept = names(process)
    copy = tmp_path / "copy"
    with controller_process(tmp_path) as process:
        assert rename(process, 1) == 200
        # As a power cut would leave it, but with the log lost.
        (copy / "data").mkdir(parents=True)
        shutil.copy(data / "store.db", copy / "data" / "store.db")
    with controller_process(copy) as process:
        assert names(process) in (kept, [*kept[:1], "Name1xxxxxxxx", *kept[2:]])
        assert health(process)["status"] == "ok"
