"""The Debian package: its files and fields, its Python and machine, and that builds are equal."""

import io
import os
import re
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from leverframe import __version__
from leverframe.host.configuration.reader import read_config
from tools.deb import (
    ARCHITECTURES,
    LOCKED,
    PARTS,
    PROJECT,
    SCRIPTS,
    Deb,
    build_deb,
    build_wheel,
    choose_target,
    select_locked,
)
from tools.release import commit_time

pytestmark = pytest.mark.needs_program("dpkg-deb")
DEB = Deb(choose_target("3.13", "aarch64"), __version__)
BUILT_AT = commit_time(PROJECT)
UNIT = "./usr/lib/systemd/system/leverframe@.service"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("built") / "wheel", BUILT_AT)


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "library.py").write_text("ANSWER = 42\n")
    return folder


@pytest.fixture(scope="module")
def package(wheel: Path, libraries: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_deb(DEB, wheel, libraries, tmp_path_factory.mktemp("deb"), BUILT_AT, "none")


@pytest.fixture(scope="module")
def members(package: Path) -> dict[str, tarfile.TarInfo]:
    with read_files(package) as archive:
        return {member.name: member for member in archive}


def read_files(package: Path) -> tarfile.TarFile:
    done = subprocess.run(["dpkg-deb", "--fsys-tarfile", package], capture_output=True, check=True)
    return tarfile.open(fileobj=io.BytesIO(done.stdout))


def read_field(package: Path, name: str) -> str:
    command = ["dpkg-deb", "--field", package, name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_package_is_for_one_python_and_one_machine(package: Path) -> None:
    assert package.name == f"leverframe_{__version__}-1+py3.13_arm64.deb"
    assert read_field(package, "Architecture") == "arm64"
    assert read_field(package, "Depends") == "python3.13, adduser"
    assert read_field(package, "Version") == f"{__version__}-1+py3.13"


def test_package_holds_unit_manual_completion_and_configuration(
    members: dict[str, tarfile.TarInfo],
) -> None:
    assert {
        UNIT,
        f"{UNIT}.d/user.conf",
        "./etc/leverframe/main.toml",
        "./opt/leverframe/lib/python3.13/site-packages/leverframe/__main__.py",
        "./opt/leverframe/lib/python3.13/site-packages/library.py",
        "./usr/share/man/man1/leverframe.1.gz",
        "./usr/share/bash-completion/completions/leverframe",
        "./usr/share/zsh/vendor-completions/_leverframe",
        "./usr/share/fish/vendor_completions.d/leverframe.fish",
        "./usr/share/doc/leverframe/examples/greenhouse.toml",
        "./usr/share/doc/leverframe/copyright",
    } <= members.keys()
    assert members["./usr/bin/leverframe"].linkname == "/opt/leverframe/bin/leverframe"
    assert members["./opt/leverframe/bin/python"].linkname == "/usr/bin/python3.13"


def test_unit_starts_a_program_of_the_package(
    package: Path, members: dict[str, tarfile.TarInfo]
) -> None:
    with read_files(package) as archive:
        text = archive.extractfile(UNIT).read().decode()  # type: ignore[union-attr]
    (command,) = (line for line in text.splitlines() if line.startswith("ExecStart="))
    assert members["." + command.removeprefix("ExecStart=").split()[0]].mode & 0o111


def test_all_files_belong_to_root_and_only_root_may_write_them(
    members: dict[str, tarfile.TarInfo],
) -> None:
    assert {(one.uid, one.gid) for one in members.values()} == {(0, 0)}
    assert [name for name, one in members.items() if not one.issym() and one.mode & 0o022] == []


def test_package_is_the_same_for_every_umask(
    package: Path, wheel: Path, libraries: Path, tmp_path: Path
) -> None:
    before = os.umask(0o077)
    try:
        again = build_deb(DEB, wheel, libraries, tmp_path / "again", BUILT_AT, "none")
    finally:
        os.umask(before)
    assert again.read_bytes() == package.read_bytes()


@pytest.mark.needs_program("systemd-analyze")
def test_unit_with_the_user_of_the_package_is_valid_and_hardened(
    package: Path, tmp_path: Path
) -> None:
    unit = tmp_path / "leverframe@cellar.service"
    with read_files(package) as archive:
        text = archive.extractfile(UNIT).read().decode()  # type: ignore[union-attr]
    unit.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", text))
    unit.with_name(f"{unit.name}.d").mkdir()
    shutil.copy(PARTS / "user.conf", unit.with_name(f"{unit.name}.d"))
    subprocess.run(["systemd-analyze", "verify", unit], check=True)
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=25", unit],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert "Service runs under a static non-root user identity" in done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_are_sound_shell(name: str) -> None:
    subprocess.run(["sh", "-n", PARTS / name], check=True)


def test_configuration_that_is_installed_is_valid() -> None:
    config = read_config(PARTS / "main.toml", {})
    assert (config.host, config.port) == ("127.0.0.1", 8080)


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_libraries_are_those_of_the_lock_that_the_machine_needs(machine: str) -> None:
    locked = LOCKED.read_text(encoding="utf-8")
    chosen = select_locked(locked, choose_target("3.11", machine))
    entries = {line.split("==")[0] for line in locked.splitlines() if "==" in line}
    assert {line.split("==")[0] for line in chosen.splitlines() if "==" in line} == entries - {
        "pywin32"
    }
    assert ";" not in chosen
    assert 0 < chosen.count("--hash") < locked.count("--hash")
