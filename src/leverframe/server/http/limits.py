"""Limits of the HTTP server, clients behind proxies, and clients that have left."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from weakref import WeakSet

from msgspec import Struct

# The limits of the HTTP server, for a single client and for all clients together.
#
# Without any one of these limits, a single broken or hostile client could make the controller
# unavailable to all others. Times are in seconds of real time, even if the controller runs in
# virtual time.

KIB = 1024
MIB = 1024 * KIB

#: Method, path, query -> the maximum size of a body in bytes.
BodyLimit = Callable[[str, str, str | None], int]
#: Path, query -> whether a POST must state the length of its body.
NeedsLength = Callable[[str, str | None], bool]


def one_mebibyte(_method: str, _path: str, _query: str | None) -> int:
    return MIB


def never(_path: str, _query: str | None) -> bool:
    return False


class HttpLimits(Struct, frozen=True):
    #: Longer paths and queries get a 414.
    path_bytes: int = KIB
    query_bytes: int = 8 * KIB
    #: Total size of all header lines, and their number; more gets a 431.
    header_bytes: int = 32 * KIB
    header_count: int = 100
    #: A larger body gets a 413, before it is read if its length was announced.
    body_limit: BodyLimit = one_mebibyte
    #: A POST to such a path without any sign of a body gets a 411. On other paths it counts as a
    #: POST with an empty body, because `curl -X POST` sends that.
    needs_length: NeedsLength = never
    #: All bodies that are arriving or waiting for their answer, over all connections; more gets a
    #: 503. No single address can use all of this budget.
    bodies_bytes: int = 64 * MIB
    #: The maximum for one tenant of a node, over all its addresses; more gets a 429.
    bodies_of_owner_bytes: int = 16 * MIB
    #: Bodies that cannot exceed this size have a separate budget, so that users can sign in during
    #: uploads.
    small_body_bytes: int = 8 * KIB
    small_bodies_bytes: int = 4 * MIB
    #: The maximum number of bytes that are read from a connection at a time and wait to be parsed.
    read_bytes: int = 16 * KIB
    #: Unread replies over all connections, beyond `write_high_water`; a connection that needs more
    #: is reset. No single address or tenant can use all of this budget.
    unread_replies_bytes: int = 64 * MIB

    #: Time from the connection, or the first byte of a later request, to the end of the head.
    header_timeout_s: float = 10.0
    #: Time for a body. Like `write_timeout_s`, the time for an answer, it is extended by one second
    #: for every `slowest_bytes_s` bytes.
    body_timeout_s: float = 30.0
    #: A body that brings less than `slowest_bytes_s` in this time is aborted.
    stall_s: float = 10.0
    write_timeout_s: float = 30.0
    slowest_bytes_s: float = 8 * KIB
    #: Time between two requests on one connection.
    idle_timeout_s: float = 60.0
    #: How long the server keeps reading from a refused client, so that the client receives the
    #: refusal.
    linger_s: float = 2.0

    #: Requests of one connection that may wait for their turn; beyond that, nothing more is read.
    waiting_requests: int = 32
    #: Unsent bytes of one connection; beyond that, no further request on it is answered.
    write_high_water: int = 64 * KIB


# The address of the client, for requests that came through reverse proxies.
#
# `X-Forwarded-For` is a list to which each proxy adds the address of its client; a client can write
# anything into it. So it is read from the end: the first address that is not one of the configured
# proxies is the client.


class NamedProxies:
    """The proxies named in the configuration."""

    def __init__(self, networks: Iterable[IPv4Network | IPv6Network] = ()) -> None:
        self._networks = tuple(networks)

    def contain(self, peer: str) -> bool:
        """Return whether an address belongs to one of the proxies."""
        address = _address(peer) if self._networks else None
        return address is not None and self._contain_address(address)

    def client_of(self, peer: str, forwarded_for: str) -> str:
        """Return the address of the client for which a proxy forwards a request."""
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
    """Return an entry without its port; an IPv6 address with a port is in brackets."""
    if entry.startswith("["):
        return entry[1:].partition("]")[0]
    return entry.partition(":")[0] if entry.count(":") == 1 else entry


# Whether the client of a request is still connected, for work that ends with its client.
#
# A request that changes something is completed even if its client leaves. Work that only needs
# time, such as advancing virtual time by hours, uses `ends_with_client`: when the client closes its
# connection, the task of the request is cancelled. A client that closes only its sending side
# counts as gone for such work, because the two look the same; it gets a 503.

#: Tasks that are cancelled when their client leaves, and how many `ends_with_client` they are in.
_ENDING_WITH_CLIENT: dict[asyncio.Task[object], int] = {}
#: Tasks of requests whose client has left.
_WITHOUT_CLIENT: WeakSet[asyncio.Task[object]] = WeakSet()


@contextmanager
def ends_with_client() -> Iterator[None]:
    """Cancel the current task when the client of its request leaves, or has left already.

    This has an effect only in the task of the request itself, not in tasks that the request
    started.
    """
    task = asyncio.current_task()
    assert task is not None
    if task in _WITHOUT_CLIENT:
        # The task is cancelled at its first await; a coroutine that never starts would cause a
        # warning.
        task.cancel()
    _ENDING_WITH_CLIENT[task] = _ENDING_WITH_CLIENT.get(task, 0) + 1
    try:
        yield
    finally:
        _ENDING_WITH_CLIENT[task] -= 1
        if not _ENDING_WITH_CLIENT[task]:
            del _ENDING_WITH_CLIENT[task]


def note_client_left(task: asyncio.Task[None]) -> None:
    """Record that a client has left, by the task that answers its request."""
    _WITHOUT_CLIENT.add(task)
    if task in _ENDING_WITH_CLIENT:
        task.cancel()
