"""One connection to an MQTT broker, by gmqtt; loaded only if a broker is set up.

The library would reconnect automatically and keep messages in memory until then; here, each
connection is used once, and the link creates the next one. A publish without an acknowledgement is
reported as lost when the connection ends: the outbox keeps messages, and states are published
again. The connection uses MQTT 5 unless the caller requests 3.1.1: only with version 5 does a
broker report what it refuses.
"""

import asyncio
import contextlib
import logging
import ssl
from collections import deque
from collections.abc import Callable
from functools import partial

import gmqtt  # type: ignore[import-untyped]
from gmqtt.mqtt.connection import MQTTConnection  # type: ignore[import-untyped]
from gmqtt.mqtt.constants import MQTTv50  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]
from gmqtt.mqtt.protocol import MQTTProtocol  # type: ignore[import-untyped]
from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]
from msgspec import Struct

from leverframe.core.runtime.event_loop import LoopTurns
from leverframe.core.runtime.outgoing import OutgoingChannel
from leverframe.notify.channel import FIRST_REFUSAL

# Problems are reported in sentences, so the library's log lines are not needed. The library logs
# invalid packets even at the highest level, as fast as a broker sends them.
logging.getLogger("gmqtt").setLevel(logging.CRITICAL + 1)

KEEPALIVE_S = 30
#: The size of about twenty commands.
READ_BYTES = 512
#: Codes of MQTT 3.1.1 and 5 that refuse a login.
REFUSED_LOGIN = (4, 5, 134, 135)


#: The broker does not support this version: the codes of MQTT 3.1.1 and of 5.
UNKNOWN_VERSION = (1, 132)


class Publish(Struct):
    topic: str
    payload: str | bytes
    retain: bool
    #: True if the broker confirmed the message, False if it was lost or refused.
    taken: asyncio.Future[bool]

    def lose(self) -> None:
        if not self.taken.done():
            self.taken.set_result(False)


class ConnectionRefused(Exception):
    """The broker refused the connection with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Unacknowledged(PersistentStorage):  # type: ignore[misc]
    """Publishes without an acknowledgement, as futures; none is ever sent again.

    The library's own storage stays empty, so that it resends nothing on another connection.
    """

    def __init__(self, on_answer: Callable[[str, int], None]) -> None:
        super().__init__()
        #: Called with the topic and the reason code; codes from 128 on are refusals.
        self._on_answer = on_answer
        self._waiting: dict[int, Publish] = {}
        #: The publish being sent, and the reason code of the one being acknowledged.
        self.sending: Publish | None = None
        self.reason = 0

    @property
    def count(self) -> int:
        return len(self._waiting)

    def push_message(self, mid: int, raw_package: bytes) -> None:
        assert self.sending is not None
        self._waiting[mid] = self.sending

    def remove_message_by_mid(self, mid: int) -> None:
        publish = self._waiting.pop(mid, None)
        if publish is not None and not publish.taken.done():
            publish.taken.set_result(self.reason < FIRST_REFUSAL)
            self._on_answer(publish.topic, self.reason)

    def lose_all(self) -> None:
        """Resolve all pending publishes as lost."""
        for publish in self._waiting.values():
            publish.lose()
        self._waiting.clear()


#: Wraps the transport of a connection.
WrapTransport = Callable[[asyncio.Transport], asyncio.Transport]


class _SingleUse(gmqtt.Client):  # type: ignore[misc]
    way_out: OutgoingChannel
    wrap_transport: WrapTransport | None = None

    async def reconnect(self, delay: bool = False) -> None:
        """Do nothing: the link creates a new connection."""

    async def _create_connection(
        self,
        host: str,
        port: int,
        ssl: ssl.SSLContext | None,
        clean_session: bool,
        keepalive: int,
    ) -> MQTTConnection:
        """Connect to a checked address; the library would resolve the name again."""
        handler, state = self._package_handler, self._connection_state
        factory = partial(MQTTProtocol, connection_state=state, id_generator=handler.id_generator)
        connected = await self.way_out.connect(host, port)
        try:
            transport, protocol = await asyncio.get_running_loop().create_connection(
                factory, sock=connected, ssl=ssl, server_hostname=host if ssl else None
            )
        except BaseException:
            connected.close()
            raise
        if self.wrap_transport is not None:
            transport = protocol._transport = self.wrap_transport(transport)
        return MQTTConnection(
            transport, protocol, clean_session, keepalive, handler, logger=self._logger
        )


class BrokerConnection:
    def __init__(
        self,
        client_id: str,
        will: tuple[str, str],
        on_message: Callable[[str, bytes], None],
        on_answer: Callable[[str, int], None],
        turns: LoopTurns,
        way_out: OutgoingChannel,
        wrap_transport: WrapTransport | None = None,
    ) -> None:
        self._turns = turns
        #: Set when the connection has ended.
        self.lost = asyncio.Event()
        self._on_answer = on_answer
        self._unacknowledged = Unacknowledged(self._on_answered)
        #: Publishes that wait because the broker limits unacknowledged ones (Receive Maximum).
        self._held: deque[Publish] = deque()
        self._on_message = on_message
        topic, text = will
        self._client = _SingleUse(
            client_id,
            will_message=gmqtt.Message(topic, text, qos=1, retain=True),
            persistent_storage=self._unacknowledged,
        )
        self._client.way_out = way_out
        self._client.wrap_transport = wrap_transport
        # The library drops the reason code with which an MQTT 5 broker refuses a publish.
        handler = self._client._package_handler
        self._free = handler._handle_puback_packet
        handler._handle_puback_packet = self._on_acknowledgement
        self._client.on_message = self._on_packet
        self._client.on_disconnect = self._on_disconnect

    async def open(
        self,
        host: str,
        port: int,
        login: tuple[str, str],
        tls: ssl.SSLContext | None,
        version: int = MQTTv50,
    ) -> None:
        """Connect and sign in; raise `ConnectionRefused`, or the network's error."""
        username, password = login
        if username:
            self._client.set_auth_credentials(username, password)
        connecting = asyncio.ensure_future(
            self._client.connect(host, port, tls, KEEPALIVE_S, version)
        )
        going = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait({connecting, going}, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise ConnectionResetError("closed before it answered")
            connecting.result()
            self._read_in_turns()
        except MQTTConnectError as error:
            raise ConnectionRefused(error._code) from error
        finally:
            connecting.cancel()
            going.cancel()

    def _read_in_turns(self) -> None:
        """Read in small pieces with pauses: one read of the library can contain 64 KB of commands.

        The rest waits in the buffers and, when those are full, at the broker.
        """
        protocol = self._client._connection._protocol
        read, turns = protocol.read, self._turns
        began: float | None = None

        async def read_some(size: int) -> bytes:
            nonlocal began
            if began is not None:
                turns.end(began)
            # While more data is buffered, the library itself would never yield to the event loop.
            await asyncio.sleep(0)
            taken: bytes = await read(min(size, READ_BYTES))
            began = await turns.begin()
            return taken

        protocol.read = read_some

    @property
    def local_address(self) -> str | None:
        name = self._client._connection._transport.get_extra_info("sockname")
        return str(name[0]) if name else None

    @property
    def unacknowledged(self) -> int:
        return self._unacknowledged.count + len(self._held)

    def subscribe(self, topic: str) -> None:
        self._client.subscribe(topic, qos=1)

    def publish(self, topic: str, payload: str | bytes, retain: bool) -> "asyncio.Future[bool]":
        """Publish with QoS 1; the result is True if the broker confirms, otherwise False."""
        publish = Publish(topic, payload, retain, asyncio.get_running_loop().create_future())
        self._held.append(publish)
        self._send_held()
        return publish.taken

    def _send_held(self) -> None:
        while self._held:
            self._unacknowledged.sending = publish = self._held[0]
            try:
                self._client.publish(publish.topic, publish.payload, qos=1, retain=publish.retain)
            except OverflowError:
                return  # an acknowledgement calls this function again
            self._held.popleft()

    def _on_acknowledgement(self, command: int, packet: bytes) -> None:
        self._unacknowledged.reason = packet[2] if len(packet) > 2 else 0
        self._free(command, packet)

    def _on_answered(self, topic: str, reason: int) -> None:
        self._send_held()
        self._on_answer(topic, reason)

    def cut(self) -> None:
        """End the connection without a farewell, so that the broker publishes the will."""
        self._client._connection._transport.abort()

    async def close(self) -> None:
        self._lose_all()
        with contextlib.suppress(OSError):
            await self._client.disconnect()

    def _on_packet(
        self, client: object, topic: str, payload: bytes, qos: int, properties: dict[str, object]
    ) -> None:
        # A retained message is old: a command in it would run again at every connection.
        if not properties.get("retain"):
            self._on_message(topic, bytes(payload))

    def _on_disconnect(self, client: object, packet: object, *rest: object) -> None:
        self.lost.set()
        self._lose_all()

    def _lose_all(self) -> None:
        self._unacknowledged.lose_all()
        while self._held:
            self._held.popleft().lose()
