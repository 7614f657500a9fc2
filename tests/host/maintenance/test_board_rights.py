"""`leverframe board check` tries with the rights that the service has, and says what it lacks."""

import fcntl
import os
import pty
import pwd
import subprocess
import sys
import tempfile
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.host.maintenance.board import NoSuchAccount, drop_rights_to, like_the_unit
from tests.devices.linux_bench import SENSOR
from tests.devices.sysfs_tree import SysfsTree, w1_text
from tests.patience import PATIENCE_S

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another account")
#: An account of every Linux machine that may nearly nothing.
UNPRIVILEGED = "nobody"
#: As `systemctl show` prints the unit of the package, with a drop-in for the groups.
SHOWN = """\
LoadState=loaded
ExecStart={{ path=/opt/leverframe/bin/leverframe ; argv[]=/opt/leverframe/bin/leverframe run \
--config {config} --data /var/lib/leverframe/cellar ; ignore_errors=no }}
User=
DynamicUser=yes
SupplementaryGroups=gpio i2c
CapabilityBoundingSet=
ProtectKernelTunables=yes
ReadWritePaths=-/sys/devices
BindPaths=
"""


@pytest.fixture
def port() -> Iterator[str]:
    """A serial port."""
    end, other = pty.openpty()
    tty.setraw(other)
    yield os.ttyname(other)
    os.close(end)
    os.close(other)


@pytest.fixture
def tree() -> Iterator[SysfsTree]:
    """A tree at a place where every account may look."""
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        yield SysfsTree(Path(place) / "sys")


def check(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    config = folder / "cellar.toml"
    config.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "leverframe", "board", "check", "--config", str(config), *options],
        env={**os.environ, "COLUMNS": "400"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )


@only_root
def test_device_for_root_fails_as_the_account_of_the_service(
    tmp_path: Path, port: str, tree: SysfsTree
) -> None:
    """Rights, checksums and wires are three different sentences."""
    tree.add_pwm(0, 2)
    tree.open_onewire()
    tree.set_onewire(SENSOR, w1_text(20.0, "NO"))
    os.chmod(port, 0o600)
    missing = "28:AA:64:1D:61:17:03:48"
    text = (
        f'serial_port = "{port}"\n[board]\nkind = "linux"\nsysfs = "{tree.root}"\n'
        "[board.pwm]\nPWM1 = {chip = 0, channel = 1}\n"
        f'[board.onewire]\nextra = ["{SENSOR}", "{missing}"]\n'
    )
    as_root = check(tmp_path, text).stdout
    assert "serial port, can be opened" in as_root
    assert "Checked as root" in as_root
    advice = "Root has access to everything; check the account of the service with --account."
    assert advice in as_root
    tried = check(tmp_path, text, "--account", UNPRIVILEGED)
    rows = {line.split()[0]: line for line in tried.stdout.splitlines()}
    assert tried.returncode == 1
    assert f"This account may not use {port}" in rows["serial_port"]
    assert "This account may not" in rows["PWM1"]
    first, second = (line for line in tried.stdout.splitlines() if line.startswith("slot"))
    assert "answers with wrong checksums" in first
    assert "not on the bus; check its wires." in second
    assert f"Checked as {UNPRIVILEGED} (groups: nogroup)." in tried.stdout


@pytest.mark.thorough
@only_root
def test_sensor_that_may_not_be_read_is_a_matter_of_rights(tmp_path: Path, tree: SysfsTree) -> None:
    tree.open_onewire()
    tree.set_onewire(SENSOR, w1_text(20.0))
    next(tree.root.rglob("w1_slave")).chmod(0o600)
    text = f'[board]\nkind = "linux"\nsysfs = "{tree.root}"\n[board.onewire]\n'
    assert "20.0 °C" in check(tmp_path, text).stdout
    assert "This account may not" in check(tmp_path, text, "--account", UNPRIVILEGED).stdout


@pytest.mark.parametrize(
    ("target", "complaint"),
    [("/dev/null", "is not connected to a serial port"), ("/dev/ttyNONE", "is missing")],
)
def test_path_that_is_no_port_is_reported(tmp_path: Path, target: str, complaint: str) -> None:
    tried = check(tmp_path, f'serial_modbus = "{target}"\n')
    assert tried.returncode == 1
    assert complaint in tried.stdout


def test_port_in_use_is_reported(tmp_path: Path, port: str) -> None:
    with open(port, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        tried = check(tmp_path, f'serial_modbus = "{port}"\n')
    assert tried.returncode == 1
    assert "is used by another program or driver" in tried.stdout


def test_account_that_does_not_exist_is_one_line(tmp_path: Path) -> None:
    tried = check(tmp_path, 'serial_port = "/dev/null"\n', "--account", "gatekeeper")
    assert tried.returncode == 2
    assert tried.stderr == (
        "leverframe: Unknown account gatekeeper; use the account of the service, or leave --account"
        " out.\n"
    )


def test_own_account_needs_no_rights_to_become(monkeypatch: pytest.MonkeyPatch) -> None:
    drop_rights_to(pwd.getpwuid(os.geteuid()).pw_name)


def test_only_root_becomes_another(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, group: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "initgroups", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(NoSuchAccount, match="Only root can check as nobody; use sudo"):
        drop_rights_to(UNPRIVILEGED)


# --- the unit -------------------------------------------------------------------------------------


@pytest.fixture
def systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine where `systemctl` shows what stands in a file, and `systemd-run` says its words."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (
        ("systemctl", f'echo "$@" > {tmp_path}/asked; cat {tmp_path}/shown'),
        ("systemd-run", 'printf "%s\\n" "$@"; exit 1'),
    ):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.delenv("SYSTEMD_EXEC_PID", raising=False)
    return tmp_path / "shown"


@only_root
def test_root_tries_as_the_unit_of_the_file_says(tmp_path: Path, systemd: Path) -> None:
    systemd.write_text(SHOWN.format(config=tmp_path / "cellar.toml"))
    tried = check(tmp_path, 'serial_port = "/dev/null"\n')
    assert tried.returncode == 1
    words = tried.stdout.splitlines()
    assert (tmp_path / "asked").read_text().startswith("show leverframe@cellar.service ")
    assert "--property=DynamicUser=yes" in words
    assert "--property=SupplementaryGroups=gpio i2c" in words
    assert "--property=CapabilityBoundingSet=" in words
    assert "--property=ReadWritePaths=-/sys/devices" in words
    assert not any("ExecStart" in word or "BindPaths" in word for word in words)
    assert words[-7:] == [
        sys.executable,
        "-m",
        "leverframe",
        "board",
        "check",
        "--config",
        str(tmp_path / "cellar.toml"),
    ]


def test_another_unit_is_not_that_of_the_file(tmp_path: Path, systemd: Path) -> None:
    config = tmp_path / "cellar.toml"
    systemd.write_text(SHOWN.format(config="/etc/leverframe/cellar.toml"))
    assert like_the_unit(config, [], 80) is None
    systemd.write_text("LoadState=not-found\n")
    assert like_the_unit(config, [], 80) is None


def test_process_of_systemd_has_its_rights_already(
    tmp_path: Path, systemd: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "cellar.toml"
    systemd.write_text(SHOWN.format(config=config))
    assert like_the_unit(config, [], 80) is not None
    monkeypatch.setenv("SYSTEMD_EXEC_PID", str(os.getpid()))
    assert like_the_unit(config, [], 80) is None


def test_machine_without_systemd_has_no_unit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert like_the_unit(tmp_path / "cellar.toml", [], 80) is None
