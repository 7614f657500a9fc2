"""The Python examples of the page about twins in tests, run as they stand there.

Those that are also in `examples/pytest` are run with that project.
"""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leverframe.testing import Twin
from tests.docs.blocks import PROJECT, Block, blocks_in

PAGE = "twin-in-a-test.md"
EXAMPLE = PROJECT / "examples" / "pytest"


def examples() -> list[Block]:
    """Return the examples that no file of the project has."""
    run = "".join(file.read_text("utf-8") for file in EXAMPLE.glob("test_*.py"))
    shown = [block for block in blocks_in(("python",)) if PAGE in str(block)]
    assert len(shown) >= 9
    return [block for block in shown if block.text.strip() not in run]


def test_page_has_examples_of_its_own() -> None:
    assert len(examples()) >= 4


@pytest.mark.parametrize("block", examples(), ids=str)
def test_example_of_the_page_passes(
    block: Block, twin: Twin, twin_factory: Callable[..., Twin], tmp_path: Path
) -> None:
    fixtures = {"twin": twin, "twin_factory": twin_factory, "tmp_path": tmp_path}
    names: dict[str, Any] = {}
    exec(block.text, names)
    tests = [one for name, one in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test(**{name: fixtures[name] for name in inspect.signature(test).parameters})
