"""Readings and states on the broker: `<prefix>/<label>`, retained, the last value of each.

A value is published when it changed, a reading when it moved by its dead band since it was last
published. Nothing is queued: while the broker is slow or away, a value that changes again replaces
the one before. What is absent reads `none`.
"""

import asyncio
from collections.abc import Callable

from leverframe.engine.labels import ANALOG_INPUTS, ENERGIES, ONEWIRE, PARTICULATES, POWERS
from leverframe.engine.machine import Value
from leverframe.engine.pwm import DUTIES
from leverframe.notify.mqtt_link import HELD_S, MqttLink
from leverframe.servers.mqtt.home_assistant import ABSENT

#: How far a reading must move before it is published again, in its unit; others at every change.
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
#: 0.2 - 0.1 is a little less than 0.1.
_ROUNDING = 1e-9
_DECIMALS = 3
#: Changes within this time go out together.
GATHER_S = 0.005
#: More than these are not sent before the broker has acknowledged some.
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
        #: Called with a label that has a value for the first time since `begin`.
        self.on_first_value: Callable[[str], None] = lambda label: None
        #: Called with a topic that the broker keeps from now on.
        self.on_retained: Callable[[str], None] = lambda topic: None
        self._seen: set[str] = set()

    def begin(self) -> None:
        """Publish everything on a new connection."""
        self._published = {}
        self._seen = set()
        self._publish()

    def plan(self) -> None:
        """Plan to publish what may have changed."""
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
                    return  # an acknowledgement brings us back
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
