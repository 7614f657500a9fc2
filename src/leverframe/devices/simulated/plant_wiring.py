"""The kinds of plants with their fields, and plants created from text.

The text `room*heater:PWM0*reading:DS1*outside:5*power:30*time_constant:1h` and the keys of a
`[[plants]]` table in a scenario describe the same plant; both use `plant_from_fields`. An error
names the field and what is allowed.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from msgspec import Struct

from leverframe.core.durations import DAY_S, BadDuration, seconds_from_text, text_from_seconds
from leverframe.core.labels import ANALOG_INPUTS, DIGITAL_INPUTS, MAPPED, ONEWIRE, OUTPUTS, PWMS
from leverframe.devices.simulated.plant_kinds import JOULES_PER_KWH, Load, Meter, Plant, Room, Tank

# Fields by name: their types, their allowed values, and conversion from text.
#
# Plants and faults are created from them. An error names the field and what is allowed.


class BadField(ValueError):
    """An invalid field; the message names the field, the reason, and what is allowed."""

    def __init__(self, detail: str, allowed: str, field: str = "", value: str = "") -> None:
        super().__init__(f"{detail} Allowed: {allowed}.")
        self.detail = detail
        self.allowed = allowed
        self.field = field
        self.value = value


class Number(Struct, frozen=True):
    low: float
    high: float
    unit: str

    def take(self, value: Any) -> float:
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        # NaN also fails this comparison.
        if not self.low <= number <= self.high:
            raise BadField(f"{_quote_value(value)} is not valid.", self.allowed)
        return number

    @property
    def allowed(self) -> str:
        return f"{self.low:.10g} to {self.high:.10g} {self.unit}"


class Duration(Struct, frozen=True):
    low: float
    high: float

    def take(self, value: Any) -> float:
        try:
            seconds = seconds_from_text(str(value))
        except BadDuration as error:
            raise BadField(str(error), self.allowed) from None
        if not self.low <= seconds <= self.high:
            raise BadField(f"{_quote_value(value)} is not valid.", self.allowed)
        return seconds

    @property
    def allowed(self) -> str:
        return f"{text_from_seconds(self.low)} to {text_from_seconds(self.high)}"


class OneOf(Struct, frozen=True):
    labels: tuple[str, ...]

    def take(self, value: Any) -> str:
        if value not in self.labels:
            raise BadField(f"{_quote_value(value)} is not valid.", self.allowed)
        return str(value)

    @property
    def allowed(self) -> str:
        return ", ".join(self.labels)


class NumberOrLabel(Struct, frozen=True):
    number: Number
    label: OneOf

    def take(self, value: Any) -> float | str:
        if value in self.label.labels:
            return self.label.take(value)
        try:
            return self.number.take(value)
        except BadField as error:
            raise BadField(error.detail, self.allowed) from None

    @property
    def allowed(self) -> str:
        return f"{self.number.allowed}, or one of {self.label.allowed}"


class FieldType(Protocol):
    """The type of a field: converts values, and describes the allowed ones."""

    @property
    def allowed(self) -> str: ...

    def take(self, value: Any) -> Any:
        """Return the converted value; raise `BadField` if it is invalid."""


class Field(Struct, frozen=True):
    type: FieldType
    doc: str
    #: The default value; `REQUIRED` if there is none.
    default: Any = None


REQUIRED = object()


def fields_from_text(text: str, error: type[BadField]) -> tuple[str, dict[str, str]]:
    """Split `kind*name:value*...` into the kind and its fields."""
    kind, *parts = text.split("*")
    fields: dict[str, str] = {}
    for part in parts:
        name, colon, value = part.partition(":")
        if not colon or name in fields:
            raise error(f"{part[:40]!r} is not a valid field.", "NAME:VALUE, each name once")
        fields[name] = value
    return kind, fields


def values_of(
    owner: str, known: Mapping[str, Field], fields: Mapping[str, Any], error: type[BadField]
) -> dict[str, Any]:
    """Return the value of every known field, or its default if it is missing."""
    for name in fields:
        if name not in known:
            allowed = ", ".join(known) or "no fields"
            raise error(f"{owner} has no {name[:40]!r}.", allowed, name[:40])
    return {name: _value(owner, name, field, fields, error) for name, field in known.items()}


def _value(
    owner: str, name: str, field: Field, fields: Mapping[str, Any], error: type[BadField]
) -> Any:
    if name not in fields:
        if field.default is REQUIRED:
            raise error(f"{owner} needs {name}: {field.doc}.", field.type.allowed, name)
        return field.default
    try:
        return field.type.take(fields[name])
    except BadField as bad:
        value = str(fields[name])[:40]
        raise error(f"{name}: {bad.detail}", bad.allowed, name, value) from None


def _quote_value(value: Any) -> str:
    return repr(value)[:40]


MAX_PULSES_PER_S = 20.0


class BadPlant(BadField):
    """An invalid plant; the message names the wrong field, the reason, and what is allowed."""


class Kind(Struct, frozen=True):
    make: Callable[..., Plant]
    fields: Mapping[str, Field]
    doc: str


_PIN = OneOf((*OUTPUTS, *PWMS))
_THERMOMETER = OneOf((*ONEWIRE, "T1"))
_DEGREES = Number(-50.0, 120.0, "°C")
_MILLIMETRES = Number(0.0, 20_000.0, "mm")
_RATE = Number(-10_000.0, 10_000.0, "mm/s")
_SAMPLE = Field(Duration(0.1, DAY_S), "time between two samples", 1.0)

KINDS: dict[str, Kind] = {
    "room": Kind(
        Room,
        {
            "heater": Field(_PIN, "output that heats", REQUIRED),
            "reading": Field(_THERMOMETER, "thermometer in the room", REQUIRED),
            "outside": Field(
                NumberOrLabel(_DEGREES, _THERMOMETER),
                "outside temperature, or a reading that measures it",
                REQUIRED,
            ),
            "power": Field(
                Number(-100.0, 500.0, "degrees"), "final temperature rise at full heating", REQUIRED
            ),
            "time_constant": Field(
                Duration(1.0, 30 * DAY_S), "time for 63 % of the change", REQUIRED
            ),
            "start": Field(_DEGREES, "initial temperature; default: the outside temperature"),
            "sample": _SAMPLE,
        },
        "a heated (or with negative power, cooled) room",
    ),
    "tank": Kind(
        Tank,
        {
            "pump": Field(_PIN, "output that pumps", REQUIRED),
            "reading": Field(OneOf(("DISTANCE", *ANALOG_INPUTS)), "level sensor"),
            "switch": Field(
                OneOf(DIGITAL_INPUTS),
                "level switch; its input reads 0 when the level reaches the switch",
            ),
            "height": Field(Number(1.0, 20_000.0, "mm"), "level of the full tank", REQUIRED),
            "fill": Field(
                _RATE,
                "change of the level per second by the pump; a negative value empties the tank",
                REQUIRED,
            ),
            "drain": Field(_RATE, "constant loss; a negative value is a constant inflow", 0.0),
            "start": Field(_MILLIMETRES, "initial level", 0.0),
            "switch_at": Field(_MILLIMETRES, "level of the switch; default: the top"),
            "volts": Field(
                Number(0.0, 60.0, "V"), "voltage of the level sensor when the tank is full", 3.3
            ),
            "sample": _SAMPLE,
        },
        "a tank or sump with level sensor, level switch, or both",
    ),
    "load": Kind(
        Load,
        {
            "switch": Field(_PIN, "output that feeds the load", REQUIRED),
            "reading": Field(
                OneOf((*ANALOG_INPUTS, *MAPPED)), "reading that measures the load", REQUIRED
            ),
            "on": Field(
                Number(-1e9, 1e9, "in the unit of the reading"), "reading with power", REQUIRED
            ),
            "off": Field(
                Number(-1e9, 1e9, "in the unit of the reading"), "reading without power", 0.0
            ),
        },
        "a load whose current or power is measured",
    ),
    "meter": Kind(
        Meter,
        {
            "switch": Field(_PIN, "output that feeds the load", REQUIRED),
            "reading": Field(OneOf(DIGITAL_INPUTS), "input with the meter's contact", REQUIRED),
            "watts": Field(Number(0.0, 1e6, "W"), "power of the load", REQUIRED),
            "pulses": Field(Number(1.0, 1e6, "per kWh"), "pulses of the meter", REQUIRED),
            "standby": Field(Number(0.0, 1e6, "W"), "power while off", 0.0),
        },
        "a load with a pulse meter",
    ),
}


def plant_from_text(text: str) -> Plant:
    """Decode `room*heater:PWM0*...`."""
    return plant_from_fields(*fields_from_text(text, BadPlant))


def slots_of(plant: Plant) -> dict[str, Any]:
    """Return the numbers that are the state of a plant."""
    slots = vars(plant).items()
    return {name: value for name, value in slots if not isinstance(value, tuple | str)}


def plant_from_slots(wiring: str, slots: Mapping[str, Any]) -> Plant:
    """Create a plant from the state of another; raise ValueError if they do not match."""
    plant = plant_from_text(wiring)
    if slots_of(plant).keys() != slots.keys():
        raise ValueError("a plant has changed")
    vars(plant).update(slots)
    return plant


def plant_from_fields(kind: str, fields: Mapping[str, Any]) -> Plant:
    """Create a plant from its kind and its fields; raise `BadPlant` if they are invalid."""
    if kind not in KINDS:
        raise BadPlant(f"There is no plant {kind[:40]!r}.", ", ".join(KINDS), "kind", kind[:40])
    values = values_of(f"A {kind}", KINDS[kind].fields, fields, BadPlant)
    _check_together(kind, values)
    return KINDS[kind].make(**values)


def _check_together(kind: str, values: Mapping[str, Any]) -> None:
    """Check conditions that concern several fields."""
    if kind == "room" and values["outside"] == values["reading"]:
        raise BadPlant(
            "The outside temperature cannot be the reading of the room itself.",
            "another reading",
            "outside",
        )
    if kind == "tank":
        _check_tank(values)
    if kind == "meter":
        per_s = max(values["watts"], values["standby"]) * values["pulses"] / JOULES_PER_KWH
        if per_s > MAX_PULSES_PER_S:
            most = f"up to {MAX_PULSES_PER_S:g} pulses a second"
            raise BadPlant(f"These are {per_s:.0f} pulses a second.", most, "pulses")


def _check_tank(values: Mapping[str, Any]) -> None:
    if values["reading"] is None and values["switch"] is None:
        raise BadPlant(
            "This tank has neither a reading nor a switch.",
            "a reading, a switch, or both",
            "reading",
        )
    for name in ("start", "switch_at"):
        if values[name] is not None and values[name] > values["height"]:
            allowed = f"0 to the height of {values['height']:g} mm"
            raise BadPlant(f"{name} is above the tank.", allowed, name, f"{values[name]:g}")
