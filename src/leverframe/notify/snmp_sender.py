"""SNMP by pysnmp: engines for agents and traps, and the sender of traps."""

import asyncio
import logging
import socket
from functools import lru_cache
from ipaddress import ip_address
from typing import Any

from pysnmp.carrier.asyncio.dgram import udp  # type: ignore[import-untyped]
from pysnmp.entity import config, engine  # type: ignore[import-untyped]
from pysnmp.error import PySnmpError  # type: ignore[import-untyped]
from pysnmp.hlapi.v3arch import asyncio as snmp_api  # type: ignore[import-untyped]
from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
    IpAddress,
    ObjectIdentifier,
    OctetString,
    TimeTicks,
)
from pysnmp.smi.rfc1902 import ObjectIdentity, ObjectType  # type: ignore[import-untyped]

from leverframe.core.settings import Snmp, SnmpTrap
from leverframe.devices.wire.snmp import SYS_UPTIME, TRAP_ADDRESS, Oid, TrapContent
from leverframe.notify.channel import CannotSend
from leverframe.notify.snmp_identity import EngineIdentity

# An SNMP engine by pysnmp, for agents and for traps; loaded only if SNMP is set up.
#
# Creating an engine takes a tenth of a second and a megabyte, so a process has one for all of its
# agents and one for each thread that sends traps. The engine speaks for one controller at a time,
# but to managers each controller appears as an engine of its own. Creating an engine or deriving
# keys from passwords is so slow that it must happen in threads. SNMPv3 users authenticate with
# SHA-256 and encrypt with AES, unless the settings require only authentication.

V3_AUTHENTICATION = config.USM_AUTH_HMAC192_SHA256
#: By the setting `snmp.privacy`. SHA-256 produces keys as long as AES-256 needs, so the two methods
#: of lengthening shorter keys do not differ.
_V3_PRIVACY = {
    "none": config.USM_PRIV_NONE,
    "AES-128": config.USM_PRIV_CFB128_AES,
    "AES-256": config.USM_PRIV_CFB256_AES_BLUMENTHAL,
}
#: The type of the keys that `master_keys` returns.
KEY_TYPE = config.USM_KEY_TYPE_MASTER
_MAX_KEYS = 64
_MIB = "__SNMP-FRAMEWORK-MIB"


def has_v3(snmp: Snmp) -> bool:
    """Return whether there is a user with the keys that the chosen privacy needs."""
    has_privacy = bool(snmp.privacy_key) or not snmp.is_private
    return bool(snmp.user and snmp.authentication_key and has_privacy)


def master_keys(snmp: Snmp) -> tuple[Any, bytes, Any, bytes | None]:
    """Return protocol and key for authentication, then for privacy."""
    privacy = _V3_PRIVACY[snmp.privacy]
    privacy_key = _privacy_key(privacy, snmp.privacy_key) if snmp.is_private else None
    return V3_AUTHENTICATION, _authentication_key(snmp.authentication_key), privacy, privacy_key


@lru_cache(_MAX_KEYS)
def _authentication_key(password: str) -> bytes:
    """Derive a key from a password by hashing a megabyte; cached, because every trap needs it."""
    return bytes(config.AUTH_SERVICES[V3_AUTHENTICATION].hash_passphrase(password.encode()))


@lru_cache(_MAX_KEYS)
def _privacy_key(privacy: Any, password: str) -> bytes:
    service = config.PRIV_SERVICES[privacy]
    return bytes(service.hash_passphrase(V3_AUTHENTICATION, password.encode()))


class CommonEngine:
    """An engine of the library that speaks for one controller at a time."""

    def __init__(self) -> None:
        self.library = engine.SnmpEngine()
        symbols = self.library.get_mib_builder().import_symbols
        self._id, self._boots, running = symbols(
            _MIB, "snmpEngineID", "snmpEngineBoots", "snmpEngineTime"
        )
        #: The engine's own ID, which no manager knows.
        self.own_id = self._id.syntax
        self._identity: EngineIdentity | None = None
        running.syntax = self._time(type(running.syntax))

    def id_of(self, identity: EngineIdentity) -> Any:
        return self.own_id.clone(identity.engine_id)

    def speak_for(self, identity: EngineIdentity) -> None:
        """Switch to the identity of a controller."""
        # Set afterwards: an engine created with this identity would write to the temporary folder,
        # where other users could write, too.
        self._identity = identity
        self._id.syntax = self.library.snmpEngineID = self.id_of(identity)
        self._boots.syntax = self._boots.syntax.clone(identity.boots)

    def use_common_engine(self) -> None:
        """Switch to the engine of all communities; requests with a community name no engine."""
        self._identity = None
        self._id.syntax = self.library.snmpEngineID = self.own_id

    def _time(self, kind: Any) -> Any:
        """Return the object for the engine's time, which the library clones to read it.

        The library's own object counts wall time since the engine was created.
        """

        def time_s() -> int:
            return 0 if self._identity is None else self._identity.time_s()

        class EngineTime(kind):  # type: ignore[misc]
            def clone(self, *value: Any, **rest: Any) -> Any:
                return super().clone(*(value or (time_s(),)), **rest)

        return EngineTime(0)


# A sender of SNMP traps by pysnmp; used by one thread at a time, outside the event loop.
#
# Before the first trap to a receiver, the library reads and compiles its own files, which takes
# longer than a relay may wait. `snmp.py` loads this module only with the first trap. The sender
# serves any controller of the process, and separates the data of each: the engine that a receiver
# knows, its user and its keys.

log = logging.getLogger(__name__)

_TRAP_NAME: Oid = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)
SEND_S = 10.0
#: How long an inform waits for its answer before it is repeated, at most twice.
ANSWER_S = 2.0
TURNS_TO_LEAVE = 1000
#: The library stores its configured users and communities under this name.
_CONFIGURATOR = "CommandGeneratorLcdConfigurator"


class AnswersOnly(udp.UdpAsyncioTransport):  # type: ignore[misc]
    """A transport that accepts only answers from the receiver of an inform."""

    #: The source of the expected answer; traps get no answer.
    expected: tuple[str, int] | None = None

    def datagram_received(self, datagram: bytes, address: tuple[Any, ...]) -> None:
        if address[:2] != self.expected:
            return
        try:
            self._callback_function(self, address, datagram)
        except Exception as error:
            # The inform is reported as not acknowledged after its timeout.
            log.debug("an answer to an inform cannot be read (%s)", type(error).__name__)


class Target(snmp_api.UdpTransportTarget):  # type: ignore[misc]
    PROTO_TRANSPORT = AnswersOnly


class TrapSender:
    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._engine = CommonEngine()
        #: The library's names of communities, by community.
        self._communities: dict[str, str] = {}
        #: The user of the last inform of version 3.
        self._informer: snmp_api.UsmUserData | None = None

    def send(
        self,
        identity: EngineIdentity,
        snmp: Snmp,
        trap: SnmpTrap,
        address: str,
        content: TrapContent,
    ) -> None:
        """Send a trap to an address, or send an inform and wait for its acknowledgement."""
        place = f"{trap.host}:{trap.port}"
        try:
            sender = self._sender_of(identity, snmp, trap)
            problem = self._runner.run(self._send(sender, trap, address, content))
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

    async def _send(
        self, credentials: object, trap: SnmpTrap, address: str, content: TrapContent
    ) -> object:
        """Send a trap and return the library's error, if any."""
        async with asyncio.timeout(SEND_S):
            target = await Target.create((address, trap.port), timeout=ANSWER_S, retries=2)
            around, library = snmp_api.ContextData(), self._engine.library
            kind = "inform" if trap.inform else "trap"
            variables = _variables(content, target.transport_address)
            sending = asyncio.create_task(
                snmp_api.send_notification(library, credentials, target, around, kind, *variables)
            )
            await asyncio.sleep(0)
            if sending.done():
                # This raises the library's error; after an error there may be no transport.
                sending.result()
            carrier = library.transport_dispatcher.get_transport(target.TRANSPORT_DOMAIN)
            carrier.expected = target.transport_address[:2] if trap.inform else None
            problem, status, *_ = await sending
            if trap.inform:
                return problem or status
            # The trap waits in a queue until the socket exists, a few rounds of the loop later.
            for _ in range(TURNS_TO_LEAVE):
                if carrier.transport is not None:
                    return problem
                await asyncio.sleep(0.001)
        return "no socket could be opened for it"

    def close(self) -> None:
        self._runner.run(self._let_go())
        self._runner.close()

    async def _let_go(self) -> None:
        self._engine.library.close_dispatcher()

    def _sender_of(self, identity: EngineIdentity, snmp: Snmp, trap: SnmpTrap) -> object:
        """Switch the engine to the sender; return the credentials that the receiver knows."""
        if trap.community:
            self._engine.use_common_engine()
            number = len(self._communities)
            index = self._communities.setdefault(trap.community, f"trap {number}")
            return snmp_api.CommunityData(index, trap.community.encode(), mpModel=1)  # noqa: S508
        if not has_v3(snmp):
            raise CannotSend(
                "Traps need a community (snmptrap=...) or an SNMPv3 user with its keys"
                " (snmpv3=...)."
            )
        self._engine.speak_for(identity)
        authentication, authentication_key, privacy, privacy_key = master_keys(snmp)
        user = snmp_api.UsmUserData(
            snmp.user,
            authentication_key,
            privacy_key,
            authProtocol=authentication,
            privProtocol=privacy,
            securityEngineId=self._engine.id_of(identity),
            authKeyType=KEY_TYPE,
            privKeyType=KEY_TYPE,
        )
        if trap.inform:
            self._inform_as(user)
        return user

    def _inform_as(self, user: snmp_api.UsmUserData) -> None:
        """Forget the receivers' keys of the previous user, unless it is the same user.

        The library stores the keys by the receiver and the name of the user, and two users can
        share a name.
        """
        last, self._informer = self._informer, user
        if last is not None and last.securityEngineId != user.securityEngineId:
            library = self._engine.library
            config.delete_v3_user(library, last.userName, last.securityEngineId)
            configured = library.get_user_context(_CONFIGURATOR)["auth"]
            configured.pop((last.userName, last.securityEngineId), None)


def _variables(content: TrapContent, receiver: tuple[str, int]) -> list[ObjectType]:
    values = {
        SYS_UPTIME: TimeTicks(content.uptime_ticks),
        _TRAP_NAME: ObjectIdentifier(content.kind),
        **{oid: OctetString(text.encode()) for oid, text in content.fields.items()},
        TRAP_ADDRESS: IpAddress(_address_for(receiver, content.address)),
    }
    return [ObjectType(ObjectIdentity(oid), value) for oid, value in values.items()]


def _address_for(receiver: tuple[str, int], own: str | None) -> str:
    """Return the address under which a receiver knows the controller.

    This is the controller's own address. If there is none, or it is a loopback address and the
    receiver is not, this is the address from which the machine sends.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unsent:
        # On a datagram socket, this only selects a route; nothing is sent.
        unsent.connect(receiver[:2])
        sending = str(unsent.getsockname()[0])
    if own is None or (ip_address(own).is_loopback and not ip_address(sending).is_loopback):
        return sending
    return own
