"""Settings that a unit does not show: a plan names them and overwrites none of them unseen."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.command_line.entry import carry_out
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Settings
from leverframe.engine.tree import with_value
from leverframe.profile import Profile
from leverframe.testing import Twin
from leverframe.units.loading import load_unit_file
from leverframe.units.plan_making import plan_for_file
from leverframe.units.plan_text import plan_in_words
from leverframe.units.pulling import pull_unit
from leverframe.units.secrets_file import KnownSecrets
from leverframe.units.unit_plan import UnitPlan, read_plans, write_plans
from tests.units.plain_front import PlainFront, plain_front
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


# --- hardware 3.0 shows no off delay ----------------------------------------------------------

WARM = "/inpa.cgi?event=0*10*0*6000*0*0*3*0*0*0*0*300"
KEPT = "/inpa.cgi?event=1*11*0*3000*0*0*1*0*0*0*0*120"
SHOWN = "not readable on HW 3.0 SW 1.58a: rules."


@pytest.fixture(scope="module")
def twin_30() -> Iterator[Twin]:
    with Twin(hw="3.0", sw="1.58a") as twin:
        yield twin


@pytest.fixture
def front(twin_30: Twin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PlainFront]:
    """Serve a unit with two rules that have an off delay."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("leverframe.units.client.MAX_REQUESTS_PER_S", 1000)
    twin_30.reset()
    for command in (WARM, KEPT, "/inpa.cgi?eventon=0*1", "/inpa.cgi?eventon=1*1"):
        twin_30.command(command)
    with plain_front(twin_30) as front:
        yield front


def off_delays(twin: Twin) -> list[int]:
    return [rule["off_delay"] for rule in twin.settings["rules"]]


def run(*words: str | Path) -> int:
    return carry_out(["unit", *map(str, words)])


RULES = """
    [rules]
    1 = "when DS1 >= 60, then OUT1 on"
    2 = "when DS2 >= 30, then OUT0 on"
"""


def test_rule_is_added_on_hardware_30_and_the_others_keep_what_is_not_shown(
    front: PlainFront, twin_30: Twin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = f'{RULES}    3 = "when DS3 >= 5, then OUT2 on, off delay 7s"\n'
    assert run("apply", written(tmp_path, RULES), front.url, "--yes") == 0
    assert "nothing to send" in capsys.readouterr().out
    assert run("apply", written(tmp_path, more), front.url, "--yes") == 0
    assert f"{SHOWN}3.off_delay; will be set to 7s\n" in capsys.readouterr().out
    assert off_delays(twin_30) == [300, 120, 7]


@pytest.mark.parametrize(("said", "seconds"), [("", 0), (", off delay 5m", 300)])
def test_changed_rule_on_hardware_30_gets_the_off_delay_that_the_plan_names(
    front: PlainFront,
    twin_30: Twin,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    said: str,
    seconds: int,
) -> None:
    file = written(tmp_path, RULES.replace('60, then OUT1 on"', f'55, then OUT1 on{said}"'))
    assert run("plan", file, front.url) == 0
    shown = capsys.readouterr().out
    assert f"{SHOWN}1.off_delay; will be set to {'5m' if seconds else '0s'}\n" in shown
    assert "rules.2" not in shown
    assert run("apply", file, front.url, "--yes") == 0
    assert off_delays(twin_30) == [seconds, 120]
    assert run("rollback", *Path("unit-journal").glob("*.jsonl"), "--yes") in (0, 1)
    assert [rule["reference"] for rule in twin_30.settings["rules"]] == [60.0, 30.0]
    assert off_delays(twin_30)[1] == 120


def test_rule_that_is_disabled_alone_keeps_what_is_not_shown(
    front: PlainFront, twin_30: Twin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, RULES.replace('"when DS1', '"disabled: when DS1'))
    assert run("apply", file, front.url, "--yes") == 0
    assert f"{SHOWN}1.off_delay; kept as it is\n" in capsys.readouterr().out
    assert off_delays(twin_30) == [300, 120]


def test_deleted_rule_is_named_with_what_is_lost_and_the_later_one_keeps_its_own(
    front: PlainFront, twin_30: Twin, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, '[rules]\n1 = "when DS2 >= 30, then OUT0 on"\n')
    assert run("apply", file, front.url, "--yes") == 0
    shown = capsys.readouterr().out
    assert f"{SHOWN}1.off_delay; removed with its entry\n" in shown
    assert "rules.2.off_delay" not in shown
    assert off_delays(twin_30) == [120]


def test_interrupted_change_of_hardware_30_is_resumed(
    front: PlainFront, twin_30: Twin, tmp_path: Path
) -> None:
    file = written(tmp_path, f'{RULES}    3 = "when DS3 >= 5, then OUT2 on"\n')
    front.fate = lambda _, target: 503 if "eventon=2" in target else None
    assert run("apply", file, front.url, "--yes") == 2
    front.fate = lambda _, target: None
    assert run("apply", "--resume", "--yes") == 0
    assert off_delays(twin_30) == [300, 120, 0]
    assert twin_30.settings["rules"][2]["enabled"] is True
