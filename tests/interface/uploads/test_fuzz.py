"""Uploads that are almost right."""

from tests.interface.uploads.fuzz_rounds import fuzz_rounds


def test_uploads_that_are_almost_right_change_nothing() -> None:
    fuzz_rounds(300, seed=7)
