"""What a user gets: both wheels in a fresh environment, and a project of tests elsewhere."""

import re
import shutil
from pathlib import Path

import pytest

from tests.testing.installation import PROJECT, Installation, install_wheels

pytestmark = pytest.mark.thorough
#: How many tests the project has at least.
TESTS = 40


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    return install_wheels(tmp_path_factory.mktemp("installed"))


def test_project_elsewhere_passes_beside_itself(installation: Installation, tmp_path: Path) -> None:
    folder = tmp_path / "heating"
    shutil.copytree(PROJECT / "examples" / "pytest", folder, ignore=lambda *_: ["__pycache__"])
    done = installation.run("-m", "pytest", "-q", "-n", "2", cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.search(r"^(\d+) passed in", done.stdout, re.MULTILINE)
    assert summary is not None, done.stdout
    assert int(summary[1]) >= TESTS


LISTS_THE_PLUGIN_ITSELF = 'pytest_plugins = ["leverframe.testing.pytest_plugin"]\n'
ONE_TEST = """
def test_one(twin):
    twin.command("outs.cgi?out0=1")
    assert twin.state["OUT0"] == 1
"""


def test_pytest_rewrites_the_assertions_of_the_plugin_alone(
    installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "conftest.py").write_text(LISTS_THE_PLUGIN_ITSELF)
    (tmp_path / "test_one.py").write_text(ONE_TEST)
    done = installation.run("-m", "pytest", "-q", cwd=tmp_path)
    assert done.stdout.splitlines()[-1].startswith("1 passed"), done.stdout + done.stderr
    rewritten = [file.name for file in installation.packages.glob("leverframe/**/*-pytest-*.pyc")]
    assert [name.partition(".")[0] for name in rewritten] == ["pytest_plugin"]
