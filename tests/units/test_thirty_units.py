"""Thirty units of five versions: the story of `docs/how-to/units.md`, as it is told there."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.command_line.entry import carry_out
from leverframe.testing import Fleet
from leverframe.units.unit_plan import read_plans
from tests.docs.blocks import PROJECT, blocks
from tests.stopwatch import within

PAGE = PROJECT / "docs" / "how-to" / "units.md"
VERSIONS = ["3.0/1.58a", "3.5/1.30", "3.7/1.49", "3.8/1.60a", "3.9/1.75"]
UNITS = 30
MAX_S = 60.0
#: What all thirty share; the text and the temperature of each come from the inventory.
FILE = """
values = { zone = "somewhere", warm = 20 }

[outputs.OUT0]
name = "Pump ${zone}"
return_time = "10m"

[onewire.DS1]
name = "Air ${zone}"

[rules]
1 = "when DS1 >= ${warm} (hysteresis 1), then OUT0 on"
"""

pytestmark = pytest.mark.thorough


def run(*words: str) -> int:
    return carry_out(["unit", *words])


def write_inventory(fleet: Fleet) -> None:
    tables = ['[groups.all]\nfile = "greenhouse.toml"\n']
    for number, twin in enumerate(fleet):
        tables.append(
            f'[units.unit{number}]\naddress = "{twin.url}"\ngroups = ["all"]\nmac = "{twin.mac}"\n'
            f'values = {{ zone = "{number}", warm = {20 + number % 5} }}\n'
        )
    Path("units.toml").write_text("\n".join(tables))
    Path("greenhouse.toml").write_text(FILE)


def names(fleet: Fleet) -> list[str]:
    return [twin.settings["outputs"][0]["name"] for twin in fleet]


def commands() -> Iterator[list[str]]:
    """The commands of the story as the document tells it, about these twins."""
    told = [block for block in blocks(PAGE) if "test_thirty_units" in (block.not_run or "")]
    (block,) = told
    for line in block.text.splitlines():
        yield shlex.split(line)[1:]


def test_thirty_units_of_five_versions_become_what_their_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Fleet(UNITS, versions=VERSIONS) as fleet, within(MAX_S):
        write_inventory(fleet)
        for words in commands():
            assert carry_out(about_twins(words, fleet)) == 0, words
            look_after(words, fleet, capsys.readouterr().out)
        # Somebody changes a unit by hand, and the next look tells.
        fleet[7].command("stm.cgi?oname=0Boiler")
        assert run("watch", "units.toml", "--once") == 1
        told = capsys.readouterr().out
        assert told.count("as it should be.") == UNITS - 1
        assert '   -  outputs.OUT0.name is "Boiler", not "Pump 7"' in told


def about_twins(words: list[str], fleet: Fleet) -> list[str]:
    """The words of a command with the addresses of the twins."""
    if words[1] == "find":
        return [*words[:2], *(twin.url for twin in fleet)]
    return [word.replace("http://192.168.1.10", fleet[0].url) for word in words]


def look_after(words: list[str], fleet: Fleet, told: str) -> None:
    """What is to be seen after a command of the story."""
    if "find" in words:
        assert all(twin.mac in told for twin in fleet)
    elif "watch" in words:
        assert told.count("as it should be.") == UNITS
    elif "--out" in words and "plan" in words:
        plans = read_plans(Path("plan.json"))
        assert len({(plan.hw, plan.sw) for plan in plans}) == len(VERSIONS)
        assert all(plan.steps and not plan.left_out for plan in plans)
        assert set(names(fleet)) == {""}
    elif "apply" in words:
        assert told.count(": done.") == UNITS
        assert names(fleet) == [f"Pump {number}" for number in range(UNITS)]
        references = [twin.settings["rules"][0]["reference"] for twin in fleet[:6]]
        assert references == [20.0, 21.0, 22.0, 23.0, 24.0, 20.0]
    elif "plan" in words:
        assert told.count("nothing to send") == UNITS


def test_a_canary_that_fails_keeps_twenty_nine_units_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with Fleet(UNITS, versions=VERSIONS) as fleet, within(MAX_S):
        write_inventory(fleet)
        assert run("plan", "units.toml", "--out", "plan.json") == 0
        fleet[0].command("stm.cgi?oname=5Spare")
        assert run("apply", "plan.json", "--canary", "1", "--batch", "10", "--yes") == 2
        assert capsys.readouterr().out.count("not begun") == UNITS - 1
        assert set(names(fleet)) == {""}
