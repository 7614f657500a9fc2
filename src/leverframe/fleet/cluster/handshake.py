"""The handshake by which a node forwards a client's connection to another, without any I/O.

The accepting node sends a challenge of random bytes. The connecting node replies with a header of
the PROXY protocol, version 2. The header contains the addresses of the client, the requested
controller, the destination node and a proof. The accepting node returns its verdict, also with a
proof. Only then does the connecting node forward the request. A header without a controller opens a
call to the accepting node itself.

The proof is an HMAC over the challenge and the header, with a key that is derived from the key of
the fleet. So a stranger receives no requests and cannot send any. Recorded bytes are of no use
later, since no challenge is repeated. No clocks are compared.

Every message has a direction. A header is valid only for the node that it names, so a machine
between the nodes cannot reflect it to its sender. Verdicts, questions and answers have different
proofs, so none of them can pass for another.

A header with unknown fields is refused. Versions without directions send headers without the
destination node, and skip that field in headers that they receive. Verdicts and stamps that are
exchanged with these versions have the old form, so nodes can be updated one by one. The release
after the next can drop the old form.
"""

import hmac
import secrets
import struct
from enum import IntEnum
from ipaddress import IPv4Address, IPv6Address, ip_address

from msgspec import Struct

from leverframe.core.runtime.outgoing import OWN_PEER

CHALLENGE_BYTES = 16
PROOF_BYTES = 32
VERDICT_BYTES = 1 + PROOF_BYTES
#: An upper bound for two addresses and a name.
MAX_HEADER_BYTES = 512

#: PROXY protocol: the first bytes of a header; version 2 with the command PROXY; TCP over IPv4 and
#: IPv6.
SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
_PROXY = 0x21
_BY_VERSION = {4: 0x11, 6: 0x21}
_START = struct.Struct("!12sBBH")
_ADDRESSES = {
    0x11: (struct.Struct("!4s4sHH"), IPv4Address),
    0x21: (struct.Struct("!16s16sHH"), IPv6Address),
}
_FIELD = struct.Struct("!BH")
#: Fields of the header: the requested controller, a random number, and, from the range for private
#: use, the proof and the destination node.
_AUTHORITY, _NONCE, _PROOF, _NODE = 0x02, 0x05, 0xE0, 0xE1
_FIELDS = (_AUTHORITY, _NONCE, _NODE)
_FIELDS_WITHOUT_DIRECTION = (_AUTHORITY, _NONCE)
_PURPOSE = b"leverframe: connections between nodes"


class Verdict(IntEnum):
    ACCEPTED = 1
    #: The controller is not here, or not yet.
    NOT_HERE = 2
    #: There are too many connections.
    CROWDED = 3


class HandshakeFailed(Exception):
    """Why a connection is refused, in a short phrase for the log."""


class Client(Struct, frozen=True):
    """A client's address (or `OWN_PEER`) and port, and the address and port it connected to."""

    host: str
    port: int
    local_host: str
    local_port: int


class Stamps:
    """Proofs for all messages on one connection, derived from the handshake."""

    def __init__(self, key: bytes, proof: bytes, *, has_direction: bool) -> None:
        """Store the proof of the header, and whether the versions of both nodes know directions."""
        self._key = key
        self._proof = proof
        self._has_direction = has_direction

    def of_verdict(self, message: bytes) -> bytes:
        return self._stamp(b"verdict", b"", message)

    def of_question(self, message: bytes) -> bytes:
        return self._stamp(b"question", b"call", message)

    def of_answer(self, message: bytes) -> bytes:
        return self._stamp(b"answer", b"call", message)

    def _stamp(self, direction: bytes, without: bytes, message: bytes) -> bytes:
        mark = direction if self._has_direction else without
        return hmac.digest(self._key, self._proof + mark + message, "sha256")


class Hello(Struct, frozen=True):
    client: Client
    #: The requested controller; empty for the node itself.
    name: str
    stamps: Stamps


class Handshake:
    """The handshake messages of a node, with the key of the fleet."""

    def __init__(self, fleet_key: bytes, node: str) -> None:
        self._key = hmac.digest(fleet_key, _PURPOSE, "sha256")
        self._node = node

    def header(self, challenge: bytes, client: Client, name: str, node: str) -> bytes:
        """Return the header for a client of a controller that the destination node has."""
        family, addresses = _addresses(client)
        fields = _field(_AUTHORITY, name.encode()) + _field(_NONCE, secrets.token_bytes(16))
        fields += _field(_NODE, node.encode())
        length = len(addresses) + len(fields) + _FIELD.size + PROOF_BYTES
        proven = _START.pack(SIGNATURE, _PROXY, family, length) + addresses + fields
        return proven + _field(_PROOF, self._proof(challenge, proven))

    def read(self, challenge: bytes, header: bytes) -> Hello:
        """Read a complete header; raise `HandshakeFailed` unless a node sent it to this one."""
        proven = header[: -_FIELD.size - PROOF_BYTES]
        expected = proven + _field(_PROOF, self._proof(challenge, proven))
        if not hmac.compare_digest(header, expected):
            raise HandshakeFailed("it does not know the key of this fleet")
        _, _, family, _ = _START.unpack_from(header)
        shape, kind = _ADDRESSES[family]
        source, target, port, local_port = shape.unpack_from(header, _START.size)
        host = str(kind(source)) if any(source) else OWN_PEER
        client = Client(host, port, str(kind(target)), local_port)
        fields = _fields(proven[_START.size + shape.size :])
        has_direction = tuple(fields) == _FIELDS
        if not has_direction and tuple(fields) != _FIELDS_WITHOUT_DIRECTION:
            raise HandshakeFailed("its header has fields that this version does not know")
        if has_direction and fields[_NODE].decode() != self._node:
            raise HandshakeFailed("it is addressed to another node")
        return Hello(client, fields[_AUTHORITY].decode(), self._stamps(header, has_direction))

    def verdict(self, verdict: Verdict, hello: Hello) -> bytes:
        said = bytes((verdict,))
        return said + hello.stamps.of_verdict(said)

    def read_verdict(self, answer: bytes, header: bytes) -> tuple[Verdict, Stamps]:
        """Read the answer to a header, and derive the proofs of all later messages.

        Raise `HandshakeFailed` if the answer is not from this fleet.
        """
        for has_direction in (True, False):
            stamps = self._stamps(header, has_direction)
            if hmac.compare_digest(answer[1:], stamps.of_verdict(answer[:1])):
                return Verdict(answer[0]), stamps
        raise HandshakeFailed("it does not know the key of this fleet")

    def _stamps(self, header: bytes, has_direction: bool) -> Stamps:
        return Stamps(self._key, header[-PROOF_BYTES:], has_direction=has_direction)

    def _proof(self, challenge: bytes, proven: bytes) -> bytes:
        return hmac.digest(self._key, challenge + proven, "sha256")


def length_of(begin: bytes) -> int | None:
    """Return the length of a header from its first bytes; None while these are too few."""
    if not SIGNATURE.startswith(begin[: len(SIGNATURE)]):
        raise HandshakeFailed("it does not begin with a header of the PROXY protocol")
    if len(begin) < _START.size:
        return None
    _, command, family, length = _START.unpack_from(begin)
    whole: int = _START.size + length
    if command != _PROXY or family not in _ADDRESSES or whole > MAX_HEADER_BYTES:
        raise HandshakeFailed("its PROXY protocol header is not from a node")
    return whole


def _addresses(client: Client) -> tuple[int, bytes]:
    target = _address(client.local_host)
    # If the client is a controller of the calling node, its address is the unspecified one (all
    # zeros), which no other client can have.
    source = type(target)(0) if client.host == OWN_PEER else _address(client.host)
    family = _BY_VERSION[source.version]
    shape, _ = _ADDRESSES[family]
    return family, shape.pack(source.packed, target.packed, client.port, client.local_port)


def _address(text: str) -> IPv4Address | IPv6Address:
    # The interface of a link-local address means nothing to another machine.
    return ip_address(text.partition("%")[0])


def _fields(packed: bytes) -> dict[int, bytes]:
    """Split the fields of a header, in their order."""
    fields: dict[int, bytes] = {}
    while packed:
        kind, length = _FIELD.unpack_from(packed)
        end = _FIELD.size + length
        fields[kind], packed = packed[_FIELD.size : end], packed[end:]
    return fields


def _field(kind: int, value: bytes) -> bytes:
    return _FIELD.pack(kind, len(value)) + value
