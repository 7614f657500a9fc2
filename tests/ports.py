"""Ports for other processes: free, and left alone until they are used.

A port that the kernel chose is from the range out of which it also gives every outgoing connection
one; until a process has started, another test's client may have it. So these lie below that range,
and each worker of the test run has a part of them for itself.
"""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from functools import cache
from itertools import cycle

FIRST, PORTS_EACH, PARTS = 12_000, 1_000, 18
#: Of the parts; more workers than these are never started.
WORKERS = 8


@cache
def _candidates(worker: str) -> Iterator[int]:
    """Go round the part of a worker; this may be imported before there are any."""
    # Whatever runs outside a worker, such as a soak, shares the remaining parts by chance.
    number = int(worker[2:]) if worker else WORKERS + os.getpid() % (PARTS - WORKERS)
    first = FIRST + number % PARTS * PORTS_EACH
    return cycle(range(first, first + PORTS_EACH))


def free_port() -> int:
    (port,) = free_ports(1)
    return port


def free_ports(count: int) -> list[int]:
    """Give ports that are free for TCP and UDP alike, none of them given lately."""
    ports: list[int] = []
    candidates = _candidates(os.environ.get("PYTEST_XDIST_WORKER", ""))
    with ExitStack() as held:
        while len(ports) < count:
            address = "127.0.0.1", next(candidates)
            stream = held.enter_context(socket.socket(type=socket.SOCK_STREAM))
            datagrams = held.enter_context(socket.socket(type=socket.SOCK_DGRAM))
            with suppress(OSError):
                stream.bind(address)
                datagrams.bind(address)
                ports.append(address[1])
    return ports
