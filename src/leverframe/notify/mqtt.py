"""The channel of the action MQTT: what a rule has to say, on `<prefix>/notify`.

Messages wait in the outbox while there is no connection, and go out one after the other, each once
the broker has acknowledged the one before: nothing is lost and the order is kept. A broker that
took a message and disconnected before it confirmed that gets it again; `number` shows that it is
the same.
"""

from typing import Any

import msgspec

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Mqtt
from leverframe.notify.channel import CannotSend, ChannelLimits, Channels, Draft
from leverframe.notify.message import Message
from leverframe.notify.mqtt_link import MqttLink


class MqttMessages:
    limits = ChannelLimits(
        expires_s=86_400.0, max_waiting=5_000, per_s=500.0, burst=5_000, longest_pause_s=30.0
    )

    def __init__(self, link: MqttLink) -> None:
        self._link = link

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not channels.mqtt.enabled:
            raise CannotSend("MQTT is switched off; set it up with mqtt=1*HOST*...")
        content = {"label": effect.label, "value": effect.value}
        return [Draft(f"{channels.mqtt.prefix}/notify", content)]

    def configuration(self, channels: Channels) -> Mqtt:
        return channels.mqtt

    async def deliver(self, message: Message, channels: Channels) -> str:
        if not self._link.up:
            raise CannotSend(self._link.problem or "There is no connection to the broker yet.")
        if not await self._link.publish(message.target, _payload(message)):
            raise CannotSend(
                self._link.refusal() or "The connection was lost before the broker had the message."
            )
        return "acknowledged by the broker"

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        mqtt = channels.mqtt
        return {
            "server": f"{mqtt.host}:{mqtt.port}",
            "tls": mqtt.tls,
            "topic": message.target,
            "qos": 1,
            "retain": False,
            "body": _payload(message).decode(),
        }

    async def close(self) -> None:
        """Keep the link: states and commands use it, too."""


def _payload(message: Message) -> bytes:
    payload = {
        "number": message.number,
        "reason": message.reason,
        "active": message.active,
        **message.content,
        "time": message.created,
    }
    return msgspec.json.encode(payload)
