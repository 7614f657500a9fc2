"""What systemd is notified of, and when; the unit file requests it."""

import os
import re
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.host.logs import Supervisor
from tests.devices.waiting import until
from tests.patience import PATIENCE_S

UNIT = Path(__file__).parents[2] / "packaging" / "systemd" / "leverframe@.service"


@pytest.fixture
def notices(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(str(tmp_path / "notify"))
        receiver.settimeout(PATIENCE_S)
        yield receiver


def environment(receiver: socket.socket, **more: str) -> dict[str, str]:
    return {"NOTIFY_SOCKET": receiver.getsockname(), **more}


def test_ready_alive_and_stopping_are_notified(notices: socket.socket) -> None:
    supervisor = Supervisor(environment(notices))
    supervisor.ready()
    supervisor.alive()
    supervisor.stopping()
    assert [notices.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"STOPPING=1"]


def test_sign_of_life_comes_twice_as_often_as_it_must(notices: socket.socket) -> None:
    pid = str(os.getpid())
    asked = environment(notices, WATCHDOG_USEC="60000000", WATCHDOG_PID=pid)
    assert Supervisor(asked).interval_s == 30.0
    assert Supervisor(environment(notices, WATCHDOG_USEC="1", WATCHDOG_PID="1")).interval_s is None
    assert Supervisor(environment(notices)).interval_s is None


async def test_more_time_is_requested_while_work_continues(
    notices: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leverframe.host.logs.LOOK_EVERY_S", 0.0)
    supervisor, left = Supervisor(environment(notices)), iter([3, 2, 2, 2, 1, *[0] * 5])
    looks = 0

    def progress() -> int:
        nonlocal looks
        looks += 1
        return next(left, 0)

    async with supervisor.extend_time(progress):
        await until(lambda: looks >= 10)
    supervisor.stopping()
    messages = iter(lambda: notices.recv(100), b"STOPPING=1")
    # Not while it stood at 2, and not at its end.
    assert list(messages) == [b"EXTEND_TIMEOUT_USEC=30000000"] * 4


def test_without_a_supervisor_nothing_happens() -> None:
    supervisor = Supervisor({})
    supervisor.ready()
    assert supervisor.interval_s is None
    Supervisor({"NOTIFY_SOCKET": "/nowhere/at/all"}).ready()


def test_name_without_a_file_works_too() -> None:
    name = f"leverframe-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(f"\0{name}")
        receiver.settimeout(PATIENCE_S)
        Supervisor({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert receiver.recv(100) == b"READY=1"


def test_unit_waits_for_readiness_and_signs_of_life() -> None:
    unit = UNIT.read_text()
    for line in ("Type=notify", "WatchdogSec=60", "Restart=always", "DynamicUser=yes"):
        assert f"\n{line}\n" in unit


def test_every_instance_of_the_unit_has_its_own_file_and_folder() -> None:
    unit = UNIT.read_text()
    assert "run --config /etc/leverframe/%i.toml --data /var/lib/leverframe/%i\n" in unit
    assert "\nStateDirectory=leverframe/%i\n" in unit


@pytest.mark.needs_program("systemd-analyze")
def test_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    assert program is not None
    unit = tmp_path / UNIT.name.replace("@", "@cellar")
    # The program is not installed there on a machine that only tests.
    unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text()))
    checked = subprocess.run([program, "verify", str(unit)], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stderr
    assert unit.name not in checked.stderr
    judged = subprocess.run(
        [program, "security", "--offline=true", "--threshold=25", str(unit)],
        capture_output=True,
        text=True,
    )
    assert judged.returncode == 0, judged.stdout + judged.stderr
