"""Settings that a unit does not show: a plan names them and overwrites none of them unseen."""

from pathlib import Path

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, RulePlaces, Settings, number_rules
from leverframe.core.tree import defaults, difference, with_value
from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Twin
from leverframe.units.execution import Applier
from leverframe.units.file_loader import KnownSecrets, load_unit_file
from leverframe.units.journal import ApplyJournal
from leverframe.units.presentation import describe_steps, plan_in_words
from leverframe.units.proof import plan_for_file
from leverframe.units.pull import write_pulled as pulled_to_file
from leverframe.units.unit_plan import UnitPlan, read_plans, write_plans
from leverframe.units.unit_reader import pull_unit
from tests.units.plain_front import plain_front
from tests.units.scripted_twin import ScriptedTwin, start_scripted_twin
from tests.units.unit_files import write_unit_file

NEW = Profile("3.9", "1.75")
MAIL = '[email]\npassword = { env = "MAIL" }\n'


def tree(profile: Profile, **values: object) -> Settings:
    settings = defaults(profile)
    for path, value in values.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return settings


async def plan_of(unit: ScriptedTwin, folder: Path, text: str) -> UnitPlan:
    pulled = await pull_unit(unit.client())
    secrets = KnownSecrets({"MAIL": "new words"})
    file = load_unit_file(write_unit_file(folder, text), profile=pulled.profile, secrets=secrets)
    return await plan_for_file("north", pulled, file)


async def test_plan_names_a_secret_that_it_overwrites(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, tree(NEW, email__password="old words")) as unit:
        plan = await plan_of(unit, tmp_path, MAIL)
    (unknown,) = plan.cannot_be_undone
    assert (unknown.path, unknown.fate) == ("email.password", "set")
    line = "   ?  not readable on HW 3.9 SW 1.75: email.password; will be set to ***"
    assert line in list(plan_in_words(plan))
    write_plans(tmp_path / "plan.json", [plan])
    assert read_plans(tmp_path / "plan.json") == (plan,)


async def test_secret_that_was_not_set_can_be_undone(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, tree(NEW)) as unit:
        plan = await plan_of(unit, tmp_path, MAIL)
    assert plan.steps
    assert plan.cannot_be_undone == ()


# --- hardware 3.0 shows no off delay ----------------------------------------------------------

OLD = Profile("3.0", "1.58a")
SHOWN = "not readable on HW 3.0 SW 1.58a: rules."


def two_rules() -> Settings:
    """Two rules whose off delays the unit does not show."""
    warm = Rule(source="DS1", reference=60.0, action="OUT1", enabled=True, off_delay=300)
    kept = Rule(source="DS2", reference=30.0, enabled=True, off_delay=120)
    return tree(OLD, rules=(warm, kept))


def off_delays(rules: RulePlaces) -> list[int]:
    return [rule.off_delay for _, rule in number_rules(rules)]


def lines_of(plan: UnitPlan) -> list[str]:
    """Return what the plan says of settings that the unit does not show."""
    lines = (line.strip() for line in plan_in_words(plan))
    return [line.partition(SHOWN)[2] for line in lines if line.startswith("?")]


RULES = """
    [rules]
    1 = "when DS1 >= 60, then OUT1 on"
    2 = "when DS2 >= 30, then OUT0 on"
"""


@pytest.mark.parametrize(
    ("old", "new", "lines", "after"),
    [
        ("", "", [], [300, 120]),
        ("60, then OUT1 on", "55, then OUT1 on", ["1.off_delay; will be set to 0s"], [0, 120]),
        (
            *("60, then OUT1 on", "55, then OUT1 on, off delay 5m"),
            *(["1.off_delay; will be set to 5m"], [300, 120]),
        ),
        (
            *("OUT1 on", "OUT1 on, off delay 4m"),
            *(["1.off_delay; will be set to 4m"], [240, 120]),
        ),
        ('"when DS1', '"disabled: when DS1', ["1.off_delay; kept as it is"], [300, 120]),
        (
            *('1 = "when DS1 >= 60, then OUT1 on"', ""),
            *(["1.off_delay; removed with its entry"], [120]),
        ),
        (
            *('OUT0 on"', 'OUT0 on"\n    3 = "when DS3 >= 5, then OUT2 on, off delay 7s"'),
            *(["3.off_delay; will be set to 7s"], [300, 120, 7]),
        ),
    ],
)
async def test_plan_for_hardware_30_names_only_the_off_delays_that_it_touches(
    tmp_path: Path, old: str, new: str, lines: list[str], after: list[int]
) -> None:
    text = RULES.replace(old, new)
    if len(after) == 1:
        text = text.replace("2 = ", "1 = ")
    async with start_scripted_twin(OLD, two_rules(), is_real=True) as unit:
        plan = await plan_of(unit, tmp_path, text)
        assert lines_of(plan) == lines
        journal = ApplyJournal.begin(tmp_path, plan)
        await Applier(plan, unit.client(), journal).run()
        assert off_delays(unit.settings.rules) == after


async def test_step_that_writes_a_rule_names_the_off_delay_that_is_not_shown(
    tmp_path: Path,
) -> None:
    async with start_scripted_twin(OLD, two_rules(), is_real=True) as unit:
        plan = await plan_of(unit, tmp_path, RULES.replace("60", "55"))
    (_, step, _) = describe_steps(plan)
    assert [change.new for change in step.changes] == [
        "disabled: when DS1 >= 55, then OUT1 on, off delay 0s"
    ]


async def test_off_delay_that_is_added_to_a_pulled_file_is_sent(tmp_path: Path) -> None:
    async with start_scripted_twin(OLD, two_rules(), is_real=True) as unit:
        pulled = await pull_unit(unit.client())
        file = tmp_path / "pulled.toml"
        pulled_to_file(pulled, file)
        plan = await plan_of(unit, tmp_path, file.read_text())
        assert (plan.steps, lines_of(plan)) == ((), [])
        more = file.read_text().replace("OUT1 on", "OUT1 on, off delay 4m")
        plan = await plan_of(unit, tmp_path, more)
        assert lines_of(plan) == ["1.off_delay; will be set to 4m"]


@pytest.mark.usefixtures("lift_pacing")
def test_rule_that_is_added_on_hardware_30_is_resumed_and_rolled_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = write_unit_file(tmp_path, f'{RULES}    3 = "when DS3 >= 5, then OUT2 on"\n')
    given = {path: value for path, _, value in difference(defaults(OLD), two_rules())}
    with Twin(hw="3.0", sw="1.58a", settings=given) as twin, plain_front(twin) as front:
        front.fate = lambda _, target: 503 if "eventon=2" in target else None
        assert run("apply", file, front.url, "--yes") == 2
        front.fate = lambda _, target: None
        assert run("apply", "--resume", "--yes") == 0
        assert f"{SHOWN}3.off_delay; will be set to 0s\n" in capsys.readouterr().out
        added = twin.controller.engine.settings.rules
        assert run("rollback", *Path("unit-journal").glob("*.jsonl"), "--yes") in (0, 1)
        rules = twin.controller.engine.settings.rules
    assert (off_delays(added), added[2] and added[2].enabled) == ([300, 120, 0], True)
    assert off_delays(rules) == [300, 120]


def run(*words: str | Path) -> int:
    return carry_out(["unit", *map(str, words)])
