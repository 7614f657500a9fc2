"""What the package brings besides the program: man page, completion, examples, the unit file."""

import runpy
import subprocess
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from leverframe import __version__
from leverframe.host.command_line.table import COMMANDS
from leverframe.testing import pytest_plugin
from tools.release import build, build_twice, commit_time

PROJECT = Path(__file__).parent.parent
PACKAGING = PROJECT / "packaging"
PLUGIN = PACKAGING / "pytest-leverframe"


def complete(*words: str) -> list[str]:
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
    assert complete(*words) == offered


def test_every_command_is_completed() -> None:
    assert {command.name for command in COMMANDS} <= set(complete(""))


@pytest.mark.needs_program("groff")
def test_man_page_is_sound_troff() -> None:
    done = subprocess.run(
        ["groff", "-man", "-ww", "-z", str(PACKAGING / "leverframe.1")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""


@pytest.fixture(scope="module")
def release_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return build(PROJECT, tmp_path_factory.mktemp("dist"), commit_time(PROJECT))


@pytest.mark.thorough
def test_two_builds_are_identical(tmp_path: Path) -> None:
    files = build_twice(PROJECT, tmp_path, commit_time(PROJECT))
    assert len(files) == 4


def names_in(files: list[Path], wheel: str) -> set[str]:
    (path,) = (one for one in files if one.name.startswith(wheel) and one.suffix == ".whl")
    with zipfile.ZipFile(path) as archive:
        return {name.partition(".data/")[2] or name for name in archive.namelist()}


def test_wheel_holds_types_pages_examples_and_the_unit_file(release_files: list[Path]) -> None:
    names = names_in(release_files, "leverframe")
    assert {
        "leverframe/py.typed",
        "leverframe/web/index.html",
        "data/share/leverframe/examples/greenhouse.toml",
        "data/share/leverframe/systemd/leverframe@.service",
        "data/share/man/man1/leverframe.1",
        "data/share/bash-completion/completions/leverframe",
    } <= names
    assert not [name for name in names if "tests/" in name or ".ci/" in name]


def project_in(folder: Path) -> dict[str, Any]:
    text = (folder / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def test_pytest_finds_no_plugin_in_the_package_itself() -> None:
    # It would rewrite the assertions of the whole package.
    assert "entry-points" not in project_in(PROJECT)


def test_wheel_for_pytest_holds_the_entry_point_alone(release_files: list[Path]) -> None:
    names = {
        name for name in names_in(release_files, "pytest_leverframe") if ".dist-info/" not in name
    }
    assert names == {"pytest_leverframe.py"}
    assert project_in(PLUGIN)["entry-points"]["pytest11"] == {
        "pytest_leverframe": "pytest_leverframe"
    }
    module = runpy.run_path(str(PLUGIN / "pytest_leverframe.py"))
    assert module["pytest_plugins"] == [pytest_plugin.__name__]


def test_both_packages_have_one_version() -> None:
    project = project_in(PLUGIN)
    assert project["version"] == __version__
    assert f"leverframe=={__version__}" in project["dependencies"]
    assert project["requires-python"] == project_in(PROJECT)["requires-python"]


def test_both_packages_name_the_same_pythons_and_authors() -> None:
    plugin, program = project_in(PLUGIN), project_in(PROJECT)
    assert plugin["authors"] == program["authors"]
    pythons = [
        {one for one in project["classifiers"] if one.startswith("Programming Language")}
        for project in (plugin, program)
    ]
    assert pythons[0] == pythons[1]
