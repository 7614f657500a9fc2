"""Announcements to Home Assistant, so that all parts of the controller appear there automatically.

One retained message per output, PWM output, event variable, input, reading and meter, on
`<discovery>/<component>/<controller>/<object>/config`. Switches send the same commands as other
clients. An absent reading is unavailable, and so is everything while the controller is offline.
"""

import re
import unicodedata
from functools import cache
from typing import Any

from msgspec import Struct

from leverframe.engine.labels import (
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    OUTPUTS,
    POWERS,
    PWMS,
    READINGS,
)
from leverframe.engine.pwm import DUTIES
from leverframe.engine.settings import Settings
from leverframe.naming.names import own_name
from leverframe.naming.units import unit_of
from leverframe.profile import Profile

#: What stands for an absent value on the broker.
ABSENT = "none"
_PRESENCE = f"{{{{ 'offline' if value == '{ABSENT}' else 'online' }}}}"
#: What is no number must not reach a sensor as one; `None` is Home Assistant's word for unknown.
_VALUE = f"{{{{ None if value == '{ABSENT}' else value }}}}"

#: Device classes by unit, where the label does not show it.
_CLASS_BY_UNIT = {
    "°C": "temperature",
    "V": "voltage",
    "A": "current",
    "mA": "current",
    "W": "power",
    "kW": "power",
    "kWh": "energy",
    "hPa": "pressure",
    "Hz": "frequency",
    "L/min": "volume_flow_rate",
    "m³/h": "volume_flow_rate",
    "m³": "water",
    "mm": "distance",
    "VA": "apparent_power",
    "var": "reactive_power",
    "h": "duration",
    "min": "duration",
}
#: Units of counters; Home Assistant accepts no measurement of these.
_COUNTED = ("energy", "water")
_CLASS_BY_LABEL = {
    "H1": "humidity",
    "P1": "atmospheric_pressure",
    "CO2": "carbon_dioxide",
    "PM1.0": "pm1",
    "PM2.5": "pm25",
    "PM10.0": "pm10",
}
#: Parts of the machine rather than of its surroundings.
_DIAGNOSTIC = ("VCC", "TEMP")


class Controlled(Struct, frozen=True):
    """The controller that is announced, and its topics."""

    name: str
    mac: str
    profile: Profile
    settings: Settings
    version: str
    #: Where its pages are, if others can reach them.
    url: str | None = None

    @property
    def node(self) -> str:
        return f"leverframe_{self.mac.replace(':', '').lower()}"

    def topic(self, name: str) -> str:
        return f"{self.settings.mqtt.prefix}/{name}"


class Announcement(Struct, frozen=True):
    topic: str
    payload: dict[str, Any]


def labels_to_announce(settings: Settings) -> tuple[str, ...]:
    """List all labels that this version may announce; readings follow at their first value."""
    return _labels_with(len(settings.differentials), len(settings.power))


@cache
def _labels_with(differentials: int, powers: int) -> tuple[str, ...]:
    gone = {*DIFFERENTIALS[differentials:], *POWERS[powers:], *ENERGIES[powers:]}
    readings = tuple(label for label in READINGS if label not in gone)
    return (*OUTPUTS, *PWMS, *DUTIES, *EVENT_VARIABLES, *DIGITAL_INPUTS, *readings)


def announcement(label: str, of: Controlled) -> Announcement:
    """Build the message that makes one label appear in Home Assistant."""
    component, payload = _describe(label, of)
    object_id = label.replace(".", "_")
    return Announcement(
        f"{of.settings.mqtt.discovery}/{component}/{of.node}/{object_id}/config",
        {
            "name": _display_name(label, of.settings),
            "unique_id": f"{of.node}_{object_id}",
            "default_entity_id": f"{component}.{_slug(f'{of.name}_{object_id}')}",
            "state_topic": of.topic(label),
            "availability": _availability(label, of),
            "availability_mode": "all",
            "device": _device(of),
            "origin": {"name": "Leverframe", "sw_version": of.version},
            **payload,
        },
    )


def _describe(label: str, of: Controlled) -> tuple[str, dict[str, Any]]:
    if label in OUTPUTS:
        return "switch", _switch(f"out{OUTPUTS.index(label)}", of) | {"device_class": "outlet"}
    if label in PWMS:
        return "switch", _switch(f"pwm{PWMS.index(label)}", of)
    if label in EVENT_VARIABLES:
        return "switch", _switch(f"vout{EVENT_VARIABLES.index(label)}", of)
    if label in DUTIES:
        return "number", {
            "command_topic": of.topic("cmd"),
            "command_template": f"pwmd={DUTIES.index(label)}{{{{ value | int }}}}",
            "min": 0,
            "max": 100,
            "step": 1,
            "mode": "slider",
            "unit_of_measurement": "%",
        }
    if label in DIGITAL_INPUTS:
        return "binary_sensor", {"payload_on": "1", "payload_off": "0", "value_template": _VALUE}
    return "sensor", _sensor(label, of.settings)


def _switch(command: str, of: Controlled) -> dict[str, Any]:
    return {
        "command_topic": of.topic("cmd"),
        "payload_on": f"{command}=1",
        "payload_off": f"{command}=0",
        "state_on": "1",
        "state_off": "0",
    }


def _sensor(label: str, settings: Settings) -> dict[str, Any]:
    unit = unit_of(label, settings)
    device_class = _sensor_class(label, unit)
    payload: dict[str, Any] = {
        "state_class": _state_class(label, device_class),
        "value_template": _VALUE,
    }
    if unit:
        payload["unit_of_measurement"] = unit
    if device_class:
        payload["device_class"] = device_class
    if label in _DIAGNOSTIC:
        payload["entity_category"] = "diagnostic"
    return payload


def _sensor_class(label: str, unit: str) -> str | None:
    found = _CLASS_BY_LABEL.get(label) or _CLASS_BY_UNIT.get(unit)
    # Shown in °F, a difference of 5 °C would become 41: temperatures are shifted, too.
    return None if label in DIFFERENTIALS and found == "temperature" else found


def _state_class(label: str, device_class: str | None) -> str:
    if device_class not in _COUNTED:
        return "total_increasing" if label in ENERGIES else "measurement"
    # A difference of two counters may fall without having been reset.
    return "total" if label in DIFFERENTIALS else "total_increasing"


def _availability(label: str, of: Controlled) -> list[dict[str, Any]]:
    there = {"topic": of.topic("status")}
    if label in (*OUTPUTS, *PWMS, *DUTIES, *EVENT_VARIABLES):
        return [there]
    return [there, {"topic": of.topic(label), "value_template": _PRESENCE}]


def _device(of: Controlled) -> dict[str, Any]:
    device = {
        "identifiers": [of.node],
        "connections": [["mac", of.mac.lower()]],
        "name": of.name,
        "manufacturer": "Leverframe",
        "model": f"HW {of.profile.hw}",
        "hw_version": of.profile.hw,
        "sw_version": of.profile.sw,
    }
    return device if of.url is None else device | {"configuration_url": of.url}


def _display_name(label: str, settings: Settings) -> str:
    """Return the name that a user gave with the label, or else the label alone."""
    given = own_name(label, settings)
    return f"{given} ({label})" if given else label


def _slug(text: str) -> str:
    """Write a text with the characters that ids of entities are made of."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "_", plain).strip("_")
