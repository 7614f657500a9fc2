"""Publish states on the MQTT broker, and announce them to Home Assistant."""

import asyncio
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from ipaddress import ip_address
from typing import Any

from msgspec import Struct

from leverframe.core.engine.machine import Value
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.secret_servers import url_host
from leverframe.core.labels import (
    ANALOG_INPUTS,
    DIFFERENTIALS,
    DIGITAL_INPUTS,
    ENERGIES,
    EVENT_VARIABLES,
    ONEWIRE,
    OUTPUTS,
    PARTICULATES,
    POWERS,
    PWMS,
    READINGS,
)
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.interface.names import own_name, unit_of
from leverframe.notify.mqtt import HELD_S, MqttLink

# The address of the controller's pages, for clients elsewhere in the network.


class PagesAddress(Struct, frozen=True):
    scheme: str
    #: The address and port that the server listens on.
    host: str
    port: int

    def url_from(self, own: str | None) -> str | None:
        """Return the URL of the pages for clients that reach the machine at the address `own`.

        Return None if the pages cannot be reached from there.
        """
        try:
            listening = ip_address(self.host)
        except ValueError:
            return self._url(self.host)
        if listening.is_unspecified:
            return None if own is None else self._url(own)
        if listening.is_loopback and not (own and ip_address(own.partition("%")[0]).is_loopback):
            return None
        return self._url(self.host)

    def _url(self, host: str) -> str:
        return f"{self.scheme}://{url_host(host)}:{self.port}/"


# Announcements to Home Assistant, so that all parts of the controller appear there automatically.
#
# One retained message per output, PWM output, event variable, input, reading and meter, on
# `<discovery>/<component>/<controller>/<object>/config`. Switches send the same commands as other
# clients. An absent reading is unavailable, and so is everything while the controller is offline.

#: The text that is published for an absent value.
ABSENT = "none"
_PRESENCE = f"{{{{ 'offline' if value == '{ABSENT}' else 'online' }}}}"
#: A value that is not a number must not reach a sensor; `None` means unknown to Home Assistant.
_VALUE = f"{{{{ None if value == '{ABSENT}' else value }}}}"

#: Device classes by unit, for labels that do not imply a class.
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
#: Device classes of counters; Home Assistant accepts no `measurement` for them.
_COUNTED = ("energy", "water")
_CLASS_BY_LABEL = {
    "H1": "humidity",
    "P1": "atmospheric_pressure",
    "CO2": "carbon_dioxide",
    "PM1.0": "pm1",
    "PM2.5": "pm25",
    "PM10.0": "pm10",
}
#: Labels that describe the machine rather than its surroundings.
_DIAGNOSTIC = ("VCC", "TEMP")


class Controlled(Struct, frozen=True):
    """The controller that is announced, and its topics."""

    name: str
    mac: str
    profile: Profile
    settings: Settings
    version: str
    #: The URL of its pages, if clients elsewhere can reach them.
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
    """List all labels that this version may announce; a reading is announced at its first value."""
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
    # In °F, Home Assistant would show a difference of 5 °C as 41, because it shifts temperatures.
    return None if label in DIFFERENTIALS and found == "temperature" else found


def _state_class(label: str, device_class: str | None) -> str:
    if device_class not in _COUNTED:
        return "total_increasing" if label in ENERGIES else "measurement"
    # A difference of two counters may decrease without a reset.
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
    """Return the user's name for the label together with the label, or else the label alone."""
    given = own_name(label, settings)
    return f"{given} ({label})" if given else label


def _slug(text: str) -> str:
    """Write a text with only the characters that entity ids may contain."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "_", plain).strip("_")


# Readings and states on the broker: `<prefix>/<label>`, retained, the last value of each.
#
# A state is published when it changes. A reading is published when it has moved by its dead band
# since its last publication. Nothing is queued: while the broker is slow or unreachable, only the
# latest value is kept. An absent value is published as `none`.

#: How far a reading must move before it is published again, in its unit. Labels that are not listed
#: are published at every change.
DEAD_BANDS: dict[str, float] = {
    "VCC": 0.02,
    "TEMP": 0.1,
    "T1": 0.1,
    "H1": 0.2,
    "P1": 0.1,
    "DEWPOINT": 0.1,
    **dict.fromkeys(ONEWIRE, 0.1),
    **dict.fromkeys(ANALOG_INPUTS, 0.01),
    "CO2": 5.0,
    **dict.fromkeys(PARTICULATES, 0.5),
    "DISTANCE": 5.0,
    **dict.fromkeys(POWERS, 0.001),
    **dict.fromkeys(ENERGIES, 0.001),
    **dict.fromkeys(DUTIES, 0.5),
}
#: Tolerance for rounding: 0.2 - 0.1 is a little less than 0.1.
_ROUNDING = 1e-9
_DECIMALS = 3
#: Changes within this time are published together.
GATHER_S = 0.005
#: The maximum number of publications that the broker has not acknowledged.
MAX_ON_THEIR_WAY = 500

NEVER = object()


class PublishedStates:
    """The values that the broker has, and those that must be published next."""

    def __init__(
        self, link: MqttLink, labels: Callable[[], tuple[str, ...]], value: Callable[[str], Value]
    ) -> None:
        self._link = link
        self._labels = labels
        self._value = value
        self._published: dict[str, object] = {}
        self._planned: asyncio.TimerHandle | None = None
        #: Called with a label when it has its first value since `begin`.
        self.on_first_value: Callable[[str], None] = lambda label: None
        #: Called with each topic that the broker retains from now on.
        self.on_retained: Callable[[str], None] = lambda topic: None
        self._seen: set[str] = set()

    def begin(self) -> None:
        """Publish all values on a new connection."""
        self._published = {}
        self._seen = set()
        self._publish()

    def plan(self) -> None:
        """Schedule the publication of values that may have changed."""
        if self._planned is None and self._link.up:
            self._planned = asyncio.get_running_loop().call_later(GATHER_S, self._publish)

    def close(self) -> None:
        if self._planned is not None:
            self._planned.cancel()

    def _publish(self) -> None:
        self._planned = None
        if not self._link.up:
            return
        if self._link.is_held:
            self._planned = asyncio.get_running_loop().call_later(HELD_S, self._publish)
            return
        prefix = self._link.settings.prefix
        for label in self._labels():
            value = self._value(label)
            if is_news(label, self._published.get(label, NEVER), value):
                if self._link.unacknowledged >= MAX_ON_THEIR_WAY:
                    return  # continued after an acknowledgement
                self._published[label] = value
                if value is not None and label not in self._seen:
                    self._seen.add(label)
                    self.on_first_value(label)
                topic = f"{prefix}/{label}"
                self.on_retained(topic)
                self._link.publish(topic, format_value(value), retain=True)


def is_news(label: str, published: object, value: Value) -> bool:
    """Return whether the value must be published."""
    if published is NEVER or value is None or published is None:
        return published is not value
    assert isinstance(published, int | float)
    band = DEAD_BANDS.get(label)
    if band is None:
        return published != value
    return abs(value - published) >= band - _ROUNDING


def format_value(value: Value) -> str:
    if value is None:
        return ABSENT
    return str(value) if isinstance(value, int) else str(round(value, _DECIMALS) + 0.0)
