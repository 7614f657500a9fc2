"""Limits of the HTTP server, the address behind proxies, and whether the client is still
connected.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from weakref import WeakSet

from msgspec import Struct

# The limits of the HTTP server, for one client and for all together.
#
# Every limit is there because its absence lets one broken or hostile client take the controller
# from the others. Times are in seconds of real time, also where the controller runs in virtual
# time.

KIB = 1024
MIB = 1024 * KIB

#: Method, path, query -> the most bytes a body may have.
BodyLimit = Callable[[str, str, str | None], int]
#: Path, query -> whether a POST must state the length of its body.
NeedsLength = Callable[[str, str | None], bool]


def one_mebibyte(_method: str, _path: str, _query: str | None) -> int:
    return MIB


def never(_path: str, _query: str | None) -> bool:
    return False


class HttpLimits(Struct, frozen=True):
    #: Longer paths and queries are answered with 414.
    path_bytes: int = KIB
    query_bytes: int = 8 * KIB
    #: All header lines together, and their number; beyond it is 431.
    header_bytes: int = 32 * KIB
    header_count: int = 100
    #: A larger body is 413, before it is read where its length was announced.
    body_limit: BodyLimit = one_mebibyte
    #: A POST there without any sign of a body is 411. Elsewhere it is a POST with an empty body:
    #: that is what `curl -X POST` sends.
    needs_length: NeedsLength = never
    #: All bodies that are on their way in or not answered yet, of all connections; beyond it is
    #: 503. No address can take it all.
    bodies_bytes: int = 64 * MIB
    #: The part of it for one tenant of a node, by whatever number of addresses; beyond it is 429.
    bodies_of_owner_bytes: int = 16 * MIB
    #: Bodies that cannot be larger than this have room of their own, so that users can sign in
    #: during uploads.
    small_body_bytes: int = 8 * KIB
    small_bodies_bytes: int = 4 * MIB
    #: Bytes of one connection that are read together: so much waits there to be parsed.
    read_bytes: int = 16 * KIB
    #: Replies of all connections that their clients do not read, beyond `write_high_water`; a
    #: connection that needs more is reset. No address and no tenant can take it all.
    unread_replies_bytes: int = 64 * MIB

    #: From the connection, or the first byte of a later request, to the end of its head.
    header_timeout_s: float = 10.0
    #: For a body and for an answer: this long, and a second more for every `slowest_bytes_s`.
    body_timeout_s: float = 30.0
    #: A body that brings less than `slowest_bytes_s` in this time is cut.
    stall_s: float = 10.0
    write_timeout_s: float = 30.0
    slowest_bytes_s: float = 8 * KIB
    #: Between two requests on one connection.
    idle_timeout_s: float = 60.0
    #: How long what a refused client still sends is read, so that it receives the refusal.
    linger_s: float = 2.0

    #: Requests of one connection that wait for their turn before no more is read from it.
    waiting_requests: int = 32
    #: Unsent bytes of one connection before no more is answered on it.
    write_high_water: int = 64 * KIB


# Whose address a request has that came through reverse proxies.
#
# `X-Forwarded-For` is a list to which each proxy adds the address of its client; a client can
# write anything into it. So it is read from its end, as long as the entries are addresses of
# proxies that the configuration names: the first other one is the client.


class NamedProxies:
    """The proxies that the configuration names."""

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network] = ()) -> None:
        self._networks = tuple(networks)

    def contain(self, peer: str) -> bool:
        """Return whether a client is one of them."""
        address = _address(peer) if self._networks else None
        return address is not None and self._contain_address(address)

    def client_of(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the client for which one of them asks."""
        client = peer
        for entry in reversed(forwarded_for.split(",")):
            address = _address(_without_port(entry.strip()))
            if address is None:
                break
            client = str(address)
            if not self._contain_address(address):
                break
        return client

    def _contain_address(self, address: IPv4Address | IPv6Address) -> bool:
        return any(address in network for network in self._networks)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _without_port(entry: str) -> str:
    """Return the address of an entry; with a port, an IPv6 address stands in brackets."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


# Whether the client that a request came from is still there, for work that ends with it.
#
# A request that changes something runs to its end, whatever becomes of its client. Work that only
# takes time, such as hours of virtual time, says so with `ends_with_client`: when the client
# closes its connection, the task of the request is cancelled. A client that closes only its
# sending side counts as gone for such work, because the two look the same; it gets a 503.

#: Tasks of requests that are cancelled when their client leaves, as often as they asked for it.
_ENDING_WITH_CLIENT: dict[asyncio.Task[object], int] = {}
#: Tasks of requests whose client has left.
_WITHOUT_CLIENT: WeakSet[asyncio.Task[object]] = WeakSet()


@contextmanager
def ends_with_client() -> Iterator[None]:
    """Cancel the current task when the client of its request leaves, or has left already.

    It has an effect only in the task of a request itself, not in one that the request started.
    """
    task = asyncio.current_task()
    assert task is not None
    if task in _WITHOUT_CLIENT:
        # What follows ends where it first waits; a coroutine that never begins would be a fault.
        task.cancel()
    _ENDING_WITH_CLIENT[task] = _ENDING_WITH_CLIENT.get(task, 0) + 1
    try:
        yield
    finally:
        _ENDING_WITH_CLIENT[task] -= 1
        if not _ENDING_WITH_CLIENT[task]:
            del _ENDING_WITH_CLIENT[task]


def note_client_left(task: asyncio.Task[None]) -> None:
    """Record that the client of a request has left, which its task answers."""
    _WITHOUT_CLIENT.add(task)
    if task in _ENDING_WITH_CLIENT:
        task.cancel()
