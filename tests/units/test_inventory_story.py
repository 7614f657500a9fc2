"""An operator with many units of several versions: find, pull, diff, plan, apply, roll back.

One unit is dead, one slow, one has another password, one device is no unit, two have one name, and
some are seen through a front without anything of Leverframe's own.
"""

import io
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Twin
from leverframe.units import plan, summaries
from leverframe.units.client import open_paced_client
from leverframe.units.inventory import load_inventory
from leverframe.units.unit_plan import read_plans
from tests.docs.blocks import PROJECT, blocks
from tests.ports import free_port
from tests.units.plain_front import PlainFront, plain_front

pytestmark = pytest.mark.usefixtures("lift_pacing")

PAGE = PROJECT / "docs" / "how-to" / "units.md"
Run = Callable[..., int]
VERSIONS = ["3.5/1.30", "3.7/1.49", "3.8/1.60a", "3.9/1.75", "3.0/1.58a"]
#: Two of them have one name.
NAMES = ("Boiler", "boiler")
PASSWORD, OTHER = "the password of most", "another password"
FILE = """\
[outputs.OUT0]
name = "Pump"

[rules]
1 = "when DS1 >= 20, then OUT0 on"
"""


class Site(NamedTuple):
    twins: list[Twin]
    fronts: list[PlainFront]
    locked: Twin
    foreign: PlainFront
    #: Of all units and devices, in this order; the last three are of no use.
    urls: list[str]


def site(stack: ExitStack, units: int, fronts: int) -> Site:
    """Start units: the first ones behind a front, the very first of them slow."""
    twins = []
    for number in range(units):
        hw, sw = VERSIONS[number % len(VERSIONS)].split("/")
        name = NAMES[number] if number < len(NAMES) else f"zone {number}"
        twins.append(
            stack.enter_context(Twin(hw=hw, sw=sw, name=name, mac=f"02:00:00:00:01:{number:02X}"))
        )
    served = [stack.enter_context(plain_front(twin)) for twin in twins[:fronts]]
    served[0].delay_s = 0.02
    locked = stack.enter_context(Twin(accounts={"admin": OTHER}))
    foreign = stack.enter_context(plain_front(locked))
    foreign.bodies = {"/xml/stat.xml": b"<html>a printer</html>"}
    dead = f"http://127.0.0.1:{free_port()}"
    urls = [front.url for front in served] + [twin.url for twin in twins[fronts:]]
    return Site(twins, served, locked, foreign, [*urls, dead, locked.url, foreign.url])


@pytest.fixture
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # A dead unit is not waited for.
    for module in (plan, summaries):
        monkeypatch.setattr(
            module, "open_paced_client", partial(open_paced_client, retry_waits_s=())
        )
    monkeypatch.setenv("UNIT_PASSWORD", PASSWORD)
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{PASSWORD}\n"))
    Path("all.toml").write_text(FILE)


class Operator:
    """Runs commands of the program, and remembers them without the addresses of a search."""

    def __init__(self) -> None:
        self.commands: list[str] = []

    def run(self, *words: str) -> int:
        named = [word for word in words if not word.startswith("http://")]
        self.commands.append(" ".join(["leverframe unit", *named]))
        return carry_out(["unit", *words])


def add_what_is_common(inventory: Path) -> None:
    """Name a file and a login for all, as the inventory says, and take in what was left out."""
    text = inventory.read_text().replace(
        "[groups.all]\n",
        '[groups.all]\nfile = "all.toml"\nuser = "admin"\npassword = { env = "UNIT_PASSWORD" }\n',
    )
    lines = text.splitlines()
    begin = next(place for place, line in enumerate(lines) if line.startswith("# Left out"))
    taken_in = [
        line.removeprefix("# ") if line.startswith(("# [", "# a", "# g")) else line
        for line in lines[begin:]
    ]
    inventory.write_text("\n".join([*lines[:begin], *taken_in]) + "\n")


def read_documented_commands() -> list[str]:
    """The commands of the story as the document has them, without the addresses of the search."""
    story_blocks = [block for block in blocks(PAGE) if "test_inventory_story" in block.not_run]
    (block,) = story_blocks
    return [line.replace(" 192.168.1.10-39", "") for line in block.text.splitlines()]


def look_at_the_story(units: int, fronts: int, capsys: pytest.CaptureFixture[str]) -> None:
    operator = Operator()
    with ExitStack() as stack:
        world = site(stack, units, fronts)
        find_them(operator.run, world, units, capsys)
        add_what_is_common(Path("units.toml"))
        dead = world.urls[units]
        with Path("units.toml").open("a") as file:
            file.write(f'\n[units.dead]\naddress = "{dead}"\ngroups = ["all"]\n')
        pull_and_compare(operator.run, world, units, capsys)
        change_and_roll_back(operator.run, world, units, capsys)
    assert set(read_documented_commands()) <= set(operator.commands)


def find_them(run: Run, world: Site, units: int, capsys: pytest.CaptureFixture[str]) -> None:
    found = ("find", *world.urls, "--quick", "--user", "admin", "--out", "units.toml")
    assert run(*found) == 1
    said = capsys.readouterr()
    dead = world.urls[units]
    assert f"{dead}: " in said.out
    assert f"{units} units written to units.toml." in said.out
    assert "answers at this address, but not as a unit does." in said.out
    first, second = (world.urls[place] for place in range(2))
    assert f"numbered in the inventory: {first} is Boiler, {second} is boiler-2." in said.err
    assert "left out of the inventory" in said.err
    assert "rejects the login" in said.err
    assert run("check", "units.toml") == 0
    known = load_inventory(Path("units.toml")).units
    assert [unit.address for unit in known] == world.urls[:units]
    assert [unit.mac for unit in known] == [twin.mac for twin in world.twins]
    assert run(*found) == 2
    assert "already exists" in capsys.readouterr().err


def pull_and_compare(run: Run, world: Site, units: int, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("pull", "units.toml", "--out", "before") == 2
    said = capsys.readouterr()
    assert f"{units} units read, written to before." in said.out
    assert f"3 of {units + 3} units could not be read:" in said.err
    assert "dead: " in said.err
    assert len(list(Path("before").glob("*.toml"))) == units
    assert max(front.most_requests for front in world.fronts) == 1
    world.twins[1].command("stm.cgi?oname=3Valve")
    assert run("diff", "units.toml", "--files", "before") == 2
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        f"1 unit different from their file; {units - 1} units equal to their file;"
        " 3 units unreachable or not comparable",
        "boiler-2:",
        '  OUT3 name: "Valve" -> nothing',
    ]
    assert run("diff", "units.toml", "boiler-2", "--files", "before", "--only", "rules") == 0


def change_and_roll_back(
    run: Run, world: Site, units: int, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert run("plan", "units.toml", "--out", "plan.json") == 2
    said = capsys.readouterr().out
    assert len(said.splitlines()) <= 24
    assert "3 unreachable or without a plan" in said
    # Leverframe gets a rule in one request.
    fronts = len(world.fronts)
    assert f"{units - fronts} units: the same 2 steps" in said
    assert f"{fronts} unit" in said
    assert "3 steps" in said
    assert "Add rule 1: when DS1 >= 20, then OUT0 on" in said
    assert "not readable: rules.1.off_delay" in said or fronts < len(VERSIONS)
    plans = read_plans(Path("plan.json"))
    assert len(plans) == units
    # An operator changes a unit of the second version: its plan is stale, and it is a canary.
    world.twins[1].command("stm.cgi?oname=4Fan")
    assert run("apply", "plan.json", "--canary", "versions", "--batch", "10", "--yes") == 2
    said = capsys.readouterr().out
    assert "Boiler: done." in said
    assert f"{units - 2} units not started: " in said
    assert run("plan", "units.toml", "--out", "plan.json") == 2
    assert "1 unit: nothing to send" in capsys.readouterr().out
    assert run("apply", "--canary", "versions", "--batch", "10", "--yes", "plan.json") == 0
    said = capsys.readouterr().out
    assert f"{units - 1} units done: " in said
    assert len(said.splitlines()) <= 24
    assert all(twin.settings["outputs"][0]["name"] == "Pump" for twin in world.twins)
    assert run("diff", "units.toml") == 2
    assert f"{units} units equal to their file" in capsys.readouterr().out
    (journal,) = Path("unit-journal").glob("zone-2-*.jsonl")
    assert run("rollback", str(journal), "--yes") == 0
    assert run("diff", "units.toml", "zone-2", "zone-3") == 1
    assert "1 unit different from their file; 1 unit equal to their file" in capsys.readouterr().out


@pytest.mark.usefixtures("in_a_folder")
def test_operator_with_four_units_and_three_useless_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    look_at_the_story(4, 1, capsys)


@pytest.mark.long
@pytest.mark.usefixtures("in_a_folder")
def test_operator_with_thirty_units(capsys: pytest.CaptureFixture[str]) -> None:
    look_at_the_story(27, 5, capsys)
