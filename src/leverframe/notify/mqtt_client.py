"""One connection to an MQTT broker, by gmqtt; loaded only when a broker is set up.

The library would connect again by itself and keep messages in memory meanwhile; here a connection
is used once, and the link makes the next one. What was published and not acknowledged when the
connection was lost is reported as lost: the outbox keeps messages, and states are published anew.
"""

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable

import gmqtt  # type: ignore[import-untyped]
from gmqtt.mqtt.constants import MQTTv311  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]
from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]

# We report in sentences whatever the library would log.
logging.getLogger("gmqtt").setLevel(logging.CRITICAL)

KEEPALIVE_S = 30
#: Codes of MQTT 3.1.1 with which a broker refuses a connection.
REFUSED_LOGIN = (4, 5)


class ConnectionRefused(Exception):
    """The broker answered and refused the connection, with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Unacknowledged(PersistentStorage):  # type: ignore[misc]
    """Publishes that the broker has not acknowledged, as futures; none is ever sent again.

    The library's own storage stays empty, so it has nothing to send on another connection.
    """

    def __init__(self, on_acknowledged: Callable[[], None]) -> None:
        super().__init__()
        self._on_acknowledged = on_acknowledged
        self._waiting: dict[int, asyncio.Future[bool]] = {}
        self.newest: asyncio.Future[bool] | None = None

    @property
    def count(self) -> int:
        return len(self._waiting)

    def push_message(self, mid: int, raw_package: bytes) -> None:
        self.newest = asyncio.get_running_loop().create_future()
        self._waiting[mid] = self.newest

    def remove_message_by_mid(self, mid: int) -> None:
        future = self._waiting.pop(mid, None)
        if future is not None and not future.done():
            future.set_result(True)
            self._on_acknowledged()

    def lose_all(self) -> None:
        """Resolve all that wait for an acknowledgement as unacknowledged."""
        for future in self._waiting.values():
            if not future.done():
                future.set_result(False)
        self._waiting.clear()


class _SingleUse(gmqtt.Client):  # type: ignore[misc]
    async def reconnect(self, delay: bool = False) -> None:
        """Do nothing: the link makes a new connection."""


class BrokerConnection:
    def __init__(
        self,
        client_id: str,
        will: tuple[str, str],
        on_message: Callable[[str, bytes], None],
        on_acknowledged: Callable[[], None],
    ) -> None:
        #: Set when the connection is gone.
        self.lost = asyncio.Event()
        self.unacknowledged = Unacknowledged(on_acknowledged)
        self._on_message = on_message
        topic, text = will
        self._client = _SingleUse(
            client_id,
            will_message=gmqtt.Message(topic, text, qos=1, retain=True),
            persistent_storage=self.unacknowledged,
        )
        self._client.on_message = self._received
        self._client.on_disconnect = self._disconnected

    async def open(
        self, host: str, port: int, login: tuple[str, str], tls: ssl.SSLContext | None
    ) -> None:
        """Connect and sign in; raises `ConnectionRefused` or what the network raises."""
        username, password = login
        if username:
            self._client.set_auth_credentials(username, password)
        connecting = asyncio.ensure_future(
            self._client.connect(host, port, tls or False, KEEPALIVE_S, MQTTv311)
        )
        going = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait({connecting, going}, return_when=asyncio.FIRST_COMPLETED)
            if not connecting.done():
                raise ConnectionResetError("closed before it answered")
            connecting.result()
        except MQTTConnectError as error:
            raise ConnectionRefused(error._code) from error
        finally:
            connecting.cancel()
            going.cancel()

    @property
    def local_address(self) -> str | None:
        name = self._client._connection._transport.get_extra_info("sockname")
        return str(name[0]) if name else None

    def subscribe(self, topic: str) -> None:
        self._client.subscribe(topic, qos=1)

    def publish(self, topic: str, payload: str | bytes, retain: bool) -> "asyncio.Future[bool]":
        """Send with QoS 1; the result is True when the broker has it, False when it was lost."""
        self._client.publish(topic, payload, qos=1, retain=retain)
        newest = self.unacknowledged.newest
        assert newest is not None
        return newest

    async def close(self) -> None:
        self.unacknowledged.lose_all()
        with contextlib.suppress(OSError):
            await self._client.disconnect()

    def _received(
        self, client: object, topic: str, payload: bytes, qos: int, properties: dict[str, object]
    ) -> None:
        # A retained message is an old one: a command in it would run again at every connection.
        if not properties.get("retain"):
            self._on_message(topic, bytes(payload))

    def _disconnected(self, client: object, packet: object, *rest: object) -> None:
        self.lost.set()
        self.unacknowledged.lose_all()
