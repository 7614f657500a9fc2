"""Advice about rules: what fights, loops or can never act is reported, and nothing else is."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from leverframe.core.engine.rule_advice import Advice, Offer, advise
from leverframe.core.profile import Profile
from leverframe.core.settings import AnalogInput, Mqtt, OneWireSensor, Rule, Settings, number_rules
from leverframe.core.tree import defaults, with_value
from leverframe.interface.table.lookup import Call, find
from leverframe.interface.table.rules import actions_of, event_query, sources_of
from leverframe.interface.table.stage import Stage
from tests.boundary_profiles import BEFORE_ALL, NEWEST
from tests.cases import for_each
from tests.effort import examples
from tests.random_settings import AnyHash, random_settings

from .rule_bench import rule

OLDEST = Profile("3.0", BEFORE_ALL)
ELDER = Profile("3.5", "1.36")
HW30 = Profile("3.0", "1.58a")
#: These are there, so that rules on it are in order.
PRESENT = {"DS1", "DS2", "T1"}


def offer(profile: Profile = NEWEST) -> Offer:
    return Offer(profile, sources_of(profile), actions_of(profile))


def advice(*rules: Rule, tree: Settings | None = None) -> list[Advice]:
    return advise(replace(tree or defaults(NEWEST), rules=rules), offer(), PRESENT)


def kinds(*rules: Rule, tree: Settings | None = None) -> list[tuple[str, tuple[int, ...]]]:
    return [(one.kind, one.rules) for one in advice(*rules, tree=tree)]


def digital(label: str, level: int, **fields: object) -> Rule:
    return rule(source=label, reference=float(level), **fields)


@for_each(
    "innocent",
    [
        rule(),
        rule(hysteresis=0.5, on_delay=3, off_delay=5),
        rule(operator="AND", source2="DS2", compare2="<", reference2=30.0),
        rule(reference=-55.0, compare=">=", operator="AND", source2="INPD1", reference2=1.0),
        digital("INPD1", 0, action="eMail 1"),
        rule(reference=125.0),
        rule(source="VCC", reference=3.0),
        rule(source="ENERGY1", reference=5.0, enabled=False, action="RESET ENERGY1"),
    ],
)
def test_rule_that_is_in_order_gets_no_advice(innocent: Rule) -> None:
    tree = with_value(defaults(NEWEST), "power.0.current", "INPD1")
    assert kinds(innocent, tree=tree) == []


@for_each(
    "out_of_reach",
    [
        rule(reference=125.01),
        rule(compare="<", reference=-55.0),
        rule(source="T1", reference=200.0),
        rule(source="ENERGY1", compare="<", reference=0.0),
        digital("MQTT", 1),
    ],
)
def test_advice_on_a_threshold_that_no_value_reaches(out_of_reach: Rule) -> None:
    tree = with_value(defaults(NEWEST), "power.0.current", "INPD1")
    assert kinds(out_of_reach, tree=tree) == [("out_of_range", (1,))]


def test_range_follows_the_offset_and_the_sensor() -> None:
    tree = replace(
        defaults(NEWEST),
        onewire=(OneWireSensor(offset=1.0), *defaults(NEWEST).onewire[1:]),
        analog_inputs=(AnalogInput(sensor="4..20mA"), *defaults(NEWEST).analog_inputs[1:]),
        mqtt=Mqtt(enabled=True),
    )
    within = (rule(reference=126.0), rule(source="INPA1", reference=20.0), digital("MQTT", 1))
    assert kinds(*(replace(one, enabled=False) for one in within), tree=tree) == []
    assert kinds(rule(source="INPA1", reference=22.0), tree=tree) == [("out_of_range", (1,))]


def test_figures_of_advice_are_there_for_other_languages() -> None:
    (entry,) = advice(rule(reference=130.0))
    assert entry.labels == ("DS1",)
    assert entry.figures == {"reference": 130.0, "low": -55.0, "high": 125.0}
    assert entry.text == "Rule 1 never acts: DS1 is between -55 and 125, never 130 or more."


@pytest.mark.parametrize(
    ("out_of_reach", "text"),
    [
        (digital("MQTT", 1), "MQTT is always 0, never 1."),
        (rule(compare="<", reference=-55.0), "DS1 is between -55 and 125, never below -55."),
        (
            rule(source="ENERGY1", compare="<", reference=0.0),
            "ENERGY1 is at least 0, never below 0.",
        ),
    ],
)
def test_range_is_described_in_words(out_of_reach: Rule, text: str) -> None:
    tree = with_value(defaults(NEWEST), "power.0.current", "INPD1")
    assert [one.text for one in advice(out_of_reach, tree=tree)] == [f"Rule 1 never acts: {text}"]


def test_advice_on_two_conditions_that_exclude_each_other() -> None:
    both = rule(operator="AND", source2="DS1", compare2="<", reference2=10.0)
    assert kinds(both) == [("contradiction", (1,))]
    # Once it was 20, hysteresis keeps the first condition down to 5.
    assert kinds(replace(both, hysteresis=15.0)) == []


def test_advice_on_a_rule_that_cannot_end() -> None:
    assert kinds(rule(reference=-55.0)) == [("always_met", (1,))]
    assert kinds(rule(reference=-50.0, hysteresis=10.0)) == [("never_ceases", (1,))]


@for_each(
    ("label", "path", "value"),
    [
        ("INPA2", "analog_inputs.1.sensor", "PT1000"),
        ("DS3", "onewire.2.id", "28:00:00:00:00:00:00:01"),
        ("H1", "i2c.primary", "BME280"),
        ("CO2", "serial.module", "CO2 sensor MH-Z16/19"),
        ("PM2.5", "i2c.sps30", True),
        ("DISTANCE", "serial.module", "ultrasonic distance sensor"),
        ("POWER1", "power.0.current", "INPD1"),
        ("DIFF1", "differentials.0", None),
    ],
)
def test_advice_on_an_unmeasured_source_until_it_is_set_up(
    label: str, path: str, value: object
) -> None:
    tree = defaults(NEWEST)
    waiting = rule(source=label, reference=1.0)
    assert kinds(waiting, tree=tree) == [("not_set_up", (1,))]
    if value is None:
        tree = with_value(with_value(tree, f"{path}.first", "VCC"), f"{path}.second", "VCC")
    else:
        tree = with_value(tree, path, value)
    assert kinds(waiting, tree=tree) == []


def test_differential_that_rests_on_itself_is_never_set_up() -> None:
    tree = with_value(defaults(NEWEST), "differentials.0.first", "DIFF2")
    tree = with_value(tree, "differentials.0.second", "VCC")
    tree = with_value(tree, "differentials.1.first", "DIFF1")
    tree = with_value(tree, "differentials.1.second", "VCC")
    assert kinds(rule(source="DIFF1", reference=1.0), tree=tree) == [("not_set_up", (1,))]


def test_pressure_at_sea_level_may_be_any() -> None:
    far = rule(source="P1", reference=1300.0)
    tree = with_value(defaults(NEWEST), "i2c.primary", "BME280")
    assert kinds(far, tree=tree) == [("out_of_range", (1,))]
    assert kinds(far, tree=with_value(tree, "weather.altitude", 500)) == []


@for_each(
    ("profile", "unsayable"),
    [
        (NEWEST, rule(source="no such reading")),
        (NEWEST, rule(action="no such action")),
        (OLDEST, rule(source="POWER6")),
        (OLDEST, rule(source2="POWER6")),
    ],
)
def test_rule_that_the_version_cannot_say_has_no_command(profile: Profile, unsayable: Rule) -> None:
    assert event_query(0, unsayable, profile) is None


def test_readings_take_precedence_over_settings() -> None:
    tree = replace(defaults(NEWEST), rules=(rule(source="DS3"),))
    assert advise(tree, offer(), {"DS3"}) == []


def test_advice_on_what_the_version_does_not_have() -> None:
    tree = replace(
        defaults(ELDER), rules=(rule(source="PWM0", reference=1.0, action="ENABLE PID"),)
    )
    entries = advise(tree, offer(ELDER))
    assert [one.kind for one in entries] == ["no_source", "no_action"]


def test_advice_on_a_rule_whose_write_has_no_destination() -> None:
    writing = rule(action="MODBUS WRITE 2")
    assert kinds(writing) == [("no_write", (1,))]
    tree = with_value(defaults(NEWEST), "modbus_writes.1.slot", 3)
    assert kinds(writing, tree=tree) == [("no_module", (1,))]
    assert kinds(writing, tree=with_value(tree, "modbus_slots.2.module", "GTIL")) == []
    # From a file: this version has one slot.
    alone = with_value(defaults(HW30), "modbus_writes.1.slot", 3)
    entries = advise(replace(alone, rules=(writing,)), offer(HW30), PRESENT)
    assert [one.kind for one in entries] == ["no_module"]


@for_each(
    ("depends", "kind"),
    [
        (1, "never_own_dependence"),
        (21, "own_dependence"),
        (22, "never_disabled_dependence"),
        (2, "disabled_dependence"),
        (29, "never_missing_dependence"),
        (9, "missing_dependence"),
        (23, "never_met_dependence"),
        (4, "always_met_dependence"),
    ],
)
def test_advice_on_a_dependence_without_effect_or_that_forbids_all(depends: int, kind: str) -> None:
    others = (
        rule(action="EVENT1", enabled=False),
        rule(action="EVENT2", compare="<", reference=10.0),
        rule(action="EVENT3", reference=0.0),
    )
    number = depends - 20 if depends > 20 else depends
    assert kinds(rule(depends=depends), *others) == [(kind, (1, number))]


def test_rules_that_set_one_output_differently_at_the_same_time_fight() -> None:
    warm, door = rule(), digital("INPD1", 1, value=0)
    assert kinds(warm, door) == [("fight", (1, 2)), ("ends_on", (2, 1))]
    assert advice(warm, door)[0].labels == ("OUT0",)
    assert kinds(warm, replace(door, enabled=False)) == []
    assert kinds(warm, replace(door, action="OUT1")) == []


def test_advice_calls_rules_by_their_names() -> None:
    warm, door = rule(name="Warm"), digital("INPD1", 1, value=0, name="Door")
    first, second = (entry.text for entry in advice(warm, door))
    assert first.startswith("Rules Warm and Door set")
    assert second.startswith("When rule Door ends, it switches OUT0 on even if rule Warm is")


def test_rule_that_waits_for_the_other_not_to_be_met_does_not_fight_it() -> None:
    exclusive = digital("INPD1", 1, value=0, depends=1)
    assert kinds(rule(), exclusive) == [("shared", (1, 2)), ("ends_on", (2, 1))]
    other_way_round = [replace(exclusive, depends=2), rule()]
    assert kinds(*other_way_round) == [("shared", (1, 2)), ("ends_on", (1, 2))]


def test_advice_on_two_rules_on_one_output_unless_one_sets_and_one_resets() -> None:
    assert kinds(rule(), digital("INPD1", 1)) == [("shared", (1, 2))]
    assert kinds(rule(), digital("INPD1", 1, mode=1)) == [("interferes", (1, 2))]
    assert kinds(rule(), digital("INPD1", 1, mode=2)) == [("interferes", (1, 2))]
    setting = rule(mode=1)
    resetting = rule(compare="<", reference=10.0, value=0, mode=1)
    assert kinds(setting, resetting) == []


def test_advice_on_a_rule_whose_end_switches_on_the_output_of_another() -> None:
    warm, door = rule(), digital("INPD1", 1, value=0)
    (entry,) = [one for one in advice(warm, door) if one.kind == "ends_on"]
    assert entry.text.startswith("When rule 2 ends, it switches OUT0 on even if rule 1 is not met")
    assert ("ends_on", (2, 1)) not in kinds(warm, replace(door, mode=1))
    assert ("ends_on", (2, 1)) not in kinds(replace(warm, action="AutoSwitch OUT0"), door)
    assert ("ends_on", (2, 1)) not in kinds(replace(warm, value=0), door)
    assert ("ends_on", (2, 1)) not in kinds(replace(warm, mode=2), door)


def test_advice_on_an_output_that_nothing_switches_off_after_a_power_cut() -> None:
    tree = with_value(defaults(NEWEST), "outputs.0.remember", True)
    alone = rule(mode=1)
    assert kinds(alone, tree=tree) == [("remembered", (1,))]
    assert kinds(alone) == []
    assert kinds(rule(), tree=tree) == []
    assert kinds(alone, tree=with_value(tree, "outputs.0.return_time", 5)) == []
    resetting = rule(compare="<", reference=10.0, value=0, mode=1)
    assert kinds(alone, resetting, tree=tree) == []
    assert kinds(alone, replace(resetting, enabled=False), tree=tree) == [("remembered", (1,))]
    # One that ends on its own keeps no later one from being reported.
    returns = with_value(tree, "outputs.1.remember", True)
    returns = with_value(returns, "outputs.1.return_time", 5)
    assert kinds(rule(action="OUT1", mode=1), alone, tree=returns) == [("remembered", (2,))]


def test_periodic_switching_and_switching_of_one_output_fight() -> None:
    assert kinds(rule(), digital("INPD1", 1, action="AutoSwitch OUT0")) == [("fight", (1, 2))]


def test_rule_that_undoes_its_own_condition_is_a_loop() -> None:
    flicker = digital("EVENT1", 0, action="EVENT1", value=1)
    assert kinds(flicker) == [("loop", (1,))]
    assert advice(flicker)[0].text.startswith("Rule 1 keeps triggering itself")


def test_loop_that_begins_only_after_a_switching_by_hand_is_found() -> None:
    assert kinds(digital("EVENT1", 1, action="EVENT1", value=0)) == [("loop", (1,))]


def test_timer_and_a_latch_are_no_loops() -> None:
    off_after_a_minute = digital("OUT0", 1, action="OUT0", value=0, mode=1, on_delay=60)
    latch = digital("EVENT1", 1, action="EVENT1", value=1)
    assert kinds(off_after_a_minute) == []
    assert kinds(latch) == []


def test_loop_through_event_variables_needs_its_other_sources() -> None:
    there = rule(operator="AND", source2="EVENT1", reference2=0.0, action="EVENT2", value=1)
    back = digital("EVENT2", 1, action="EVENT1", value=1)
    assert kinds(there, back) == [("loop", (1, 2))]
    assert advice(there, back)[0].text.startswith("Rules 1 and 2 keep triggering each other")
    assert kinds(replace(there, reference=999.0), back) == [("contradiction", (1,))]


def test_loop_with_delays_says_how_long_a_round_takes() -> None:
    blinker = digital("OUT0", 0, action="OUT0", value=1, on_delay=2, off_delay=3)
    (entry,) = advice(blinker)
    assert entry.kind == "loop"
    assert entry.figures == {"delay_s": 5}
    assert entry.text == "Rule 1 keeps triggering itself by switching OUT0, every 5 s."
    (entry,) = advice(replace(blinker, on_delay=0, off_delay=0))
    assert entry.text == "Rule 1 keeps triggering itself by switching OUT0."


def test_loop_by_way_of_a_dependence_is_found() -> None:
    watcher = digital("EVENT1", 1, action="eMail 1")
    switcher = rule(action="EVENT1", depends=1)
    assert kinds(watcher, switcher) == [("loop", (2,))]


@given(seed=st.integers(0, 2**32), profile=st.sampled_from([NEWEST, OLDEST, ELDER, HW30]))
@examples(40)
def test_advice_speaks_of_rules_that_exist_and_never_fails(seed: int, profile: Profile) -> None:
    tree = random_settings(profile, Random(seed))
    rules = tree.rules or (Rule(),)
    tree = replace(tree, rules=tuple(one and replace(one, enabled=True) for one in rules))
    for entry in advise(tree, offer(profile)):
        assert entry.text.endswith(".")
        assert 1 <= entry.rules[0] <= len(tree.rules)


NUMBERS = st.integers(-15000, 15000).map(lambda hundredths: hundredths / 100)
ANY_RULE = st.builds(
    Rule,
    source=st.sampled_from(["DS1", "INPD1", "EVENT1", "OUT0", "DS99"]),
    compare=st.sampled_from([">=", "<"]),
    reference=NUMBERS,
    hysteresis=NUMBERS.map(abs),
    operator=st.sampled_from(["-", "AND", "OR", "NAND", "NOR", "XOR", "?"]),
    action=st.sampled_from(["OUT0", "EVENT1", "EVENT2", "AutoSwitch OUT0", "MQTT", "none"]),
    source2=st.sampled_from(["DS1", "INPD1", "EVENT2"]),
    reference2=st.sampled_from([0.0, 1.0, 20.0]),
    value=st.integers(0, 2),
    depends=st.integers(0, 40),
    mode=st.integers(0, 2),
    enabled=st.booleans(),
    permanent=st.booleans(),
)


@given(rules=st.lists(ANY_RULE, max_size=6))
@examples(60)
def test_advice_never_fails_on_rules_of_any_kind(rules: list[Rule]) -> None:
    for entry in advice(*rules):
        assert set(entry.rules[:1]) <= set(range(1, len(rules) + 1))


@given(seed=st.integers(0, 2**32), profile=st.sampled_from([NEWEST, OLDEST, ELDER, HW30]))
@examples(40)
def test_command_of_a_rule_sets_that_rule(seed: int, profile: Profile) -> None:
    for number, stored in number_rules(random_settings(profile, Random(seed)).rules):
        query = event_query(0, stored, profile)
        assert query is not None
        stage = Stage(profile, defaults(profile), None, AnyHash())
        for call in find("GET", "/inpa.cgi", [query], profile):
            assert isinstance(call, Call)
            call.row.perform(stage, call.values)
        (again,) = stage.settings.rules
        kept = {name: getattr(stored, name) for name in ("enabled", "permanent", "name")}
        assert replace(again, **kept) == stored, number
