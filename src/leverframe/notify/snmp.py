"""The channels of the action SNMP trap: v2c with the community, or v3 if there is no community.

Each receiver has a channel, so that a dead receiver delays no other. A trap contains the source,
its value, a sentence and the rule, then the identity of the controller, because many controllers
may send from one address. Receivers do not acknowledge traps, so a trap counts as sent when it has
left, and the outbox keeps only traps that could not be sent. An inform counts as sent when it is
acknowledged.
"""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from leverframe.core.engine.calls import Notify
from leverframe.core.runtime.installation import explain_missing_extra
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.core.settings import Snmp, SnmpTrap
from leverframe.devices.wire.snmp import (
    ACTIVATED,
    DEACTIVATED,
    RULE_FIELDS,
    SYS_NAME,
    TRAP_ADDRESS,
    Oid,
    TrapContent,
    ticks,
    trap_field,
)
from leverframe.notify.channel import CannotSend, ChannelLimits, Channels, Draft, Message, sentence
from leverframe.notify.snmp_identity import EngineIdentity

if TYPE_CHECKING:
    from leverframe.notify.snmp_sender import TrapSender


# The threads that send traps, and their senders; they exist only while there are traps to send.
#
# Creating a sender takes a tenth of a second and a megabyte of memory, so all controllers of the
# process share at most one per sending thread.

#: Number of threads; a receiver that does not acknowledge an inform blocks one for some seconds.
AT_A_TIME = 4


class TrapSenders:
    """Idle senders for threads; if none is idle, a new one is created."""

    def __init__(self) -> None:
        self._idle: list[TrapSender] = []
        self._lock = threading.Lock()
        self._is_closed = False

    @contextmanager
    def sender(self) -> Iterator["TrapSender"]:
        """Lend a sender to this thread."""
        # Imported here, because a process that sends no traps does not need it.
        try:
            from leverframe.notify.snmp_sender import TrapSender
        except ModuleNotFoundError as error:
            raise CannotSend(explain_missing_extra(error)) from None
        with self._lock:
            lent = self._idle.pop() if self._idle else None
        if lent is None:
            lent = TrapSender()
        try:
            yield lent
        finally:
            with self._lock:
                is_wanted = not self._is_closed
                if is_wanted:
                    self._idle.append(lent)
            if not is_wanted:
                lent.close()

    def close(self) -> None:
        """Close the idle senders now, and the others when they are returned."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for sender in idle:
            sender.close()


class TrapThreads:
    def __init__(self) -> None:
        self._executor: ThreadPoolExecutor | None = None
        self._senders = TrapSenders()
        self._users = 0

    def take(self) -> tuple[ThreadPoolExecutor, TrapSenders]:
        """Return threads and senders; they exist until `give_back` is called for every `take`."""
        if self._executor is None:
            self._executor = ThreadPoolExecutor(AT_A_TIME, "traps")
            self._senders = TrapSenders()
        self._users += 1
        return self._executor, self._senders

    def give_back(self, sending: Iterable[Future[Any]] = ()) -> Future[Any]:
        """End threads and senders that no controller uses any more; return a future.

        The future is done when they have ended, which waits for traps being sent: these cannot be
        cancelled.
        """
        assert self._executor is not None
        self._users -= 1
        if self._users > 0:
            return self._executor.submit(wait, tuple(sending))
        ending = self._executor.submit(self._end, self._senders, tuple(sending))
        self._executor.shutdown(wait=False)
        self._executor = None
        return ending

    def _end(self, senders: TrapSenders, sending: tuple[Future[Any], ...]) -> None:
        wait(sending)
        senders.close()


#: The name of the channel of each receiver.
CHANNELS = ("snmp", "snmp2", "snmp3", "snmp4")


class TrapOrigin(Struct, frozen=True):
    """The controller that sends a trap."""

    identity: EngineIdentity
    mac: str
    uptime_s: Callable[[], float] = lambda: 0.0
    name: Callable[[], str] = str
    #: Returns the address on which only this controller listens, if there is one.
    address: Callable[[], str | None] = lambda: None

    def fields(self) -> dict[Oid, str]:
        return {trap_field("mac"): self.mac, SYS_NAME: self.name()}


class SnmpTraps:
    limits = ChannelLimits(
        expires_s=3_600.0, max_waiting=1_000, per_s=20.0, burst=50, timeout_s=15.0
    )

    def __init__(
        self,
        origin: TrapOrigin,
        way_out: OutgoingChannel,
        receiver: int = 0,
        threads: TrapThreads | None = None,
    ) -> None:
        self._origin = origin
        self._way_out = way_out
        self._receiver = receiver
        self._threads = threads or TrapThreads()
        #: The shared threads and their senders while traps wait.
        self._taken: tuple[Executor, TrapSenders] | None = None
        self._sending: Future[None] | None = None
        self._ending: Future[Any] | None = None

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        receivers = {
            channel: trap
            for channel, trap in zip(CHANNELS, channels.snmp.receivers, strict=True)
            if trap.enabled and trap.host
        }
        if not receivers:
            raise CannotSend("SNMP traps have no receiver; set one with snmptrap=1*HOST*...")
        value = "" if effect.value is None else f"{effect.value:g}"
        word = "activated" if effect.active else "deactivated"
        fields = {
            "source": effect.label or "",
            "value": value,
            "text": effect.text or f"{effect.reason} {word}: {effect.label} {value}".rstrip(" :"),
            "reason": effect.reason,
        }
        return [
            Draft(f"{trap.host}:{trap.port}", fields, channel)
            for channel, trap in receivers.items()
        ]

    def configuration(self, channels: Channels) -> Snmp:
        return channels.snmp

    async def deliver(self, message: Message, channels: Channels) -> str:
        trap = channels.snmp.receivers[self._receiver]
        if not (trap.enabled and trap.host):
            raise CannotSend("This receiver has been switched off.", final=True)
        address = await self._address_of(trap)
        if self._taken is None:
            self._taken = self._threads.take()
        executor, senders = self._taken
        # Read the controller's present state here, because the thread must not access it.
        origin, fields = self._origin, self._fields(message)
        about = TrapContent(_kind(message), ticks(origin.uptime_s()), fields, origin.address())
        self._sending = executor.submit(self._send, senders, channels.snmp, address, about)
        await asyncio.wrap_future(self._sending)
        return "acknowledged" if trap.inform else "sent; traps are not acknowledged"

    async def _address_of(self, trap: SnmpTrap) -> str:
        """Resolve the address of a receiver; the library supports only IPv4."""
        try:
            found = await self._way_out.resolve(trap.host, trap.port, socket.SOCK_DGRAM)
        except ForbiddenTarget as error:
            raise CannotSend(str(error), final=True) from error
        except OSError as error:
            raise CannotSend(sentence(error, trap.host, trap.port)) from error
        by_version_4 = [address for address in found if ":" not in address]
        if not by_version_4:
            raise CannotSend(f"{trap.host} has no IPv4 address, which traps require.")
        return by_version_4[0]

    def _send(self, senders: TrapSenders, snmp: Snmp, address: str, content: TrapContent) -> None:
        """Send a trap to the address of its receiver; runs in a thread."""
        trap = snmp.receivers[self._receiver]
        with senders.sender() as sender:
            sender.send(self._origin.identity, snmp, trap, address, content)

    def _fields(self, message: Message) -> dict[Oid, str]:
        fields = {trap_field(name): str(message.content[name]) for name in RULE_FIELDS}
        return fields | self._origin.fields()

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        address = self._origin.address()
        fields = self._fields(message) | ({TRAP_ADDRESS: address} if address else {})
        return {
            "version": "2c" if channels.snmp.receivers[self._receiver].community else "3",
            "trap": _format_oid(_kind(message)),
            "variables": {_format_oid(oid): text for oid, text in fields.items()},
        }

    async def close(self) -> None:
        taken, self._taken = self._taken, None
        if taken is not None:
            sending = () if self._sending is None else (self._sending,)
            self._ending = self._threads.give_back(sending)
        if self._ending is not None:
            # Cancelling the caller must not cancel the release of the threads.
            await asyncio.shield(asyncio.wrap_future(self._ending))


def _kind(message: Message) -> Oid:
    return ACTIVATED if message.active else DEACTIVATED


def _format_oid(oid: Oid) -> str:
    return ".".join(map(str, oid))
