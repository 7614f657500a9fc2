"""A Python that is too old gets one sentence, whatever newer syntax the program has."""

import subprocess
import sys

import pytest

START = """
import runpy, sys
sys.version_info = {version}
sys.argv[1:] = ["-V"]
runpy.run_module("leverframe", run_name="__main__")
"""


def start_with(version: tuple[int, int, int]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", START.format(version=version)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.parametrize("version", [(3, 9, 18), (3, 10, 13), (3, 11, 1)])
def test_old_python_is_refused_with_the_version_that_is_needed(
    version: tuple[int, int, int],
) -> None:
    done = start_with(version)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("leverframe: Leverframe needs Python 3.11.2 or newer, and this")
    assert done.stderr.count("\n") == 1


def test_oldest_supported_python_is_accepted() -> None:
    assert start_with((3, 11, 2)).returncode == 0
