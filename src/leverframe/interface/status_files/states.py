"""Keys: identity, clock, and the states of outputs, PWM outputs, digital inputs and variables.

Output states are never inverted here: `outnn` specifies whether the pages of a client should show
them inverted.
"""

from collections.abc import Callable, Mapping
from itertools import product
from operator import itemgetter
from typing import Any

from msgspec.structs import replace

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.labels import DIGITAL_INPUTS, EVENT_VARIABLES, OUTPUTS, PWMS
from leverframe.core.profile import HW30, HW35, Profile
from leverframe.interface.status_files import segments
from leverframe.interface.status_files.forms import WHOLE_FORM, setting, settings
from leverframe.interface.status_files.keys import (
    FLAG,
    MASK,
    TEXT,
    ZERO,
    Keys,
    View,
    key,
    mask,
    mask_value,
    number_names,
    reading,
    readings,
    states,
    write_multiple,
)
from leverframe.interface.status_files.parsers import (
    ParsedValue,
    Unreadable,
    flags,
    mask_bits,
    unless_unreadable,
    whole,
)
from leverframe.interface.table.codes import HW35_SW, span

#: From this version on, digital inputs are negated as on the pages.
NEGATION_SINCE = "1.49"
PERCENT = "percent"
MILLISECONDS = "milliseconds, 0 if there was none"

# --- identity -------------------------------------------------------------------------------------

MAC = key("mac", (), lambda view: view.mac, "MAC address", TEXT)
MAC_AS_IP4 = replace(MAC, names=("ip4",))
NAME = key("sname", ("name",), lambda view: view.name, "name in the network", TEXT)
HARDWARE = key("hw", (), lambda view: view.engine.machine.profile.hw, "hardware version", TEXT)
SOFTWARE = key("sw", (), lambda view: view.engine.machine.profile.sw, "software version", TEXT)
RESTART = key(
    "restart",
    ("restart",),
    lambda view: str(int(view.engine.machine.restart_flag)),
    "restart flag: 0 after every start, 1 after `restart_power_on`",
    FLAG,
)

# --- clock ----------------------------------------------------------------------------------------


def _uptime(view: View) -> list[str]:
    seconds = max(int(view.engine.uptime(view.at)), 0)
    parts = (seconds % 60, seconds // 60 % 60, seconds // 3600 % 24, seconds // 86400)
    return [str(part) for part in parts]


def _uptime_keys(*names: str) -> Keys:
    meaning = "time since the start: seconds, minutes, hours, days"
    return Keys(names, (segments.UPTIME,), _uptime, meaning, "0-59, 0-59, 0-23, whole number")


def parse_uptime(file: Mapping[str, Any]) -> int | Unreadable:
    """Return the seconds since the start, or the reason why they cannot be read."""
    total = 0
    for name, count, seconds in (
        ("uptimeSeconds", 60, 1),
        ("uptimeMinutes", 60, 60),
        ("uptimeHours", 24, 3600),
        ("uptimeDays", 100_000, 86400),
    ):
        number = whole(file, name)
        if isinstance(number, Unreadable):
            return Unreadable(f"`{name}` {number.why}")
        if not 0 <= number < count:
            return Unreadable(f"`{name}` is {number}, which is impossible")
        total += number * seconds
    return total


def _time_key(name: str) -> Keys:
    meaning, scale = "clock", "seconds since 1970 UTC"
    return key(name, (segments.CLOCK,), lambda view: str(int(view.at.wall)), meaning, scale)


UPTIME = _uptime_keys("uptimeSeconds", "uptimeMinutes", "uptimeHours", "uptimeDays")
TIME = _time_key("time")
SEC = (_uptime_keys("sec0", "sec1", "sec2", "sec3"), _time_key("sec4"))

# --- states ---------------------------------------------------------------------------------------


def _outputs(view: View) -> list[str]:
    values = view.engine.machine.values
    return ["1" if values[label] else "0" for label in OUTPUTS]


#: The negation is one of the settings.
_OF_DIGITAL_INPUTS = (*DIGITAL_INPUTS, "digital_inputs")


def _digital_inputs(view: View) -> list[bool]:
    machine = view.engine.machine
    negates = machine.profile.since(NEGATION_SINCE, HW35)
    return [
        bool(machine.values[label]) is not (negates and one.negate_display)
        for label, one in zip(DIGITAL_INPUTS, machine.settings.digital_inputs, strict=True)
    ]


def _parse_inputs(file: Mapping[str, Any], profile: Profile) -> dict[str, ParsedValue]:
    """Return the levels at the pins: the values in the file, with any negation undone."""
    count = len(DIGITAL_INPUTS)
    shown, negated = mask_bits(file, "ind", count), [0] * count
    if profile.since(NEGATION_SINCE, HW35):
        flagged = mask_bits(file, "inpdnn", count)
        if isinstance(flagged, Unreadable):
            why = Unreadable(f"is unknown, because `inpdnn` {flagged.why}")
            return dict.fromkeys(DIGITAL_INPUTS, why)
        negated = flagged
    if isinstance(shown, Unreadable):
        return unless_unreadable(shown, DIGITAL_INPUTS)
    levels = [bit ^ flag for bit, flag in zip(shown, negated, strict=True)]
    return unless_unreadable(levels, DIGITAL_INPUTS)


OUT = Keys(
    number_names("out", 0, 6),
    OUTPUTS,
    _outputs,
    "OUT0-OUT5",
    f"{FLAG}, never inverted",
    parse=flags(number_names("out", 0, 6), OUTPUTS),
)
OUT_CHARACTERS = key(
    "out", OUTPUTS, lambda view: "".join(_outputs(view)), "OUT0-OUT5", "six characters 0 or 1"
)
PWM = states("pwm", PWMS)
#: The current duty equals the set duty unless it is moving; `settings_reader.py` decides.
PWM_DUTY = replace(
    readings(number_names("pwmd", 0, 4), DUTIES, 1, PERCENT, ZERO),
    stored=settings((), "pwm.*.duty", WHOLE_FORM, "").stored,
)
DIGITAL = key(
    "ind",
    _OF_DIGITAL_INPUTS,
    lambda view: mask(_digital_inputs(view)),
    f"INPD1-INPD4; on HW 3.5+ from SW {NEGATION_SINCE} on with their negation",
    MASK,
    parse=_parse_inputs,
)
IMPULSES = Keys(
    ("inpd1tim", "inpd3tim"),
    ("impulses",),
    lambda view: [
        write_multiple(view.engine.inputs.impulse_s(pair), 1000, ZERO) for pair in range(2)
    ],
    "impulse times from INPD1 to INPD2 and from INPD3 to INPD4",
    MILLISECONDS,
)
VARIABLES = states("eventVariables", EVENT_VARIABLES)
MQTT = replace(
    reading("mqtt", "MQTT", 1, "1 while connected", ZERO, HW35_SW["1.19"] + span(hw=HW30)),
    parse=flags(("mqtt",), ("MQTT",)),
)
BARCODE = key(
    "barcode",
    ("barcode",),
    lambda view: view.engine.inputs.barcode or "",
    "text scanned last",
    TEXT,
    HW35_SW["1.21"],
)

# --- the older generation's form (/st0.xml) -------------------------------------------------------

LEVELS = Keys(
    number_names("di", 0, 4),
    _OF_DIGITAL_INPUTS,
    lambda view: ["up" if high else "dn" for high in _digital_inputs(view)],
    "INPD1-INPD4 as in `ind`",
    "`up` for 1, `dn` for 0",
)
FREQUENCY = setting("freq", "pwm_frequency.0", WHOLE_FORM.in_words("Hz"), "frequency of PWM0")
DUTY = reading("duty", DUTIES[0], 10, PERCENT, ZERO)
STATE_OF_PWM0 = reading("pwm", PWMS[0], 1, FLAG, ZERO)


# The response body of every command: the states after the command.

_output_characters, _pwms, _variables = (
    itemgetter(*labels) for labels in (OUTPUTS, PWMS, EVENT_VARIABLES)
)
_States = tuple[int, ...]


def _by_states(count: int, text: Callable[[_States], bytes]) -> dict[_States, bytes]:
    """Create all texts in advance: a lookup takes a third of the time of creating a text."""
    return {states: text(states) for states in product((0, 1), repeat=count)}


_OUT = _by_states(len(OUTPUTS), lambda on: b"<response>\n<out>%d%d%d%d%d%d</out>\n" % on)
_PWM = _by_states(len(PWMS), lambda on: b"<pwm>%d</pwm>\n" % mask_value(on))
_EV = _by_states(len(EVENT_VARIABLES), lambda on: b"<ev>%d</ev>\n</response>\n" % mask_value(on))
_NO_PINS = _OUT[(0,) * len(OUTPUTS)] + _PWM[(0,) * len(PWMS)]


def command_reply(engine: Engine) -> bytes:
    """Build the reply: `out` has a character for each output; `pwm` and `ev` are bit masks."""
    values = engine.machine.values
    return _OUT[_output_characters(values)] + _PWM[_pwms(values)] + _EV[_variables(values)]


def bootloader_reply(engine: Engine) -> bytes:
    """Build the reply of the bootloader, in which all outputs are off."""
    return _NO_PINS + _EV[_variables(engine.machine.values)]
