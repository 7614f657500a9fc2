"""Settings on their way: twin, pull, unit file, twin of this or another version, and pull again."""

from pathlib import Path
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, difference, is_confidential, leaves
from leverframe.testing import Twin
from leverframe.units.client import open_paced_client
from leverframe.units.file_loader import load_unit_file
from leverframe.units.pull import write_pulled
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_reader import pull_unit
from tests.effort import some_of
from tests.random_settings import random_settings
from tests.units.test_pulling import EXISTING


async def pull_twin(profile: Profile, settings: dict[str, object], by_files: bool) -> PulledUnit:
    with Twin(hw=profile.hw, sw=profile.sw, settings=settings) as twin:
        async with open_paced_client(twin.url, paced=False) as client:
            return await pull_unit(client, by_files=by_files)


@pytest.mark.parametrize("seed", some_of(range(10)))
@pytest.mark.parametrize("by_files", [True, False])
async def test_settings_arrive_as_far_as_each_step_can_hold_them(
    seed: int, by_files: bool, tmp_path: Path
) -> None:
    random = Random(seed)
    source, target = random.choices(EXISTING, k=2)
    if seed % 3 == 0:
        target = source
    given = {
        path: value
        for path, _, value in difference(defaults(source), random_settings(source, random, 60))
        if not path.startswith("access.")
    }
    first = await pull_twin(source, given, by_files)
    file = tmp_path / "unit.toml"
    write_pulled(first, file)
    said, _ = load_unit_file(file, need_secrets=False).for_version(target)
    wanted = said.over(defaults(target))
    second = await pull_twin(
        target,
        {
            path: value
            for path, _, value in difference(defaults(target), wanted)
            if not path.startswith("access.")
        },
        by_files,
    )
    expected = dict(leaves(wanted))
    read = {
        path: value
        for path, value in second.read_leaves()
        if not path.startswith("access.") and second.why_lossy(path) is None
    }
    assert {path: expected[path] for path in read} == read
    if source == target:
        # What is confidential stands in a file of its own.
        known = {
            path: value
            for path, value in first.read_leaves()
            if path in read and first.why_lossy(path) is None and not is_confidential(path)
        }
        assert {path: read[path] for path in known} == known
