"""Messages about units: each notice goes to the outbox, by the channels that the inventory names.

The outbox and its channels are those of a controller; what they are told stands in a settings tree
that holds nothing else.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from leverframe.clock import Clock
from leverframe.engine.effects import Notify
from leverframe.engine.settings import Email, HttpClient, Mqtt, Settings
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


def settings_of(channels: AlarmChannels) -> Settings:
    """Return a tree that holds what the channels are told, and nothing else."""
    settings = Settings()
    http = msgspec.structs.replace(channels.http or HttpClient(), post=True)
    mqtt = Mqtt()
    if channels.mqtt is not None:
        mqtt = msgspec.structs.replace(channels.mqtt, enabled=True)
    return msgspec.structs.replace(
        settings, http=(http, *settings.http[1:]), email=channels.email or Email(), mqtt=mqtt
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
        self._settings = settings_of(channels)
        self._trust = Trust(channels.ca_file)
        targets = Targets(channels.allow_local)
        self._link = MqttLink(NAME, self._trust, targets.channel("mqtt"))
        self.outbox = Outbox(
            store, clock, lambda: self._settings, capture=capture, troubles=troubles
        )
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
