"""The identity of the SNMP engine, which the agent and the sender of traps share.

Managers identify an engine by its ID, and reject its messages as old unless the number of its boots
and its time grow (RFC 3414). Therefore agent and sender share the ID, the boots and the time.
"""

import time
from typing import Any

from msgspec import Struct, field

from leverframe.devices.wire.snmp import ENTERPRISE

#: At this number of boots, an engine would need another ID.
MAX_BOOTS = 2**31 - 1
#: 1 January 2025.
_EPOCH_S = 1_735_689_600
#: Clock readings after 2058 are ignored: they would use up the boots.
_LAST_BELIEVED_S = 2**30


class EngineIdentity(Struct, frozen=True):
    engine_id: bytes
    boots: int
    #: When it started, on the machine's monotonic clock, which setting the time does not change.
    started: float = field(default_factory=time.monotonic)

    def time_s(self) -> int:
        """Return the seconds since the engine started."""
        return int(time.monotonic() - self.started)


def engine_id(mac: str) -> bytes:
    """Build the ID of an engine (RFC 3411): the enterprise, then the MAC address."""
    enterprise = (ENTERPRISE[-1] | 1 << 31).to_bytes(4, "big")
    return enterprise + b"\x03" + bytes.fromhex(mac.replace(":", ""))


def boots_after(stored: Any, wall: float) -> int:
    """Return a number of boots that is greater than that of every earlier start.

    The stored number grows regardless of the clock. The clock helps if the number was lost, or if a
    restored store has an older one.
    """
    counted = stored + 1 if isinstance(stored, int) else 1
    seconds = int(wall) - _EPOCH_S
    by_clock = seconds if seconds <= _LAST_BELIEVED_S else 1
    return min(MAX_BOOTS, max(counted, by_clock, 1))
