"""The link to the MQTT broker, and the channel of the action MQTT on `<prefix>/notify`."""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any

import msgspec

from leverframe.core.engine.calls import Notify
from leverframe.core.runtime.event_loop import LoopTurns, is_being_cancelled, turns_alone
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.core.settings import Mqtt
from leverframe.notify.channel import (
    FIRST_REFUSAL,
    REASONS,
    CannotSend,
    ChannelLimits,
    Channels,
    Draft,
    Message,
    Trust,
    sentence,
)
from leverframe.notify.channel_queue import CHANCE, FIRST_PAUSE_S, pause_after

if TYPE_CHECKING:
    from leverframe.notify.mqtt_client import BrokerConnection, WrapTransport


# The link to the MQTT broker: connected, and reconnected, while the settings require it.
#
# The link connects with TLS and credentials, sets a last will, reports when it is up or down, and
# accepts messages while it is up. After each failure the pause grows. `problem` is a sentence about
# the present problem; it never contains a password.

log = logging.getLogger(__name__)

#: The retained messages under `<prefix>/status`.
ONLINE, OFFLINE = "online", "offline"
ANSWER_S = 15.0
LONGEST_PAUSE_S = 60.0
#: How long to wait for a broker to accept the last messages before disconnecting.
FAREWELL_S = 1.0
#: A shorter connection counts as a failure: two clients with the same name disconnect each other,
#: and must not do so a hundred times per second.
SHORT_S = 5.0
#: The interval at which to check whether messages may be sent again.
HELD_S = 1.0


def status_topic(mqtt: Mqtt) -> str:
    return f"{mqtt.prefix}/status"


class MqttLink:
    def __init__(
        self,
        client_id: str,
        trust: Trust,
        way_out: OutgoingChannel,
        *,
        first_pause_s: float = FIRST_PAUSE_S,
        chance: Random | None = None,
        turns: LoopTurns | None = None,
        why_held: Callable[[], str | None] = lambda: None,
        wrap_transport: "WrapTransport | None" = None,
    ) -> None:
        self._wrap_transport = wrap_transport
        self._turns = turns or turns_alone()
        self._why_held = why_held
        self._client_id = client_id
        self._trust = trust
        self._way_out = way_out
        self._first_pause_s = first_pause_s
        self._chance = chance or CHANCE
        self._settings = Mqtt()
        self._has_power = True
        self._connection: BrokerConnection | None = None
        self._task: asyncio.Task[None] | None = None
        #: Why there is no connection, if the settings require one.
        self.problem: str | None = None
        #: Topics whose messages the broker refuses on this connection, with its reason code.
        self.refused: dict[str, int] = {}
        #: Called when the link goes up or down, or when `problem` or `refused` changes.
        self.on_change: Callable[[], None] = lambda: None
        self.on_message: Callable[[str, bytes], None] = lambda topic, payload: None
        #: Called when the broker acknowledges a message.
        self.on_acknowledged: Callable[[], None] = lambda: None

    @property
    def up(self) -> bool:
        return self._connection is not None

    @property
    def is_held(self) -> bool:
        """Return whether nothing may be sent now, because another node may own the controller."""
        return self._why_held() is not None

    @property
    def unacknowledged(self) -> int:
        return self._connection.unacknowledged if self._connection else 0

    @property
    def settings(self) -> Mqtt:
        """Return the settings of the present connection, or of the next attempt to connect."""
        return self._settings

    @property
    def local_address(self) -> str | None:
        """Return this machine's address on the route to the broker."""
        return self._connection.local_address if self._connection else None

    def subscribe(self, topic: str) -> None:
        assert self._connection is not None
        self._connection.subscribe(topic)

    def publish(
        self, topic: str, payload: str | bytes, *, retain: bool = False
    ) -> "asyncio.Future[bool]":
        """Publish while the link is up; the result says whether the broker has confirmed."""
        assert self._connection is not None
        return self._connection.publish(topic, payload, retain)

    # --- life -------------------------------------------------------------------------------------

    def adopt(self, settings: Mqtt) -> None:
        """Connect with these settings, or disconnect if they disable MQTT."""
        if settings != self._settings:
            self._restart(settings)

    def set_power(self, on: bool) -> None:
        """Drop the connection without a farewell when the power goes off, and reconnect later."""
        self._has_power = on
        if self._connection is not None and not on:
            self._connection.cut()
        self._restart(self._settings)

    def _restart(self, settings: Mqtt) -> None:
        before, self._task = self._task, None
        if before is not None:
            before.cancel()
            # Further messages are for the next broker; the previous one only gets the farewell.
            self._connection = None
        self._settings = settings
        if before is not None or settings.enabled:
            self._task = asyncio.get_running_loop().create_task(self._live(before, settings))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _live(self, before: "asyncio.Task[None] | None", settings: Mqtt) -> None:
        if before is not None:
            # The old connection must end before the new one begins.
            await asyncio.wait([before])
        self._set_problem(None)
        failures = 0
        while settings.enabled and self._has_power:
            if (held := self._why_held()) is not None:
                # Connecting would disconnect the present owner, which uses the same name.
                self._set_problem(held)
                await asyncio.sleep(HELD_S)
                continue
            try:
                lasted_s = await self._one_connection(settings)
            except Exception:
                # A bug must not end the link.
                log.exception("MQTT: a connection failed unexpectedly")
                lasted_s = 0.0
            if is_being_cancelled():
                return
            failures = 1 if lasted_s > SHORT_S else failures + 1
            await asyncio.sleep(
                pause_after(failures, self._first_pause_s, LONGEST_PAUSE_S, self._chance)
            )

    async def _one_connection(self, settings: Mqtt) -> float:
        """Connect and wait until the connection ends; return how many seconds it lasted."""
        connection = await self._connect(settings)
        if connection is None:
            return 0.0
        now = asyncio.get_running_loop().time
        since = now()
        self._connection = connection
        self.refused = {}
        try:
            self._set_problem(None)
            self.on_change()
            await connection.lost.wait()
        except asyncio.CancelledError:
            if self._has_power:
                # After this orderly farewell, the broker does not publish the will.
                farewell = connection.publish(status_topic(settings), OFFLINE, True)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(farewell, FAREWELL_S)
            raise
        finally:
            self._connection = None
            await connection.close()
            self.on_change()
        place = f"{settings.host}:{settings.port}"
        self._set_problem(f"The broker at {place} closed the connection; retrying.")
        return now() - since

    async def _connect(self, settings: Mqtt) -> "BrokerConnection | None":
        if not settings.host:
            self._set_problem("No MQTT broker is set; set its host with mqtt=1*HOST*...")
            return None
        # Imported here, because a controller without MQTT does not need it, and in a thread,
        # because the import takes longer than a relay may wait.
        await asyncio.to_thread(import_module, "leverframe.notify.mqtt_client")
        from leverframe.notify.mqtt_client import REFUSED_LOGIN, ConnectionRefused

        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._open(settings)
        except ConnectionRefused as refusal:
            place = f"{settings.host}:{settings.port}"
            self._set_problem(
                f"The broker at {place} refuses the user name or password; correct them with "
                "mqtt=..."
                if refusal.code in REFUSED_LOGIN
                else f"The broker at {place} refuses the connection (code {refusal.code})."
            )
        except (CannotSend, ForbiddenTarget) as refusal:
            self._set_problem(str(refusal))
        except (OSError, TimeoutError) as error:
            self._set_problem(sentence(error, settings.host, settings.port))
        return None

    async def _open(self, settings: Mqtt) -> "BrokerConnection":
        """Connect by MQTT 5, or by 3.1.1 if the broker does not support version 5."""
        from gmqtt.mqtt.constants import MQTTv50, MQTTv311  # type: ignore[import-untyped]

        from leverframe.notify.mqtt_client import UNKNOWN_VERSION, ConnectionRefused

        try:
            return await self._open_with(settings, MQTTv50)
        except ConnectionRefused as refusal:
            if refusal.code not in UNKNOWN_VERSION:
                raise
        except ConnectionResetError:
            # Some brokers close the connection instead of refusing the version.
            pass
        return await self._open_with(settings, MQTTv311)

    async def _open_with(self, settings: Mqtt, version: int) -> "BrokerConnection":
        from leverframe.notify.mqtt_client import BrokerConnection

        connection = BrokerConnection(
            self._client_id,
            (status_topic(settings), OFFLINE),
            lambda topic, payload: self.on_message(topic, payload),
            self._note_answer,
            self._turns,
            self._way_out,
            self._wrap_transport,
        )
        try:
            await connection.open(
                settings.host,
                settings.port,
                (settings.username, settings.password),
                await self._trust.ready() if settings.tls else None,
                version,
            )
        except BaseException:
            await connection.close()
            raise
        return connection

    def _note_answer(self, topic: str, reason: int) -> None:
        """Record the broker's answer to a publish."""
        before = dict(self.refused)
        if reason >= FIRST_REFUSAL:
            self.refused[topic] = reason
        elif topic in self.refused:
            # The broker's access list has changed, so earlier refusals are out of date.
            self.refused.clear()
        if self.refused != before:
            self.on_change()
        self.on_acknowledged()

    def refusal(self) -> str | None:
        """Describe the topics that the broker refuses."""
        if not (self.up and self.refused):
            return None
        topic, code = next(iter(self.refused.items()))
        mqtt, others = self._settings, len(self.refused) - 1
        more = f" and {others} other topics" if others else ""
        levels = " and ".join(f"{level}/#" for level in (mqtt.prefix, mqtt.discovery) if level)
        return (
            f"The broker at {mqtt.host}:{mqtt.port} refuses {topic}{more} ({code} "
            f"{REASONS.get(code, 'without a known reason')}); allow {levels} in its access list."
        )

    def _set_problem(self, problem: str | None) -> None:
        if problem != self.problem:
            self.problem = problem
            self.on_change()


# The channel of the action MQTT: the messages of rules, on `<prefix>/notify`.
#
# Messages wait in the outbox while there is no connection. They are sent one after the other, each
# after the broker has acknowledged the previous one, so that none is lost and the order is kept. A
# broker that accepts a message but disconnects before it acknowledges gets the message again;
# `number` identifies the repetition.


class MqttMessages:
    limits = ChannelLimits(
        expires_s=86_400.0, max_waiting=5_000, per_s=500.0, burst=5_000, longest_pause_s=30.0
    )

    def __init__(self, find_link: Callable[[], MqttLink]) -> None:
        self._find_link = find_link

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if not channels.mqtt.enabled:
            raise CannotSend("MQTT is switched off; set it up with mqtt=1*HOST*...")
        content = {"label": effect.label, "value": effect.value}
        return [Draft(f"{channels.mqtt.prefix}/notify", content)]

    def configuration(self, channels: Channels) -> Mqtt:
        return channels.mqtt

    async def deliver(self, message: Message, channels: Channels) -> str:
        link = self._find_link()
        if not link.up:
            raise CannotSend(link.problem or "There is no connection to the broker yet.")
        if not await link.publish(message.target, _payload(message)):
            raise CannotSend(
                link.refusal() or "The connection was lost before the broker received the message."
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
        """Leave the link open, because states and commands use it, too."""


def _payload(message: Message) -> bytes:
    payload = {
        "number": message.number,
        "reason": message.reason,
        "active": message.active,
        **message.content,
        "time": message.created,
    }
    return msgspec.json.encode(payload)
