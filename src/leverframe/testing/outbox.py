"""The messages that a twin would have sent, whole, as tests look at them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

_Sent = TypeVar("_Sent")


class SentEmail(Struct, frozen=True):
    """A mail to one recipient."""

    time: float
    subject: str
    sender: str
    to: str
    text: str
    headers: Mapping[str, str]
    server: str
    #: Who asked for it, like `rule 3`.
    reason: str
    #: Why it could not have been sent, if so.
    problem: str | None = None


class SentSms(Struct, frozen=True):
    """An SMS to one number."""

    time: float
    to: str
    text: str
    reason: str
    problem: str | None = None


class SentHttp(Struct, frozen=True):
    """A request of HTTP1 to HTTP4."""

    time: float
    slot: int
    method: str
    url: str
    body: str
    headers: Mapping[str, str]
    reason: str
    problem: str | None = None


class SentMqtt(Struct, frozen=True):
    """A message of the action MQTT."""

    time: float
    topic: str
    text: str
    qos: int
    retain: bool
    reason: str
    problem: str | None = None


class SentTrap(Struct, frozen=True):
    """An SNMP trap to one receiver."""

    time: float
    to: str
    #: Its kind as an OID.
    trap: str
    #: Values by OID.
    variables: Mapping[str, str]
    text: str
    reason: str
    problem: str | None = None


class TwinOutbox:
    """What the twin would have sent since its start or the last `clear`, oldest first."""

    def __init__(self, report: Callable[[], dict[str, Any]], clear: Callable[[], object]) -> None:
        self._report = report
        self._clear = clear

    @property
    def emails(self) -> list[SentEmail]:
        """Every mail: `subject`, `sender`, `to`, `text`, `headers`."""
        return self._of("email", SentEmail)

    @property
    def sms(self) -> list[SentSms]:
        """Every SMS: `to`, `text`."""
        return self._of("sms", SentSms)

    @property
    def http(self) -> list[SentHttp]:
        """Every request of HTTP1 to HTTP4: `slot`, `method`, `url`, `body`, `headers`."""
        return self._of("http", SentHttp)

    @property
    def mqtt(self) -> list[SentMqtt]:
        """Every message of the action MQTT: `topic`, `text`."""
        return self._of("mqtt", SentMqtt)

    @property
    def traps(self) -> list[SentTrap]:
        """Every SNMP trap: `to`, `trap`, `variables`, `text`."""
        return self._of("snmp", SentTrap)

    @property
    def problems(self) -> list[str]:
        """Why messages could not even be written: a missing server, recipient or address."""
        return [one["problem"] for one in self._report()["failed"]]

    def clear(self) -> None:
        """Forget what was sent so far."""
        self._clear()

    def _of(self, channel: str, kind: type[_Sent]) -> list[_Sent]:
        captured: Sequence[dict[str, Any]] = self._report()["captured"]
        return [
            msgspec.convert(_fields(one), kind)
            for one in captured
            if one["channel"].rstrip("1234") == channel
        ]


def _fields(message: dict[str, Any]) -> dict[str, Any]:
    """Return what a message says under all the names that the channels have for it."""
    content, target = message["content"], message["target"]
    return {
        **dict.fromkeys(("subject", "sender", "server", "method", "body"), ""),
        "headers": {},
        "url": f"{target}{content.get('path', '')}",
        **content,
        "text": content.get("body", content.get("text", "")),
        "to": target,
        "topic": target,
        "time": message["created"],
        **{key: message[key] for key in ("slot", "reason", "problem")},
    }
