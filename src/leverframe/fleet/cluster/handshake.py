"""The handshake by which one node passes a client's connection to another: bytes, without a socket.

The node that is asked speaks first, with a challenge of random bytes. The other answers with a
header of the PROXY protocol, version 2: the addresses of the client, the controller that is meant,
and a proof. The verdict comes back with a proof as well. Only then does the request follow. A node
that names no controller asks the other one itself.

The proof is an HMAC over the challenge and the header, with a key that is derived from the key of
the fleet. So a stranger gets nobody's requests and can ask for nothing; what was heard on the way
is of no use later, since no challenge comes twice; and no clocks are compared.
"""

import hmac
import secrets
import struct
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

from msgspec import Struct

from leverframe.outgoing.own_connections import OWN_PEER

CHALLENGE_BYTES = 16
PROOF_BYTES = 32
VERDICT_BYTES = 1 + PROOF_BYTES
#: More than two addresses and a name can take.
MAX_HEADER_BYTES = 512
#: How long a node may take to say whether it takes a connection.
HANDSHAKE_S = 1.0

#: Of the PROXY protocol: how a header begins; version 2 with the command PROXY; TCP over each IP.
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_PROXY = 0x21
_BY_VERSION = {4: 0x11, 6: 0x21}
_START = struct.Struct("!12sBBH")
_ADDRESSES = {
    0x11: (struct.Struct("!4s4sHH"), IPv4Address),
    0x21: (struct.Struct("!16s16sHH"), IPv6Address),
}
_FIELD = struct.Struct("!BH")
#: Fields of the header: the name that is meant, a random number, the proof (of those for own use).
_AUTHORITY, _NONCE, _PROOF = 0x02, 0x05, 0xE0
_PURPOSE = b"leverframe: connections between nodes"


class Verdict(IntEnum):
    ACCEPTED = 1
    #: The controller is not here, or not yet.
    NOT_HERE = 2
    #: There are too many connections.
    CROWDED = 3


class HandshakeFailed(Exception):
    """Why a connection is refused, in a few words for the log."""


class Client(Struct, frozen=True):
    """A client: its own address, or `OWN_PEER`, and port, and those that it connected to."""

    host: str
    port: int
    local_host: str
    local_port: int


class Hello(Struct, frozen=True):
    client: Client
    #: The controller that is meant; empty for the node itself.
    name: str
    #: What the verdict is to confirm.
    proof: bytes


class Handshake:
    """What nodes of one fleet say to each other, with the key that they share."""

    def __init__(self, fleet_key: bytes) -> None:
        self._key = hmac.digest(fleet_key, _PURPOSE, "sha256")

    def header(self, challenge: bytes, client: Client, name: str) -> bytes:
        """Return the header for a client of a controller."""
        family, addresses = _addresses(client)
        fields = _field(_AUTHORITY, name.encode()) + _field(_NONCE, secrets.token_bytes(16))
        length = len(addresses) + len(fields) + _FIELD.size + PROOF_BYTES
        proven = _START.pack(SIGNATURE, _PROXY, family, length) + addresses + fields
        return proven + _field(_PROOF, self._proof(challenge, proven))

    def read(self, challenge: bytes, header: bytes) -> Hello:
        """Read a whole header; raise `HandshakeFailed` where no node of this fleet has sent it."""
        end = header[-PROOF_BYTES:]
        proven = header[: -_FIELD.size - PROOF_BYTES]
        expected = proven + _field(_PROOF, self._proof(challenge, proven))
        if not hmac.compare_digest(header, expected):
            raise HandshakeFailed("it does not know the key of this fleet")
        _, _, family, _ = _START.unpack_from(header)
        shape, kind = _ADDRESSES[family]
        source, target, port, local_port = shape.unpack_from(header, _START.size)
        host = str(kind(source)) if any(source) else OWN_PEER
        client = Client(host, port, str(kind(target)), local_port)
        (length,) = struct.unpack_from("!H", header, _START.size + shape.size + 1)
        begin = _START.size + shape.size + _FIELD.size
        return Hello(client, header[begin : begin + length].decode(), end)

    def verdict(self, verdict: Verdict, proof: bytes) -> bytes:
        said = bytes((verdict,))
        return said + self._proof(proof, said)

    def read_verdict(self, said: bytes, header: bytes) -> Verdict:
        """Read the answer to a header; raise `HandshakeFailed` where it is none of this fleet."""
        proof = header[-PROOF_BYTES:]
        if not hmac.compare_digest(said[1:], self._proof(proof, said[:1])):
            raise HandshakeFailed("it does not know the key of this fleet")
        return Verdict(said[0])

    def stamp(self, proof: bytes, said: bytes) -> bytes:
        """Return what proves that a node has said something on a connection after the handshake."""
        return self._proof(proof, b"call" + said)

    def _proof(self, challenge: bytes, proven: bytes) -> bytes:
        return hmac.digest(self._key, challenge + proven, "sha256")


def length_of(begin: bytes) -> int | None:
    """Return how long a header is that begins so; None where that cannot be told yet."""
    if not SIGNATURE.startswith(begin[: len(SIGNATURE)]):
        raise HandshakeFailed("it does not begin with a header of the PROXY protocol")
    if len(begin) < _START.size:
        return None
    _, command, family, length = _START.unpack_from(begin)
    whole: int = _START.size + length
    if command != _PROXY or family not in _ADDRESSES or whole > MAX_HEADER_BYTES:
        raise HandshakeFailed("its header of the PROXY protocol is none of a node")
    return whole


def _addresses(client: Client) -> tuple[int, bytes]:
    target = _address(client.local_host)
    # A controller of the node that asks has no address here; nobody can connect from this one.
    source = type(target)(0) if client.host == OWN_PEER else _address(client.host)
    family = _BY_VERSION[source.version]
    shape, _ = _ADDRESSES[family]
    return family, shape.pack(source.packed, target.packed, client.port, client.local_port)


def _address(text: str) -> IPv4Address | IPv6Address:
    # The interface of a link-local address means nothing to another machine.
    return ip_address(text.partition("%")[0])


def _field(kind: int, value: bytes) -> bytes:
    return _FIELD.pack(kind, len(value)) + value
