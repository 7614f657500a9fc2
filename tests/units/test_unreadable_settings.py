"""Settings that a unit does not show: a plan names them and overwrites none of them unseen."""

from pathlib import Path

from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Settings
from leverframe.engine.tree import with_value
from leverframe.profile import Profile
from leverframe.units.loading import load_unit_file
from leverframe.units.plan_making import plan_for_file
from leverframe.units.plan_text import plan_in_words
from leverframe.units.pulling import pull_unit
from leverframe.units.secrets_file import KnownSecrets
from leverframe.units.unit_plan import UnitPlan, read_plans, write_plans
from tests.units.told_twin import ToldTwin, told_twin
from tests.units.unit_files import written

NEW = Profile("3.9", "1.75")
MAIL = '[email]\npassword = { env = "MAIL" }\n'


def tree(profile: Profile, **values: object) -> Settings:
    settings = defaults(profile)
    for path, value in values.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return settings


async def plan_of(unit: ToldTwin, folder: Path, text: str) -> UnitPlan:
    pulled = await pull_unit(unit.client())
    secrets = KnownSecrets({"MAIL": "new words"})
    file = load_unit_file(written(folder, text), profile=pulled.profile, secrets=secrets)
    return await plan_for_file("north", pulled, file)


async def test_a_plan_names_a_secret_that_it_overwrites(tmp_path: Path) -> None:
    async with told_twin(NEW, tree(NEW, email__password="old words")) as unit:
        plan = await plan_of(unit, tmp_path, MAIL)
    (unknown,) = plan.cannot_be_undone
    assert (unknown.path, unknown.fate) == ("email.password", "set")
    line = "   ?  not readable on HW 3.9 SW 1.75: email.password; will be set to ***"
    assert line in list(plan_in_words(plan))
    write_plans(tmp_path / "plan.json", [plan])
    assert read_plans(tmp_path / "plan.json") == (plan,)


async def test_a_secret_that_was_not_set_can_be_undone(tmp_path: Path) -> None:
    async with told_twin(NEW, tree(NEW)) as unit:
        plan = await plan_of(unit, tmp_path, MAIL)
    assert plan.steps
    assert plan.cannot_be_undone == ()
