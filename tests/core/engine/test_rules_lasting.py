"""Rules over time: permanence, enabling, editing, deleting, starting, and what explains them."""

import msgspec
import pytest

from leverframe.core.engine.rules import rules_moved
from leverframe.core.settings import Rule
from tests.cases import for_each

from .bench import Bench
from .rule_bench import COOL, WARM, bench_with, notifications, rule

# Permanent rules


@pytest.mark.parametrize(("value", "held"), [(0, 0), (1, 1), (2, 1)])
def test_permanent_rule_undoes_what_others_do_to_its_target(value: int, held: int) -> None:
    bench = bench_with(rule(value=value, permanent=True), DS1=WARM)
    bench.reverse("OUT0")
    assert bench.values["OUT0"] == held
    bench.sense(DS1=COOL)
    after = bench.values["OUT0"]
    bench.reverse("OUT0")
    assert bench.values["OUT0"] == 1 - (after or 0), "the condition no longer holds"


def test_permanent_rule_outlasts_the_return_time() -> None:
    bench = bench_with(rule(permanent=True), DS1=WARM)
    bench.set(outputs__0__return_time=5)
    bench.wait(20)
    assert bench.values["OUT0"] == 1


def test_later_of_two_permanent_rules_wins_without_a_loop() -> None:
    bench = bench_with(rule(value=1, permanent=True), rule(value=0, permanent=True), DS1=WARM)
    bench.switch_on("OUT0")
    assert bench.values["OUT0"] == 0
    assert bench.engine.rules.explain()[0].blocked_by == "Rule 2 determines the state of OUT0."
    assert not any("rule loop" in line for line in bench.history())


def test_earlier_permanent_rule_prevails_if_a_later_one_undoes_nothing() -> None:
    later = rule(source="DS2", value=0, mode=1, permanent=True)
    bench = bench_with(rule(value=1, permanent=True), later, DS1=WARM, DS2=WARM)
    assert bench.values["OUT0"] == 0
    bench.sense(DS2=COOL)
    assert bench.values["OUT0"] == 1


def test_earlier_permanent_rule_has_its_way_while_a_later_one_waits_to_end() -> None:
    later = rule(source="DS2", value=0, off_delay=10, permanent=True)
    bench = bench_with(rule(value=1, permanent=True), later, DS1=WARM, DS2=WARM)
    assert bench.values["OUT0"] == 0
    bench.sense(DS2=COOL)
    assert bench.values["OUT0"] == 1
    bench.wait(10)
    assert bench.values["OUT0"] == 1


def test_permanent_rule_holds_nothing_before_it_acted() -> None:
    bench = bench_with(rule(permanent=True, on_delay=10, mode=1), DS1=WARM)
    bench.wait(10)
    bench.sense(DS1=COOL)
    bench.sense(DS1=WARM)
    bench.switch_off("OUT0")
    assert bench.values["OUT0"] == 0
    bench.wait(10)
    assert bench.values["OUT0"] == 1


def test_permanent_rule_holds_nothing_during_its_off_delay() -> None:
    bench = bench_with(rule(permanent=True, off_delay=10), DS1=WARM)
    bench.sense(DS1=COOL)
    bench.switch_off("OUT0")
    assert bench.values["OUT0"] == 0
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 1


def test_permanent_rule_that_acts_only_when_it_stops_holds_nothing() -> None:
    bench = bench_with(rule(permanent=True, mode=2), DS1=WARM)
    bench.switch_on("OUT0")
    assert bench.values["OUT0"] == 1
    bench.switch_off("OUT0")
    assert bench.values["OUT0"] == 0


def test_permanent_rule_keeps_periodic_switching_on() -> None:
    bench = bench_with(rule(action="AutoSwitch OUT0", permanent=True), DS1=WARM)
    bench.set(outputs__0__periodic=True)
    bench.set(outputs__0__periodic=False)
    assert bench.engine.outputs.is_periodic(0)


def test_permanent_rule_outlasts_another_rule_that_ends_the_same_action() -> None:
    switching = {"action": "AutoSwitch OUT0"}
    bench = bench_with(rule(permanent=True, **switching), rule(reference=30.0, **switching))
    bench.sense(DS1=35.0)
    bench.sense(DS1=WARM)
    assert bench.engine.outputs.is_periodic(0)


def test_permanent_rule_sends_its_message_once() -> None:
    bench = bench_with(rule(action="HTTP1", permanent=True))
    bench.sense(DS1=WARM)
    bench.sense(DS1=WARM + 1)
    bench.set(outputs__0__name="x")
    assert notifications(bench) == [("http", 1, True)]


# Enabling, editing, deleting, starting


def test_new_rule_is_disabled_and_does_nothing() -> None:
    assert Rule().enabled is False
    bench = bench_with(rule(enabled=False), DS1=WARM)
    assert bench.values["OUT0"] == 0
    (explanation,) = bench.engine.rules.explain()
    assert (explanation.met, explanation.combined) == (False, True)
    assert explanation.blocked_by == "The rule is disabled."


def test_enabling_a_rule_whose_condition_holds_makes_it_act() -> None:
    bench = bench_with(rule(enabled=False), rule(enabled=False, on_delay=5, action="OUT1"))
    bench.sense(DS1=WARM)
    bench.set(rules__0__enabled=True, rules__1__enabled=True)
    assert (bench.values["OUT0"], bench.values["OUT1"]) == (1, 0)
    bench.wait(5)
    assert bench.values["OUT1"] == 1


def test_enabling_judges_from_scratch() -> None:
    bench = bench_with(rule(hysteresis=5.0), DS1=WARM)
    bench.sense(DS1=17.0)
    bench.set(rules__0__enabled=False)
    bench.set(rules__0__enabled=True)
    assert bench.engine.rules.explain()[0].met is False


def test_disabling_does_not_undo_and_drops_the_delay() -> None:
    bench = bench_with(rule(), rule(action="OUT1", on_delay=5), DS1=WARM)
    bench.set(rules__0__enabled=False, rules__1__enabled=False)
    assert bench.due_in() is None
    bench.sense(DS1=COOL)
    assert (bench.values["OUT0"], bench.values["OUT1"]) == (1, 0)


def test_rules_act_at_the_start_only_on_what_is_met() -> None:
    met = rule(source="EVENT1", reference=0, action="OUT0", value=1)
    not_met = rule(source="EVENT1", reference=1, action="OUT1", value=0)
    bench = Bench({"rules": (met, not_met)})
    assert (bench.values["OUT0"], bench.values["OUT1"]) == (1, 0)


def test_rule_resumes_after_a_restart_if_its_output_remembers() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.set(outputs__0__remember=True)
    bench.restart(DS1=COOL)
    # Without what was kept, the rule would never have been met, and have nothing to undo.
    assert bench.values["OUT0"] == 0


def test_restart_judges_from_scratch_and_drops_delays() -> None:
    bench = bench_with(rule(on_delay=5), DS1=WARM)
    bench.restart()
    assert bench.due_in() is None
    bench.sense(DS1=WARM)
    assert bench.due_in() == 5


def test_running_delay_follows_its_rule_to_another_place() -> None:
    bench = bench_with(rule(action="OUT1", reference=99.0), rule(on_delay=10), DS1=WARM)
    bench.wait(5)
    bench.set(rules=bench.settings.rules[1:])
    (explanation,) = bench.engine.rules.explain()
    assert (explanation.pending, explanation.pending_action) == (5, "activate")
    bench.wait(5)
    assert bench.history()[-1] == "rule 1: OUT0 on"


def test_rule_that_moves_does_not_act_again() -> None:
    bench = bench_with(rule(value=2, reference=99.0), rule(value=2), DS1=WARM)
    bench.set(rules=bench.settings.rules[1:])
    assert bench.values["OUT0"] == 1
    bench.sense(DS1=COOL)
    assert bench.values["OUT0"] == 0


def test_new_rule_in_the_place_of_one_that_moved_acts_for_itself() -> None:
    bench = bench_with(rule(action="HTTP1"), DS1=WARM)
    bench.set(rules=(rule(action="HTTP1", reference=19.0), *bench.settings.rules))
    assert notifications(bench) == [("http", 1, True)]


def test_deleted_rule_undoes_nothing_and_its_delay_is_dropped() -> None:
    bench = bench_with(rule(), rule(action="OUT1", on_delay=5), DS1=WARM)
    bench.set(rules=())
    assert bench.due_in() is None
    assert (bench.values["OUT0"], bench.values["OUT1"]) == (1, 0)


@pytest.mark.parametrize("change", [{"rules__0__permanent": True}, {"rules__0__depends": 22}])
def test_permanence_and_dependence_change_without_a_new_action(change: dict[str, object]) -> None:
    other = rule(action="OUT1", on_delay=1)
    bench = bench_with(rule(value=2), other, DS1=WARM)
    bench.set(**change)
    assert bench.values["OUT0"] == 1


def test_rule_made_permanent_restores_its_target_immediately() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.switch_off("OUT0")
    bench.set(rules__0__permanent=True)
    assert bench.values["OUT0"] == 1


def test_edit_that_ends_the_condition_deactivates() -> None:
    heating = rule(compare="<", reference=20.0)
    bench = bench_with(heating, DS1=19.0)
    assert bench.values["OUT0"] == 1
    bench.set(rules__0__reference=18.0)
    assert bench.values["OUT0"] == 0


def test_edit_that_leaves_the_condition_met_does_not_act_again() -> None:
    bench = bench_with(rule(value=2, hysteresis=5.0), DS1=WARM)
    bench.sense(DS1=17.0)
    bench.set(rules__0__off_delay=5)
    assert (bench.values["OUT0"], bench.due_in()) == (1, None)


def test_edit_keeps_what_a_permanent_rule_holds() -> None:
    bench = bench_with(rule(value=2, permanent=True), DS1=WARM)
    bench.set(rules__0__off_delay=5)
    bench.switch_off("OUT0")
    assert bench.values["OUT0"] == 1


def test_edit_to_another_source_is_judged_from_scratch() -> None:
    bench = bench_with(rule(hysteresis=5.0), DS1=WARM, T1=17.0)
    bench.set(rules__0__source="T1")
    assert bench.values["OUT0"] == 0


def test_edit_restarts_a_running_delay() -> None:
    bench = bench_with(rule(on_delay=10, off_delay=10), DS1=WARM)
    bench.wait(5)
    bench.set(rules__0__on_delay=20)
    assert bench.due_in() == 20
    bench.wait(20)
    bench.sense(DS1=COOL)
    bench.wait(5)
    bench.set(rules__0__off_delay=30)
    assert bench.due_in() == 30
    bench.wait(30)
    assert bench.values["OUT0"] == 0


def test_edit_to_another_action_or_value_acts_as_a_new_rule() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.set(rules__0__action="OUT1")
    assert (bench.values["OUT0"], bench.values["OUT1"]) == (1, 1)
    bench.set(rules__0__value=0)
    assert bench.values["OUT1"] == 0


# Explanations


def test_name_stands_for_a_rule_and_changes_nothing_that_it_does() -> None:
    bench = bench_with(rule(permanent=True, on_delay=10), rule(value=0, depends=21), DS1=WARM)
    bench.wait(4)
    bench.set(rules__0__name="Heating")
    bench.wait(6)
    assert bench.history()[-1] == "rule Heating: OUT0 on"
    explained = bench.engine.rules.explain()
    assert [one.name for one in explained] == ["Heating", ""]
    assert explained[1].blocked_by == "Rule Heating determines the state of OUT0."


def test_moved_rule_keeps_its_state() -> None:
    bench = bench_with(rule(on_delay=10), rule(source="DS2", action="OUT1"), DS1=WARM)
    bench.wait(4)
    bench.set(rules=rules_moved(bench.settings.rules, 0, 1))
    assert bench.engine.rules.explain()[1].pending == 6
    bench.wait(6)
    assert bench.history()[-1] == "rule 2: OUT0 on"


def test_explanation_can_be_sent_as_json() -> None:
    bench = bench_with(rule(hysteresis=2.0, on_delay=10), DS1=WARM)
    bench.wait(4)
    (explained,) = msgspec.json.decode(msgspec.json.encode(bench.engine.rules.explain()))
    assert explained == {
        "number": 1,
        "name": "",
        "met": True,
        "combined": True,
        "conditions": [
            {
                "label": "DS1",
                "value": WARM,
                "compare": ">=",
                "reference": 20.0,
                "hysteresis": 2.0,
                "threshold": 18.0,
                "result": True,
                "absent_since": None,
            }
        ],
        "pending": 6.0,
        "pending_action": "activate",
        "blocked_by": None,
        "obstacle": None,
        "dependence_agrees": True,
    }


@for_each(("reading", "threshold"), [(19.0, 20.0), (21.0, 18.0), (18.0, 20.0), (None, 20.0)])
def test_threshold_is_the_one_that_applies_now(reading: float | None, threshold: float) -> None:
    bench = bench_with(rule(hysteresis=2.0), DS1=reading)
    assert bench.engine.rules.explain()[0].conditions[0].threshold == threshold


@for_each(
    ("blocked", "sentence"),
    [
        (rule(depends=2), "Rule 2 is met but must not be."),
        (rule(depends=23), "Rule 3 must be met, but it is disabled."),
        (rule(depends=29), "Rule 9 must be met but does not exist."),
        (rule(mode=2), "The rule acts only when its condition ends."),
        (rule(operator="OR", source2="T1"), "Source T1 is absent."),
        (rule(reference=99.0, depends=2), None),
        (rule(), None),
    ],
)
def test_obstacle_to_a_rule_is_described_in_a_sentence(blocked: Rule, sentence: str | None) -> None:
    others = (rule(action="EVENT8"), rule(action="EVENT7", enabled=False))
    bench = bench_with(blocked, *others, DS1=WARM)
    assert bench.engine.rules.explain()[0].blocked_by == sentence
