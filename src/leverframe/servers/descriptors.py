"""The file descriptors of the process: how many of them clients may hold, all servers together.

Each connection holds one, also while it says nothing or makes up its mind about TLS. A process that
has none left can neither write its store nor send a message, so a part of them is out of reach of
clients, and a client's descriptor that comes close to the end is given back whatever the count
says: the system hands out the lowest free number, so that number counts all that is open, files
and outgoing connections included.
"""

import logging
from collections import Counter
from functools import partial

from leverframe.log_throttle import LogThrottle
from leverframe.servers.fair_shares import FairShares
from leverframe.servers.source_address import source_of

#: Connections of all clients, where the system lets the process have so many.
MAX_CLIENTS = 2048
#: One address alone gets three fifths of the connections, the next one three fifths of the rest.
PER_FREE = 1.5
#: For the store, the buses, listening sockets and messages on their way out.
RESERVED = 512
#: Where there are few descriptors, a part of them has to do: one in four.
RESERVED_PART = 4

#: Why a connection is refused, as `/metrics` tells it.
SHARE, FULL = "share", "full"


class Lease:
    """The right of one connection to its descriptor; it ends once, however often it is ended."""

    __slots__ = ("_budget", "_source")

    def __init__(self, budget: "DescriptorBudget", source: str) -> None:
        self._budget: DescriptorBudget | None = budget
        self._source = source

    def end(self) -> None:
        budget, self._budget = self._budget, None
        if budget is not None:
            budget.clients.give_back(self._source)


class DescriptorBudget:
    """The count of what clients hold; one for a process."""

    def __init__(self, descriptors: int = MAX_CLIENTS + RESERVED) -> None:
        reserved = min(RESERVED, descriptors // RESERVED_PART)
        self.clients = FairShares(min(MAX_CLIENTS, descriptors - reserved), PER_FREE)
        #: By server and reason.
        self.refused: Counter[tuple[str, str]] = Counter()
        self._end_for_clients = descriptors - reserved // 2
        self._warn = LogThrottle(logging.getLogger(__name__)).warning

    def lease(self, server: str, peer: str, descriptor: int) -> Lease | None:
        """Admit the connection of a client to a server; None if it has to be closed."""
        source = source_of(peer)
        refuse = partial(self._refuse, server, source)
        if descriptor >= self._end_for_clients:
            refuse(FULL, f"{descriptor} files and connections are open")
        elif self.clients.take(source):
            return Lease(self, source)
        elif self.clients.used >= self.clients.limit:
            refuse(FULL, f"clients hold all {self.clients.limit} connections")
        else:
            held = self.clients.held_by(source)
            refuse(SHARE, f"it holds {held} of {self.clients.limit}, and others need room")
        return None

    def _refuse(self, server: str, source: str, reason: str, why: str) -> None:
        self.refused[server, reason] += 1
        self._warn(
            source, f"{server} {reason}", "%s: a connection from %s is refused: %s",
            server, source, why,
        )  # fmt: skip
