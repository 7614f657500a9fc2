"""Messages about units: each notice goes to the outbox, by the channels that the inventory names.

The outbox and its channels are those of a controller.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.clock import Clock
from leverframe.engine.effects import Notify
from leverframe.engine.settings import Email, Gsm, HttpClient, Mqtt, Snmp
from leverframe.notify.email import Mail
from leverframe.notify.http_call import HttpCalls
from leverframe.notify.mqtt import MqttMessages
from leverframe.notify.mqtt_link import MqttLink
from leverframe.notify.outbox import MessageStore, Outbox
from leverframe.notify.trust import Trust
from leverframe.outgoing.targets import Targets
from leverframe.shutdown import close_all
from leverframe.units.unit_health import UnitNotice
from leverframe.units.watch_table import AlarmChannels

#: What the program calls itself in mails and at the broker.
NAME = "leverframe-watch"


class AlarmSettings(Struct, frozen=True):
    """How the channels are set up; those that the inventory does not name are not."""

    http: tuple[HttpClient, ...]
    email: Email
    mqtt: Mqtt
    gsm: Gsm = Gsm()
    snmp: Snmp = Snmp()

    @classmethod
    def of(cls, channels: AlarmChannels) -> "AlarmSettings":
        return cls(
            (replace(channels.http or HttpClient(), post=True),),
            channels.email or Email(),
            replace(channels.mqtt or Mqtt(), enabled=channels.mqtt is not None),
        )


class Alarms:
    def __init__(
        self,
        channels: AlarmChannels,
        store: MessageStore,
        clock: Clock,
        troubles: dict[str, str],
        *,
        capture: bool = False,
    ) -> None:
        self._channels = channels
        self._settings = AlarmSettings.of(channels)
        self._trust = Trust(channels.ca_file)
        targets = Targets(channels.allow_local)
        self._link = MqttLink(NAME, self._trust, targets.channel("mqtt"))
        settings = self._settings
        self.outbox = Outbox(store, clock, lambda: settings, capture=capture, troubles=troubles)
        if channels.http is not None:
            self.outbox.add("http1", HttpCalls(1, self._trust, targets.channel("http")))
        if channels.email is not None:
            self.outbox.add("email", Mail(NAME, self._trust, targets.channel("email")))
        if channels.mqtt is not None:
            self.outbox.add("mqtt", MqttMessages(self._link))

    def start(self) -> None:
        self._link.on_change = lambda: self.outbox.try_again("mqtt")
        if self._channels.mqtt is not None and not self.outbox.capture:
            self._link.adopt(self._settings.mqtt)
        self.outbox.start()

    def send(self, notice: UnitNotice) -> None:
        """Put a notice into the outbox, once for each channel."""
        for effect in self._effects(notice):
            self.outbox.notify(effect)

    def _effects(self, notice: UnitNotice) -> Sequence[Notify]:
        reason, text = f"{notice.unit}: {notice.kind}", f"{notice.unit}: {notice.sentence}"
        found = []
        if (http := self._channels.http) is not None:
            body = msgspec.json.encode(_as_object(notice)).decode()
            found.append(Notify("http", 1, notice.active, reason, text=http.url, body=body))
        if self._channels.email is not None:
            found.append(Notify("email", 0, notice.active, reason, text=text))
        if self._channels.mqtt is not None:
            # The channel tells label and value; the sentence stands in the reason.
            found.append(Notify("mqtt", 0, notice.active, text, label=notice.kind))
        return found

    async def close(self) -> None:
        await close_all([self.outbox.close, self._link.close])


def _as_object(notice: UnitNotice) -> dict[str, Any]:
    return {
        "unit": notice.unit,
        "kind": notice.kind,
        "active": notice.active,
        "severity": notice.severity,
        "text": notice.sentence,
    }
