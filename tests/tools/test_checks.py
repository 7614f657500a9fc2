"""What the run for coverage leaves out exists, so that a renamed test is not measured unnoticed."""

import re
from pathlib import Path

import pytest

from tools.checks import UNMEASURED, left_out

TESTS = Path(__file__).parents[1]


def test_files_are_ignored_and_single_tests_deselected() -> None:
    text = "# Why.\n\nweb\nwire/test_tftp.py::test_it\n"
    assert left_out(text) == ["--ignore=tests/web", "--deselect=tests/wire/test_tftp.py::test_it"]


@pytest.mark.parametrize("argument", left_out(UNMEASURED.read_text(encoding="utf-8")))
def test_what_is_left_out_exists(argument: str) -> None:
    path, _, name = argument.partition("=tests/")[2].partition("::")
    assert (TESTS / path).exists()
    assert not name or re.search(rf"def {name}\(", (TESTS / path).read_text(encoding="utf-8"))
