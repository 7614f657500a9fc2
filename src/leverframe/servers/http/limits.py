"""The limits of the HTTP server, for one client and for all together.

Every limit is there because its absence lets one broken or hostile client take the controller from
the others. Times are in seconds of real time, also where the controller runs on virtual time.
"""

from collections.abc import Callable

from msgspec import Struct

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
