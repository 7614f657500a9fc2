"""Keys: all readings except those of modules.

The scales are those that clients expect. Differentials are in thousandths from HW 3.5+ SW 1.49 on;
before that, they have the scale of their first input, which `diffsel` shows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    ENERGIES,
    LIGHTING,
    ONEWIRE,
    PARTICULATES,
    POWERS,
)
from leverframe.core.profile import ALWAYS, HW30, HW35, Profile, Spans
from leverframe.core.settings import Settings
from leverframe.core.tree import differential_count
from leverframe.interface.status_files.forms import KeyForm, code_form, joint_settings, parts_in
from leverframe.interface.status_files.keys import (
    JOINED,
    MINUS_ONE,
    NO_SENSOR,
    ZERO,
    Keys,
    View,
    code,
    decimal,
    join_names,
    key,
    number_names,
    reading,
    readings,
    scale_of,
    write_multiple,
)
from leverframe.interface.status_files.parsers import (
    ParsedValue,
    Unreadable,
    ValueParser,
    decimal_number,
    whole,
)
from leverframe.interface.table import codes
from leverframe.interface.table.codes import HW35_SW, span

CELSIUS = "°C"
SENSOR_UNIT = "of the unit of its sensor"
POWER_UNIT = "of its power unit (kW)"
ENERGY_UNIT = "of its energy unit (kWh)"
PARTICULATE_UNIT = "µg/m3"
#: The version that introduced the fourth to sixth differential and the fifth and sixth power
#: reading.
SIX = HW35_SW["1.49"]

VCC = reading("vin", "VCC", 100, "V", ZERO)
TEMP = reading("tem", "TEMP", 100, CELSIUS, ZERO)
DS = readings(number_names("ds", 1, 8), ONEWIRE, 10, CELSIUS, NO_SENSOR)
P1 = reading("bm280p", "P1", 100, "hPa", NO_SENSOR)
AIR_QUALITY = key(
    "bm680q",
    (),
    lambda view: NO_SENSOR,
    "air quality; no sensor for it can be connected",
    f"always {NO_SENSOR}",
    HW35_SW["1.40"],
)
DEW_POINT = reading(
    "dewPoint", "DEWPOINT", 10, CELSIUS, NO_SENSOR, HW35_SW["1.45b"] + span(hw=HW30)
)
ANALOG = readings(number_names("inpp", 1, 6), ANALOG_INPUTS, 100, SENSOR_UNIT, ZERO)
POWER = readings(number_names("power", 1, 4), POWERS[:4], 1000, POWER_UNIT, ZERO)
POWER_5_6 = readings(number_names("power", 5, 2), POWERS[4:], 1000, POWER_UNIT, ZERO, SIX)
ENERGY = readings(number_names("energy", 1, 4), ENERGIES[:4], 1000, ENERGY_UNIT, ZERO)
ENERGY_5_6 = readings(number_names("energy", 5, 2), ENERGIES[4:], 1000, ENERGY_UNIT, ZERO, SIX)
CO2 = reading("co2", "CO2", 1, "ppm", MINUS_ONE)
#: `co2` shows the same reading in every version.
OZONE = replace(reading("ozon", "CO2", 1, "ppm", MINUS_ONE, HW35_SW["1.40"]), parse=None)


def _parse_distance(file: Mapping[str, Any], _: Profile) -> dict[str, ParsedValue]:
    number = decimal_number(file.get("distanceSensor"))
    return {"DISTANCE": None if number == float(MINUS_ONE) else number}


DISTANCE = key(
    "distanceSensor",
    ("DISTANCE",),
    lambda view: decimal(view.engine.machine.values["DISTANCE"], MINUS_ONE),
    "DISTANCE",
    f"decimal number, {MINUS_ONE} if absent",
    HW35_SW["1.21"] + span(hw=HW30),
    _parse_distance,
)


def _lighting(labels: tuple[str, ...], factor: int) -> Keys:
    def show(view: View) -> list[str]:
        readings = view.engine.inputs.lighting
        return [write_multiple(readings[label], factor, ZERO) for label in labels]

    return Keys(
        labels, labels, show, "lighting module", scale_of(factor, "of an unknown unit", ZERO)
    )


#: The meanings of these readings are not public; their scales are known from clients.
LIGHTING_MODULE = (
    _lighting(LIGHTING[:4], 10),
    _lighting(LIGHTING[4:5], 100),
    _lighting(LIGHTING[5:7], 1),
    _lighting(LIGHTING[7:8], 10),
    _lighting(LIGHTING[8:], 1),
)


def weather(t1: str, h1: str) -> Keys:
    """Return keys for T1 in °C and H1 in percent; JSON and XML files name them differently."""
    return readings((t1, h1), ("T1", "H1"), 10, "°C and %", NO_SENSOR)


def particulates(*names: str, labels: tuple[str, ...] = PARTICULATES) -> Keys:
    return readings(names, labels, 10, PARTICULATE_UNIT, MINUS_ONE)


def _millivolts(view: View) -> list[str]:
    inputs = view.engine.inputs
    return [write_multiple(inputs.raw(label), 1000, ZERO) for label in ANALOG_INPUTS]


RAW_ANALOG = Keys(
    number_names("inp", 1, 6),
    ANALOG_INPUTS,
    _millivolts,
    "INPA1-INPA6 at the pin, before multiplier, calibration and sensor",
    scale_of(1000, "V", ZERO),
)

# --- differentials --------------------------------------------------------------------------------

_NEW_FACTOR = 1000
_OLD_FACTORS = {
    **dict.fromkeys((*ANALOG_INPUTS, "VCC"), 100),
    **dict.fromkeys((*ONEWIRE, "T1", "H1"), 10),
    **dict.fromkeys((*POWERS, *ENERGIES), 1000),
}


def old_factor(settings: Settings, index: int) -> int:
    """Return the scale of a differential before SW 1.49, which is that of its first operand."""
    # Differentials that are each other's first operand have no value and therefore no scale.
    return factor_of_first([one.first for one in settings.differentials], index) or 1


def factor_of_first(firsts: Sequence[str], index: int) -> int | None:
    for _ in firsts:
        first = firsts[index]
        if first in _OLD_FACTORS:
            return _OLD_FACTORS[first]
        index = DIFFERENTIALS.index(first)
        if index >= len(firsts):
            return None
    return None


def _parse_factor(file: Mapping[str, Any], profile: Profile, index: int) -> int | Unreadable:
    """Return the scale of a differential, which depends on `diffsel` in older versions."""
    if profile.since("1.49", HW35):
        return _NEW_FACTOR
    parts = str(file.get("diffsel", "")).split("*")
    numbers = [int(part) for part in parts if part.isascii() and part.isdigit()]
    if not numbers or len(numbers) != len(parts) or len(numbers) % 3:
        return Unreadable("has a scale that `diffsel` does not show")
    inputs = codes.DIFFERENTIAL_INPUTS
    firsts = [inputs.word(number, profile) for number in numbers[: len(numbers) // 3]]
    if index >= len(firsts) or None in firsts:
        return Unreadable("has a scale that `diffsel` does not show")
    # Differentials that are each other's first operand have no value, and are shown as 0.
    return factor_of_first([first for first in firsts if first is not None], index) or 1


def _parse_differentials(first: int, last: int) -> ValueParser:
    def parse(file: Mapping[str, Any], profile: Profile) -> dict[str, ParsedValue]:
        found: dict[str, ParsedValue] = {}
        for index in range(first - 1, last):
            number = whole(file, f"diff{index + 1}")
            factor = _parse_factor(file, profile, index)
            if isinstance(number, Unreadable):
                found[DIFFERENTIALS[index]] = number
            elif isinstance(factor, Unreadable):
                found[DIFFERENTIALS[index]] = factor
            else:
                found[DIFFERENTIALS[index]] = number / factor
        return found

    return parse


def differentials(first: int, last: int, when: Spans = ALWAYS) -> Keys:
    indices = range(first - 1, last)
    labels = DIFFERENTIALS[first - 1 : last]

    def show(view: View) -> list[str]:
        machine = view.engine.machine
        if machine.profile.since("1.49", HW35):
            factors = [_NEW_FACTOR] * len(indices)
        else:
            factors = [old_factor(machine.settings, index) for index in indices]
        return [
            write_multiple(machine.values[label], factor, ZERO)
            for label, factor in zip(labels, factors, strict=True)
        ]

    return Keys(
        number_names("diff", first, len(indices)),
        (*labels, "differentials"),
        show,
        join_names(labels),
        "/1000; before SW 1.49 and on HW 3.0 the scale of the first input (INPA, VCC /100; DS, T1, "
        f"H1 /10; POWER, ENERGY /1000); {ZERO} if absent",
        when,
        _parse_differentials(first, last),
    )


def _write_selection(values: Sequence[str], profile: Profile) -> str:
    tables, count = _SELECTION_TABLES, len(values) // len(_SELECTION_TABLES)
    return "*".join(
        str(code(tables[place // count], word, profile)) for place, word in enumerate(values)
    )


def _read_selection(text: str, profile: Profile) -> list[str]:
    tables, count = _SELECTION_TABLES, differential_count(profile)
    parts = parts_in(text, count * len(tables))
    forms = [code_form(tables[place // count]) for place in range(len(parts))]
    return [form.read(part, profile) for form, part in zip(forms, parts, strict=True)]


_SELECTION_TABLES = (
    codes.DIFFERENTIAL_INPUTS,
    codes.DIFFERENTIAL_INPUTS,
    codes.DIFFERENTIAL_OPERATORS,
)
SELECTION = joint_settings(
    "diffsel",
    "differentials.*.first differentials.*.second differentials.*.operator",
    KeyForm(JOINED, _write_selection, _read_selection),
    "codes of the first inputs of all DIFF, then of all second inputs, then of all operators",
)

# --- the older generation's form (/st0.xml) -------------------------------------------------------

_OLDER = (
    ("TEMP", 10, ZERO),
    ("VCC", 10, ZERO),
    ("INPA1", 100, ZERO),
    ("INPA2", 100, ZERO),
    ("INPA3", 10, ZERO),
    ("INPA4", 100, ZERO),
    ("INPA5", 10, ZERO),
    *((label, 10, NO_SENSOR) for label in (*ONEWIRE[:6], "T1", "H1")),
    ("POWER1", 1000, ZERO),
    ("ENERGY1", 1000, ZERO),
    ("POWER2", 1000, ZERO),
    ("ENERGY2", 1000, ZERO),
    ("DIFF1", 10, ZERO),
)
OLDER = tuple(
    reading(f"ia{number}", label, factor, "of its unit", absent)
    for number, (label, factor, absent) in enumerate(_OLDER)
)
