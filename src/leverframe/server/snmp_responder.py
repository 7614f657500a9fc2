"""The gate in front of the SNMP library: it drops invalid, misdirected and excessive datagrams.

The library parses a whole message before it checks who sent it, and logs a trace for bytes that are
not a message. The gate first checks the size, the form and the name of the sender, and gives each
source a part of the event loop's time. An accepted request then waits for the controller's turn
among the controllers of the process. Addresses can be forged, so all sources together have a limit,
too; discovery of engines (SNMPv3), which needs no credentials, has its own small limit. Dropped
datagrams get no answer. Agents of one process share the library, so messages for another agent's
engine are dropped, too: a user there may have the same name.
"""

import asyncio
import logging
import socket
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Iterable
from contextlib import ExitStack
from functools import partial
from typing import Any, NamedTuple

from pysnmp.carrier.asyncio.dgram import udp, udp6  # type: ignore[import-untyped]
from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
    Integer32,
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)
from pysnmp.proto.rfc1905 import endOfMibView, noSuchObject  # type: ignore[import-untyped]
from pysnmp.smi import error, instrum  # type: ignore[import-untyped]

from leverframe import __version__
from leverframe.core.engine.journal import Cause
from leverframe.core.runtime.event_loop import LoopTurns
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.settings import Snmp
from leverframe.devices.wire.snmp import (
    ENTERPRISE,
    SYSTEM,
    V3,
    NotSnmp,
    Oid,
    Opening,
    objects_of,
    read_opening,
    ticks,
    whole,
)
from leverframe.host.controller import Command, Controller
from leverframe.host.controller.hooks import ControllerElsewhere
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.refusals import NotAllowed, Refusal
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.notify.snmp_sender import has_v3
from leverframe.server.fair_shares import source_of
from leverframe.server.shared_ports import SNMP_AGENT, DatagramEndpoint
from leverframe.server.snmp_engine import AgentEngine

log = logging.getLogger(__name__)

#: Maximum number of sources that are remembered; those silent the longest are dropped first.
MAX_SOURCES = 256
#: Larger than a request for all values.
MAX_DATAGRAM_BYTES = 2048
#: On a slow board, answering a manager that walks the whole tree takes this long.
BURST_S = 4.0
#: Maximum number of datagrams that wait for the controller's turn; managers repeat dropped ones.
MAX_WAITING = 64


class TimeBudget:
    """The event loop's time that strangers may use per second: a limit per source and in total.

    A source that has used up its time is ignored until some time has passed. Bursts are allowed.
    The cost of a piece of work is known only afterwards, so the last piece may exceed the budget.
    """

    def __init__(
        self, now: Callable[[], float], *, part: float, all_part: float, burst_s: float
    ) -> None:
        """Allow `part` of the time for each source, `all_part` for all together, and bursts."""
        self._now = now
        self._part, self._all_part, self._burst_s = part, all_part, burst_s
        #: When each source will have paid off the time that it has used, at its allowed part of the
        #: time.
        self._paid_until: OrderedDict[str, float] = OrderedDict()
        self._all_paid_until = 0.0

    def allows(self, source: str) -> bool:
        now = self._now()
        paid_until = self._paid_until.get(source, now)
        return (
            paid_until - now <= self._burst_s / self._part
            and self._all_paid_until - now <= self._burst_s / self._all_part
        )

    def charge(self, source: str, seconds: float) -> None:
        now = self._now()
        paid_until = max(now, self._paid_until.get(source, now))
        self._paid_until[source] = paid_until + seconds / self._part
        self._paid_until.move_to_end(source)
        if len(self._paid_until) > MAX_SOURCES:
            self._paid_until.popitem(last=False)
        self._all_paid_until = max(now, self._all_paid_until) + seconds / self._all_part


class AdmittedDatagram(NamedTuple):
    """A datagram that the gate accepts."""

    source: str
    budget: TimeBudget
    handle: Callable[[], object]


class SnmpGate:
    def __init__(
        self,
        snmp: Snmp,
        turns: LoopTurns,
        monotonic: Callable[[], float] = time.monotonic,
        worked: Callable[[], float] = time.thread_time,
        is_for_another: Callable[[bytes], bool] = lambda engine_id: False,
    ) -> None:
        """Measure costs by `worked`, so that a manager is not charged for a busy machine."""
        self._turns = turns
        self._waiting: set[asyncio.Task[None]] = set()
        self._is_for_another = is_for_another
        names = (snmp.read_community, snmp.write_community)
        self._communities = {name.encode() for name in names if name}
        self._user = snmp.user.encode() if has_v3(snmp) else None
        self._needs_privacy = snmp.is_private
        self._worked = worked
        self._warn = LogThrottle(log, monotonic).warning
        self._asking = TimeBudget(monotonic, part=0.25, all_part=0.5, burst_s=BURST_S)
        self._discovering = TimeBudget(monotonic, part=0.05, all_part=0.1, burst_s=0.2)

    def handle(self, datagram: bytes, peer: str, handle: Callable[[], object]) -> None:
        """Handle a datagram; drop it if it does not belong here or its source has used up its time.

        A source causes at most one log line a minute for each reason.
        """
        source = source_of(peer)
        try:
            opening = self._opening(datagram)
        except NotSnmp as error:
            self._drop(source, "form", f"it is not an accepted request ({error})")
            return
        if not self._is_known(opening):
            who = "user, or not private," if opening.version == V3 else "community"
            self._drop(source, "name", f"its {who} is unknown")
            return
        if opening.engine_id and self._is_for_another(opening.engine_id):
            self._drop(source, "engine", "it is for the engine of another controller")
            return
        budget = self._discovering if opening.is_discovery else self._asking
        if not budget.allows(source):
            self._drop(source, "budget", "its source sends too many requests")
            return
        if len(self._waiting) >= MAX_WAITING:
            self._drop(source, "waiting", f"{MAX_WAITING} requests are already waiting")
            return
        answer = self._turns.answer(AdmittedDatagram(source, budget, handle), self._handle)
        if isinstance(answer, Coroutine):
            waiting = asyncio.get_running_loop().create_task(answer)
            self._waiting.add(waiting)
            waiting.add_done_callback(self._waiting.discard)

    def close(self) -> None:
        """Discard datagrams that still wait for their turn."""
        for waiting in tuple(self._waiting):
            waiting.cancel()

    def _handle(self, datagram: AdmittedDatagram) -> None:
        begun = self._worked()
        try:
            datagram.handle()
        except Exception as error:
            self._drop(datagram.source, "fault", f"it cannot be read ({type(error).__name__})")
        datagram.budget.charge(datagram.source, self._worked() - begun)

    def _opening(self, datagram: bytes) -> Opening:
        if len(datagram) > MAX_DATAGRAM_BYTES:
            raise NotSnmp(f"more than {MAX_DATAGRAM_BYTES} bytes")
        return read_opening(datagram)

    def _is_known(self, opening: Opening) -> bool:
        if opening.version != V3:
            return opening.name in self._communities
        if self._user is None:
            return False
        secured = opening.is_secured if self._needs_privacy else opening.is_authenticated
        return opening.is_discovery or (secured and opening.name == self._user)

    def _drop(self, source: str, kind: str, why: str) -> None:
        self._warn(source, kind, "%s: a datagram from %s is dropped: %s", SNMP_AGENT, source, why)


# The responder to SNMP requests of one controller: its port, its gate and its values.
#
# All agents share the engine. This module is imported only when an agent is enabled, because the
# library is large.

#: The value for the application layer (RFC 3418).
_SERVICES = 72
_V1, _V2C, _V3 = 1, 2, 3
_NO_SECURITY, _AUTHENTICATED, _AUTHENTICATED_AND_PRIVATE = 1, 2, 3
_TURNS_TO_CLOSE = 100
#: Security model, name and level -> whether it may also write.
Rights = dict[tuple[int, str, int], bool]


class GatedTransport:
    """A transport of the library that passes on only the datagrams that the gate accepts."""

    _callback_function: Callable[[object, object, bytes], object]

    def __init__(self, controller: Controller, gate: SnmpGate, speak: Callable[[], None]) -> None:
        super().__init__()
        self._controller = controller
        self._gate = gate
        self._speak = speak

    def datagram_received(self, datagram: bytes, address: tuple[Any, ...]) -> None:
        if self._controller.has_power:
            handle = partial(self._handle, datagram, address)
            self._gate.handle(datagram, str(address[0]), handle)

    def _handle(self, datagram: bytes, address: tuple[Any, ...]) -> None:
        """Answer immediately, not in the loop's next turn.

        This way the time and the errors of the answer are known, and no other agent answers in
        between.
        """
        self._speak()
        self._callback_function(self, address, datagram)


class GatedUdp(GatedTransport, udp.UdpAsyncioTransport):  # type: ignore[misc]
    pass


class GatedUdp6(GatedTransport, udp6.Udp6AsyncioTransport):  # type: ignore[misc]
    pass


class Responder:
    def __init__(
        self,
        engine: AgentEngine,
        controller: Controller,
        snmp: Snmp,
        *,
        name: str,
        identity: EngineIdentity,
        turns: LoopTurns,
    ) -> None:
        """Register the communities and users; the keys of users must have been computed."""
        self.port: int | None = None
        self._listener: socket.socket | None = None
        self._controller = controller
        self._engine = engine
        self._snmp = snmp
        self._identity = identity
        self._gate = SnmpGate(snmp, turns, is_for_another=partial(engine.is_for_another, identity))
        self._until_closed = ExitStack()
        with ExitStack() as until:
            self._values = Values(controller, name, self._admit(until))
            self._until_closed = until.pop_all()

    def _admit(self, until: ExitStack) -> "Rights":
        """Register communities and users with the SNMP engine; return their rights."""
        rights: Rights = {}
        snmp = self._snmp
        writing = {snmp.read_community: False} | {snmp.write_community: True}
        for community, may_write in writing.items():
            if community:
                who = self._engine.admit_community(community, until)
                rights |= {(model, who, _NO_SECURITY): may_write for model in (_V1, _V2C)}
        if has_v3(snmp):
            self._engine.admit_user(self._identity, snmp, until)
            level = _AUTHENTICATED_AND_PRIVATE if snmp.is_private else _AUTHENTICATED
            rights[_V3, snmp.user, level] = True
        return rights

    def listen(self, listener: socket.socket | DatagramEndpoint) -> None:
        is_v6 = isinstance(listener, socket.socket) and listener.family == socket.AF_INET6
        kind = GatedUdp6 if is_v6 else GatedUdp
        speak = partial(self._engine.speak_for, self._identity, self._values)
        transport = kind(self._controller, self._gate, speak)
        if isinstance(listener, socket.socket):
            transport.open_server_mode(sock=listener)
            self._listener = listener
            self.port = listener.getsockname()[1]
        else:
            transport.connection_made(listener)
            listener.serve(transport.datagram_received)
            self.port = listener.port
        self._engine.open(transport, self._until_closed)

    async def close(self) -> None:
        self._gate.close()
        self._until_closed.close()
        if self._listener is None:
            return
        # The loop closes the socket a few turns later; until then the port is in use. If the loop
        # had not begun to read from the socket, it never closes it.
        for _ in range(_TURNS_TO_CLOSE):
            if self._listener.fileno() < 0:
                return
            await asyncio.sleep(0)
        self._listener.close()


class Values(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """The tree of values in the form that the library reads."""

    def __init__(self, controller: Controller, name: str, rights: Rights) -> None:
        self._controller = controller
        self._name = name
        self._rights = rights
        self._objects = objects_of(controller.profile)
        self._oids = sorted([*self._objects, *((*SYSTEM, number, 0) for number in range(1, 8))])

    def read_variables(self, *asked: Any, **around: Any) -> list[Any]:
        self._may_write(around)
        return [(oid, self._value(tuple(oid))) for oid, _ in asked]

    def read_next_variables(self, *asked: Any, **around: Any) -> list[Any]:
        self._may_write(around)
        return [self._read_after(oid) for oid, _ in asked]

    def write_variables(self, *asked: Any, **around: Any) -> list[Any]:
        if not self._may_write(around):
            raise error.NoAccessError(idx=0)
        commands: list[Command] = []
        for index, (oid, value) in enumerate(asked):
            commands += self._commands(index, oid, value)
        try:
            self._perform(commands, around)
        except NotAllowed as refusal:
            raise error.AuthorizationError(idx=0) from refusal
        except ControllerElsewhere as refusal:
            raise error.ResourceUnavailableError(idx=0) from refusal
        except Refusal as refusal:
            raise error.InconsistentValueError(idx=0) from refusal
        return list(asked)

    def _may_write(self, around: Any) -> bool:
        """Return whether the requester may also write; refuse one that may not even read."""
        asker = _asker(around)
        who = (
            int(asker["securityModel"]),
            str(asker["securityName"]),
            int(asker["securityLevel"]),
        )
        if who not in self._rights:
            raise error.AuthorizationError(idx=0)
        return self._rights[who]

    def _read_after(self, oid: Any) -> tuple[Any, Any]:
        place = bisect_right(self._oids, tuple(oid))
        if place == len(self._oids):
            return oid, endOfMibView
        following = self._oids[place]
        return ObjectIdentifier(following), self._value(following)

    def _value(self, oid: Oid) -> Any:
        scalar = self._objects.get(oid)
        if scalar is not None:
            return Integer32(whole(scalar, self._controller.engine.values[scalar.label]))
        return self._system().get(oid, noSuchObject)

    def _system(self) -> dict[Oid, Any]:
        controller = self._controller
        uptime_s = controller.engine.uptime(controller.clock.read())
        about = f"Leverframe {__version__}, networked relay controller, {controller.profile}"
        values: Iterable[Any] = (
            OctetString(about.encode()),
            ObjectIdentifier(ENTERPRISE),
            TimeTicks(ticks(uptime_s)),
            OctetString(b""),
            OctetString(controller.name_or(self._name).encode()),
            OctetString(b""),
            Integer32(_SERVICES),
        )
        return {(*SYSTEM, number, 0): value for number, value in enumerate(values, start=1)}

    def _commands(self, index: int, oid: Any, value: Any) -> list[Command]:
        """Return the commands for one variable of a SET."""
        scalar = self._objects.get(tuple(oid))
        if scalar is None or scalar.command is None:
            raise error.NotWritableError(idx=index)
        if not isinstance(value, Integer32):
            raise error.WrongTypeError(idx=index)
        if int(value) not in (0, 1):
            raise error.WrongValueError(idx=index)
        try:
            calls = calls_in(f"{scalar.command}={int(value)}", self._controller.profile)
        except Refusal as refusal:
            # An older version has no command for it.
            raise error.NotWritableError(idx=index) from refusal
        return [(call, None) for call in calls]

    def _perform(self, commands: list[Command], around: Any) -> None:
        if self._controller.bootloader_until is not None:
            raise error.ResourceUnavailableError(idx=0)
        peer = str(_asker(around)["transportAddress"][0])
        cause = Cause("command", f"SNMP from {peer}", source=peer)
        self._controller.submit(commands, cause)


def _asker(around: Any) -> Any:
    """Return the sender of the current request, as the SNMP engine identified it."""
    engine = around["snmpEngine"]
    return engine.observer.get_execution_context("rfc3412.receiveMessage:request")
