"""An SNMP engine by pysnmp, for the agent and for traps; loaded only when SNMP is set up.

Making one takes a tenth of a second, so it is made in a thread (`asyncio.to_thread(make_engine)`).
SNMPv3 users have SHA-256, and AES unless only authentication is wanted.
"""

from typing import Any

from pysnmp.entity import config, engine  # type: ignore[import-untyped]

from leverframe.engine.settings import Snmp
from leverframe.notify.snmp_identity import EngineIdentity

V3_AUTHENTICATION = config.USM_AUTH_HMAC192_SHA256
#: By the setting `snmp.privacy`. SHA-256 gives keys as long as AES-256 needs, so the two ways of
#: lengthening shorter ones do not differ.
_V3_PRIVACY = {
    "none": config.USM_PRIV_NONE,
    "AES-128": config.USM_PRIV_CFB128_AES,
    "AES-256": config.USM_PRIV_CFB256_AES_BLUMENTHAL,
}


def has_v3(snmp: Snmp) -> bool:
    """Return whether there is a user with the keys that the chosen privacy needs."""
    has_privacy = bool(snmp.privacy_key) or not snmp.is_private
    return bool(snmp.user and snmp.authentication_key and has_privacy)


def v3_keys(snmp: Snmp) -> tuple[Any, bytes, Any, bytes | None]:
    """Return protocol and key of the authentication, then of the privacy."""
    privacy_key = snmp.privacy_key.encode() if snmp.is_private else None
    authentication_key = snmp.authentication_key.encode()
    return V3_AUTHENTICATION, authentication_key, _V3_PRIVACY[snmp.privacy], privacy_key


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
