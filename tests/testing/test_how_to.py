"""The Python examples of the page about twins in tests, run as they stand there."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leverframe.testing import Twin
from tests.docs.blocks import Block, blocks_in

PAGE = "twin-in-a-test.md"


def examples() -> list[Block]:
    return [block for block in blocks_in(("python",)) if PAGE in str(block)]


def test_the_page_has_examples() -> None:
    assert len(examples()) >= 4


@pytest.mark.parametrize("block", examples(), ids=str)
def test_an_example_of_the_page_passes(
    block: Block, twin: Twin, twin_factory: Callable[..., Twin], tmp_path: Path
) -> None:
    fixtures = {"twin": twin, "twin_factory": twin_factory, "tmp_path": tmp_path}
    names: dict[str, Any] = {}
    exec(block.text, names)
    tests = [one for name, one in names.items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test(**{name: fixtures[name] for name in inspect.signature(test).parameters})
