"""Settings of one version on another: what comes over, what is listed, what refuses the file."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, ScheduleEntry, Settings
from leverframe.core.tree import defaults, leaves, with_value
from leverframe.interface.table.codes import RULE_ACTIONS, RULE_SOURCES
from leverframe.interface.table.refusals import Refusal, Restored
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import Content, is_allowed, missing_of_rule
from tests.boundary_profiles import PROFILES
from tests.cases import for_each
from tests.effort import some_of
from tests.random_settings import random_settings

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
ELDER = Profile("3.5", "1.40")
ENTRIES = ("rules.", "schedule.", "profile.", "access.", "variables.")
#: Their reading codes are rewritten; `test_carried_texts.py` says how.
TEXTS = ("http.", "email.", "gsm.sms.", "oled.screens.")


def whole(profile: Profile, settings: Settings) -> Content:
    """A backup of everything, secrets too."""
    return Content(profile, dict(leaves(settings)), with_secrets=True)


def convert(settings: Settings, source: Profile, target: Profile) -> Restored:
    return carry_over(whole(source, settings), target, defaults(target))


def paths(restored: Restored) -> list[str]:
    return [lost.path for lost in restored.not_carried_over]


def with_rules(profile: Profile, *rules: Rule) -> Settings:
    return with_value(defaults(profile), "rules", rules)


@pytest.mark.parametrize("profile", some_of(PROFILES), ids=str)
def test_settings_of_the_same_version_come_over_whole(profile: Profile) -> None:
    tree = random_settings(profile, Random(str(profile)))
    assert convert(tree, profile, profile) == Restored(tree)


@for_each(("source", "target"), [(OLD, NEW), (NEW, OLD), (NEW, ELDER), (ELDER, NEW)])
def test_common_settings_are_kept_and_the_rest_is_listed(source: Profile, target: Profile) -> None:
    for seed in range(4):
        tree = random_settings(source, Random(seed), 120)
        restored = convert(tree, source, target)
        listed = set(paths(restored))
        after, standard = dict(leaves(restored.settings)), dict(leaves(defaults(source)))
        usual = dict(leaves(defaults(target)))
        for path, value in leaves(tree):
            if path.startswith(ENTRIES) or value == standard.get(path):
                continue
            if path in after and is_allowed(path, value, usual[path], target):
                is_text = path.startswith(TEXTS)
                assert after[path] == value or _is_listed(path, listed) or is_text, path
            else:
                assert _is_listed(path, listed) or _is_longer(after.get(path), value), path


def _is_listed(path: str, listed: set[str]) -> bool:
    """What is switched off or left out as a whole, because a part of it is lost."""
    return any(f"{path}.".startswith(f"{one}.") for one in listed)


def _is_longer(after: Any, before: Any) -> bool:
    """A list that the other version extends with defaults."""
    return isinstance(after, tuple) and len(after) > len(before) and after[: len(before)] == before


@pytest.mark.parametrize("target", [OLD, ELDER, NEW], ids=str)
def test_converted_settings_convert_to_themselves(target: Profile) -> None:
    for seed, source in enumerate(some_of(PROFILES[::7])):
        once = convert(random_settings(source, Random(seed), 120), source, target).settings
        assert convert(once, target, target) == Restored(once)


def test_change_of_version_and_back_keeps_all_that_the_older_one_has() -> None:
    for seed in range(4):
        tree = random_settings(OLD, Random(seed), 120)
        there = convert(tree, OLD, NEW)
        back = convert(there.settings, NEW, OLD)
        before, after = dict(leaves(tree)), dict(leaves(back.settings))
        listed = paths(there) + paths(back)
        differ = {path for path in before if before[path] != after.get(path)}
        assert all(
            any(path.startswith(one) for one in listed)
            for path in differ - {"variables.bits", "variables.bytes"}
        ), differ


def test_layout_lists_get_the_length_of_the_version() -> None:
    long = with_value(defaults(NEW), "layout.top", tuple(range(79)))
    short = convert(long, NEW, ELDER)
    assert short.settings.layout.top == tuple(range(43))
    assert len(short.settings.layout.visible) == 87
    (lost,) = short.not_carried_over
    assert (lost.path, lost.value) == ("layout.top", tuple(range(43, 79)))
    back = convert(short.settings, ELDER, NEW)
    assert back.settings.layout.top == (*range(43), *(0,) * 36)
    assert back.not_carried_over == ()


def test_rule_keeps_its_meaning_in_another_dialect() -> None:
    rule = Rule(source="DS1", reference=21.5, action="OUT3", value=0, source2="OUT1", enabled=True)
    there = convert(with_rules(NEW, rule), NEW, OLD)
    assert there == Restored(with_rules(OLD, rule))
    assert convert(there.settings, OLD, NEW).settings.rules == (rule,)


def test_single_mail_of_old_hardware_is_the_first_of_four() -> None:
    mail = Rule(action="eMail", enabled=True)
    there = convert(with_rules(OLD, mail), OLD, NEW)
    assert there.settings.rules == (replace(mail, action="eMail 1"),)
    assert convert(there.settings, NEW, OLD).settings.rules == (mail,)


def test_rule_with_a_source_or_action_unknown_to_the_version_is_omitted() -> None:
    gone = Rule(source="POWER6"), Rule(action="eMail 3")
    restored = convert(with_rules(NEW, gone[0], Rule(action="OUT5"), gone[1]), NEW, OLD)
    assert restored.settings.rules == (Rule(action="OUT5"),)
    assert paths(restored) == ["rules.0", "rules.2"]


def test_dependences_follow_the_rule_they_meant() -> None:
    rules = Rule(action="OLED ON/NEXT SCREEN"), Rule(), Rule(depends=22, enabled=True)
    restored = convert(with_rules(NEW, *rules), NEW, Profile("3.9", "1.57"))
    assert restored.settings.rules == rules
    unknown = Rule(source="POWER6"), Rule(), Rule(depends=22)
    restored = convert(with_rules(NEW, *unknown), NEW, Profile("3.9", "1.57"))
    assert restored.settings.rules == unknown


@for_each("profile", PROFILES, ids=str)
def test_version_with_dependences_leaves_out_no_rule(profile: Profile) -> None:
    if missing_of_rule(Rule(depends=1), profile):
        return
    for source in RULE_SOURCES.of(NEW):
        rule = Rule(source=source.word, source2=source.word)
        assert missing_of_rule(rule, profile) == []
    for action in RULE_ACTIONS.of(NEW):
        assert missing_of_rule(Rule(action=action.word), profile) == []


def test_rule_that_loses_a_part_of_what_it_says_is_switched_off() -> None:
    late = Rule(on_delay=30, enabled=True)
    reversing = Rule(value=2, enabled=True)
    restored = convert(with_rules(NEW, late, reversing), NEW, OLD)
    assert restored.settings.rules == (
        replace(late, on_delay=0, enabled=False),
        replace(reversing, value=1, enabled=False),
    )
    assert paths(restored) == ["rules.0.on_delay", "rules.1.value"]


@for_each(
    ("rule", "part"),
    [
        (Rule(action="SMS1", value=0), "value"),
        (Rule(action="HTTP1", value=2), "value"),
        (Rule(action="AutoSwitch OUT1", value=0), "value"),
        (Rule(action="SMS1", on_delay=7), "on_delay"),
        (Rule(action="OUT1", source2="ENERGY6"), "source2"),
    ],
)
def test_rule_that_loses_a_field_without_effect_is_kept(rule: Rule, part: str) -> None:
    rule = replace(rule, enabled=True)
    restored = convert(with_rules(NEW, rule), NEW, OLD)
    assert restored.settings.rules == (replace(rule, **{part: getattr(Rule(), part)}),)
    assert paths(restored) == [f"rules.0.{part}"]


def test_schedule_entry_with_an_unknown_action_is_left_out() -> None:
    entries = (ScheduleEntry(action="COUNT ENERGY1", active=True), ScheduleEntry(value=2))
    tree = defaults(NEW)
    tree = with_value(tree, "schedule", (*entries, *tree.schedule[2:]))
    restored = convert(tree, NEW, OLD)
    assert restored.settings.schedule[:2] == (None, ScheduleEntry(value=0))
    assert paths(restored) == ["schedule.0", "schedule.1.value"]


def test_positions_among_the_variables_follow_the_page_settings() -> None:
    tree = with_value(defaults(NEW), "ui.names_only", True)
    tree = with_value(tree, "variables.bits", (0, 0, 1, 0, 1, 0, 0, 0))
    restored = convert(tree, NEW, OLD)
    assert restored.settings.variables.bits == (0, 0, 0, 0, 1, 0, 0, 0)
    assert paths(restored) == ["ui.names_only"]
    free = with_value(defaults(OLD), "variables.bits", (0, 0, 1, 0, 0, 0, 0, 0))
    restored = convert(free, OLD, NEW)
    assert restored.settings.variables.bits == (0,) * 8
    assert restored.settings.ui.names_only is False
    assert paths(restored) == ["variables.bits.2"]


def test_secrets_that_are_not_in_the_backup_stay_as_they_are() -> None:
    present = with_value(defaults(NEW), "email.password", "still here")
    present = with_value(present, "access.admin.password", "$argon2id$x")
    present = with_value(present, "access.required", True)
    settings = {"outputs.0.name": "Lamp", "access.required": False}
    content = Content(NEW, settings, left_out=("email.password",))
    restored = carry_over(content, NEW, present)
    assert restored.settings == with_value(present, "outputs.0.name", "Lamp")
    assert paths(restored) == ["email.password", "access"]


def test_accounts_come_with_their_passwords() -> None:
    tree = with_value(defaults(NEW), "access.admin.password", "$argon2id$new")
    tree = with_value(tree, "access.required", True)
    present = with_value(defaults(NEW), "access.admin.password", "$argon2id$old")
    assert carry_over(whole(NEW, tree), NEW, present) == Restored(tree)


def test_backup_without_an_administrator_opens_no_door() -> None:
    present = with_value(defaults(NEW), "access.admin.password", "$argon2id$old")
    present = with_value(present, "access.required", True)
    restored = carry_over(whole(NEW, defaults(NEW)), NEW, present)
    assert restored.settings.access == present.access


def test_setting_that_the_program_does_not_know_is_listed() -> None:
    restored = carry_over(Content(NEW, {"warp.drive": True}), NEW, defaults(NEW))
    assert restored.settings == defaults(NEW)
    assert paths(restored) == ["warp.drive"]


@for_each(
    "settings",
    [
        {"outputs.0.name": 5},
        {"outputs": 5},
        {"outputs.0.name": "far too long for a name"},
        {"pwm.0.duty": 101},
        {"rules.20.action": "OUT0"},
        {"rules.0.action": "OUT9"},
        {"rules.0.source": "nothing"},
        {"rules.0.reference": 1e308},
        {"rules.0.depends": 41},
        {"rules.0.source": "OUT0", "rules.0.reference": 2.0},
        {"schedule.0.date": "tomorrow"},
        {"schedule.0.days": ["Someday"]},
        {"schedule.0.time": 86400},
        {"access.users.0.name": "with:colon"},
        {"access.users.0.name": "admin"},
        {"access.required": True},
        {"layout.top": [1.5]},
    ],
)
def test_value_that_no_version_allows_refuses_the_backup(settings: dict[str, Any]) -> None:
    with pytest.raises(Refusal):
        carry_over(Content(NEW, settings, with_secrets=True), NEW, defaults(NEW))


def test_refusal_never_repeats_a_secret() -> None:
    content = Content(NEW, {"email.password": "hunter2" * 20}, with_secrets=True)
    with pytest.raises(Refusal) as refused:
        carry_over(content, NEW, defaults(NEW))
    assert "hunter2" not in str(refused.value.as_problem())


def test_settings_kept_from_another_version_do_not_refuse_the_backup() -> None:
    """A controller that was set back to an older version still holds what it cannot use."""
    kept = replace(whole(OLD, defaults(OLD)), settings={"outputs.0.remember": True})
    restored = carry_over(kept, OLD, defaults(OLD))
    assert paths(restored) == ["outputs.0.remember"]
