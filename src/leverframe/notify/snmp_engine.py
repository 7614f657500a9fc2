"""An SNMP engine by pysnmp, for the agent and for traps; loaded only when SNMP is set up.

Making one takes a tenth of a second, so it is made in a thread (`asyncio.to_thread(make_engine)`).
SNMPv3 users have SHA-256 and AES-128.
"""

from typing import Any

from pysnmp.entity import config, engine  # type: ignore[import-untyped]

from leverframe.engine.settings import Snmp
from leverframe.notify.snmp_identity import EngineIdentity

V3_AUTHENTICATION = config.USM_AUTH_HMAC192_SHA256
V3_PRIVACY = config.USM_PRIV_CFB128_AES


def has_v3(snmp: Snmp) -> bool:
    """Return whether there is a user with both keys."""
    return bool(snmp.user and snmp.authentication_key and snmp.privacy_key)


def make_engine(identity: EngineIdentity) -> engine.SnmpEngine:
    made = engine.SnmpEngine()
    # Set afterwards: given the identity, the library would write into the temporary folder, where
    # others could, too.
    known, boots, running = made.get_mib_builder().import_symbols(
        "__SNMP-FRAMEWORK-MIB", "snmpEngineID", "snmpEngineBoots", "snmpEngineTime"
    )
    known.syntax = made.snmpEngineID = known.syntax.clone(identity.engine_id)
    boots.syntax = boots.syntax.clone(identity.boots)
    running.syntax = _engine_time(type(running.syntax), identity)
    return made


def _engine_time(kind: Any, identity: EngineIdentity) -> Any:
    """Return the engine's time for the library, which clones it to know it.

    Its own is that of the wall clock since the engine was made.
    """

    class EngineTime(kind):  # type: ignore[misc]
        def clone(self, *value: Any, **rest: Any) -> Any:
            return super().clone(*(value or (identity.time_s(),)), **rest)

    return EngineTime(0)
