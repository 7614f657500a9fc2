"""A rollback restores what it can, lists what it cannot, and does so for many units together."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.tree import difference, leaves
from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Fleet, Twin, faults
from leverframe.units.execution import Applier
from leverframe.units.journal import ApplyJournal, find_unfinished
from leverframe.units.proof import plan_for_settings
from leverframe.units.rollback import JournalledChange, plan_back
from leverframe.units.unit_reader import pull_unit
from tests.units.plain_front import plain_front
from tests.units.scripted_twin import start_scripted_twin
from tests.units.test_random_changes import random_tree
from tests.units.unit_files import PROFILES

pytestmark = pytest.mark.usefixtures("lift_pacing")

JOURNALS = Path("unit-journal")
FIRST = '[outputs.OUT0]\nname = "Pump"\n'
SECOND = '[outputs.OUT0]\nname = "Boiler"\n\n[outputs.OUT1]\nname = "Fan"\n'
RULE = "inpa.cgi?event=0*9*1*2500*100*0*1*0*0*0*{off_delay}*0"


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with Fleet(3) as fleet:
        yield fleet


@pytest.fixture(scope="module")
def old_twin() -> Iterator[Twin]:
    with Twin(hw="3.0", sw="1.58a") as twin:
        yield twin


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SECRET", "hidden words")
    for name, text in (("first.toml", FIRST), ("second.toml", SECOND)):
        Path(name).write_text(text)
    if "fleet" in request.fixturenames:
        for twin in request.getfixturevalue("fleet"):
            twin.reset()


def run(*words: str | Path) -> int:
    return carry_out(["unit", *map(str, words)])


def names(twin: Twin) -> list[str]:
    return [output["name"] for output in twin.settings["outputs"][:2]]


def journals() -> list[Path]:
    return sorted(JOURNALS.glob("*.jsonl"))


def test_replaced_password_is_named_by_the_plan_and_listed_by_the_rollback(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = fleet[0]
    twin.command("stm.cgi?em4=b2xk")
    Path("mail.toml").write_text(FIRST + '[email]\npassword = { env = "SECRET" }\n')
    assert run("apply", "mail.toml", twin.url, "--yes") == 0
    assert "   !  no rollback can restore email.password\n" in capsys.readouterr().out
    assert run("rollback", *journals(), "--yes") == 1
    assert capsys.readouterr().out.endswith(
        f"{twin.url}: rolled back, except for:\n"
        "   -  email.password: No journal contains the previous value of this setting; set the"
        " value yourself.\n"
    )
    assert names(twin) == ["", ""]


def test_address_that_holds_a_key_is_in_no_journal_and_is_listed(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = fleet[0]
    Path("hook.toml").write_text('[http.HTTP1]\nurl = "http://example.org/before"\n')
    assert run("apply", "hook.toml", twin.url, "--yes") == 0
    Path("hook.toml").write_text('[http.HTTP1]\nurl = "http://example.org/after"\n')
    assert run("apply", "hook.toml", twin.url, "--yes") == 0
    assert "no rollback can restore http.HTTP1.url" in capsys.readouterr().out
    assert "example.org" not in "".join(path.read_text() for path in journals())
    assert run("rollback", journals()[-1], "--yes") == 1
    assert "http.HTTP1.url is not reached. No journal contains" in capsys.readouterr().out
    # The first change began with the factory setting, which is known.
    assert run("rollback", JOURNALS, "--yes") == 0
    assert twin.controller.engine.settings.http[0].url == ""


def test_duty_that_the_regulator_has_moved_is_restored(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("pid.toml").write_text('[pid]\nenabled = true\nsource = "DS1"\ntarget = 30\nkp = 100\n')
    with Twin(hw="3.8", sw="1.60a") as twin, plain_front(twin, rich=True) as front:
        twin.command("outs.cgi?pwm0=1", "stm.cgi?pwmd=025")
        twin.sense(DS1=20)
        assert run("apply", "pid.toml", front.url, "--yes") == 0
        twin.advance("10min")
        assert twin.state["PWM0.duty"] == 10
        assert run("rollback", JOURNALS, "--yes") == 0
        assert not twin.settings["pid"]["enabled"]
        assert twin.state["PWM0.duty"] == 25


def test_applying_what_a_plan_does_not_reach_in_full_ends_with_1(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("pid.toml").write_text(FIRST + "[pid]\nenabled = true\n")
    with Twin(hw="3.8", sw="1.60a") as twin, plain_front(twin) as front:
        for name in ("Pump", "Pump"):
            # The second time there is nothing left to send.
            assert run("apply", "pid.toml", front.url, "--yes") == 1
            assert "pid.enabled is not reached" in capsys.readouterr().out
            assert names(twin) == [name, ""]


def test_partly_hidden_rule_is_restored_and_its_hidden_part_listed(
    old_twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    old_twin.reset()
    old_twin.command(RULE.format(off_delay=300))
    before = old_twin.settings["rules"]
    Path("rule.toml").write_text('[rules]\n1 = "when DS1 >= 30 (hysteresis 1), then OUT1 on"\n')
    with plain_front(old_twin) as front:
        assert run("apply", "rule.toml", front.url, "--yes") == 0
        capsys.readouterr()
        status = run("rollback", JOURNALS, "--yes")
    after = old_twin.settings["rules"]
    hidden = [key for key in before[0] if before[0][key] != after[0][key]]
    listed = capsys.readouterr().out.partition("rolled back, except for:")[2]
    assert [key for key in hidden if f"rules.1.{key}:" not in listed] == []
    assert status == (1 if listed else 0)


def test_folder_is_rolled_back_with_one_command_despite_a_missing_unit(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    urls = [twin.url for twin in fleet]
    assert run("apply", "first.toml", *urls, "--yes") == 0
    assert run("apply", "second.toml", urls[0], "--yes") == 0
    capsys.readouterr()
    with fleet[2].fault(faults.status(404)):
        assert run("rollback", JOURNALS, "--yes") == 2
    output = capsys.readouterr()
    done = " ".join(line for line in output.out.splitlines() if "done" in line)
    assert [url in done for url in urls] == [True, True, False]
    assert f"{urls[2]} shows no MAC address" in output.err
    assert [names(twin) for twin in fleet] == [["", ""], ["", ""], ["Pump", ""]]
    # The unit that was gone is left; several journals mean the same as their folder.
    assert run("rollback", *journals(), "--yes") == 0
    output = capsys.readouterr()
    assert "Already rolled back, and skipped: 3.\n" in output.out
    assert output.out.endswith(f"{urls[2]}: done.\n")
    assert names(fleet[2]) == ["", ""]
    assert run("rollback", JOURNALS, "--yes") == 0
    assert capsys.readouterr().out.endswith("No change is left to roll back.\n")


def test_rollback_that_was_interrupted_is_resumed_in_place_of_its_change(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mail.toml").write_text(SECOND + '[email]\npassword = { env = "SECRET" }\n')
    twin = fleet[0]
    twin.command("stm.cgi?em4=b2xk")
    assert run("apply", "mail.toml", twin.url, "--yes") == 0
    for _ in range(2):
        with twin.fault(faults.status(500), path="/stm.cgi"):
            assert run("rollback", JOURNALS, "--yes") == 2
    # The second rollback takes the place of the first.
    assert find_unfinished(JOURNALS) == journals()[2:]
    capsys.readouterr()
    assert run("apply", "--resume", "--yes") == 1
    assert "rolled back, except for:\n   -  email.password:" in capsys.readouterr().out
    assert names(twin) == ["", ""]


def test_rollback_can_be_rolled_back_and_its_change_again(fleet: Fleet) -> None:
    twin = fleet[0]
    assert run("apply", "first.toml", twin.url, "--yes") == 0
    assert run("rollback", JOURNALS, "--yes") == 0
    assert run("rollback", journals()[-1], "--yes") == 0
    assert names(twin) == ["Pump", ""]
    assert run("rollback", JOURNALS, "--yes") == 0
    assert names(twin) == ["", ""]


def test_change_that_sent_nothing_is_not_rolled_back(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    twin = fleet[0]
    assert run("plan", "first.toml", twin.url, "--out", "plan.json") == 0
    twin.command("stm.cgi?oname=3Valve")
    assert run("apply", "plan.json", "--yes") == 2
    capsys.readouterr()
    assert run("rollback", *journals(), "--yes") == 0
    assert "nothing was sent, so there is nothing to roll back." in capsys.readouterr().out
    assert run("rollback", JOURNALS, "--yes") == 0
    assert capsys.readouterr().out == "No change is left to roll back.\n"
    assert twin.settings["outputs"][3]["name"] == "Valve"


def test_file_that_is_no_journal_is_refused_and_stops_no_unit(
    fleet: Fleet, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("rollback", "nowhere", "--yes") == 2
    assert "Journal nowhere does not exist" in capsys.readouterr().err
    Path("empty").mkdir()
    assert run("rollback", "empty", "--yes") == 2
    assert "There are no journals (*.jsonl) in empty." in capsys.readouterr().err
    assert run("apply", "first.toml", fleet[0].url, "--yes") == 0
    (JOURNALS / "broken.jsonl").write_text("{}\n")
    assert run("rollback", JOURNALS, "--yes") == 2
    assert "broken.jsonl is not the journal of a change." in capsys.readouterr().err
    assert names(fleet[0]) == ["", ""]
    Path("elsewhere.jsonl").write_bytes(journals()[0].read_bytes())
    assert run("rollback", journals()[0], "elsewhere.jsonl", "--yes") == 2
    assert "in several folders" in capsys.readouterr().err


@pytest.mark.thorough
@pytest.mark.parametrize("profile", PROFILES[::8], ids=str)
async def test_remaining_differences_after_a_rollback_are_listed(
    tmp_path: Path, profile: Profile
) -> None:
    random = Random(str(profile))
    before, wanted = random_tree(profile, random), random_tree(profile, random)
    async with start_scripted_twin(profile, before, is_real=True) as unit:
        pulled = await pull_unit(unit.client())
        named = [path for path, _ in leaves(wanted)]
        plan = await plan_for_settings("unit", pulled, wanted, named)
        journal = ApplyJournal.begin(tmp_path, plan)
        await Applier(plan, unit.client(), journal).run()
        change = JournalledChange(journal.path, journal.lines[0], len(plan.steps))
        back = await plan_back([change], await pull_unit(unit.client()))
        await Applier(back, unit.client(), ApplyJournal.begin(tmp_path / "back", back)).run()
        differing = {path for path, *_ in difference(unit.settings, before)}
    assert differing <= {one.path for one in back.left_out}
