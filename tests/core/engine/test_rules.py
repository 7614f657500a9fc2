"""Rules, sentence by sentence: conditions, actions, delays, mode and dependence."""

import pytest
from msgspec.structs import replace

from leverframe.core.engine.calls import Notify, SetEnergy, ShowScreen
from leverframe.core.labels import ENERGIES
from tests.cases import for_each

from .bench import START_WALL, Bench
from .rule_bench import COOL, WARM, bench_with, notifications, rule

# Conditions


@for_each(
    ("compare", "value", "met"),
    [
        (">=", 19.99, False),
        (">=", 20.0, True),
        (">=", 20.01, True),
        ("<", 19.99, True),
        ("<", 20.0, False),
    ],
)
def test_analog_source_is_compared_with_the_reference(
    compare: str, value: float, met: bool
) -> None:
    bench = bench_with(rule(compare=compare), DS1=value)
    assert bench.values["OUT0"] == met
    assert bench.engine.rules.explain()[0].met is met


@pytest.mark.parametrize(
    ("compare", "values", "states"),
    [
        (">=", [19.9, 20.0, 19.0, 18.0, 17.9, 19.9, 20.0], [0, 1, 1, 1, 0, 0, 1]),
        ("<", [20.0, 19.9, 20.0, 21.9, 22.0, 20.1, 19.9], [0, 1, 1, 1, 0, 0, 1]),
    ],
)
def test_hysteresis_keeps_a_met_condition_met_until_the_value_is_beyond_it(
    compare: str, values: list[float], states: list[int]
) -> None:
    bench = bench_with(rule(compare=compare, hysteresis=2.0))
    seen = []
    for value in values:
        bench.sense(DS1=value)
        seen.append(bench.values["OUT0"])
    assert seen == states


def test_thresholds_are_decimal_numbers() -> None:
    bench = bench_with(rule(reference=20.1, hysteresis=0.2), DS1=20.1)
    bench.sense(DS1=19.9)
    assert bench.values["OUT0"] == 1, "19.9 is not below 20.1 - 0.2"


@for_each(("compare", "reference", "level"), [(">=", 1, 1), (">=", 0, 0), ("<", 1, 0), ("<", 0, 0)])
def test_digital_source_is_compared_as_documented_without_hysteresis(
    compare: str, reference: int, level: int
) -> None:
    digital = rule(source="EVENT1", compare=compare, reference=reference, hysteresis=1.0)
    bench = bench_with(digital)
    for state in (1, 0, 1, 0):
        (bench.switch_on if state else bench.switch_off)("EVENT1")
        assert bench.values["OUT0"] == (state == level)
    (condition,) = bench.engine.rules.explain()[0].conditions
    assert (condition.compare, condition.reference, condition.hysteresis) == ("=", level, 0.0)


TRUTH = {
    "-": [0, 0, 1, 1],
    "AND": [0, 0, 0, 1],
    "OR": [0, 1, 1, 1],
    "NAND": [1, 1, 1, 0],
    "NOR": [1, 0, 0, 0],
    "XOR": [0, 1, 1, 0],
}


@for_each("operator", TRUTH)
def test_operator_combines_the_two_conditions(operator: str) -> None:
    both = rule(operator=operator, source2="T1", reference2=20.0)
    seen = []
    for first in (COOL, WARM):
        for second in (COOL, WARM):
            seen.append(bench_with(both, DS1=first, T1=second).values["OUT0"])
    assert seen == TRUTH[operator]


# Absent sources


def test_rule_with_an_absent_source_keeps_its_last_result_and_says_so() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.wait(10)
    bench.sense(DS1=None)
    (explanation,) = bench.engine.rules.explain()
    assert (bench.values["OUT0"], explanation.met) == (1, True)
    assert explanation.blocked_by == "Source DS1 is absent."
    (condition,) = explanation.conditions
    assert (condition.value, condition.result) == (None, True)
    assert condition.absent_since == START_WALL + 10


@for_each("operator", TRUTH)
def test_conditions_that_were_never_known_do_not_act(operator: str) -> None:
    bench = bench_with(rule(operator=operator, source2="T1"))
    (explanation,) = bench.engine.rules.explain()
    assert (bench.values["OUT0"], explanation.met) == (0, False)
    assert [condition.result for condition in explanation.conditions][:1] == [None]


@for_each(
    ("operator", "present", "acts"),
    [
        ("AND", WARM, 0),
        ("OR", WARM, 1),
        ("OR", COOL, 0),
        ("NAND", COOL, 1),
        ("NAND", WARM, 0),
        ("NOR", COOL, 0),
        ("XOR", WARM, 0),
    ],
)
def test_condition_with_one_absent_source_is_decided_by_the_present_one(
    operator: str, present: float, acts: int
) -> None:
    bench = bench_with(rule(operator=operator, source2="T1", reference2=20.0), T1=present)
    assert bench.values["OUT0"] == acts


def test_absent_source_cannot_help_a_rule_to_act_by_its_last_result() -> None:
    bench = bench_with(rule(operator="AND", source2="EVENT1", reference2=1), DS1=WARM)
    bench.sense(DS1=None)
    bench.switch_on("EVENT1")
    assert bench.values["OUT0"] == 0
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 1


def test_wish_of_a_rule_for_an_output_is_known_while_it_is_met() -> None:
    bench = bench_with(rule(), DS1=COOL)
    assert bench.engine.rules.wish_for("OUT0") is None
    bench.sense(DS1=WARM)
    wish = bench.engine.rules.wish_for("OUT0")
    assert wish is not None
    assert (wish.rule, wish.state) == (1, 1)
    bench.sense(DS1=COOL)
    assert bench.engine.rules.wish_for("OUT0") is None


def test_rest_of_a_delay_has_fractions_of_a_second() -> None:
    bench = bench_with(rule(on_delay=10), DS1=WARM)
    bench.wait(9.75)
    assert bench.engine.rules.explain()[0].pending == 0.25


def test_rules_that_wait_are_listed_with_their_first_absent_source() -> None:
    waits = rule(operator="AND", source2="T1", reference2=20.0)
    bench = bench_with(waits, rule(source="EVENT1", reference=1), replace(waits, enabled=False))
    bench.sense(DS1=WARM, T1=None)
    assert bench.engine.rules.absent_sources() == {1: "T1"}
    bench.sense(DS1=None)
    assert bench.engine.rules.absent_sources() == {1: "DS1"}
    bench.sense(DS1=WARM, T1=WARM)
    assert bench.engine.rules.absent_sources() == {}


def test_unknown_source_is_absent() -> None:
    bench = bench_with(rule(source="DS99", operator="OR", source2="DS1", reference2=20.0), DS1=WARM)
    assert bench.values["OUT0"] == 1
    assert bench.engine.rules.explain()[0].blocked_by == "Source DS99 is absent."


def test_hysteresis_resumes_where_it_was_when_a_source_returns() -> None:
    bench = bench_with(rule(hysteresis=5.0), DS1=WARM)
    bench.sense(DS1=None)
    bench.sense(DS1=16.0)
    assert bench.values["OUT0"] == 1


# Actions


@for_each("target", ["OUT5", "PWM3", "EVENT8"])
@for_each(
    ("value", "before", "during", "after"),
    [(0, 1, 0, 1), (0, 0, 0, 1), (1, 0, 1, 0), (1, 1, 1, 0), (2, 0, 1, 0), (2, 1, 0, 1)],
)
def test_value_sets_or_reverses_and_deactivation_does_the_opposite(
    target: str, value: int, before: int, during: int, after: int
) -> None:
    bench = bench_with(rule(action=target, value=value))
    if before:
        bench.switch_on(target)
    bench.sense(DS1=WARM)
    assert bench.values[target] == during
    bench.sense(DS1=COOL)
    assert bench.values[target] == after


def test_deactivation_reverses_what_is_there_then() -> None:
    bench = bench_with(rule(value=2), DS1=WARM)
    bench.switch_off("OUT0")
    bench.sense(DS1=COOL)
    assert bench.values["OUT0"] == 1


@pytest.mark.parametrize("value", [0, 1, 2])
def test_messages_go_out_on_activation_and_deactivation_whatever_the_value(value: int) -> None:
    bench = bench_with(rule(action="eMail 2", value=value), DS1=WARM)
    bench.sense(DS1=COOL)
    bench.sense(DS1=WARM)
    assert notifications(bench) == [("email", 2, False), ("email", 2, True)]


def test_message_speaks_of_the_first_source() -> None:
    bench = Bench({"rules": (rule(action="SMS1", operator="OR", source2="T1"),)})
    bench.sense(DS1=WARM)
    (sent,) = bench.effects(Notify)
    assert replace(sent, cause=None) == Notify("sms", 1, True, "rule 1", "DS1", WARM)


def test_journal_names_the_rule_as_people_count() -> None:
    bench = bench_with(rule(reference=99.0), rule(action="EVENT2"), DS1=WARM)
    assert bench.history()[-1] == "rule 2: EVENT2 on"


def test_rules_act_also_while_outputs_are_locked() -> None:
    bench = bench_with(rule())
    bench.set(output_flags__lock=True)
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 1


def test_rule_acts_only_when_its_condition_changes() -> None:
    bench = bench_with(rule(), DS1=WARM)
    bench.switch_off("OUT0")
    bench.sense(DS1=WARM + 1)
    assert bench.values["OUT0"] == 0


def test_later_of_two_rules_on_one_output_wins() -> None:
    assert bench_with(rule(value=1), rule(value=0), DS1=WARM).values["OUT0"] == 0
    assert bench_with(rule(value=0), rule(value=1), DS1=WARM).values["OUT0"] == 1


def test_rule_that_turns_by_its_dependence_acts_in_entry_order_too() -> None:
    bench = bench_with(rule(source="T1", depends=22, value=1), rule(value=0), T1=WARM)
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == 0


def test_all_rules_are_judged_before_the_first_one_acts() -> None:
    sets_variable = rule(action="EVENT2", mode=1)
    wants_it_unset = rule(operator="AND", source2="EVENT2", reference2=0, action="OUT1", mode=1)
    bench = bench_with(sets_variable, wants_it_unset, DS1=WARM)
    assert (bench.values["EVENT2"], bench.values["OUT1"]) == (1, 1)


def test_change_by_an_action_is_judged_at_the_same_instant() -> None:
    chain = [
        rule(action="EVENT1"),
        rule(source="EVENT1", reference=1, action="EVENT2"),
        rule(source="EVENT2", reference=1, action="OUT3"),
    ]
    assert bench_with(*reversed(chain), DS1=WARM).values["OUT3"] == 1


def test_rules_that_set_each_other_off_are_stopped_and_logged() -> None:
    bench = bench_with(rule(source="OUT0", reference=0, value=1), DS1=WARM)
    assert any(line.startswith("rule loop: ") for line in bench.history())


# Delays


def test_action_follows_after_the_on_delay() -> None:
    bench = bench_with(rule(on_delay=10), DS1=WARM)
    bench.wait(9.9)
    assert bench.values["OUT0"] == 0
    bench.wait(0.1)
    assert bench.values["OUT0"] == 1


def test_deactivation_follows_after_the_off_delay() -> None:
    bench = bench_with(rule(off_delay=10), DS1=WARM)
    bench.sense(DS1=COOL)
    bench.wait(9.9)
    assert bench.values["OUT0"] == 1
    bench.wait(0.1)
    assert bench.values["OUT0"] == 0


def test_delay_starts_only_when_the_condition_changes() -> None:
    bench = bench_with(rule(on_delay=10), DS1=WARM)
    bench.wait(5)
    bench.sense(DS1=WARM + 1)
    bench.wait(5)
    assert bench.values["OUT0"] == 1


def test_on_delay_is_dropped_when_the_condition_changes_back() -> None:
    bench = bench_with(rule(on_delay=10, off_delay=3, value=0), DS1=WARM)
    bench.wait(5)
    bench.sense(DS1=COOL)
    assert bench.due_in() is None
    bench.wait(100)
    assert bench.values["OUT0"] == 0, "what was not activated is not deactivated"


def test_off_delay_is_dropped_when_the_condition_changes_back() -> None:
    bench = bench_with(rule(off_delay=10, value=2), DS1=WARM)
    bench.sense(DS1=COOL)
    bench.wait(5)
    bench.sense(DS1=WARM)
    assert bench.due_in() is None
    assert bench.values["OUT0"] == 1, "what was not deactivated is not activated again"


def test_each_delay_counts_from_its_start() -> None:
    bench = bench_with(rule(on_delay=10), DS1=WARM)
    bench.wait(9)
    bench.sense(DS1=COOL)
    bench.sense(DS1=WARM)
    bench.wait(9)
    assert bench.values["OUT0"] == 0
    bench.wait(1)
    assert bench.values["OUT0"] == 1


@pytest.mark.parametrize("action", ["HTTP1", "eMail 1", "SMS1"])
def test_only_switching_actions_know_delays(action: str) -> None:
    bench = bench_with(rule(action=action, on_delay=10, off_delay=10))
    bench.sense(DS1=WARM)
    bench.sense(DS1=COOL)
    assert [active for _, _, active in notifications(bench)] == [True, False]


@pytest.mark.parametrize("target", ["OUT0", "PWM0", "EVENT1"])
def test_delays_are_for_outputs_pwm_outputs_and_event_variables(target: str) -> None:
    bench = bench_with(rule(action=target, on_delay=10), DS1=WARM)
    assert bench.values[target] == 0
    bench.wait(10)
    assert bench.values[target] == 1


def test_delays_are_in_the_journal() -> None:
    bench = bench_with(rule(on_delay=10, off_delay=20), DS1=WARM)
    bench.wait(10)
    bench.sense(DS1=COOL)
    bench.sense(DS1=WARM)
    assert bench.history()[-4:] == [
        "rule 1: met: action OUT0 starts in 10 s",
        "rule 1: OUT0 on",
        "rule 1: no longer met: action OUT0 ends in 20 s",
        "rule 1: delay cancelled: OUT0 does not change",
    ]


# Mode


@pytest.mark.parametrize(
    ("mode", "starting", "stopping"), [(0, True, True), (1, True, False), (2, False, True)]
)
def test_mode_says_on_which_change_the_rule_acts(mode: int, starting: bool, stopping: bool) -> None:
    bench = bench_with(rule(action="HTTP1", mode=mode))
    bench.sense(DS1=WARM)
    bench.sense(DS1=COOL)
    expected = [("http", 1, True)] * starting + [("http", 1, False)] * stopping
    assert notifications(bench) == expected


def test_push_button_reverses_an_output_at_each_press() -> None:
    bench = bench_with(rule(source="EVENT1", reference=1, value=2, mode=1))
    states = []
    for _ in range(3):
        bench.switch_on("EVENT1")
        bench.switch_off("EVENT1")
        states.append(bench.values["OUT0"])
    assert states == [1, 0, 1]


def test_acting_only_when_it_stops_sets_the_opposite_after_the_off_delay() -> None:
    bench = bench_with(rule(mode=2, value=0, off_delay=5), DS1=WARM)
    assert bench.values["OUT0"] == 0
    bench.sense(DS1=COOL)
    bench.wait(5)
    assert bench.values["OUT0"] == 1


@pytest.mark.parametrize("action", ["RESET ENERGY1", "RESET ENERGY6"])
def test_energy_is_reset_at_the_stop_by_a_rule_that_acts_only_then(action: str) -> None:
    index = int(action[-1]) - 1
    bench = bench_with(rule(action=action, mode=2), DS1=COOL)
    bench.do(SetEnergy(index, 5.0))
    bench.sense(DS1=WARM)
    assert bench.values[ENERGIES[index]] == 5.0
    bench.sense(DS1=COOL)
    assert bench.values[ENERGIES[index]] == 0.0


@for_each("action", ["OLED ON/NEXT SCREEN", "OLED - SET SCREEN 3"])
@for_each(("mode", "shown"), [(0, [1, 0]), (1, [1, 0]), (2, [0, 1])])
def test_screen_is_shown_once_at_the_change_that_the_mode_names(
    action: str, mode: int, shown: list[int]
) -> None:
    bench = Bench(
        {
            "rules": (rule(action=action, mode=mode),),
            "oled.enabled": True,
            "oled.screens.0.active": True,
            "oled.screens.1.active": True,
        }
    )
    bench.sense(DS1=COOL)
    bench.effects()
    seen = []
    for value in (WARM, COOL):
        bench.sense(DS1=value)
        seen.append(len(bench.effects(ShowScreen)))
    assert seen == shown


# Dependence


@for_each(
    ("depends", "other_met", "acts"), [(0, 0, 1), (0, 1, 1), (2, 0, 1), (2, 1, 0), (22, 0, 0)]
)
def test_dependence_demands_that_another_rule_is_or_is_not_met(
    depends: int, other_met: int, acts: int
) -> None:
    other = rule(source="EVENT1", reference=1, action="EVENT8")
    bench = bench_with(rule(depends=depends), other)
    if other_met:
        bench.switch_on("EVENT1")
    bench.sense(DS1=WARM)
    assert bench.values["OUT0"] == acts


def test_rule_follows_the_one_it_depends_on() -> None:
    other = rule(source="EVENT1", reference=1, action="EVENT8")
    bench = bench_with(rule(depends=22), other, DS1=WARM)
    assert bench.engine.rules.explain()[0].blocked_by == "Rule 2 must be met but is not."
    bench.switch_on("EVENT1")
    assert bench.values["OUT0"] == 1
    bench.switch_off("EVENT1")
    assert bench.values["OUT0"] == 0


def test_dependence_is_on_conditions_and_does_not_wait_for_delays() -> None:
    other = rule(source="EVENT1", reference=1, action="EVENT8", on_delay=100, mode=2)
    bench = bench_with(rule(depends=22), other, DS1=WARM)
    bench.switch_on("EVENT1")
    assert bench.values["OUT0"] == 1


def test_dependence_does_not_pass_on_what_the_other_rule_depends_on() -> None:
    first = rule(depends=22)
    second = rule(depends=23, action="OUT1")
    third = rule(source="EVENT1", reference=1, action="OUT2")
    bench = bench_with(first, second, third, DS1=WARM)
    assert [bench.values[f"OUT{n}"] for n in range(3)] == [1, 0, 0]


def test_rules_may_depend_on_each_other_or_on_themselves() -> None:
    bench = bench_with(
        rule(depends=22), rule(depends=1, action="OUT1"), rule(depends=3, action="OUT2"), DS1=WARM
    )
    assert [bench.values[f"OUT{n}"] for n in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(("depends", "acts"), [(2, 1), (22, 0)])
def test_disabled_rule_counts_as_not_met(depends: int, acts: int) -> None:
    bench = bench_with(rule(depends=depends), rule(action="OUT1", enabled=False), DS1=WARM)
    assert bench.values["OUT0"] == acts


@pytest.mark.parametrize(("depends", "acts"), [(20, 1), (40, 0)])
def test_missing_rule_counts_as_not_met(depends: int, acts: int) -> None:
    assert bench_with(rule(depends=depends), DS1=WARM).values["OUT0"] == acts
