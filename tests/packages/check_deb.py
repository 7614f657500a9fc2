"""The Debian package in a clean Debian without network: installed, run, upgraded, removed, purged.

The tests of this file are one story, in this order.
"""

import shutil
from pathlib import Path

import pytest

from leverframe import __version__
from tests.packages.root import Root
from tools.package_trials import RELEASES

SERVICE = "leverframe@main"
ADDRESS = "http://127.0.0.1:8080"
#: Debian's clean root has no program for it.
FETCH = "from urllib.request import urlopen; print(urlopen('{}').read().decode())"


def fetch(root: Root, path: str) -> str:
    return root.succeed("python3", "-c", FETCH.format(ADDRESS + path))


@pytest.fixture(scope="module", autouse=True)
def systemd(root: Root) -> None:
    """Install a small program that takes the place of systemd."""
    shutil.copy(Path(__file__).parent / "systemctl", root.path("/usr/bin/systemctl"))
    # By this folder, packages see that systemd runs.
    for name in ("/run/systemd/system", "/etc/systemd/system/multi-user.target.wants"):
        root.path(name).mkdir(parents=True, exist_ok=True)


def test_existing_environment_is_not_overwritten(root: Root, debs: list[Path]) -> None:
    root.path("/opt/leverframe").mkdir(parents=True)
    done = root.run("dpkg", "--install", root.bring(debs[0]))
    assert done.returncode == 1
    assert "mv /opt/leverframe /opt/leverframe-before" in done.stdout
    root.path("/opt/leverframe").rmdir()


def test_installed_package_says_the_next_step(root: Root, debs: list[Path], release: str) -> None:
    printed = root.succeed("dpkg", "--install", root.bring(debs[0]))
    assert f"systemctl enable --now {SERVICE}" in printed
    assert root.succeed("leverframe", "-V") == f"leverframe {__version__}\n"
    assert root.succeed("id", "--user", "--name", "leverframe") == "leverframe\n"
    (site,) = root.path("/opt/leverframe/lib").iterdir()
    assert site.name == f"python{RELEASES[release]}"
    assert list(site.glob("site-packages/leverframe/__pycache__/__main__.*.pyc"))


def test_every_extra_is_in_the_package(root: Root) -> None:
    packages = "PIL gpiod luma.oled psycopg pysnmp rich smbus2 uvloop zeroconf"
    imports = "; ".join(f"import {name}" for name in packages.split())
    root.succeed("/opt/leverframe/bin/python", "-c", imports)


def test_next_step_starts_a_controller(root: Root) -> None:
    root.succeed("systemctl", "enable", "--now", SERVICE)
    assert '"status":"ok"' in fetch(root, "/health")
    fetch(root, "/stm.cgi?oname=0Pump")
    assert root.shell("stat -c %U /var/lib/leverframe/main/store.db") == "leverframe\n"


def test_busy_port_and_missing_rights_are_explained(root: Root) -> None:
    done = root.run("timeout", "60", "leverframe", "run", "--data", "/tmp/other")
    assert done.returncode == 2
    assert "Port 8080 is in use by another program; choose another with --port." in done.stdout
    as_other = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    run = ("timeout", "60", "leverframe", "run", "--port", "8081")
    done = root.run(*as_other, *run, "--data", "/etc/leverframe")
    assert (done.returncode, done.stdout.count("\n")) == (2, 1), done.stdout
    assert "/etc/leverframe" in done.stdout
    assert "choose another" in done.stdout


def test_upgrade_keeps_configuration_and_data_and_restarts_the_controller(
    root: Root, debs: list[Path]
) -> None:
    file = root.path("/etc/leverframe/main.toml")
    file.write_text(file.read_text().replace('timezone = "UTC"', 'timezone = "Europe/Prague"'))
    before = root.path("/run/started/leverframe@main.service").read_text()
    printed = root.succeed("dpkg", "--install", root.bring(debs[1]))
    assert "enable --now" not in printed
    assert root.path("/run/started/leverframe@main.service").read_text() != before
    assert not root.path("/run/leverframe-running").exists()
    assert "Europe/Prague" in file.read_text()
    assert '"Pump"' in fetch(root, "/api/settings")


def test_removal_stops_the_controller_and_keeps_configuration_and_data(root: Root) -> None:
    root.succeed("dpkg", "--remove", "leverframe")
    assert list(root.path("/run/started").iterdir()) == []
    assert not root.path("/opt/leverframe").exists()
    assert root.path("/etc/leverframe/main.toml").exists()
    assert root.path("/var/lib/leverframe/main/store.db").exists()


def test_purge_removes_the_configuration_and_says_where_the_data_is(root: Root) -> None:
    printed = root.succeed("dpkg", "--purge", "leverframe")
    assert "rm -r /var/lib/leverframe" in printed
    assert not root.path("/etc/leverframe").exists()
    wanted = root.path("/etc/systemd/system/multi-user.target.wants").iterdir()
    assert [path.name for path in wanted if "leverframe" in path.name] == []
    assert root.path("/var/lib/leverframe/main/store.db").exists()
