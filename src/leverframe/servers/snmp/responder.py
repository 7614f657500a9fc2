"""The responder to SNMP requests: pysnmp's engine in front of the controller's values.

Loaded only when the agent is switched on, because the library is large.
"""

import asyncio
import logging
import socket
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp, udp6  # type: ignore[import-untyped]
from pysnmp.entity import config  # type: ignore[import-untyped]
from pysnmp.entity.rfc3413 import cmdrsp, context  # type: ignore[import-untyped]
from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
    Integer32,
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)
from pysnmp.proto.rfc1905 import endOfMibView, noSuchObject  # type: ignore[import-untyped]
from pysnmp.smi import error, instrum  # type: ignore[import-untyped]

from leverframe import __version__
from leverframe.commands.table.pathless import calls_in
from leverframe.commands.table.refusals import NotAllowed, Refusal
from leverframe.controller import Command, Controller
from leverframe.engine.journal import Cause
from leverframe.engine.settings import Snmp
from leverframe.notify.snmp_engine import (
    has_v3,
    make_engine,
    v3_keys,
)
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.servers.snmp.datagram_place import DatagramEndpoint
from leverframe.servers.snmp.gate import SnmpGate
from leverframe.wire.snmp_tree import ENTERPRISE, Oid, objects_of, ticks, whole

log = logging.getLogger(__name__)

_SYSTEM: Oid = (1, 3, 6, 1, 2, 1, 1)
#: Applications (RFC 3418).
_SERVICES = 72
_V1, _V2C, _V3 = 1, 2, 3
_NO_SECURITY, _AUTHENTICATED, _AUTHENTICATED_AND_PRIVATE = 1, 2, 3
_TURNS_TO_CLOSE = 100
#: Security model, name and level -> may write, too.
Rights = dict[tuple[int, str, int], bool]


class GatedTransport:
    """A transport of the library that hands over only what the gate lets through."""

    _callback_function: Callable[[object, object, bytes], object]

    def __init__(self, controller: Controller, gate: SnmpGate) -> None:
        super().__init__()
        self._controller = controller
        self._gate = gate

    def datagram_received(self, datagram: bytes, address: tuple[Any, ...]) -> None:
        if not self._controller.has_power:
            return
        # At once instead of in the loop's next turn, so that its time and its faults are known.
        handle = partial(self._callback_function, self, address, datagram)
        self._gate.handle(datagram, str(address[0]), handle)


class GatedUdp(GatedTransport, udp.UdpAsyncioTransport):  # type: ignore[misc]
    pass


class GatedUdp6(GatedTransport, udp6.Udp6AsyncioTransport):  # type: ignore[misc]
    pass


class Responder:
    def __init__(
        self, controller: Controller, snmp: Snmp, *, name: str, identity: EngineIdentity
    ) -> None:
        self.port: int | None = None
        self._listener: socket.socket | None = None
        self._controller = controller
        self._gate = SnmpGate(snmp)
        self._engine = make_engine(identity)
        served = context.SnmpContext(self._engine)
        served.unregister_context_name(b"")
        served.register_context_name(b"", Values(controller, name, self._admit(snmp)))
        for kind in (
            cmdrsp.GetCommandResponder,
            cmdrsp.NextCommandResponder,
            cmdrsp.BulkCommandResponder,
            cmdrsp.SetCommandResponder,
        ):
            kind(self._engine, served)

    def _admit(self, snmp: Snmp) -> "Rights":
        """Register communities and users with the SNMP engine; return their rights."""
        rights: Rights = {}
        writing = {snmp.read_community: False} | {snmp.write_community: True}
        for number, (community, may_write) in enumerate(writing.items()):
            if community:
                who = f"community {number}"
                config.add_v1_system(self._engine, who, community.encode())
                rights |= {(model, who, _NO_SECURITY): may_write for model in (_V1, _V2C)}
        if has_v3(snmp):
            config.add_v3_user(
                self._engine,
                snmp.user,
                *v3_keys(snmp),
            )
            level = _AUTHENTICATED_AND_PRIVATE if snmp.is_private else _AUTHENTICATED
            rights[_V3, snmp.user, level] = True
        return rights

    def listen(self, listener: socket.socket | DatagramEndpoint) -> None:
        if not isinstance(listener, socket.socket):
            shared = GatedUdp(self._controller, self._gate)
            shared.connection_made(listener)
            config.add_transport(self._engine, udp.DOMAIN_NAME, shared)
            listener.serve(shared.datagram_received)
            self.port = listener.port
            return
        is_v6 = listener.family == socket.AF_INET6
        kind = GatedUdp6 if is_v6 else GatedUdp
        transport = kind(self._controller, self._gate).open_server_mode(sock=listener)
        domain = (udp6 if is_v6 else udp).DOMAIN_NAME
        config.add_transport(self._engine, domain, transport)
        self._listener = listener
        self.port = listener.getsockname()[1]

    async def close(self) -> None:
        self._engine.close_dispatcher()
        if self._listener is None:
            return
        # The loop closes the socket a few turns later; until then the port is taken. It never does
        # if it had not begun to listen yet.
        for _ in range(_TURNS_TO_CLOSE):
            if self._listener.fileno() < 0:
                return
            await asyncio.sleep(0)
        self._listener.close()


class Values(instrum.AbstractMibInstrumController):  # type: ignore[misc]
    """The tree in the form that the library reads."""

    def __init__(self, controller: Controller, name: str, rights: Rights) -> None:
        self._controller = controller
        self._name = name
        self._rights = rights
        self._objects = objects_of(controller.profile)
        self._oids = sorted([*self._objects, *((*_SYSTEM, number, 0) for number in range(1, 8))])

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
        except Refusal as refusal:
            raise error.InconsistentValueError(idx=0) from refusal
        return list(asked)

    def _may_write(self, around: Any) -> bool:
        """Tell whether the requester may also set; refuse one that may not even read."""
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
            OctetString(
                (controller.engine.settings.name or controller.new_name or self._name).encode()
            ),
            OctetString(b""),
            Integer32(_SERVICES),
        )
        return {(*_SYSTEM, number, 0): value for number, value in enumerate(values, start=1)}

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
    """Return the sender of the present request, as the SNMP engine identified it."""
    engine = around["snmpEngine"]
    return engine.observer.get_execution_context("rfc3412.receiveMessage:request")
