"""The channel of SMS1-SMS4: one message per telephone number, through a modem.

The modem is whatever has `send_sms`. While it cannot send, messages wait until they are a day old.
"""

from typing import Any, Protocol

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Gsm
from leverframe.notify.channel import CannotSend, ChannelLimits, Channels, Draft
from leverframe.notify.message import Message


class SmsSender(Protocol):
    async def send_sms(self, number: str, text: str) -> None:
        """Send a message; an exception says in a sentence why the network has not taken it."""


class Sms:
    # Every one costs money, and the network delays and drops what comes in floods.
    limits = ChannelLimits(expires_s=86_400.0, max_waiting=200, per_s=0.2, burst=10, timeout_s=90.0)

    def __init__(self, modem: SmsSender) -> None:
        self._modem = modem

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not effect.is_wanted:
            return []
        numbers = channels.gsm.sms[effect.slot - 1].numbers
        if not numbers:
            slot = effect.slot
            raise CannotSend(f"SMS{slot} has no recipient; set one with gsmnumber{slot}=...")
        return [Draft(number, {"text": effect.text}) for number in numbers]

    def configuration(self, channels: Channels) -> Gsm:
        return channels.gsm

    async def deliver(self, message: Message, channels: Channels) -> str:
        try:
            await self._modem.send_sms(message.target, message.content["text"])
        except Exception as error:
            raise CannotSend(str(error)) from error
        return "accepted by the network"

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        return {"recipients": [message.target], "body": message.content["text"]}

    async def close(self) -> None:
        """Keep the modem open: others use it, too."""
