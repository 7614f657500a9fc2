"""An SNMP engine by pysnmp, for agents and for traps; loaded only when SNMP is set up.

Making one takes a tenth of a second and a megabyte, so a process has one for all of its agents and
one for each thread that sends traps. It speaks for one controller after the other, and managers
take each for an engine of its own. Making one, and keys of passwords, take so long that threads
have to do it. SNMPv3 users have SHA-256, and AES unless only authentication is wanted.
"""

from functools import lru_cache
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
#: What `master_keys` returns are keys of this type.
KEY_TYPE = config.USM_KEY_TYPE_MASTER
_MAX_KEYS = 64
_MIB = "__SNMP-FRAMEWORK-MIB"


def has_v3(snmp: Snmp) -> bool:
    """Return whether there is a user with the keys that the chosen privacy needs."""
    has_privacy = bool(snmp.privacy_key) or not snmp.is_private
    return bool(snmp.user and snmp.authentication_key and has_privacy)


def master_keys(snmp: Snmp) -> tuple[Any, bytes, Any, bytes | None]:
    """Return protocol and key of the authentication, then of the privacy."""
    privacy = _V3_PRIVACY[snmp.privacy]
    privacy_key = _privacy_key(privacy, snmp.privacy_key) if snmp.is_private else None
    return V3_AUTHENTICATION, _authentication_key(snmp.authentication_key), privacy, privacy_key


@lru_cache(_MAX_KEYS)
def _authentication_key(password: str) -> bytes:
    """Make a key of a password, by hashing a megabyte; traps need it each time."""
    return bytes(config.AUTH_SERVICES[V3_AUTHENTICATION].hash_passphrase(password.encode()))


@lru_cache(_MAX_KEYS)
def _privacy_key(privacy: Any, password: str) -> bytes:
    service = config.PRIV_SERVICES[privacy]
    return bytes(service.hash_passphrase(V3_AUTHENTICATION, password.encode()))


class CommonEngine:
    """An engine of the library that speaks for one controller after the other."""

    def __init__(self) -> None:
        self.library = engine.SnmpEngine()
        symbols = self.library.get_mib_builder().import_symbols
        self._id, self._boots, running = symbols(
            _MIB, "snmpEngineID", "snmpEngineBoots", "snmpEngineTime"
        )
        #: Its own, by which no manager knows it.
        self.own_id = self._id.syntax
        self._identity: EngineIdentity | None = None
        running.syntax = self._time(type(running.syntax))

    def id_of(self, identity: EngineIdentity) -> Any:
        return self.own_id.clone(identity.engine_id)

    def speak_for(self, identity: EngineIdentity) -> None:
        """Switch to the engine of a controller."""
        # Set afterwards: given the identity, the library would write into the temporary folder,
        # where others could, too.
        self._identity = identity
        self._id.syntax = self.library.snmpEngineID = self.id_of(identity)
        self._boots.syntax = self._boots.syntax.clone(identity.boots)

    def use_common_engine(self) -> None:
        """Switch to the engine that communities, which name no engine, are registered with."""
        self._identity = None
        self._id.syntax = self.library.snmpEngineID = self.own_id

    def _time(self, kind: Any) -> Any:
        """Return the engine's time for the library, which clones it to know it.

        Its own is that of the wall clock since the engine was made.
        """

        def time_s() -> int:
            return 0 if self._identity is None else self._identity.time_s()

        class EngineTime(kind):  # type: ignore[misc]
            def clone(self, *value: Any, **rest: Any) -> Any:
                return super().clone(*(value or (time_s(),)), **rest)

        return EngineTime(0)
