"""Names and units of labels, and conditions that refer to labels and names."""

import math
import operator
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from leverframe.core.engine.machine import Value
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    LABELS,
    LIGHTING,
    MAPPED,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    POWERS,
    PWMS,
    shorten_labels,
)
from leverframe.core.settings import Settings, module_mapping
from leverframe.devices.wire.modbus_modules import find_reading

# The users' names of outputs, inputs and readings. The readings of modules also have predefined
# names.


def own_name(label: str, settings: Settings) -> str:
    """Return the name that the user assigned to a label; empty if there is none."""
    weather = settings.weather
    named = {"T1": weather.t1_name, "H1": weather.h1_name, "P1": weather.p1_name}
    if label in named:
        return named[label]
    if label in MAPPED:
        return settings.modbus_names[MAPPED.index(label)]
    for labels, branch in (
        (OUTPUTS, settings.outputs),
        (PWMS, settings.pwm),
        (DUTIES, settings.pwm),
        (EVENT_VARIABLES, settings.event_variables),
        (DIGITAL_INPUTS, settings.digital_inputs),
        (ANALOG_INPUTS, settings.analog_inputs),
        (ONEWIRE, settings.onewire),
        (DIFFERENTIALS, settings.differentials),
        (POWERS, settings.power),
        (ENERGIES, settings.power),
    ):
        if label in labels and labels.index(label) < len(branch):
            return branch[labels.index(label)].name
    return ""


def own_names(settings: Settings) -> dict[str, str]:
    """Return the names that the user assigned, by label."""
    labels = (
        *(*OUTPUTS, *PWMS, *EVENT_VARIABLES, *DIGITAL_INPUTS, *ANALOG_INPUTS),
        *(*ONEWIRE, *DIFFERENTIALS, *POWERS, "T1", "H1", "P1", *MAPPED),
    )
    return {label: name for label in labels if (name := own_name(label, settings))}


def name_of(label: str, settings: Settings) -> str:
    """Return the user's name for a label, or a mapped reading's name in the module's list."""
    own = own_name(label, settings)
    return _name_in_module(label, settings) if not own and label in MAPPED else own


def _name_in_module(label: str, settings: Settings) -> str:
    mapping = module_mapping(settings)[MAPPED.index(label)]
    extra = mapping.slot - len(settings.modbus_slots) - 1
    if 0 <= extra < len(settings.onewire_extra):
        names = settings.onewire_extra[extra].names
        return names[mapping.reading] if mapping.reading < len(names) else ""
    reading = find_reading(settings, mapping)
    return reading.name if reading else ""


# The unit of every reading as text; units of inputs and meters depend on the settings.

CELSIUS = "°C"
_FIXED = {
    "VCC": "V",
    "TEMP": CELSIUS,
    "T1": CELSIUS,
    "H1": "%",
    "P1": "hPa",
    "DEWPOINT": CELSIUS,
    **dict.fromkeys(ONEWIRE, CELSIUS),
    "CO2": "ppm",
    **dict.fromkeys(PARTICULATES, "µg/m³"),
    "DISTANCE": "mm",
    **dict.fromkeys(DUTIES, "%"),
}
#: The units of analog inputs whose sensors do not measure a current.
_SENSOR_UNITS = {
    "off": "",
    "vin=3.3V/5V": "V",
    "vin=33V/55V": "V",
    "TR-12V": "V",
    "AC meter": "V",
    "HV DC meter": "V",
    "PT1000": CELSIUS,
    "4..20mA": "mA",
}
#: Power unit and energy unit of each setting of a meter.
_METER_UNITS = {
    "kW/kWh": ("kW", "kWh"),
    "W/kWh": ("W", "kWh"),
    "l/min/m3": ("L/min", "m³"),
    "m3/h/m3": ("m³/h", "m³"),
    "kW->W/kWh": ("W", "kWh"),
    "W->kW/kWh": ("kW", "kWh"),
}
#: The unit of consumption per hour, by unit of consumption.
_PER_HOUR = {"kWh": "kW", "m³": "m³/h"}
#: Slots 4-6 of the mapping are additional 1-Wire thermometers.
_FIRST_ONEWIRE_SLOT = 4


def unit_of(label: str, settings: Settings) -> str:
    """Return the unit of a label; empty if it has none or it is unknown."""
    if label in _FIXED:
        return _FIXED[label]
    if label in ANALOG_INPUTS:
        sensor = settings.analog_inputs[ANALOG_INPUTS.index(label)].sensor
        return _SENSOR_UNITS.get(sensor, "A")
    if label in POWERS:
        return _of_power(POWERS.index(label), settings)
    if label in ENERGIES:
        return _of_energy(ENERGIES.index(label), settings)
    if label in DIFFERENTIALS:
        return _of_differential(DIFFERENTIALS.index(label), settings)
    return _of_module(MAPPED.index(label), settings) if label in MAPPED else ""


def _of_power(index: int, settings: Settings) -> str:
    """Return the unit of a meter; older versions have fewer meters.

    The setting applies only to readings that a module sends; values measured here have their own
    units (see `core/engine/energy.py`).
    """
    if index >= len(settings.power):
        return ""
    meter = settings.power[index]
    power, energy = _METER_UNITS[meter.unit]
    if meter.current in DIGITAL_INPUTS:
        return _PER_HOUR[energy]
    if meter.current in ANALOG_INPUTS:
        return "W" if meter.unit == "W/kWh" else "kW"
    return power


def _of_energy(index: int, settings: Settings) -> str:
    return _METER_UNITS[settings.power[index].unit][1] if index < len(settings.power) else ""


def _of_differential(index: int, settings: Settings) -> str:
    """Return the unit of a differential whose operands share it; older versions have fewer."""
    if index >= len(settings.differentials):
        return ""
    setting = settings.differentials[index]
    if setting.operator not in "+-" or {setting.first, setting.second} & set(DIFFERENTIALS):
        return ""
    first, second = (unit_of(label, settings) for label in (setting.first, setting.second))
    return first if first == second else ""


def _of_module(index: int, settings: Settings) -> str:
    mapping = module_mapping(settings)[index]
    if mapping.slot >= _FIRST_ONEWIRE_SLOT:
        return CELSIUS
    reading = find_reading(settings, mapping)
    return reading.unit if reading else ""


# Conditions as text, for waiting: `DS1 >= 30 and "Pump room" != on`.
#
# A comparison has a label, or a name that the user assigned to a label; then `>`, `<`, `>=`, `<=`,
# `==`, `=` or `!=`; then a number, `on`, `off` or `none`. Comparisons are joined with `and`, `or`
# and parentheses; `and` binds more closely than `or`. An absent value equals only `none`.

#: A function that returns the current value of a label.
Read = Callable[[str], Value]
Judge = Callable[[Read], bool]

COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
    "=": operator.eq,
}
_EQUALITIES = ("==", "=", "!=")
_WORDS: dict[str, float | None] = {"on": 1.0, "off": 0.0, "none": None}
_KNOWN = (*LABELS, *DUTIES, *LIGHTING)
MAX_LETTERS = 500
#: The maximum nesting of parentheses; each level is a nested function call.
MAX_DEPTH = 10
_TOKEN = re.compile(
    r"""\s*(?:(?P<sign>>=|<=|==|!=|[<>=()])|"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|(?P<word>[^\s<>=!()"']+))"""
)
ALLOWED = (
    f"a label or a name, then {', '.join(COMPARISONS)}, then a number, on, off or none, like"
    ' DS1 >= 30 or "Pump room" != on; joined with and, or and parentheses'
)


class BadCondition(ErrorForPeople, ValueError):
    """An invalid condition; the message says what is wrong and what is allowed."""

    def __init__(self, detail: str, allowed: str = ALLOWED) -> None:
        super().__init__(f"{detail} Allowed: {allowed}.")
        self.detail = detail
        self.allowed = allowed


class _Token(NamedTuple):
    text: str
    #: `sign`, `word`, or `quoted` for a name in quotation marks.
    kind: str


def condition_from_text(text: str, settings: Settings) -> Judge:
    """Return a function that evaluates a condition, with the names of these settings."""
    if len(text) > MAX_LETTERS:
        raise BadCondition(f"A condition has at most {MAX_LETTERS} characters, not {len(text)}.")
    reader = _ConditionReader(text, own_names(settings))
    judge = reader.read_alternatives(MAX_DEPTH)
    reader.check_end()
    return judge


class _ConditionReader:
    def __init__(self, text: str, names: dict[str, str]) -> None:
        self._text = text
        self._names = names
        self._tokens = _tokens_of(text)
        self._next = 0

    def read_alternatives(self, depth: int) -> Judge:
        return self._read_joined("or", any, lambda: self._read_joined_by_and(depth))

    def check_end(self) -> None:
        if self._peek() is not None:
            raise self._mistake()

    def _read_joined_by_and(self, depth: int) -> Judge:
        return self._read_joined("and", all, lambda: self._read_part(depth))

    def _read_joined(
        self, word: str, holds: Callable[[Sequence[bool]], bool], read: Callable[[], Judge]
    ) -> Judge:
        parts = [read()]
        while self._takes(word):
            parts.append(read())
        if len(parts) == 1:
            return parts[0]
        return lambda value_of: holds([part(value_of) for part in parts])

    def _read_part(self, depth: int) -> Judge:
        if not self._takes("("):
            return self._read_comparison()
        if depth == 0:
            raise BadCondition(f"A condition has at most {MAX_DEPTH} nested parentheses.")
        inner = self.read_alternatives(depth - 1)
        if not self._takes(")"):
            raise self._mistake()
        return inner

    def _read_comparison(self) -> Judge:
        first = self._take()
        if first.kind == "sign":
            raise self._mistake()
        words = [first.text]
        while (token := self._peek()) is not None and token.kind == "word":
            words.append(self._take().text)
        sign = self._take()
        if sign.text not in COMPARISONS or sign.kind != "sign":
            raise self._mistake()
        label = self._label(" ".join(words))
        number = self._number(sign.text)
        if number is None:
            is_absent = sign.text != "!="
            return lambda value_of: (value_of(label) is None) is is_absent
        compare = COMPARISONS[sign.text]

        def judge(value_of: Read) -> bool:
            value = value_of(label)
            return isinstance(value, float | int) and compare(value, number)

        return judge

    def _number(self, sign: str) -> float | None:
        token = self._take()
        if token.kind == "word" and token.text.lower() in _WORDS:
            number = _WORDS[token.text.lower()]
            if number is None and sign not in _EQUALITIES:
                raise BadCondition(
                    f"none can be compared with {', '.join(_EQUALITIES)}, not with {sign}."
                )
            return number
        try:
            number = float(token.text)
        except ValueError:
            number = math.nan
        if token.kind != "word" or not math.isfinite(number):
            raise self._mistake()
        return number

    def _label(self, text: str) -> str:
        """Return the label that a label or a name refers to."""
        wanted = text.casefold()
        if found := [label for label in _KNOWN if label.casefold() == wanted]:
            return found[0]
        exact = [label for label, name in self._names.items() if name == text]
        alike = [label for label, name in self._names.items() if name.casefold() == wanted]
        named = exact or alike
        if len(named) > 1:
            raise BadCondition(
                f"{text!r} is the name of {', '.join(named)}.", "one of these labels"
            )
        if not named:
            known = ", ".join([*shorten_labels(_KNOWN), *map(repr, self._names.values())])
            raise BadCondition(f"Unknown label or name {text!r}.", known)
        return named[0]

    def _peek(self) -> _Token | None:
        return self._tokens[self._next] if self._next < len(self._tokens) else None

    def _take(self) -> _Token:
        token = self._peek()
        if token is None:
            raise self._mistake()
        self._next += 1
        return token

    def _takes(self, text: str) -> bool:
        token = self._peek()
        if token is None or token.kind == "quoted" or token.text.lower() != text:
            return False
        self._next += 1
        return True

    def _mistake(self) -> BadCondition:
        return BadCondition(f"{self._text.strip()!r} is not a condition.")


def _tokens_of(text: str) -> list[_Token]:
    tokens, place, end = list[_Token](), 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if found is None:
            raise BadCondition(f"{text.strip()!r} is not a condition.")
        place = found.end()
        kind = found.lastgroup or ""
        tokens.append(_Token(found[kind], kind if kind in ("sign", "word") else "quoted"))
    return tokens
