"""Random settings lead to others, also where the work is killed again and again."""

from itertools import cycle
from pathlib import Path
from random import Random

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference, leaves
from leverframe.interface.table.lookup import DOCUMENT_ROWS
from leverframe.units.execution import Applier
from leverframe.units.journal import ApplyJournal, find_unfinished, plan_beside, reopen_journal
from leverframe.units.proof import plan_for_settings
from leverframe.units.unit_reader import pull_unit
from tests.random_settings import random_settings
from tests.units.scripted_twin import Killed, ScriptedTwin, start_scripted_twin
from tests.units.unit_files import PROFILES

MAX_ROUNDS = 20

pytestmark = pytest.mark.thorough


def random_tree(profile: Profile, random: Random) -> Settings:
    """Made by the document's commands; stored passwords cannot be sent."""
    tree = random_settings(profile, random, 12, DOCUMENT_ROWS)
    return replace(tree, access=defaults(profile).access)


async def apply_with_kills(unit: ScriptedTwin, folder: Path) -> None:
    """Resume what is unfinished until it is done, however often it is killed."""
    for _ in range(MAX_ROUNDS):
        (path,) = find_unfinished(folder)
        journal = reopen_journal(path)
        try:
            await Applier(plan_beside(path), unit.client(), journal).run()
            return
        except Killed:
            continue
        finally:
            journal.close()
    raise AssertionError(f"not done after {MAX_ROUNDS} rounds")


@pytest.mark.parametrize(
    ("profile", "is_real"),
    [*zip(PROFILES[1::8], cycle([True, False]), strict=False)],
    ids=str,
)
async def test_change_that_is_killed_again_and_again_ends_where_it_should(
    tmp_path: Path, profile: Profile, is_real: bool
) -> None:
    random = Random(f"{profile} {is_real}")
    before, wanted = random_tree(profile, random), random_tree(profile, random)
    async with start_scripted_twin(profile, before, is_real=is_real) as unit:
        pulled = await pull_unit(unit.client())
        named = [path for path, _ in leaves(wanted)]
        plan = await plan_for_settings("unit", pulled, wanted, named)
        killed = set(random.sample(range(1, 2 * len(plan.steps)), min(3, len(plan.steps))))

        def fate(number: int, _: str) -> str | None:
            return random.choice(["killed before", "killed after"]) if number in killed else None

        unit.fate = fate
        ApplyJournal.begin(tmp_path, plan).close()
        await apply_with_kills(unit, tmp_path)
        differing = {path for path, *_ in difference(unit.settings, wanted)}
    assert differing <= {one.path for one in plan.left_out}
    assert differing <= {"serial.sdm_bitrate"}
