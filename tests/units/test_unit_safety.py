"""Which unit a plan changes, and who else does: whole commands, before fronts of real units."""

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.host.command_line.entry import carry_out
from leverframe.testing import Twin, faults
from leverframe.units.journal import find_unfinished
from leverframe.units.unit_lock import CannotLock, UnitHeld, refuse_held, unit_held
from leverframe.units.unit_plan import read_plans
from tests.units.empty_plan import empty_plan
from tests.units.plain_front import Fate, PlainFront, plain_front

pytestmark = pytest.mark.usefixtures("lift_pacing")

NAMES = '[outputs.OUT0]\nname = "Pump"\n\n[outputs.OUT1]\nname = "Fan"\n'
JOURNALS = Path("unit-journal")
MAC, OTHER_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"


@pytest.fixture(scope="module")
def twin() -> Iterator[Twin]:
    with Twin(hw="3.9", sw="1.75", mac=MAC) as twin:
        yield twin


@pytest.fixture(scope="module")
def other() -> Iterator[Twin]:
    with Twin(hw="3.9", sw="1.75", mac=OTHER_MAC) as twin:
        yield twin


@pytest.fixture
def front(twin: Twin, other: Twin) -> Iterator[PlainFront]:
    for one in (twin, other):
        one.reset()
    with plain_front(twin) as front:
        yield front


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("names.toml").write_text(NAMES)


def run(*words: str | Path) -> int:
    return carry_out(["unit", *map(str, words)])


def names(twin: Twin) -> list[str]:
    return [output["name"] for output in twin.settings["outputs"][:2]]


def write_inventory(front: PlainFront, mac: str) -> None:
    Path("units.toml").write_text(
        f'[units.north]\naddress = "{front.url}"\nfile = "names.toml"\nmac = "{mac}"\n'
    )


def test_unit_with_an_unexpected_mac_address_receives_no_plan_and_no_command(
    front: PlainFront, capsys: pytest.CaptureFixture[str]
) -> None:
    write_inventory(front, OTHER_MAC)
    for words in (("plan", "units.toml"), ("apply", "units.toml", "--yes")):
        assert run(*words) == 2
        assert f"north: Another unit answers at {front.url}: its MAC address is {MAC}, not " in (
            capsys.readouterr().err
        )
    # The plan was made without the inventory, and is sent with it.
    assert run("plan", "names.toml", front.url, "--out", "plan.json") == 0
    assert read_plans(Path("plan.json"))[0].mac == MAC
    assert run("apply", "plan.json", "--inventory", "units.toml", "--yes") == 2
    assert f"{MAC}, but the inventory lists {OTHER_MAC}" in capsys.readouterr().err
    assert front.commands == []


def test_unit_that_was_swapped_since_the_plan_gets_nothing(
    front: PlainFront, other: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "names.toml", front.url, "--out", "plan.json") == 0
    front.unit = other
    assert run("apply", "plan.json", "--yes") == 2
    assert f"its MAC address is {OTHER_MAC}, not {MAC}." in capsys.readouterr().err
    assert front.commands == []
    assert find_unfinished(JOURNALS) == []


@pytest.mark.parametrize(
    ("swapping_target", "sentence"),
    [
        ("/xml/stat.xml", "after 1 of 2 steps: Another unit answers at"),
        pytest.param(
            "/json/",
            "It is unknown which of the two units carried out GET /stm.cgi?oname=0Pump.",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_unit_swapped_during_a_plan_receives_none_of_the_remaining_steps(
    front: PlainFront,
    twin: Twin,
    other: Twin,
    capsys: pytest.CaptureFixture[str],
    swapping_target: str,
    sentence: str,
) -> None:
    def swap(number: int, target: str) -> Fate:
        if front.commands and target.startswith(swapping_target):
            front.unit = other
        return None

    front.fate = swap
    assert run("apply", "names.toml", front.url, "--yes") == 2
    assert sentence in capsys.readouterr().err
    assert (names(twin), names(other)) == (["Pump", ""], ["", ""])
    # Neither resuming nor rolling back touches it.
    for words in (("apply", "--resume", "--yes"), ("rollback", JOURNALS, "--yes")):
        assert run(*words) == 2
        assert "Another unit answers at" in capsys.readouterr().err
    assert names(other) == ["", ""]
    front.fate, front.unit = lambda number, target: None, twin
    assert run("apply", "--resume", "--yes") == 0
    assert names(twin) == ["Pump", "Fan"]


def test_unit_that_has_another_version_in_the_middle_gets_nothing_more(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    def upgrade(number: int, target: str) -> Fate:
        if len(front.commands) == 1 and ".cgi" not in target:
            front.texts["sw"] = "1.60"
        return None

    front.fate = upgrade
    assert run("apply", "names.toml", front.url, "--yes") == 2
    assert "SW 1.60 now, but the plan was made for HW 3.9 SW 1.75: nothing was sent after 1" in (
        capsys.readouterr().err
    )
    assert len(front.commands) == 1


def test_settings_lost_by_a_restart_stop_the_plan(
    front: PlainFront, twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    def restart(number: int, target: str) -> Fate:
        if "oname=1" not in target or len(front.commands) > 2:
            return None
        front.reboot(unanswered=0)
        twin.command("stm.cgi?oname=0")
        return "dropped"

    front.fate = restart
    assert run("apply", "names.toml", front.url, "--yes") == 2
    assert 'after 1 of 2 steps: outputs.OUT0.name is "", not "Pump"' in capsys.readouterr().err
    assert names(twin) == ["", ""]


SIGN_IN = """
[access]
required = true

[access.admin]
name = "keeper"
password = { env = "KEEPER" }
"""


@pytest.mark.parametrize("is_real", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_sign_in_switched_on_for_an_open_unit_is_read_back_with_the_new_account(
    front: PlainFront,
    twin: Twin,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_real: bool,
) -> None:
    monkeypatch.setenv("KEEPER", "of the keeper")
    Path("sign-in.toml").write_text(NAMES + SIGN_IN)
    url = front.url if is_real else twin.url
    assert run("apply", "sign-in.toml", url, "--yes") == 0
    output = capsys.readouterr().out
    assert "   !  no rollback can restore access.admin.password\n" in output
    assert output.endswith(f"{url}: done.\n")
    access = twin.controller.engine.settings.access
    assert (access.required, access.admin.name, names(twin)) == (True, "keeper", ["Pump", "Fan"])
    # The way back needs the account, and then goes the other way.
    assert run("rollback", JOURNALS, "--yes") == 2
    assert "requires a login; add --user" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("of the keeper\n"))
    assert run("rollback", JOURNALS, "--user", "keeper", "--yes") == 1
    assert "rolled back, except for:\n   -  access.admin.password:" in capsys.readouterr().out
    access = twin.controller.engine.settings.access
    assert (access.required, access.admin.name, names(twin)) == (False, "admin", ["", ""])


def test_sign_in_is_not_switched_on_if_the_unit_could_not_be_read_afterwards(
    front: PlainFront, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("sign-in.toml").write_text("[access]\nrequired = true\n")
    assert run("apply", "sign-in.toml", front.url, "--yes") == 2
    assert (
        "the password of admin no setting could be read back; add --user admin."
        in capsys.readouterr().err
    )
    assert front.commands == []


HOLDER = """
import sys, time
from pathlib import Path
from leverframe.units.unit_lock import unit_held
from leverframe.units.unit_plan import read_plans
with unit_held(read_plans(Path("plan.json"))[0], Path("locks")):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_unit_in_use_by_another_process_is_refused_until_that_process_ends(
    front: PlainFront,
) -> None:
    assert run("plan", "names.toml", front.url, "--out", "plan.json") == 0
    (plan,) = read_plans(Path("plan.json"))
    folder = Path("locks")
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UnitHeld, match=rf"is being changed by .* \(process {holder.pid}, "):
            refuse_held(plan, folder)
        # Another unit is free.
        refuse_held(empty_plan("south"), folder)
        holder.kill()
    assert list(folder.iterdir())
    with unit_held(plan, folder), pytest.raises(UnitHeld):
        refuse_held(plan, folder)
    assert list(folder.iterdir()) == []


def test_second_operator_gets_one_sentence_and_sends_nothing(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    twin.reset()
    assert run("plan", "names.toml", twin.url, "--out", "plan.json") == 0
    (plan,) = read_plans(Path("plan.json"))
    with unit_held(plan):
        assert run("apply", "plan.json", "--yes") == 2
        assert f"{twin.url} is being changed by" in capsys.readouterr().err
        assert not JOURNALS.exists()
    # A step that was carried out although its answer says otherwise.
    with twin.fault(faults.status(500), path="/stm.cgi"):
        assert run("apply", "plan.json", "--yes") == 2
    twin.command("stm.cgi?oname=0Pump")
    with unit_held(plan):
        for words in (
            ("apply", "--resume", "--yes"),
            ("apply", "names.toml", twin.url, "--yes"),
            ("rollback", JOURNALS, "--yes"),
        ):
            capsys.readouterr()
            assert run(*words) == 2
            assert f"{twin.url} is being changed by" in capsys.readouterr().err
    assert names(twin) == ["Pump", ""]
    # The change is still there to be resumed: the rollback has sent nothing.
    assert run("apply", "--resume", "--yes") == 0
    assert names(twin) == ["Pump", "Fan"]


def test_link_in_the_place_of_a_lock_is_refused(tmp_path: Path) -> None:
    (tmp_path / "http---north").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotLock, match="cannot be opened"):
        refuse_held(empty_plan("north"), tmp_path)
    assert not (tmp_path / "elsewhere").exists()
