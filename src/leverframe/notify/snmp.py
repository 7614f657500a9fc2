"""The channel of the action SNMP trap: v2c with the community, or v3 where there is none.

A trap carries the source, its value, a sentence and the rule. Nobody acknowledges traps: sent is
all that can be said of one, so the outbox keeps only those that cannot even be sent.
"""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import Any

from leverframe.engine.effects import Notify
from leverframe.engine.settings import Settings, Snmp
from leverframe.notify.channel import CannotSend, Draft, Limits
from leverframe.notify.message import Message
from leverframe.wire.snmp_tree import ACTIVATED, DEACTIVATED, TRAP_FIELDS, ticks, trap_field

_UPTIME = (1, 3, 6, 1, 2, 1, 1, 3, 0)
_TRAP_NAME = (1, 3, 6, 1, 6, 3, 1, 1, 4, 1, 0)


class SnmpTraps:
    limits = Limits(expires_s=3_600.0, most_waiting=1_000, per_s=20.0, burst=50, timeout_s=15.0)

    def __init__(self, mac: str, uptime_s: Callable[[], float]) -> None:
        self._mac = mac
        self._uptime_s = uptime_s
        self._engine: Any = None

    def compose(self, effect: Notify, settings: Settings) -> list[Draft]:
        trap = settings.snmp.trap
        if not (trap.enabled and trap.host):
            raise CannotSend("SNMP traps have no receiver; set one with snmptrap=1*HOST*...")
        value = "" if effect.value is None else f"{effect.value:g}"
        word = "activated" if effect.active else "deactivated"
        fields = {
            "source": effect.label or "",
            "value": value,
            "text": effect.text or f"{effect.reason} {word}: {effect.label} {value}".rstrip(" :"),
            "reason": effect.reason,
        }
        return [Draft(f"{trap.host}:{trap.port}", fields)]

    def configuration(self, settings: Settings) -> Snmp:
        return settings.snmp

    async def deliver(self, message: Message, settings: Settings) -> str:
        # Loaded here, because a controller that sends no traps does not need it, and beside the
        # loop, because that lasts longer than a relay may wait.
        await asyncio.to_thread(import_module, "pysnmp.hlapi.v3arch.asyncio")
        from pysnmp.error import PySnmpError  # type: ignore[import-untyped]
        from pysnmp.hlapi.v3arch import asyncio as snmp  # type: ignore[import-untyped]

        trap = settings.snmp.trap
        if self._engine is None:
            self._engine = await asyncio.to_thread(self._make_engine)
        try:
            target = await snmp.UdpTransportTarget.create((trap.host, trap.port))
            problem, *_ = await snmp.send_notification(
                self._engine,
                _credentials(settings.snmp),
                target,
                snmp.ContextData(),
                "trap",
                *self._contents(message),
            )
        except (PySnmpError, OSError) as error:
            raise CannotSend(
                f"The trap cannot be sent to {trap.host}:{trap.port}; check the host and the keys."
            ) from error
        if problem:
            raise CannotSend(f"The trap cannot be sent: {problem}.")
        return "sent; traps are not acknowledged"

    def _make_engine(self) -> Any:
        from leverframe.notify.snmp_engine import engine_id, make_engine

        return make_engine(engine_id(self._mac))

    def _contents(self, message: Message) -> list[Any]:
        from pysnmp.proto.rfc1902 import (  # type: ignore[import-untyped]
            ObjectIdentifier,
            OctetString,
            TimeTicks,
        )
        from pysnmp.smi.rfc1902 import ObjectIdentity, ObjectType  # type: ignore[import-untyped]

        kind = ACTIVATED if message.active else DEACTIVATED
        values = {
            _UPTIME: TimeTicks(ticks(self._uptime_s())),
            _TRAP_NAME: ObjectIdentifier(kind),
            **{
                trap_field(name): OctetString(str(message.content[name]).encode())
                for name in TRAP_FIELDS
            },
        }
        return [ObjectType(ObjectIdentity(oid), value) for oid, value in values.items()]

    async def close(self) -> None:
        if self._engine is not None:
            self._engine.close_dispatcher()
            self._engine = None


def _credentials(snmp: Snmp) -> Any:
    from pysnmp.hlapi.v3arch import asyncio as api

    from leverframe.notify.snmp_engine import V3_AUTHENTICATION, V3_PRIVACY, has_v3

    if snmp.trap.community:
        return api.CommunityData("trap", snmp.trap.community.encode(), mpModel=1)
    if not has_v3(snmp):
        raise CannotSend(
            "Traps need a community (snmptrap=...) or an SNMPv3 user with both keys (snmpv3=...)."
        )
    return api.UsmUserData(
        snmp.user,
        snmp.authentication_key.encode(),
        snmp.privacy_key.encode(),
        authProtocol=V3_AUTHENTICATION,
        privProtocol=V3_PRIVACY,
    )
