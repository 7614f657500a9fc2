"""`leverframe board check` and the service agree: what the unit takes away, the check misses.

There is no systemd where tests run. Its mounts are made by hand from what the unit says: /sys is
read-only but for the paths that may be written. The tree has the shape of the kernel's: chips are
links from `class` to `devices`.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from leverframe.devices.linux.sysfs import check_writable, write_text
from tests.devices.sysfs_tree import SysfsTree
from tests.patience import PATIENCE_S

UNIT = Path(__file__).parents[3] / "packaging" / "systemd" / "leverframe@.service"
DRIVE = """
import sys
from pathlib import Path
from leverframe.devices.linux.sysfs import PwmPin
from leverframe.devices.wiring import PwmChannel
PwmPin(Path(sys.argv[1]), PwmChannel(chip=0, channel=1)).drive(0.5, 1000)
"""
#: An account without rights.
FOREIGN_OWNER = (47110, 47110)
#: As systemd does it: first what stays writable is mounted on itself, then the rest is read-only.
MOUNTS = """
set -e
tree=$1; shift
mount --make-rprivate /
mount --bind "$tree" "$tree"
for path in $WRITABLE; do mount --bind "$tree$path" "$tree$path"; done
mount -o remount,bind,ro "$tree"
exec "$@"
"""
only_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can mount, and become another account"
)


def settings_of_unit() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text().splitlines():
        name, is_setting, value = line.partition("=")
        if is_setting and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def writable_below_sys() -> list[str]:
    paths = " ".join(settings_of_unit().get("ReadWritePaths", [])).split()
    plain = [path.removeprefix("-") for path in paths]
    return [path.removeprefix("/sys") for path in plain if path.startswith("/sys/")]


@pytest.fixture
def tree(tmp_path: Path) -> SysfsTree:
    tree = SysfsTree(tmp_path / "sys")
    tree.add_pwm(0, 2)
    device = tree.root / "devices" / "platform" / "pwm"
    device.mkdir(parents=True)
    (tree.root / "class/pwm/pwmchip0").rename(device / "pwmchip0")
    (tree.root / "class/pwm/pwmchip0").symlink_to("../../devices/platform/pwm/pwmchip0")
    return tree


def within(tree: SysfsTree, writable: list[str], *command: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", MOUNTS, "sh", str(tree.root), sys.executable, *command],
        env={**os.environ, "WRITABLE": " ".join(writable), "COLUMNS": "300"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip("this machine does not let a test mount a file system")
    return done


def check(tree: SysfsTree, writable: list[str]) -> subprocess.CompletedProcess[str]:
    config = tree.root.parent / "board.toml"
    config.write_text(
        f'[board]\nkind = "linux"\nsysfs = "{tree.root}"\n'
        "[board.pwm]\nPWM1 = {chip = 0, channel = 1}\n"
    )
    return within(tree, writable, "-m", "leverframe", "board", "check", "--config", str(config))


@only_root
def test_pwm_is_found_and_can_be_driven_under_the_service(tree: SysfsTree) -> None:
    assert settings_of_unit()["ProtectKernelTunables"] == ["yes"]
    checked = check(tree, writable_below_sys())
    assert checked.returncode == 0, checked.stdout
    driven = within(tree, writable_below_sys(), "-c", DRIVE, str(tree.root))
    assert driven.returncode == 0, driven.stderr
    assert tree.pwm(0, 1) == (1_000_000, 500_000, 1)


@only_root
def test_check_reports_pwm_that_the_service_could_not_drive(tree: SysfsTree) -> None:
    driven = within(tree, [], "-c", DRIVE, str(tree.root))
    assert "read-only here" in driven.stderr
    checked = check(tree, [])
    assert checked.returncode == 1
    assert "read-only here; a service needs ReadWritePaths=/sys/devices" in checked.stdout


@pytest.mark.thorough
@only_root
def test_unused_channel_is_checked_by_exporting_it(tree: SysfsTree) -> None:
    folder = tree.root / "class/pwm/pwmchip0"
    for file in (folder / "pwm1").iterdir():
        file.unlink()
    (folder / "pwm1").rmdir()
    assert check(tree, writable_below_sys()).returncode == 0
    checked = check(tree, [])
    assert checked.returncode == 1
    assert "pwmchip0/export is on a file system that is read-only" in checked.stdout


@only_root
def test_file_that_may_only_be_written_is_written() -> None:
    """As `export` is, for every account and for the kernel itself."""
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "export"
        file.touch()
        file.chmod(0o200)
        os.chown(place, *FOREIGN_OWNER)
        os.chown(file, *FOREIGN_OWNER)
        os.seteuid(FOREIGN_OWNER[0])
        try:
            write_text(file, "1")
            check_writable(file)
        finally:
            os.seteuid(0)
        assert file.read_text() == "1"


def test_unit_takes_no_devices_away() -> None:
    """Older systemd makes a list of allowed devices of ProtectClock=, with only the clock in it."""
    settings = settings_of_unit()
    for setting in ("ProtectClock", "PrivateDevices", "DevicePolicy", "DeviceAllow"):
        assert setting not in settings
    assert settings["SystemCallFilter"] == ["@system-service"]
    assert settings["CapabilityBoundingSet"] == [""]
