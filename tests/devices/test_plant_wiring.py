"""Plants from the text of a user."""

from typing import Any

import pytest

from leverframe.devices.simulated.plant_wiring import (
    KINDS,
    REQUIRED,
    BadPlant,
    plant_from_fields,
    plant_from_text,
)
from tests.cases import for_each

FITTING: dict[str, dict[str, Any]] = {
    "room": {
        "heater": "PWM0",
        "reading": "DS1",
        "outside": -5,
        "power": 30,
        "time_constant": "1h30m",
    },
    "tank": {"pump": "OUT0", "reading": "DISTANCE", "height": 2000, "fill": 0.5},
    "load": {"switch": "OUT5", "reading": "m1", "on": 2.3},
    "meter": {"switch": "OUT1", "reading": "INPD4", "watts": 2000, "pulses": 1000},
}


def mistake(kind: str, **changes: Any) -> BadPlant:
    fields = {**FITTING.get(kind, {}), **changes}
    given = {name: value for name, value in fields.items() if value is not REQUIRED}
    with pytest.raises(BadPlant) as caught:
        plant_from_fields(kind, given)
    return caught.value


@for_each("kind", KINDS)
def test_every_kind_can_be_written_on_the_wire_and_in_a_file(kind: str) -> None:
    fields = FITTING[kind]
    text = "*".join([kind, *(f"{name}:{value}" for name, value in fields.items())])
    from_text, from_fields = plant_from_text(text), plant_from_fields(kind, fields)
    assert type(from_text) is type(from_fields)
    assert (from_text.inputs, from_text.feeds) == (from_fields.inputs, from_fields.feeds)


@for_each(
    ("kind", "name"),
    [
        (kind, name)
        for kind, known in KINDS.items()
        for name, field in known.fields.items()
        if field.default is REQUIRED
    ],
)
def test_required_field_that_is_missing_is_named(kind: str, name: str) -> None:
    error = mistake(kind, **{name: REQUIRED})
    assert error.field == name
    assert f"A {kind} needs {name}" in error.detail


@for_each(
    ("kind", "name", "value"),
    [
        ("room", "heater", "OUT6"),
        ("room", "heater", "DS1"),
        ("room", "reading", "H1"),
        ("room", "outside", "H1"),
        ("room", "outside", "warm"),
        ("room", "outside", "nan"),
        ("room", "outside", True),
        ("room", "power", "inf"),
        ("room", "power", None),
        ("room", "time_constant", "0s"),
        ("room", "time_constant", "a while"),
        ("room", "sample", "0s"),
        ("room", "sample", -1),
        ("tank", "height", 0),
        ("tank", "switch", "INPA1"),
        ("tank", "start", 2001),
        ("tank", "switch_at", 3000),
        ("load", "reading", "INPD1"),
        ("load", "on", []),
        ("meter", "reading", "INPA1"),
        ("meter", "pulses", 0),
        ("meter", "watts", -1),
    ],
)
def test_value_that_is_not_possible_is_refused_with_what_is(
    kind: str, name: str, value: Any
) -> None:
    error = mistake(kind, **{name: value})
    assert error.field == name
    assert error.allowed


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    assert mistake("volcano").allowed == "room, tank, load, meter"


def test_unknown_field_is_refused_with_the_known_ones() -> None:
    error = mistake("load", colour="red")
    assert (error.field, error.allowed) == ("colour", "switch, reading, on, off")


def test_room_is_not_its_own_outside() -> None:
    assert mistake("room", outside="DS1").field == "outside"


def test_tank_that_nothing_notices_is_refused() -> None:
    assert mistake("tank", reading=REQUIRED).allowed == "a reading, a switch, or both"


def test_more_pulses_than_an_input_can_see_are_refused() -> None:
    assert "56 pulses a second" in mistake("meter", watts=200_000).detail


@pytest.mark.parametrize("text", ["load*switch", "load*switch:OUT0*switch:OUT1", "load*"])
def test_text_that_is_no_list_of_fields_is_refused(text: str) -> None:
    with pytest.raises(BadPlant, match="NAME:VALUE"):
        plant_from_text(text)
