"""What `make mutate` spoils, and the tests that should notice, are there."""

import pytest

from tools.mutate import PARTS, PROJECT, SOURCE, Part

pytestmark = pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)


def test_every_file_that_is_spoiled_exists(part: Part) -> None:
    assert [pattern for pattern in part.files if not any((PROJECT / SOURCE).glob(pattern))] == []


def test_every_test_that_should_notice_exists(part: Part) -> None:
    assert [pattern for pattern in part.tests if not any(PROJECT.glob(pattern))] == []
