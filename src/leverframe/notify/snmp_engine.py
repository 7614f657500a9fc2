"""An SNMP engine by pysnmp, for the agent and for traps; loaded only when SNMP is set up.

Making one takes a tenth of a second, so it is made in a thread (`asyncio.to_thread(make_engine)`).
SNMPv3 users have SHA-256 and AES-128.
"""

import time

from pysnmp.entity import config, engine  # type: ignore[import-untyped]

from leverframe.engine.settings import Snmp
from leverframe.wire.snmp_tree import ENTERPRISE

V3_AUTHENTICATION = config.USM_AUTH_HMAC192_SHA256
V3_PRIVACY = config.USM_PRIV_CFB128_AES
#: 1 January 2025.
_EPOCH_S = 1_735_689_600


def engine_id(mac: str) -> bytes:
    """Make the identity of an engine (RFC 3411): the enterprise, then the MAC address."""
    enterprise = (ENTERPRISE[-1] | 1 << 31).to_bytes(4, "big")
    return enterprise + b"\x03" + bytes.fromhex(mac.replace(":", ""))


def has_v3(snmp: Snmp) -> bool:
    """Return whether there is a user with both keys."""
    return bool(snmp.user and snmp.authentication_key and snmp.privacy_key)


def make_engine(identity: bytes) -> engine.SnmpEngine:
    made = engine.SnmpEngine()
    # Set afterwards: given the identity, the library would write into the temporary folder, where
    # others could, too.
    known, boots = made.get_mib_builder().import_symbols(
        "__SNMP-FRAMEWORK-MIB", "snmpEngineID", "snmpEngineBoots"
    )
    known.syntax = made.snmpEngineID = known.syntax.clone(identity)
    # It must be greater at every start.
    boots.syntax = boots.syntax.clone(max(1, int(time.time()) - _EPOCH_S))
    return made
