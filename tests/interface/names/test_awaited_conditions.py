"""Conditions in words: what they compare, how they are joined, and what is refused."""

import pytest

from leverframe.core.engine.machine import Value
from leverframe.core.settings import Settings
from leverframe.core.tree import with_value
from leverframe.interface.names import BadCondition, condition_from_text

NAMES = {
    "outputs.0.name": "Pump",
    "outputs.1.name": "Day and night",
    "onewire.0.name": "Pump room",
    "onewire.1.name": "DS3",
    "onewire.3.name": "Twice",
    "onewire.4.name": "Twice",
}
VALUES: dict[str, Value] = {
    **{"DS1": 21.5, "DS2": -3.0, "DS3": None, "OUT0": 1, "OUT1": 0, "OUT5": 0},
    **{"PM2.5": 12.0, "PWM0.duty": 40.0, "d0": 300.0},
}


def settings() -> Settings:
    named = Settings()
    for path, name in NAMES.items():
        named = with_value(named, path, name)
    return named


def holds(text: str) -> bool:
    return condition_from_text(text, settings())(VALUES.__getitem__)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("DS1 >= 21.5", True),
        ("DS1 > 21.5", False),
        ("DS1 <= 21.5", True),
        ("DS1<21.5", False),
        ("DS2 == -3", True),
        ("DS2 = -3.0", True),
        ("DS2 != -3", False),
        ("ds1 > 2e1", True),
        ("PM2.5 > 12", False),
        ("PWM0.duty = 40", True),
        ("d0 >= 300", True),
        ("OUT0 = on", True),
        ("OUT1 != OFF", False),
        ("Pump = on", True),
        ("pump = off", False),
        ("Pump room > 21", True),
        ("'Pump room' > 22", False),
        ('"Day and night" = off', True),
        # A label comes before the name of something else.
        ("DS3 = none", True),
        ("DS1 = none", False),
        ("DS1 != none", True),
        # What is absent is neither equal to a number nor different from it.
        ("DS3 != 1", False),
        ("DS3 < 1 or DS3 >= 1", False),
        ("OUT0 = 1 and OUT1 = 1", False),
        ("OUT0 = 1 AND DS1 > 0 and DS2 < 0", True),
        ("OUT1 = 1 and OUT1 = 1 or OUT0 = 1", True),
        ("OUT0 = 1 or OUT1 = 1 and OUT1 = 1", True),
        ("(OUT0 = 1 or OUT1 = 1) and OUT1 = 1", False),
        ("((OUT1=0)and(DS1>0))", True),
    ],
)
def test_condition_is_judged_by_present_values(text: str, expected: bool) -> None:
    assert holds(text) is expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "'' is not a condition. Allowed: a label or a name, then >=, <=, ==, !=, >, <, ="),
        ("DS1", "not a condition"),
        ("DS1 >", "not a condition"),
        (">= 3", "not a condition"),
        ("DS1 => 3", "not a condition"),
        ("DS1 >= warm", "not a condition"),
        ("DS1 >= nan", "not a condition"),
        ('DS1 >= "3"', "not a condition"),
        ("DS1 >= 3 DS2 < 2", "not a condition"),
        ("DS1 >= 3 && DS2 < 2", "not a condition"),
        ("DS1 >= 3 and", "not a condition"),
        ("(DS1 >= 3", "not a condition"),
        ("DS1 >= 3)", "not a condition"),
        ('"DS1 >= 3', "not a condition"),
        ("DS3 > none", "none can be compared with ==, =, !=, not with >"),
        ("DS9 > 1", "Unknown label or name 'DS9'. Allowed: .*DS1 to DS8, .*OUT0 to OUT5, .*'Pump'"),
        ("Twice > 1", "'Twice' is the name of DS4, DS5. Allowed: one of these labels"),
        ("(" * 11 + "DS1 > 1" + ")" * 11, "at most 10 nested parentheses"),
        ("DS1 > 1 or " * 50 + "DS1 > 1", "at most 500 characters, not 557"),
    ],
)
def test_invalid_condition_is_refused_with_the_allowed_ones(text: str, reason: str) -> None:
    with pytest.raises(BadCondition, match=reason):
        condition_from_text(text, settings())
