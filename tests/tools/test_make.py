"""`make` on a machine that lacks something says what to do, and leaves nothing half made."""

import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent.parent
#: What the Makefile may count on beside Python.
PROGRAMS = (
    "awk",
    "bash",
    "cat",
    "cksum",
    "env",
    "grep",
    "make",
    "mkdir",
    "rm",
    "sed",
    "touch",
    "tr",
)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The project as far as make looks at it, and a path with nothing but `PROGRAMS`."""
    for name in ("Makefile", "pyproject.toml"):
        shutil.copy(PROJECT / name, tmp_path)
    for name in ("packaging", "requirements", "tools"):
        shutil.copytree(PROJECT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    for program in PROGRAMS:
        (tmp_path / "bin" / program).symlink_to(shutil.which(program) or program)
    return tmp_path


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/usr/bin/env bash\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


def fail_to_run(folder: Path) -> str:
    """What `make run` prints; it must not succeed."""
    done = subprocess.run(
        ["make", "run"],
        cwd=folder,
        env={"PATH": str(folder / "bin")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 2, done.stdout
    return done.stdout


def test_bare_make_lists_the_targets_without_python(copy: Path) -> None:
    done = subprocess.run(
        ["make"], cwd=copy, env={"PATH": str(copy / "bin")}, stdout=subprocess.PIPE, text=True
    )
    assert done.returncode == 0
    targets = {line.split()[1] for line in done.stdout.splitlines()}
    assert {"run", "test", "test-all"} <= targets


def test_without_python_make_says_which_to_install(copy: Path) -> None:
    assert "There is no python3 here; install Python 3.11" in fail_to_run(copy)


def test_without_its_venv_module_make_says_so_and_leaves_no_half_environment(copy: Path) -> None:
    write_program(copy / "bin" / "python3", '[ "$1" = -c ] || { mkdir -p .venv/bin; exit 1; }')
    assert "apt install python3-venv" in fail_to_run(copy)
    assert not (copy / ".venv").exists()


def test_without_the_package_index_make_says_what_to_look_at(copy: Path) -> None:
    write_program(copy / "bin" / "python3", 'if [ "$1" = -c ]; then echo 3.13.0; fi')
    write_program(copy / ".venv" / "bin" / "python", "echo 'No matching distribution' >&2; exit 1")
    said = fail_to_run(copy)
    assert "see that the package index can be reached" in said
    assert list((copy / ".venv").glob(".ready-*")) == []


def test_environment_without_its_python_is_recreated(copy: Path) -> None:
    (copy / ".venv" / "bin").mkdir(parents=True)
    (copy / ".venv" / "bin" / "python").symlink_to("/nowhere/python3")
    write_program(copy / "bin" / "python3", '[ "$1" = -c ] || { echo "venv: $*"; exit 1; }')
    assert "venv: -m venv --clear .venv" in fail_to_run(copy)


def test_another_python_recreates_the_environment(copy: Path) -> None:
    (copy / ".venv").mkdir()
    (copy / ".venv" / ".made-with-python-3.12.1").touch()
    write_program(
        copy / "bin" / "python3",
        'if [ "$1" = -c ]; then echo 3.13.0; else echo "venv: $*"; exit 1; fi',
    )
    assert "venv: -m venv --clear .venv" in fail_to_run(copy)
