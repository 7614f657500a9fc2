"""Two units compared by what they mean: only what differs, in words, across versions."""

from random import Random

import pytest

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, ScheduleEntry, Settings
from leverframe.core.tree import defaults, leaves, with_value
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.limits import Content
from leverframe.units.comparison import (
    ComparedUnit,
    NotComparable,
    NotShown,
    UnitDifference,
    compare_units,
)
from tests.random_settings import random_settings
from tests.units.unit_files import PROFILES

NEWEST = Profile()
OLDER = Profile("3.5", "1.44")
HW30 = Profile("3.0", "1.58a")


def side(settings: Settings, title: str = "a", **more: object) -> ComparedUnit:
    profile = Profile(settings.profile.hw, settings.profile.sw)
    return ComparedUnit(title, profile, settings, **more)  # type: ignore[arg-type]


def settings_with(**values: object) -> Settings:
    settings = defaults(NEWEST)
    for path, value in values.items():
        settings = with_value(settings, path.replace("__", "."), value)
    return settings


def list_differences(first: Settings, second: Settings) -> list[str]:
    return [str(one) for one in compare_units(side(first), side(second, "b")).differences]


@pytest.mark.parametrize("profile", [NEWEST, OLDER, HW30], ids=str)
def test_unit_is_the_same_as_itself(profile: Profile) -> None:
    settings = random_settings(profile, Random(str(profile)), 120)
    assert compare_units(side(settings), side(settings)).is_same


def test_differences_are_described_in_words() -> None:
    first = settings_with(outputs__0__return_time=300, email__host="mail.example", pwm__1__duty=50)
    second = settings_with(
        outputs__0__return_time=5400, watchdog__2__host="10.0.0.1", pwm__1__duty=60
    )
    assert list_differences(first, second) == [
        "OUT0 return time: 5m -> 1h30m",
        "PWM1 duty: 50 -> 60",
        'email host: "mail.example" -> nothing',
        'watchdog 3 host: nothing -> "10.0.0.1"',
    ]


def test_secrets_are_named_and_not_shown() -> None:
    first = settings_with(mqtt__password="hush", http__0__url="example.org/hush")
    result = compare_units(side(first), side(defaults(NEWEST)))
    assert [str(one) for one in result.differences] == [
        "HTTP1 url: (secret) -> nothing",
        "mqtt password: (secret) -> nothing",
    ]
    assert "hush" not in repr(result)


def test_hashes_of_passwords_say_nothing() -> None:
    first, second = (
        settings_with(access__admin__password="$a"),
        settings_with(access__admin__password="$b"),
    )
    assert list_differences(first, second) == []


def test_long_lists_show_only_the_items_that_differ() -> None:
    visible = defaults(NEWEST).layout.visible
    few = (*visible[:3], False, *visible[4:])
    assert list_differences(settings_with(), settings_with(layout__visible=few)) == [
        "layout visible: 4: true -> 4: false"
    ]
    (many,) = list_differences(
        settings_with(), settings_with(layout__visible=(False,) * len(visible))
    )
    assert many.endswith(f"8: false and {len(visible) - 8} more")
    assert list_differences(settings_with(), settings_with(email__on_texts=("x", "", "", ""))) == [
        'email on texts: ["", "", "", ""] -> ["x", "", "", ""]'
    ]


def test_rule_more_does_not_make_the_others_differ() -> None:
    rules = tuple(Rule(source=f"DS{n}", reference=n, enabled=True) for n in range(1, 5))
    other = (Rule(action="OUT5", enabled=True), *rules[:2], rules[3])
    assert list_differences(settings_with(rules=rules), settings_with(rules=other)) == [
        "rule 1: nothing -> when VCC >= 0, then OUT5 on",
        "rule 3: when DS3 >= 3, then OUT0 on -> nothing",
    ]


def test_parts_of_rules_without_effect_do_not_count() -> None:
    first = settings_with(rules=(Rule(source2="DS5"), Rule(source="OUT0", compare="<")))
    second = settings_with(rules=(Rule(source2="DS6"), Rule(source="OUT0", compare=">=")))
    assert list_differences(first, second) == []
    assert list_differences(
        settings_with(rules=(Rule(),)), settings_with(rules=(Rule(mode=1),))
    ) == [
        "rule 1: disabled: when VCC >= 0, then OUT0 on -> "
        "disabled: when VCC >= 0, then OUT0 on, only when it begins"
    ]


def test_digital_condition_is_compared_by_the_state_that_it_asks_for() -> None:
    below, zero, one = (
        settings_with(rules=(None, Rule(source="INPD1", compare=compare, reference=reference)))
        for compare, reference in (("<", 1.0), (">=", 0.0), (">=", 1.0))
    )
    assert list_differences(below, zero) == []
    assert list_differences(below, one) == [
        "rule 2: disabled: when INPD1 = 0, then OUT0 on -> disabled: when INPD1 = 1, then OUT0 on"
    ]


def test_rule_at_another_place_differs_only_where_it_is_missing() -> None:
    rule, other = Rule(source="DS1", enabled=True), Rule(source="DS2", enabled=True)
    assert (
        list_differences(
            settings_with(rules=(rule, None, other)), settings_with(rules=(rule, other))
        )
        == []
    )
    assert list_differences(settings_with(rules=(None, rule)), settings_with()) == [
        "rule 2: when DS1 >= 0, then OUT0 on -> nothing"
    ]


def test_places_of_schedule_entries_do_not_count() -> None:
    lamp = ScheduleEntry("Lamp", "OUT1", 1, 23400, days=("Mon", "Sat"), active=True)
    pump = ScheduleEntry("", "OUT2", 0, 600, periodic=True, date="2026-03-29")
    first = with_value(settings_with(schedule__0=lamp), "schedule.3", pump)
    second = with_value(settings_with(schedule__7=lamp), "schedule.9", pump)
    assert list_differences(first, second) == []
    assert list_differences(first, settings_with(schedule__3=lamp)) == [
        "schedule entry 4: off: OUT2 off every 10m 2026-03-29 -> nothing",
    ]
    assert list_differences(settings_with(schedule__0=lamp), settings_with()) == [
        "schedule entry 1: OUT1 on at 06:30 Mon Sat (Lamp) -> nothing"
    ]


@pytest.mark.parametrize("target", [OLDER, HW30], ids=str)
def test_same_settings_in_two_versions_differ_only_by_unsupported_ones(
    target: Profile,
) -> None:
    settings = random_settings(NEWEST, Random(7), 60)
    content = Content(NEWEST, dict(leaves(settings)), with_secrets=True)
    carried = carry_over(content, target, defaults(target))
    for first, second in (
        (side(settings), side(carried.settings, "b")),
        (side(carried.settings, "b"), side(settings)),
    ):
        result = compare_units(first, second)
        # Going back finds nothing that the newer one could not hold: those are differences.
        assert len(result.cannot_hold) + len(result.differences) <= 2 * len(
            carried.not_carried_over
        )
    assert compare_units(side(defaults(NEWEST)), side(defaults(target), "b")).is_same


@pytest.mark.parametrize("seed", range(3))
def test_units_of_any_versions_are_compared_both_ways(seed: int) -> None:
    random = Random(seed)
    first, second = (random_settings(one, random, 40) for one in random.sample(PROFILES, k=2))
    there, back = (
        compare_units(side(first), side(second, "b")),
        compare_units(side(second, "b"), side(first)),
    )
    assert not there.is_same
    assert {one.key for one in there.cannot_hold} == {one.key for one in back.cannot_hold}
    assert {one.key for one in there.differences} == {one.key for one in back.differences}


def test_settings_that_a_version_does_not_support_are_reported() -> None:
    rules = (Rule(source="DS1", reference=1.0, action="ENABLE PID", enabled=True),)
    result = compare_units(side(settings_with(rules=rules)), side(defaults(HW30), "b"))
    assert not result.is_same
    (lost,) = [*result.cannot_hold, *result.differences]
    assert "rule" in str(lost)
    (one,) = compare_units(
        side(settings_with(modbus_devices__0__name="x")), side(defaults(HW30), "b")
    ).differences
    assert (
        str(one)
        == 'custom1 name: "x" -> nothing (HW 3.0 SW 1.58a does not support the other value)'
    )


def test_settings_that_a_side_does_not_show_are_no_difference() -> None:
    first = settings_with(email__host="mail.example", rules=(Rule(permanent=True),))
    unread = {"email": "no file shows it", "rules.0.permanent": "no file shows it"}
    second = side(settings_with(rules=(Rule(),)), "b", unread=unread)
    for result in (compare_units(side(first), second), compare_units(second, side(first))):
        assert result.is_same
        assert result.cannot_tell == (
            NotShown("b", ("email", "rules.1.permanent"), "no file shows it"),
        )


def test_settings_read_with_loss_are_marked() -> None:
    lossy = {"outputs.0.name": "it is cut"}
    result = compare_units(
        side(settings_with(outputs__0__name="Pump")), side(defaults(NEWEST), "b", lossy=lossy)
    )
    assert [one.note for one in result.differences] == [
        "b shows this setting incompletely: it is cut"
    ]


def test_settings_that_no_version_allows_cannot_be_compared() -> None:
    nonsense = settings_with(pwm__0__duty=900)
    with pytest.raises(NotComparable, match="a: The backup contains a value for pwm"):
        compare_units(side(nonsense), side(defaults(HW30), "b"))


def test_comparison_of_units_that_differ_a_lot_is_short() -> None:
    result: UnitDifference = compare_units(
        side(settings_with(outputs__0__name="x")), side(defaults(Profile("3.5", "1.10")), "b")
    )
    assert len(result.differences) + len(result.cannot_hold) == 1
