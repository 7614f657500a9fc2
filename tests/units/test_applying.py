"""A plan on a unit: read back, stopped at the first difference, resumed, taken back."""

from itertools import product
from pathlib import Path

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, Settings, StoredAccount
from leverframe.core.tree import defaults, with_value
from leverframe.server.passwords import Passwords
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.units.execution import Applier, ApplyStopped
from leverframe.units.journal import (
    ApplyJournal,
    find_unfinished,
    plan_beside,
    read_journal,
    reopen_journal,
)
from leverframe.units.proof import plan_for_settings
from leverframe.units.rollback import JournalledChange, settings_to_restore
from leverframe.units.unit_plan import BadPlan, UnitPlan
from leverframe.units.unit_reader import pull_unit
from tests.effort import some_of
from tests.units.scripted_twin import Killed, ScriptedTwin, start_scripted_twin

NEW = Profile("3.9", "1.75")
OLD = Profile("3.5", "1.44")
WARM = Rule(source="DS1", reference=20.0, enabled=True)
COLD = Rule(source="DS2", reference=5.0, compare="<", action="OUT1", enabled=True)


def tree(profile: Profile, **values: object) -> Settings:
    """The factory settings with some leaves: `outputs__0__name="Pump"`."""
    settings = defaults(profile)
    for path, value in values.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return settings


def before(profile: Profile) -> Settings:
    return tree(profile, rules=(WARM, COLD), outputs__0__name="Old", output_flags__lock=True)


def after(profile: Profile) -> Settings:
    return tree(
        profile,
        rules=(replace(COLD, reference=7.0),),
        outputs__0__name="Pump",
        outputs__1__return_time=60,
        output_flags__lock=True,
        weather__altitude=120,
    )


def journals_in(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.glob("*.jsonl"))


def modes_in(folder: Path) -> set[int]:
    return {path.stat().st_mode & 0o777 for path in folder.iterdir()}


async def plan_of(unit: ScriptedTwin, wanted: Settings, login: UnitLogin | None = None) -> UnitPlan:
    pulled = await pull_unit(unit.client(login))
    return await plan_for_settings("north", pulled, wanted, ())


async def apply(
    unit: ScriptedTwin, plan: UnitPlan, folder: Path, login: UnitLogin | None = None
) -> ApplyJournal:
    journal = ApplyJournal.begin(folder, plan)
    await Applier(plan, unit.client(login), journal).run()
    return journal


def describe_change(journal: ApplyJournal) -> JournalledChange:
    return JournalledChange(journal.path, journal.lines[0], journal.lines[-1].step or 99)


async def resume(unit: ScriptedTwin, folder: Path, login: UnitLogin | None = None) -> None:
    (path,) = find_unfinished(folder)
    journal = reopen_journal(path)
    await Applier(plan_beside(path), unit.client(login), journal).run()
    journal.close()


@pytest.mark.parametrize("is_real", [True, False])
async def test_plan_leads_a_unit_to_the_wanted_settings(tmp_path: Path, is_real: bool) -> None:
    async with start_scripted_twin(NEW, before(NEW), is_real=is_real) as unit:
        plan = await plan_of(unit, after(NEW))
        assert plan.left_out == ()
        journal = await apply(unit, plan, tmp_path)
        assert unit.settings == after(NEW)
        assert unit.carried_out == [step.request.target for step in plan.steps]
        assert journal.lines[-1].event == "done"
        assert find_unfinished(tmp_path) == []


@pytest.mark.parametrize(
    ("number", "fate"),
    some_of([*product(range(1, 11), ["killed before", "killed after"])][1:]),
)
async def test_change_killed_at_any_step_ends_in_the_same_state_when_resumed(
    tmp_path: Path, number: int, fate: str
) -> None:
    async with start_scripted_twin(OLD, before(OLD), is_real=number % 3 == 0) as unit:
        plan = await plan_of(unit, after(OLD))
        # Leverframe gets all commands for a rule in one request.
        assert len(plan.steps) == (10 if number % 3 == 0 else 7)
        fatal = min(number, len(plan.steps))
        unit.fate = lambda count, _: fate if count == fatal else None
        with pytest.raises(Killed):
            await apply(unit, plan, tmp_path)
        unit.fate = lambda count, _: None
        await resume(unit, tmp_path)
        assert unit.settings == after(OLD)
        # Never twice.
        assert unit.carried_out == [step.request.target for step in plan.steps]


@pytest.mark.parametrize("fate", ["lost", "dropped"])
async def test_step_with_a_lost_answer_is_sent_again_only_if_needed(
    tmp_path: Path, fate: str
) -> None:
    async with start_scripted_twin(NEW, before(NEW)) as unit:
        plan = await plan_of(unit, after(NEW))
        unit.fate = lambda count, _: fate if count == 3 else None
        await apply(unit, plan, tmp_path)
        assert unit.settings == after(NEW)
        assert unit.carried_out == [step.request.target for step in plan.steps]


async def test_deletion_without_an_answer_is_not_sent_twice(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, tree(NEW, rules=(WARM,))) as unit:
        plan = replace(await plan_of(unit, tree(NEW)), unread=("rules",))
        number = next(n for n, x in enumerate(plan.steps, 1) if "eventdel" in x.request.target)
        unit.fate = lambda count, _: "lost" if count == number else None
        with pytest.raises(ApplyStopped, match="unknown whether it was carried out; --resume"):
            await apply(unit, plan, tmp_path)
        with pytest.raises(ApplyStopped, match="must not be sent twice"):
            await resume(unit, tmp_path)
        assert len(unit.carried_out) == number


async def test_unit_that_changed_since_the_plan_was_made_is_refused(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, before(NEW)) as unit:
        plan = await plan_of(unit, after(NEW))
        await unit.twin.ok("/stm.cgi?oname=3Valve")
        with pytest.raises(ApplyStopped) as stopped:
            await apply(unit, plan, tmp_path)
        assert str(stopped.value) == (
            'north has changed since the plan was made: outputs.OUT3.name is "Valve", not "". '
            "Nothing was sent; make a new plan."
        )
        assert unit.carried_out == []
        # There is nothing to resume.
        assert find_unfinished(tmp_path) == []


async def test_unit_changed_during_an_interruption_is_not_resumed(
    tmp_path: Path,
) -> None:
    async with start_scripted_twin(NEW, before(NEW)) as unit:
        plan = await plan_of(unit, after(NEW))
        unit.fate = lambda count, _: "killed before" if count == 3 else None
        with pytest.raises(Killed):
            await apply(unit, plan, tmp_path)
        await unit.twin.ok("/stm.cgi?oname=3Valve")
        with pytest.raises(ApplyStopped, match="after 2 of 7 steps.*Another client changed"):
            await resume(unit, tmp_path)


@pytest.mark.parametrize(
    ("fate", "sentence"),
    some_of(
        [
            ("swallowed", r"was answered, but .* is .*, not "),
            ("400", "rejected .* with status 400"),
            ("503", "rejected .* with status 503"),
            ("401", "requires a login"),
        ]
    ),
)
async def test_applying_stops_at_the_first_difference_with_a_sentence(
    tmp_path: Path, fate: str, sentence: str
) -> None:
    async with start_scripted_twin(NEW, before(NEW), is_real=fate == "swallowed") as unit:
        plan = await plan_of(unit, after(NEW))
        unit.fate = lambda count, _: fate if count == 4 else None
        with pytest.raises(ApplyStopped, match=f"after 3 of .* steps.*{sentence}"):
            await apply(unit, plan, tmp_path)
        assert len(unit.carried_out) == 3
        (path,) = find_unfinished(tmp_path)
        assert read_journal(path)[-1].event == "stopped"
        unit.fate = lambda count, _: None
        await resume(unit, tmp_path)
        assert unit.settings == after(NEW)


@pytest.mark.parametrize("is_real", some_of([True, False]))
async def test_nonsense_in_place_of_settings_stops_it(tmp_path: Path, is_real: bool) -> None:
    async with start_scripted_twin(NEW, before(NEW), is_real=is_real) as unit:
        plan = await plan_of(unit, after(NEW))

        def garble(count: int, _: str) -> None:
            if count == 2:
                unit.fixed_body = b"\x00nonsense"

        unit.fate = garble
        with pytest.raises(ApplyStopped, match="after 1 of .* steps"):
            await apply(unit, plan, tmp_path)
        assert len(unit.carried_out) == 2
        unit.fixed_body = None
        await resume(unit, tmp_path)
        assert unit.settings == after(NEW)
        assert unit.carried_out == [step.request.target for step in plan.steps]


async def test_settings_that_cannot_be_read_any_more_stop_it(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, before(NEW), is_real=True) as unit:
        plan = await plan_of(unit, after(NEW))
        unit.missing_file = "/xml/eve2.xml"
        with pytest.raises(ApplyStopped, match="can no longer be read"):
            await apply(unit, plan, tmp_path)
        assert unit.carried_out == []


async def test_file_that_is_gone_in_the_middle_stops_it(tmp_path: Path) -> None:
    async with start_scripted_twin(NEW, before(NEW), is_real=True) as unit:
        plan = await plan_of(unit, after(NEW))

        def lose_a_file(count: int, target: str) -> None:
            if "event" in target and not unit.missing_file:
                unit.missing_file = "/xml/eve2.xml"

        unit.fate = lose_a_file
        with pytest.raises(ApplyStopped, match=r"no longer shows .*/xml/eve2.xml does not exist"):
            await apply(unit, plan, tmp_path)
        assert unit.carried_out[-1] == "/inpa.cgi?eventon=1*0"


async def test_duty_that_is_on_its_way_and_late_fields_of_rules_stop_nothing(
    tmp_path: Path,
) -> None:
    rule = replace(WARM, off_delay=30, on_delay=5)
    wanted = tree(NEW, pwm__0__change_time=600, pwm__0__duty=90, rules=(rule,))
    async with start_scripted_twin(NEW, tree(NEW, pwm__0__duty=10), is_real=True) as unit:
        await unit.twin.ok("/outs.cgi?pwm0=1")
        plan = await plan_of(unit, wanted)
        assert not plan.is_compared("rules.0.off_delay")
        await apply(unit, plan, tmp_path)
        assert unit.settings == wanted


async def test_unit_of_another_version_is_refused(tmp_path: Path) -> None:
    async with (
        start_scripted_twin(NEW, before(NEW)) as unit,
        start_scripted_twin(OLD, before(OLD)) as other,
    ):
        # Of a unit that shows no MAC address.
        plan = replace(await plan_of(unit, after(NEW)), mac="")
        with pytest.raises(ApplyStopped, match=f"north is {OLD} now"):
            await apply(other, plan, tmp_path)
        assert other.carried_out == []


@pytest.mark.parametrize("fate", some_of(["killed after", "lost", None]))
async def test_login_follows_the_account_that_it_changes(tmp_path: Path, fate: str | None) -> None:
    login = UnitLogin("admin", "the first password")
    settings = tree(NEW, access__required=True)
    account = StoredAccount("admin", await Passwords().hash(login.password))
    settings = with_value(settings, "access.admin", account)
    async with start_scripted_twin(NEW, settings) as unit:
        pulled = await pull_unit(unit.client(login))
        wanted = with_value(
            pulled.settings, "access.admin", StoredAccount("keeper", "the second one")
        )
        plan = await plan_for_settings("north", pulled, wanted, ["access.admin.password"])
        unit.fate = lambda count, _: fate
        if fate == "killed after":
            with pytest.raises(Killed):
                await apply(unit, plan, tmp_path, login)
            unit.fate = lambda count, _: None
            await resume(unit, tmp_path, login)
        else:
            await apply(unit, plan, tmp_path, login)
        assert unit.settings.access.admin.name == "keeper"
        assert len(unit.carried_out) == 1
        await pull_unit(unit.client(UnitLogin("keeper", "the second one")))
        assert "the second one" not in journals_in(tmp_path)


async def test_no_secret_is_in_the_journal_and_the_plan_beside_it_is_private(
    tmp_path: Path,
) -> None:
    async with start_scripted_twin(NEW, tree(NEW)) as unit:
        wanted = tree(NEW, email__password="hidden words", http__0__url="example.org/hidden")
        plan = await plan_of(unit, wanted)
        unit.fate = lambda count, _: "killed before" if count == 2 else None
        with pytest.raises(Killed):
            await apply(unit, plan, tmp_path)
        assert "hidden" not in journals_in(tmp_path)
        assert modes_in(tmp_path) == {0o600}


@pytest.mark.parametrize("number", some_of([7, 11]))
async def test_rollback_leads_back_to_what_was_read(tmp_path: Path, number: int) -> None:
    async with start_scripted_twin(NEW, before(NEW)) as unit:
        plan = await plan_of(unit, after(NEW))
        unit.fate = lambda count, _: "killed after" if count == number else None
        try:
            journal = await apply(unit, plan, tmp_path)
        except Killed:
            journal = reopen_journal(find_unfinished(tmp_path)[0])
        unit.fate = lambda count, _: None
        pulled = await pull_unit(unit.client())
        old = settings_to_restore([describe_change(journal)], pulled)
        assert old.lost == ()
        back = await plan_for_settings("north", pulled, old.settings, old.named)
        await apply(unit, back, tmp_path / "back")
        assert unit.settings == before(NEW)


async def test_rollback_lists_what_was_never_read_and_refuses_another_version(
    tmp_path: Path,
) -> None:
    secret = tree(NEW, email__password="old words", email__subject="Before")
    async with (
        start_scripted_twin(NEW, secret) as unit,
        start_scripted_twin(OLD, before(OLD)) as other,
    ):
        pulled = await pull_unit(unit.client())
        wanted = with_value(pulled.settings, "email.password", "new words")
        wanted = with_value(wanted, "email.subject", "After")
        plan = await plan_for_settings("north", pulled, wanted, ["email.password"])
        journal = await apply(unit, plan, tmp_path)
        old = settings_to_restore([describe_change(journal)], await pull_unit(unit.client()))
        assert [one.path for one in old.lost] == ["email.password"]
        assert old.settings.email.subject == "Before"
        with pytest.raises(BadPlan, match="another version cannot be restored"):
            settings_to_restore([describe_change(journal)], await pull_unit(other.client()))


def test_journal_whose_last_line_was_not_written_whole_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "north.jsonl"
    path.write_bytes(b'{"at":"x","event":"begun","unit":"north"}\n{"at":"y","ev')
    journal = reopen_journal(path)
    journal.add("sending", step=1)
    journal.close()
    assert [line.event for line in read_journal(path)] == ["begun", "sending"]


@pytest.mark.parametrize("content", [b"", b"nonsense\n", b'{"at":"x","event":"done"}\n'])
def test_file_that_is_no_journal_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "north.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadPlan, match="is not the journal"):
        read_journal(path)
