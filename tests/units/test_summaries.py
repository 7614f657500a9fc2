"""Reports about many units: what is alike has one line, and nothing that differs is hidden."""

from collections.abc import Sequence

from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, Settings
from leverframe.core.tree import defaults, with_value
from leverframe.units.execution import RolledOut
from leverframe.units.inventory import name_units
from leverframe.units.presentation import plan_in_words
from leverframe.units.proof import plan_for_settings
from leverframe.units.pulled_unit import PulledUnit, UnitIdentity
from leverframe.units.summaries import failures_in_words, plans_in_words, results_in_words
from leverframe.units.unit_plan import LeftOutSetting, UnitPlan

PROFILE = Profile("3.9", "1.75")
WARM = Rule(enabled=True, source="DS1", reference=60.0, action="OUT1", value=1)


def with_rules(*rules: Rule) -> Settings:
    return with_value(defaults(PROFILE), "rules", rules)


async def plan_of(unit: str, present: Settings, wanted: Settings) -> UnitPlan:
    identity = UnitIdentity(f"http://{unit}", unit, "", PROFILE.hw, PROFILE.sw)
    return await plan_for_settings(unit, PulledUnit(PROFILE, present, identity), wanted, ())


def lines(plans: Sequence[UnitPlan], failed: int = 0) -> list[str]:
    return list(plans_in_words(plans, failed))


async def test_step_about_a_rule_says_the_rule_by_its_number() -> None:
    cooler = replace(WARM, reference=55.0)
    fan = Rule(enabled=True, source="DS2", reference=30.0, action="OUT2", value=1)
    changed = await plan_of("a", with_rules(WARM), with_rules(cooler, fan))
    said = list(plan_in_words(changed))
    assert any(line.endswith("Change rule 1: when DS1 >= 55, then OUT1 on") for line in said)
    assert "      was: when DS1 >= 60, then OUT1 on" in said
    assert any(line.endswith("Add rule 2: when DS2 >= 30, then OUT2 on") for line in said)
    assert not any("rules." in line for line in said)
    together = lines([changed, replace(changed, unit="b")])
    change = "Change rule 1: when DS1 >= 55, then OUT1 on; was: when DS1 >= 60, then OUT1 on"
    assert any(line.endswith(change) for line in together)
    deleted = "\n".join(plan_in_words(await plan_of("a", with_rules(WARM, fan), with_rules(fan))))
    assert "Delete rule 1: when DS1 >= 60, then OUT1 on" in deleted
    assert "rules." not in deleted


async def test_units_with_the_same_steps_share_their_lines() -> None:
    present = defaults(PROFILE)
    named = with_value(present, "outputs.0.name", "Pump")
    to_do, nothing = await plan_of("", present, named), await plan_of("", named, named)
    plans = [replace(to_do, unit=f"unit{n}") for n in range(27)]
    done = [replace(nothing, unit=f"done{n}") for n in range(2)]
    assert lines([*plans, *done], failed=3) == [
        "27 units: the same step; 2 units: nothing to send; 3 unreachable or without a plan",
        "unit0, unit1, unit2, unit3, unit4 and 22 more:",
        '   1. Name an output: outputs.OUT0.name: "" -> "Pump"',
        "done0, done1: nothing to send",
    ]


async def test_value_of_its_own_is_said_and_no_reason_to_repeat_the_steps() -> None:
    present = defaults(PROFILE)
    plans = [
        await plan_of(unit, present, with_value(present, "outputs.0.name", f"Pump {unit}"))
        for unit in "ab"
    ]
    assert lines(plans)[1:] == [
        "a, b:",
        '   1. Name an output: outputs.OUT0.name: "" -> "Pump a" (on a; differs by unit)',
    ]


async def test_units_that_enable_a_rule_and_that_disable_it_are_not_alike() -> None:
    off = replace(WARM, enabled=False)
    plans = [
        await plan_of("a", with_rules(WARM), with_rules(off)),
        await plan_of("b", with_rules(off), with_rules(WARM)),
    ]
    said = lines(plans)
    assert "   1. Disable rule 1: when DS1 >= 60, then OUT1 on" in said
    assert "   1. Enable rule 1: when DS1 >= 60, then OUT1 on" in said


async def test_unreached_settings_name_their_units() -> None:
    present = defaults(PROFILE)
    named = with_value(present, "outputs.0.name", "Pump")
    plan = await plan_of("a", present, named)
    lacking = replace(plan, unit="b", left_out=(LeftOutSetting("rules.0", "No command sets it."),))
    assert "   -  rules.1 is not reached. No command sets it. (b)" in lines([plan, lacking])


def test_units_with_the_same_problem_share_its_line() -> None:
    failed = [("a", "all.toml, line 3: x is unknown."), ("dead", "It does not answer.")]
    assert list(failures_in_words([*failed, ("b", failed[0][1])], 30, "read")) == [
        "3 of 30 units could not be read:",
        "a, b: all.toml, line 3: x is unknown.",
        "dead: It does not answer.",
    ]


def test_summary_of_many_names_shows_the_first_ones() -> None:
    assert name_units("abcdef") == "a, b, c, d, e, f"
    assert name_units("abcdefg") == "a, b, c, d, e and 2 more"


def test_results_count_the_units_that_are_done_and_not_begun() -> None:
    results = [*(RolledOut(name, "") for name in "abc"), RolledOut("d", "", is_begun=False)]
    assert list(results_in_words(results, {})) == ["3 units done: a, b, c.", "d: not started."]
    assert list(results_in_words(results, {}, verbose=True))[:2] == ["a: done.", "b: done."]
