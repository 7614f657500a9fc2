"""Limits on what each client may hold, and on the file descriptors of the process."""

import errno
import logging
import os
import sys
from collections import Counter
from ipaddress import IPv6Address, ip_address

from leverframe.core.runtime.log_lines import LogThrottle

# A supply that no holder can exhaust.
#
# A fixed share would be too small for a single holder, or too large for many. So a holder may have
# a given multiple of what is still free: a single holder gets most of the supply, and every further
# holder makes the shares smaller. The last eighth is reserved for holders that have very little, so
# that it takes many greedy holders, not a few, to exhaust the supply.

#: The reserved last part of the supply (one eighth), and the part of it that each holder may have.
LAST_PART = 8
LITTLE_PART = 128


class FairShares:
    def __init__(self, limit: int, per_free: float) -> None:
        self.limit = limit
        self.used = 0
        self._per_free = per_free
        self._last = limit // LAST_PART
        self._little = max(1, limit // LITTLE_PART)
        self._held: Counter[str] = Counter()

    def count_of(self, holder: str) -> int:
        return self._held[holder]

    def has_room(self, holder: str, amount: int = 1) -> bool:
        # The amount counts as if it were taken piece by piece: the last piece must be within the
        # share.
        before, free = self._held[holder] + amount - 1, self.limit - self.used - amount + 1
        share = self._per_free * free
        if free <= self._last:
            share = min(share, self._little)
        return free > 0 and before < share

    def take(self, holder: str, amount: int = 1) -> bool:
        """Take from the supply; return False and take nothing if that exceeds the share."""
        if not self.has_room(holder, amount):
            return False
        self.used += amount
        self._held[holder] += amount
        return True

    def give_back(self, holder: str, amount: int = 1) -> None:
        self.used -= amount
        self._held[holder] -= amount
        if not self._held[holder]:
            del self._held[holder]


def source_of(peer: str) -> str:
    """Return the address, or the /64 of an IPv6 address: its user has at least that network."""
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if isinstance(address, IPv6Address):
        return address.exploded[:19] if address.ipv4_mapped is None else str(address.ipv4_mapped)
    return peer


# The file descriptors of the process, and how many of them the clients of all servers may hold.
#
# Each connection holds a descriptor, even while it is idle or before its TLS handshake. A process
# without free descriptors can neither write its store nor send a message, so some are reserved. A
# connection whose descriptor is close to the limit is refused regardless of the count: the system
# assigns the lowest free number, so the number reflects all open files and connections.

#: Connections of all clients, if the system permits that number.
MAX_CLIENTS = 2048
#: One address gets at most three fifths of the connections, the next one three fifths of the rest.
PER_FREE = 1.5
#: Reserved for the store, the buses, listening sockets and outgoing messages.
RESERVED = 512
#: If the process has few descriptors, this part of them is reserved: one in four.
RESERVED_PART = 4

#: Maximum number of TLS connections: each needs 0.3 MB, a plain connection 5 KB.
MAX_TLS = 512

#: The errors that mean that this process, or the system, can open no more files.
_NONE_LEFT = frozenset((errno.EMFILE, errno.ENFILE))

#: Why a connection is refused, as `/metrics` reports it.
SHARE, FULL = "share", "full"
#: The name that `/metrics` and the log use for connections refused before a handshake.
TLS = "tls"


def lacks_descriptors(error: BaseException | None) -> bool:
    """Return whether an error, or one of its causes, means that no more files can be opened."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in _NONE_LEFT:
            return True
        # The dynamic linker reports it only as text.
        if isinstance(error, ImportError) and os.strerror(errno.EMFILE) in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


class Lease:
    """The right of a connection to its descriptor; a second call of `end` has no effect."""

    __slots__ = ("_budget", "_is_tls", "_source")

    def __init__(self, budget: "DescriptorBudget", source: str) -> None:
        self._budget: DescriptorBudget | None = budget
        self._source = source
        self._is_tls = False

    def begin_tls(self) -> bool:
        """Admit the connection to TLS; False if it has to be closed."""
        assert self._budget is not None
        self._is_tls = self._budget.admits_tls(self._source)
        return self._is_tls

    def end(self) -> None:
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.clients.give_back(self._source)
            if self._is_tls:
                budget.tls.give_back(self._source)


class DescriptorBudget:
    """Counts the connections of all clients; one budget for a process."""

    def __init__(self, descriptors: int = MAX_CLIENTS + RESERVED) -> None:
        reserved = min(RESERVED, descriptors // RESERVED_PART)
        self.clients = FairShares(min(MAX_CLIENTS, descriptors - reserved), PER_FREE)
        self.tls = FairShares(min(MAX_TLS, self.clients.limit), PER_FREE)
        #: Refused connections by server and reason.
        self.refused: Counter[tuple[str, str]] = Counter()
        self._end_for_clients = descriptors - reserved // 2
        self._warn = LogThrottle(logging.getLogger(__name__)).warning

    def lease(self, server: str, peer: str, descriptor: int) -> Lease | None:
        """Admit the connection of a client to a server; None if it has to be closed."""
        source = source_of(peer)
        # On Windows, the number of a descriptor does not show the number of open files.
        if descriptor >= self._end_for_clients and sys.platform != "win32":
            self._refuse(server, source, FULL, f"{descriptor} files and connections are open")
            return None
        return Lease(self, source) if self._takes(self.clients, server, source) else None

    def admits_tls(self, source: str) -> bool:
        return self._takes(self.tls, TLS, source)

    def _takes(self, shares: FairShares, server: str, source: str) -> bool:
        if shares.take(source):
            return True
        if shares.used >= shares.limit:
            self._refuse(server, source, FULL, f"all {shares.limit} client connections are in use")
        else:
            held = shares.count_of(source)
            why = f"it holds {held} of {shares.limit} connections, more than its share"
            self._refuse(server, source, SHARE, why)
        return False

    def _refuse(self, server: str, source: str, reason: str, why: str) -> None:
        self.refused[server, reason] += 1
        self._warn(
            source, f"{server} {reason}", "%s: refused a connection from %s: %s",
            server, source, why,
        )  # fmt: skip
