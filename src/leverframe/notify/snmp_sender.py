"""The sender of SNMP traps by pysnmp; made and used in one thread, beside the event loop.

The library reads and compiles its own files before the first trap to somebody, which takes longer
than a relay may wait. Loaded with the first trap only, by `snmp.py`.
"""

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp  # type: ignore[import-untyped]
from pysnmp.error import PySnmpError  # type: ignore[import-untyped]
from pysnmp.hlapi.v3arch import asyncio as snmp_api  # type: ignore[import-untyped]
from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)
from pysnmp.smi.rfc1902 import ObjectIdentity, ObjectType  # type: ignore[import-untyped]

from leverframe.engine.settings import Snmp, SnmpTrap
from leverframe.notify.channel import CannotSend
from leverframe.notify.snmp_engine import (
    has_v3,
    make_engine,
    v3_keys,
)
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.wire.snmp_tree import Oid

log = logging.getLogger(__name__)

_UPTIME: Oid = (1, 3, 6, 1, 2, 1, 1, 3, 0)
_TRAP_NAME: Oid = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)
SEND_S = 10.0
#: How long an inform waits for its answer before it is repeated, twice.
ANSWER_S = 2.0
TURNS_TO_LEAVE = 1000


class AnswersOnly(udp.UdpAsyncioTransport):  # type: ignore[misc]
    """A transport that reads what the receiver of an inform answers, and nothing else."""

    #: Where an answer may come from; traps get none.
    expected: tuple[str, int] | None = None

    def datagram_received(self, datagram: bytes, address: tuple[Any, ...]) -> None:
        if address[:2] != self.expected:
            return
        try:
            self._callback_function(self, address, datagram)
        except Exception as error:
            # Told as not acknowledged, once its time is over.
            log.debug("an answer to an inform cannot be read (%s)", type(error).__name__)


class Target(snmp_api.UdpTransportTarget):  # type: ignore[misc]
    PROTO_TRANSPORT = AnswersOnly


class TrapSender:
    def __init__(self, identity: EngineIdentity) -> None:
        self._runner = asyncio.Runner()
        self._engine = make_engine(identity)

    def send(
        self,
        snmp: Snmp,
        trap: SnmpTrap,
        kind: Oid,
        uptime_ticks: int,
        fields: Mapping[Oid, str],
    ) -> None:
        """Send a trap; or an inform, until it is acknowledged."""
        values = {
            _UPTIME: TimeTicks(uptime_ticks),
            _TRAP_NAME: ObjectIdentifier(kind),
            **{oid: OctetString(text.encode()) for oid, text in fields.items()},
        }
        contents = [ObjectType(ObjectIdentity(oid), value) for oid, value in values.items()]
        place = f"{trap.host}:{trap.port}"
        try:
            problem = self._runner.run(self._sent(snmp, trap, contents))
        except TimeoutError:
            problem = f"no answer within {SEND_S:g} s"
        except (PySnmpError, OSError) as error:
            raise CannotSend(
                f"The trap cannot be sent to {place}; check the host and the keys."
            ) from error
        if problem and trap.inform:
            raise CannotSend(
                f"{place} did not acknowledge the inform ({problem}); check that it listens, and "
                "that it knows the community or the SNMPv3 user."
            )
        if problem:
            raise CannotSend(f"The trap cannot be sent: {problem}.")

    async def _sent(self, snmp: Snmp, trap: SnmpTrap, contents: list[ObjectType]) -> object:
        """Send a trap and return what the library has to say against it."""
        async with asyncio.timeout(SEND_S):
            target = await Target.create((trap.host, trap.port), timeout=ANSWER_S, retries=2)
            credentials, around = _credentials(snmp, trap), snmp_api.ContextData()
            kind = "inform" if trap.inform else "trap"
            sending = asyncio.create_task(
                snmp_api.send_notification(
                    self._engine, credentials, target, around, kind, *contents
                )
            )
            await asyncio.sleep(0)
            if sending.done():
                # Refused by the library; there need not be a transport.
                sending.result()
            carrier = self._engine.transport_dispatcher.get_transport(target.TRANSPORT_DOMAIN)
            carrier.expected = target.transport_address[:2] if trap.inform else None
            problem, status, *_ = await sending
            if trap.inform:
                return problem or status
            # It waits in a queue until there is a socket, a few turns of the loop later.
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


def _credentials(snmp: Snmp, trap: SnmpTrap) -> object:
    if trap.community:
        return snmp_api.CommunityData("trap", trap.community.encode(), mpModel=1)
    if not has_v3(snmp):
        raise CannotSend(
            "Traps need a community (snmptrap=...) or an SNMPv3 user with its keys (snmpv3=...)."
        )
    authentication, authentication_key, privacy, privacy_key = v3_keys(snmp)
    return snmp_api.UsmUserData(
        snmp.user,
        authentication_key,
        privacy_key,
        authProtocol=authentication,
        privProtocol=privacy,
    )
