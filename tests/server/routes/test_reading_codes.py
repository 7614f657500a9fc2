"""The reading codes that the pages get are those that texts replace."""

import msgspec
import pytest

from leverframe.core.engine.texts import render
from leverframe.core.profile import Profile
from leverframe.testing import LoopTwin


@pytest.mark.parametrize("version", [("3.9", "1.75"), ("3.5", "1.36"), ("3.0", "1.58a")])
async def test_every_code_that_is_offered_stands_for_its_label(version: tuple[str, str]) -> None:
    profile = Profile(*version)
    twin = await LoopTwin.start(profile)
    codes = msgspec.json.decode((await twin.ok("/api/reading-codes")).body)
    values = {label: index % 2 for index, label in enumerate(codes.values())}
    assert codes
    for number, label in codes.items():
        assert render(f"%{number}0", values, profile) == str(values[label])
        assert render(f"%{number}0", {label: None}, profile) == "--"
