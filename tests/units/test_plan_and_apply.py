"""`unit plan`, `unit apply` and `unit rollback`, over HTTP to twins."""

import asyncio
import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import msgspec
import pytest

from leverframe.core.profile import Profile
from leverframe.host.command_line.entry import carry_out
from leverframe.interface.plan.plan_builder import PlannedRequest
from leverframe.testing import Fleet, Twin, faults
from leverframe.units import apply, proof
from leverframe.units.client import open_paced_client
from leverframe.units.execution import Applier, ApplyStopped
from leverframe.units.journal import ApplyJournal, find_unfinished
from leverframe.units.presentation import plan_as_curl, plan_in_words
from leverframe.units.unit_plan import BadPlan, SettingChange, UnitStep, read_plans, write_plans
from tests.effort import some_of
from tests.host.simulation.test_what_if import fill
from tests.patience import PATIENCE_S
from tests.units.empty_plan import empty_plan

FILE = """
    [outputs.OUT0]
    name = "Pump"
    return_time = "60s"

    [rules]
    1 = "when DS1 < 12 (hysteresis 1), then OUT0 on"

    [email]
    password = { env = "MAIL_PASSWORD" }
"""


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MAIL_PASSWORD", "hidden words")
    Path("unit.toml").write_text(dedent(FILE))


@pytest.fixture
def twin() -> Iterator[Twin]:
    with Twin() as one:
        yield one


def run(*words: str | Path) -> int:
    return carry_out(["unit", *map(str, words)])


def is_as_the_file_says(twin: Twin) -> bool:
    settings = twin.settings
    output = settings["outputs"][0]
    return (output["name"], output["return_time"], len(settings["rules"])) == ("Pump", 60, 1)


def journals() -> list[Path]:
    return sorted(Path("unit-journal").glob("*.jsonl"))


def test_plan_is_shown_in_words_without_secrets_and_nothing_is_sent(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "unit.toml", twin.url) == 0
    output = capsys.readouterr().out
    assert f"{twin.url}, {Profile()}: 4 steps, verified on a twin." in output
    assert 'Name an output\n      outputs.OUT0.name: "" -> "Pump"\n' in output
    assert "GET /stm.cgi?em4=***" in output
    assert "hidden" not in output
    assert not is_as_the_file_says(twin)


def test_plan_is_written_as_curl_and_as_json(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "unit.toml", twin.url, "--curl") == 0
    output = capsys.readouterr().out
    assert f"/dev/null '{twin.url}/stm.cgi?oname=0Pump'\n" in output
    assert "# Replace <email.password>, encoded as the command expects it:\n" in output
    assert f"'{twin.url}/stm.cgi?em4=<email.password>'\n" in output
    assert run("plan", "unit.toml", twin.url, "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    shown = msgspec.json.decode(line)
    assert (shown["hw"], len(shown["steps"]), shown["left_out"]) == ("3.9", 4, [])
    assert "hidden" not in line


def test_written_plan_is_private_and_is_carried_out_later(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "unit.toml", twin.url, "--out", "plan.json") == 0
    assert Path("plan.json").stat().st_mode & 0o777 == 0o600
    assert run("apply", "plan.json", "--yes") == 0
    assert capsys.readouterr().out.endswith(f"{twin.url}: done.\n")
    assert is_as_the_file_says(twin)
    assert twin.controller.engine.settings.email.password == "hidden words"
    (journal,) = journals()
    assert "hidden" not in journal.read_text()
    # A second time the unit is not what the plan was made from.
    assert run("apply", "plan.json", "--yes") == 2
    assert "has changed since the plan was made" in capsys.readouterr().err


def test_nothing_is_sent_where_nothing_differs(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("names.toml").write_text('[outputs.OUT0]\nname = "Pump"\n')
    assert run("apply", "names.toml", twin.url, "--yes") == 0
    capsys.readouterr()
    assert run("apply", "names.toml", twin.url, "--yes") == 0
    assert capsys.readouterr().out == f"{twin.url}, {Profile()}: nothing to send.\n"


def test_change_is_taken_back_by_its_journal(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    before = twin.settings
    assert run("apply", "unit.toml", twin.url, "--yes") == 0
    assert run("rollback", *journals(), "--yes") == 0
    said = capsys.readouterr().out
    assert "Add rule 1: when DS1 < 12 (hysteresis 1), then OUT0 on\n" in said
    assert "Delete rule 1: when DS1 < 12 (hysteresis 1), then OUT0 on\n" in said
    assert twin.settings == before
    assert find_unfinished(Path("unit-journal")) == []


def test_confirmation_may_be_declined(
    twin: Twin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("apply", "unit.toml", twin.url) == 2
    assert "use --yes" in capsys.readouterr().err
    monkeypatch.setattr(apply.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda question: "n")
    assert run("apply", "unit.toml", twin.url) == 1
    assert capsys.readouterr().out.endswith("Nothing was sent.\n")
    monkeypatch.setattr("builtins.input", lambda question: "y")
    assert run("apply", "unit.toml", twin.url) == 0
    assert is_as_the_file_says(twin)


def test_interrupted_change_must_be_resumed_or_taken_back_before_another(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    run("plan", "unit.toml", twin.url, "--out", "plan.json")
    (plan,) = read_plans(Path("plan.json"))
    ApplyJournal.begin(Path("unit-journal"), plan).close()
    assert run("apply", "plan.json", "--yes") == 2
    (journal,) = journals()
    assert (
        f"{journal} is not finished: continue with `leverframe unit apply --resume --journal "
        f"unit-journal`, or revert with `leverframe unit rollback {journal}`."
    ) in capsys.readouterr().err
    assert run("apply", "plan.json", "--resume") == 2
    assert run("apply", "--resume") == 2
    assert run("apply", "--resume", "--yes") == 0
    assert is_as_the_file_says(twin)
    capsys.readouterr()
    assert run("apply", "--resume", "--yes") == 0
    assert capsys.readouterr().out == "There is no unfinished change.\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("apply",), "Name a plan, a unit file or an inventory"),
        (("apply", "unit.toml"), "Name the units"),
        (("apply", "unit.toml", "x", "--group", "g"), "--group needs an inventory"),
        (("apply", "plan.json", "south", "--yes"), "The plan does not include south"),
        (("apply", "bad.json"), "bad.json is not a plan of this version"),
        (("apply", "late.json"), "late.json has the format 9"),
        (("apply", "unit.toml", "x", "--canary", "many"), "is not a whole number"),
        (("apply", "unit.toml", "x", "--batch", "0"), "write a whole number from 1"),
    ],
)
def test_impossible_plan_is_reported(
    words: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plans(Path("plan.json"), [empty_plan("north")])
    Path("bad.json").write_text('{"format": 1, "plans": [{}]}')
    Path("late.json").write_text('{"format": 9, "plans": []}')
    assert code_of(*words) == 2
    assert sentence in capsys.readouterr().err


def code_of(*words: str) -> object:
    """The exit code, also where the parser itself ends the program."""
    try:
        return run(*words)
    except SystemExit as end:
        return end.code


def test_setting_that_the_version_lacks_is_reported_with_its_line_and_nothing_is_sent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("new.toml").write_text('[outputs.OUT0]\nname = "Pump"\n\n[ui]\nnames_only = true\n')
    with Twin(hw="3.0", sw="1.58a") as twin:
        assert run("apply", "new.toml", twin.url, "--yes") == 2
        errors = capsys.readouterr().err
        assert "new.toml, line 5:" in errors
        assert "Nothing was sent to any unit." in errors
        assert twin.settings["outputs"][0]["name"] == ""


def test_settings_unsupported_by_the_version_of_a_unit_are_listed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("new.toml").write_text(
        'hardware = "3.9"\nsoftware = "1.75"\n[outputs.OUT0]\nname = "Pump"\n'
        "[ui]\nnames_only = true\n"
    )
    with Twin(hw="3.0", sw="1.58a") as twin:
        assert run("plan", "new.toml", twin.url) == 1
        assert "ui.names_only is not reached." in capsys.readouterr().out


def test_plan_that_does_not_lead_there_is_never_offered(
    twin: Twin, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = proof.plan_between

    def forgetful(*given: object, **named: object) -> object:
        plan = real(*given, **named)  # type: ignore[arg-type]
        return plan._replace(steps=plan.steps[1:])

    monkeypatch.setattr(proof, "plan_between", forgetful)
    Path("names.toml").write_text('[outputs.OUT0]\nname = "Pump"\n')
    assert run("plan", "names.toml", twin.url, "--out", "plan.json") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert 'outputs.OUT0.name is "" there, not "Pump"' in output.err


def test_plan_is_tried_on_plants_and_on_recorded_readings(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    twin.command("outs.cgi?oafs=01")
    Path("always.toml").write_text('[rules]\n1 = "when DS1 < 50, then OUT1 on"\n')
    Path("plants.toml").write_text(
        '[[plants]]\nkind = "room"\nreading = "DS1"\nheater = "OUT1"\noutside = 5\npower = 20\n'
        'time_constant = "1h"\nstart = 14\n'
    )
    assert run("plan", "always.toml", twin.url, "--plants", "plants.toml", "--for", "1h") == 0
    assert "entries differ" in capsys.readouterr().out
    assert (
        run("plan", "always.toml", twin.url, "--plants", "plants.toml", "--json", "--for", "1h")
        == 0
    )
    assert msgspec.json.decode(capsys.readouterr().out.splitlines()[1])["differing"]
    # Plants at rest have a first reading, too: nothing else would ever wake the rule.
    Path("rest.toml").write_text(
        '[[plants]]\nkind = "room"\nreading = "DS1"\nheater = "OUT1"\noutside = 5\npower = 0\n'
        'time_constant = "1h"\n'
    )
    assert run("plan", "always.toml", twin.url, "--plants", "rest.toml", "--for", "1h") == 0
    assert "OUT1 on " in capsys.readouterr().out
    Path("hot.toml").write_text('[rules]\n1 = "when DS1 >= 30, then OUT1 on"\n')
    folder = fill(Path("recorded"))
    assert run("plan", "hot.toml", twin.url, "--readings", folder) == 0
    # Warm for 10000 s of the day that was recorded.
    assert "2h46m40s" in capsys.readouterr().out


def test_inventory_gives_addresses_logins_files_and_groups(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNIT_PASSWORD", "of the keeper")
    Path("named.toml").write_text('[outputs.OUT0]\nname = "${zone}"\n')
    with Twin(accounts={"keeper": "of the keeper"}) as north, Twin() as south:
        Path("units.toml").write_text(
            '[groups.closed]\nuser = "keeper"\npassword = { env = "UNIT_PASSWORD" }\n'
            f'[units.north]\naddress = "{north.url}"\ngroups = ["closed"]\nfile = "named.toml"\n'
            'values = { zone = "North" }\n'
            f'[units.south]\naddress = "{south.url}"\nvalues = {{ zone = "South" }}\n'
        )
        assert run("plan", "units.toml") == 2
        assert "names no file for south" in capsys.readouterr().err
        assert run("apply", "units.toml", "--group", "closed", "--yes") == 0
        assert north.settings["outputs"][0]["name"] == "North"
        assert run("apply", "named.toml", "south", "--inventory", "units.toml", "--yes") == 0
        assert south.settings["outputs"][0]["name"] == "South"


def test_canary_that_fails_keeps_the_others_as_they_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("names.toml").write_text('[outputs.OUT0]\nname = "Pump"\n')
    with Fleet(3) as fleet:
        urls = [twin.url for twin in fleet]
        assert run("plan", "names.toml", *urls, "--out", "plan.json") == 0
        fleet[0].command("stm.cgi?oname=3Valve")
        assert run("apply", "plan.json", "--yes", "--canary", "1", "--batch", "2") == 2
        output = capsys.readouterr()
        assert f"2 units not started: {urls[1]}, {urls[2]}.\n" in output.out
        assert [twin.settings["outputs"][0]["name"] for twin in fleet] == ["", "", ""]


def test_apply_writes_a_json_object_for_each_plan_and_each_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("names.toml").write_text('[outputs.OUT0]\nname = "Pump"\n')
    versions = ["3.9/1.75", "3.0/1.58a", "3.9/1.75"]
    with Fleet(3, versions=versions) as fleet:
        urls = [twin.url for twin in fleet]
        assert run("apply", "names.toml", *urls, "--json") == 2
        assert "add --yes" in capsys.readouterr().err
        assert run("plan", "names.toml", *urls, "--out", "plan.json") == 0
        fleet[1].command("stm.cgi?oname=3Valve")
        capsys.readouterr()
        words = ("--canary", "versions", "--yes", "--json")
        assert run("apply", "plan.json", *words) == 2
    lines = [msgspec.json.decode(line) for line in capsys.readouterr().out.splitlines()]
    planned, results = lines[:3], lines[3:]
    assert [(one["event"], one["unit"]) for one in planned] == [("planned", url) for url in urls]
    assert [(one["event"], one["unit"]) for one in results] == [
        *[("done", urls[0]), ("stopped", urls[1]), ("not_begun", urls[2])],
    ]
    assert results[0] == {
        **{"event": "done", "unit": urls[0], "address": urls[0], "steps": 1, "confirmed": 1},
        "journal": str(journals()[0]),
        "problem": "",
    }
    assert "has changed since the plan was made" in results[1]["problem"]
    assert results[2]["journal"] is None


def test_unit_without_steps_is_done_for_scripts_too(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("names.toml").write_text('[outputs.OUT0]\nname = ""\n')
    assert run("apply", "names.toml", twin.url, "--yes", "--json") == 0
    planned, result = map(msgspec.json.decode, capsys.readouterr().out.splitlines())
    assert (planned["event"], planned["steps"]) == ("planned", [])
    assert (result["event"], result["steps"], result["journal"]) == ("done", 0, None)


def test_canary_group_is_one_of_the_inventory(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plans(Path("plan.json"), [empty_plan("north")])
    Path("units.toml").write_text(
        f'[groups.first]\n[units.south]\naddress = "{twin.url}"\ngroups = ["first"]\n'
    )
    plan = ("apply", "plan.json", "--yes", "--canary-group", "first")
    assert run(*plan) == 2
    assert "add --inventory" in capsys.readouterr().err
    assert run(*plan, "--inventory", "units.toml") == 2
    assert "No unit of the group first has a plan" in capsys.readouterr().err
    assert run(*plan, "--canary", "1") == 2
    assert "exclude each other" in capsys.readouterr().err


def test_plan_keeps_to_the_branches_that_are_named(
    twin: Twin, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("plan", "unit.toml", twin.url, "--only", "outputs,email", "--out", "plan.json") == 0
    (plan,) = read_plans(Path("plan.json"))
    assert {change.path.split(".")[0] for step in plan.steps for change in step.changes} == {
        *("outputs", "email"),
    }
    assert run("apply", "unit.toml", twin.url, "--only", "rules", "--yes") == 0
    assert twin.settings["rules"][0]["source"] == "DS1"
    assert twin.settings["outputs"][0]["name"] == ""
    with Twin(hw="3.0", sw="1.58a") as old, pytest.MonkeyPatch.context() as patch:
        # The rest of the file may be for other versions, and need secrets that are not there.
        Path("new.toml").write_text(dedent(FILE).replace("OUT0 on", "OUT0 on, on delay 5s"))
        assert run("plan", "new.toml", old.url) == 2
        assert run("plan", "new.toml", old.url, "--only", "rules") == 2
        patch.delenv("MAIL_PASSWORD")
        assert run("plan", "new.toml", old.url, "--only", "outputs") == 0
        assert run("diff", old.url, "new.toml", "--only", "outputs") == 1
    capsys.readouterr()
    assert run("plan", "unit.toml", twin.url, "--only", "outputs,rule") == 2
    refusal = capsys.readouterr().err
    assert (
        "--only: Unknown branch 'rule'. Did you mean rules? Allowed, separated by commas: name,"
        in refusal
    )
    assert "mqtt" in refusal
    assert run("apply", "plan.json", "--only", "rules") == 2
    assert "use --only with `unit plan`" in capsys.readouterr().err


def test_plan_file_is_shown_in_full_for_the_units_that_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with Fleet(2) as fleet:
        urls = [twin.url for twin in fleet]
        assert run("plan", "unit.toml", *urls, "--out", "plan.json") == 0
        assert run("plan", "unit.toml", *urls, "--verbose") == 0
    capsys.readouterr()
    assert run("show", "plan.json", urls[1]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"{urls[1]}, {Profile()}: 4 steps, verified on a twin.")
    assert "GET /stm.cgi?oname=0Pump" in shown
    assert urls[0] not in shown
    assert "hidden words" not in shown
    assert run("show", "plan.json", "north") == 2
    assert "does not include north" in capsys.readouterr().err
    assert run("show", "plan.json", "--curl", "--user", "admin", urls[1]) == 0
    assert capsys.readouterr().out.count("--user admin") == 4


def two_names() -> Path:
    path = Path("names.toml")
    path.write_text('[outputs.OUT0]\nname = "Pump"\n[outputs.OUT1]\nname = "Fan"\n')
    return path


async def outcome(applier: Applier) -> str:
    try:
        await applier.run()
    except ApplyStopped as stopped:
        return str(stopped)
    return ""


NO_ANSWER = "did not answer"
#: Faults of units, and the sentence that reports each.
TROUBLES = {
    "slow": (faults.slow("1h"), NO_ANSWER),
    "reset": (faults.reset(), NO_ANSWER),
    "garbage": (faults.garbage("answer"), NO_ANSWER),
    "status": (faults.status(500), "rejected GET /stm.cgi"),
    "sign-in": (faults.status(401), "requires a login"),
}


@pytest.mark.parametrize("trouble", some_of([*TROUBLES]))
async def test_faulty_unit_stops_it_with_a_sentence_and_it_can_be_resumed(
    twin: Twin, trouble: str
) -> None:
    fault, sentence = TROUBLES[trouble]
    target = apply.Selection.of(two_names(), None)
    found = await apply.make_plans(target.targets([twin.url], None, apply.Logins(None, None)), None)
    (plan,) = found.plans
    journal = ApplyJournal.begin(Path("unit-journal"), plan)
    answer_s = 0.4 if fault.kind == "slow" else PATIENCE_S
    async with (
        open_paced_client(twin.url, answer_s=answer_s) as client,
        open_paced_client(twin.url) as patient,
    ):
        with twin.fault(fault, path="/stm.cgi"):
            sentence_of_outcome = await outcome(Applier(plan, client, journal))
        # What came of a command is read where its answer is nonsense: all may be done.
        assert sentence in sentence_of_outcome or (
            not sentence_of_outcome and sentence == NO_ANSWER
        )
        if sentence_of_outcome:
            assert journal.lines[-1].event == "stopped"
            await Applier(plan, patient, journal).run()
    names = [output["name"] for output in twin.settings["outputs"][:2]]
    assert names == ["Pump", "Fan"]


async def test_unit_that_reboots_is_resumed_when_it_is_back(twin: Twin) -> None:
    target = apply.Selection.of(two_names(), None)
    found = await apply.make_plans(target.targets([twin.url], None, apply.Logins(None, None)), None)
    (plan,) = found.plans
    journal = ApplyJournal.begin(Path("unit-journal"), plan)
    async with open_paced_client(twin.url, retry_waits_s=()) as client:
        twin.fault(faults.reboot("30s"))
        assert await outcome(Applier(plan, client, journal))
        await asyncio.to_thread(twin.advance, "1min")
        assert not find_unfinished(Path("unit-journal"))
        again = ApplyJournal.begin(Path("unit-journal"), plan)
        await Applier(plan, client, again).run()
    assert [output["name"] for output in twin.settings["outputs"][:2]] == ["Pump", "Fan"]


def test_plan_with_a_body_and_many_changes_is_shown_short_and_whole_as_curl() -> None:
    changes = tuple(SettingChange(f"variables.dwords.{index}", 0, index) for index in range(10))
    step = UnitStep(
        PlannedRequest("POST", "/post.cgi?sched_save", "&s0=It's*0*1*0*0*0*1&&"), changes
    )
    plan = msgspec.structs.replace(empty_plan("north"), steps=(step,))
    assert "      and 2 settings more" in plan_in_words(plan)
    (_, line) = plan_as_curl(plan, "admin")
    words = shlex.split(line)
    assert words[-5:] == [
        "--user",
        "admin",
        "--data-binary",
        "&s0=It's*0*1*0*0*0*1&&",
        "http://north/post.cgi?sched_save",
    ]


async def test_plan_for_no_unit_is_refused() -> None:
    with pytest.raises(BadPlan, match="Name the units"):
        apply.Selection.of(Path("unit.toml"), None).targets([], None, apply.Logins(None, None))
