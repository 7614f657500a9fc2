"""The identity of the SNMP engine, which the agent and the sender of traps share.

Managers know an engine by its ID and take its messages for old ones unless the pair of its boots
and its time grows (RFC 3414). So both have the same ID, the same boots and the same time.
"""

import time
from typing import Any

from msgspec import Struct, field

from leverframe.devices.wire.snmp import ENTERPRISE

#: At this number of boots an engine would have to be given another ID.
MAX_BOOTS = 2**31 - 1
#: 1 January 2025.
_EPOCH_S = 1_735_689_600
#: A clock that shows a later time than 2058 is not believed: it would use up the boots.
_LAST_BELIEVED_S = 2**30


class EngineIdentity(Struct, frozen=True):
    engine_id: bytes
    boots: int
    #: When it started, on the machine's monotonic clock: setting the time does not move it.
    started: float = field(default_factory=time.monotonic)

    def time_s(self) -> int:
        """Return the seconds since the start."""
        return int(time.monotonic() - self.started)


def engine_id(mac: str) -> bytes:
    """Make the ID of an engine (RFC 3411): the enterprise, then the MAC address."""
    enterprise = (ENTERPRISE[-1] | 1 << 31).to_bytes(4, "big")
    return enterprise + b"\x03" + bytes.fromhex(mac.replace(":", ""))


def boots_after(stored: Any, wall: float) -> int:
    """Return the boots of this start: more than those of every earlier one.

    The stored number grows whatever the clock shows. The clock helps where the number was lost or
    an older one came back with a restored store.
    """
    counted = stored + 1 if isinstance(stored, int) else 1
    seconds = int(wall) - _EPOCH_S
    by_clock = seconds if seconds <= _LAST_BELIEVED_S else 1
    return min(MAX_BOOTS, max(counted, by_clock, 1))
