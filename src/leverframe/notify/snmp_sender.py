"""The sender of SNMP traps by pysnmp; made and used in one thread, beside the event loop.

The library reads and compiles its own files before the first trap to somebody, which takes longer
than a relay may wait. Loaded with the first trap only, by `snmp.py`.
"""

import asyncio
from collections.abc import Mapping

from pysnmp.error import PySnmpError  # type: ignore[import-untyped]
from pysnmp.hlapi.v3arch import asyncio as snmp_api  # type: ignore[import-untyped]
from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)
from pysnmp.smi.rfc1902 import ObjectIdentity, ObjectType  # type: ignore[import-untyped]

from leverframe.engine.settings import Snmp
from leverframe.notify.channel import CannotSend
from leverframe.notify.snmp_engine import (
    V3_AUTHENTICATION,
    V3_PRIVACY,
    has_v3,
    make_engine,
)
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.wire.snmp_tree import Oid

_UPTIME: Oid = (1, 3, 6, 1, 2, 1, 1, 3, 0)
_TRAP_NAME: Oid = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)
SEND_S = 10.0
TURNS_TO_LEAVE = 1000


class TrapSender:
    def __init__(self, identity: EngineIdentity) -> None:
        self._runner = asyncio.Runner()
        self._engine = make_engine(identity)

    def send(self, snmp: Snmp, kind: Oid, uptime_ticks: int, fields: Mapping[Oid, str]) -> None:
        values = {
            _UPTIME: TimeTicks(uptime_ticks),
            _TRAP_NAME: ObjectIdentifier(kind),
            **{oid: OctetString(text.encode()) for oid, text in fields.items()},
        }
        contents = [ObjectType(ObjectIdentity(oid), value) for oid, value in values.items()]
        place = f"{snmp.trap.host}:{snmp.trap.port}"
        try:
            problem = self._runner.run(self._sent(snmp, contents))
        except (PySnmpError, OSError) as error:
            raise CannotSend(
                f"The trap cannot be sent to {place}; check the host and the keys."
            ) from error
        if problem:
            raise CannotSend(f"The trap cannot be sent: {problem}.")

    async def _sent(self, snmp: Snmp, contents: list[ObjectType]) -> object:
        """Send a trap and return what the library has to say against it."""
        async with asyncio.timeout(SEND_S):
            target = await snmp_api.UdpTransportTarget.create((snmp.trap.host, snmp.trap.port))
            problem, *_ = await snmp_api.send_notification(
                self._engine, _credentials(snmp), target, snmp_api.ContextData(), "trap", *contents
            )
            # It waits in a queue until there is a socket, a few turns of the loop later.
            carrier = self._engine.transport_dispatcher.get_transport(target.TRANSPORT_DOMAIN)
            # Traps get no answer: what comes to this port nevertheless is not read.
            carrier.datagram_received = _ignore
            for _ in range(TURNS_TO_LEAVE):
                if carrier.transport is not None:
                    return problem
                await asyncio.sleep(0.001)
        return "there is no socket for it"

    def close(self) -> None:
        self._runner.run(self._let_go())
        self._runner.close()

    async def _let_go(self) -> None:
        self._engine.close_dispatcher()


def _ignore(_datagram: bytes, _address: object) -> None:
    pass


def _credentials(snmp: Snmp) -> object:
    if snmp.trap.community:
        return snmp_api.CommunityData("trap", snmp.trap.community.encode(), mpModel=1)
    if not has_v3(snmp):
        raise CannotSend(
            "Traps need a community (snmptrap=...) or an SNMPv3 user with both keys (snmpv3=...)."
        )
    return snmp_api.UsmUserData(
        snmp.user,
        snmp.authentication_key.encode(),
        snmp.privacy_key.encode(),
        authProtocol=V3_AUTHENTICATION,
        privProtocol=V3_PRIVACY,
    )
