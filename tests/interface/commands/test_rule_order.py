"""No rule is off because others change, whatever the rules are before and after a plan."""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

import pytest
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.settings import MAX_RULES, Rule, RulePlaces, Settings, number_rules
from leverframe.core.tree import defaults, with_value
from leverframe.interface.plan.plan_builder import try_request
from leverframe.interface.plan.planner import Plan, plan_between
from leverframe.interface.plan.rule_order import effect_of
from leverframe.interface.table.lookup import REAL_UNIT_ROWS, TABLE
from leverframe.interface.table.row import Row
from tests.cases import for_each
from tests.effort import THOROUGH

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
ROWS: dict[str, Sequence[Row]] = {"real unit": REAL_UNIT_ROWS, "Leverframe": TABLE}
A, B, C, D, E, X = (
    Rule(source="DS1", reference=float(number), enabled=True) for number in range(6)
)


def with_rules(profile: Profile, rules: RulePlaces) -> Settings:
    return with_value(defaults(profile), "rules", tuple(rules))


def plan_of(now: RulePlaces, wanted: RulePlaces, rows: str, profile: Profile = NEW) -> Plan:
    before, after = with_rules(profile, now), with_rules(profile, wanted)
    return plan_between(profile, before, after, rows=ROWS[rows])


def queries(plan: Plan) -> list[str]:
    """Return the commands, each without its fields behind the place."""
    found = (step.request.query for step in plan.steps)
    return [query if "event=" not in query else query.partition("*")[0] for query in found]


def live(rules: RulePlaces) -> Counter[Rule]:
    return Counter(effect_of(rule) for _, rule in number_rules(rules) if rule.enabled)


def states(plan: Plan, now: RulePlaces, profile: Profile = NEW) -> Iterator[RulePlaces]:
    """Yield the rules after each step."""
    settings = with_rules(profile, now)
    for step in plan.steps:
        settings = try_request(step.request, settings, profile).settings
        yield settings.rules


def steps_off(plan: Plan, now: RulePlaces, wanted: RulePlaces, profile: Profile = NEW) -> int:
    """Count the steps after which a rule is off that is enabled before and after the plan."""
    needed = {effect for effect in live(now) & live(wanted) if not depends((*now, *wanted), effect)}
    return sum(not needed <= live(rules).keys() for rules in states(plan, now, profile))


def depends(rules: RulePlaces, effect: Rule) -> bool:
    """Return whether a rule depends on another, so that it is written again where that moves."""
    return any(rule and rule.depends and effect_of(rule) == effect for rule in rules)


def longest_off(plan: Plan, now: RulePlaces, wanted: RulePlaces, profile: Profile) -> int:
    """Return after how many steps in a row such a rule is off."""
    off = Counter({effect: 0 for effect in live(now) & live(wanted)})
    most = 0
    for rules in states(plan, now, profile):
        on = live(rules)
        off = Counter({effect: 0 if effect in on else off[effect] + 1 for effect in off})
        most = max(most, *off.values(), 0)
    return most


@for_each("rows", ROWS)
def test_rule_at_the_top_disables_no_other(rows: str) -> None:
    now, wanted = (A, B, C), (X, A, B, C)
    plan = plan_of(now, wanted, rows)
    assert plan.settings.rules == wanted
    assert steps_off(plan, now, wanted) == 0
    if rows == "Leverframe":
        (only,) = plan.steps
        assert only.request.query.startswith("event=3*")
        assert only.request.query.endswith("&eventon=3*1&rulemove=3*0")
    else:
        assert queries(plan) == [
            *("event=3", "eventon=3*1", "eventon=2*0", "event=2", "eventon=2*1"),
            *("eventon=1*0", "event=1", "eventon=1*1", "eventon=0*0", "event=0", "eventon=0*1"),
        ]


def test_leverframe_moves_a_rule_in_one_step() -> None:
    assert queries(plan_of((A, B, C), (C, A, B), "Leverframe")) == ["rulemove=2*0"]
    assert queries(plan_of((A, B, C), (A, C), "Leverframe")) == ["eventdel=1"]
    swapped = (B, A, replace(C, enabled=False))
    assert queries(plan_of((A, B, C), swapped, "Leverframe")) == ["rulemove=1*0", "eventon=2*0"]
    full = [replace(A, reference=10.0 + number) for number in range(MAX_RULES)]
    (only,) = plan_of(full, [X, *full[:-1]], "Leverframe").steps
    assert only.request.query.startswith("event=19*")
    assert only.request.query.endswith("&rulemove=19*0")


def test_each_rule_that_changes_is_written_between_its_own_steps() -> None:
    wanted = (replace(A, off_delay=5), B, replace(C, permanent=True, on_delay=1))
    plan = plan_of((A, B, C), wanted, "real unit")
    assert queries(plan) == [
        *("eventon=0*0", "event=0", "eventon=0*1"),
        *("eventon=2*0", "event=2", "eventper=2*1", "eventon=2*1"),
    ]
    assert steps_off(plan, (A, B, C), wanted) == 0


def test_rules_that_change_places_keep_a_copy_on_a_real_unit() -> None:
    plan = plan_of((A, B), (B, A), "real unit")
    assert steps_off(plan, (A, B), (B, A)) == 0
    assert queries(plan)[:2] == ["event=2", "eventon=2*1"]
    assert queries(plan)[-1] == "eventdel=2"


def test_moving_rule_alone_is_off_where_all_places_are_in_use() -> None:
    now = [replace(A, reference=float(number)) for number in range(MAX_RULES)]
    wanted = [now[1], now[0], *now[2:]]
    plan = plan_of(now, wanted, "real unit")
    assert list(plan.settings.rules) == wanted
    for rules in states(plan, now):
        assert rules[2:] == tuple(now[2:])


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("now", "wanted"),
    [("ABC", "A-C"), ("A", "-A"), ("ABCD", "-C-BX"), ("A-B-C", "CB-A"), ("AB", "--BA")],
)
def test_empty_places_are_reached_without_a_rule_that_is_off(
    rows: str, now: str, wanted: str
) -> None:
    known = {"A": A, "B": B, "C": C, "D": D, "X": X, "-": None}
    before, after = ([known[one] for one in text] for text in (now, wanted))
    plan = plan_of(before, after, rows)
    assert list(plan.settings.rules) == after
    assert steps_off(plan, before, after) == 0


def random_rules(random: Random, profile: Profile, with_gaps: bool) -> list[Rule | None]:
    """Draw rules of a small supply, so that pairs have many in common."""
    has_depends = profile == NEW
    rules: list[Rule | None] = []
    for _ in range(random.randint(0, 9)):
        rule = Rule(
            source=f"DS{random.randint(1, 6)}",
            reference=float(random.randint(1, 2)),
            enabled=random.random() < 0.8,
            permanent=random.random() < 0.2,
            depends=random.choice((0, 0, 0, 1, 3, 22)) if has_depends else 0,
        )
        is_known = any(one and effect_of(one) == effect_of(rule) for one in rules)
        rules += [None] if with_gaps and random.random() < 0.2 else []
        rules += [] if is_known else [rule]
    while rules and rules[-1] is None:
        rules.pop()
    return rules


@pytest.mark.parametrize("with_gaps", [False, True])
@pytest.mark.parametrize("profile", [OLD, NEW], ids=str)
@pytest.mark.parametrize("rows", ROWS)
def test_no_untouched_rule_is_off_after_any_step(
    rows: str, profile: Profile, with_gaps: bool
) -> None:
    random = Random(f"{rows} {profile} {with_gaps}")
    for _ in range(15 if THOROUGH else 4):
        now, wanted = (random_rules(random, profile, with_gaps) for _ in range(2))
        plan = plan_of(now, wanted, rows, profile)
        assert not plan.unreachable
        assert list(plan.settings.rules) == wanted, (now, wanted)
        assert steps_off(plan, now, wanted, profile) == 0, (now, wanted)
        # One with a dependence is off while it is written: disable, event, eventper.
        assert longest_off(plan, now, wanted, profile) <= 3, (now, wanted)


@pytest.mark.parametrize("rows", ROWS)
def test_full_lists_of_rules_lead_to_any_others(rows: str) -> None:
    random = Random(rows)
    supply = [replace(A, reference=float(number)) for number in range(MAX_RULES + 4)]
    for _ in range(8 if THOROUGH else 2):
        now, wanted = (random.sample(supply, random.randint(15, MAX_RULES)) for _ in range(2))
        plan = plan_of(now, wanted, rows)
        assert list(plan.settings.rules) == wanted
        if rows == "Leverframe" or len({*now, *wanted}) > len(now) or len(now) < MAX_RULES:
            assert steps_off(plan, now, wanted) == 0
