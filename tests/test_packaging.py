"""What the package brings besides the program: man page, completion, examples, the unit file."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from leverframe.command_line.table import COMMANDS

PROJECT = Path(__file__).parent.parent
PACKAGING = PROJECT / "packaging"


def completed(*words: str) -> list[str]:
    """What bash offers when the last of these words is being typed."""
    script = f"""
        source {PACKAGING / "completion" / "leverframe.bash"}
        COMP_WORDS=(leverframe "$@"); COMP_CWORD=$#; _leverframe; echo "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(
        ["bash", "-c", script, "-", *words], capture_output=True, text=True, check=True
    )
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ba"], ["backup"]),
        (["help", "sim"], ["simulate"]),
        (["backup", ""], ["create", "show", "diff", "convert", "restore"]),
        (["run", "--por"], ["--port"]),
        (["backup", "show", "--j"], ["--json"]),
        (["data", "export", "--o"], ["--output"]),
    ],
)
def test_bash_completes_commands_tasks_and_options(words: list[str], offered: list[str]) -> None:
    assert completed(*words) == offered


def test_every_command_is_completed() -> None:
    assert {command.name for command in COMMANDS} <= set(completed(""))


@pytest.mark.needs_program("groff")
def test_the_man_page_is_sound_troff() -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", str(PACKAGING / "leverframe.1")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


def test_the_wheel_holds_types_pages_examples_and_the_unit_file(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=PROJECT,
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = {name.partition(".data/")[2] or name for name in archive.namelist()}
    assert {
        "leverframe/py.typed",
        "leverframe/web/index.html",
        "data/share/leverframe/examples/greenhouse.toml",
        "data/share/leverframe/systemd/leverframe@.service",
        "data/share/man/man1/leverframe.1",
        "data/share/bash-completion/completions/leverframe",
    } <= names
    assert not [name for name in names if "tests/" in name or ".ci/" in name]
