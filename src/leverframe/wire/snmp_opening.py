"""The opening of an SNMP message: its version, and by which name its sender asks.

A few bytes show both, whatever follows them. A message of an unknown sender is not read any
further: a whole message takes thousands of times as long.
"""

from typing import NamedTuple

V1, V2C, V3 = 0, 1, 3
#: The user-based security model (RFC 3414), which has user names.
USM = 3
#: Bits of the flags of version 3: authenticated, private.
AUTHENTICATED, SECURED = 0b01, 0b11

_INTEGER, _TEXT, _SEQUENCE = 0x02, 0x04, 0x30
#: Every request is of one of these types, Get to Report.
_REQUESTS = range(0xA0, 0xA9)
_MAX_INTEGER_BYTES = 5


class NotSnmp(ValueError):
    """The bytes are no SNMP message that anything is made of here."""


class Opening(NamedTuple):
    version: int
    #: The community, or the user of version 3.
    name: bytes
    #: Version 3: the message is authenticated and private.
    is_secured: bool = False
    #: Version 3: the message is authenticated, perhaps also private.
    is_authenticated: bool = False
    #: Version 3: the engine whose user it is; empty in a discovery request.
    engine_id: bytes = b""

    @property
    def is_discovery(self) -> bool:
        """Version 3: a discovery request, sent before requests of a user."""
        return self.version == V3 and not self.name and not self.is_secured


def read_opening(datagram: bytes) -> Opening:
    """Read the opening; raise NotSnmp unless one message, and nothing else, fills the datagram."""
    message = _Fields(datagram)
    fields = _Fields(message.take(_SEQUENCE))
    message.end()
    version = fields.take_integer()
    if version in (V1, V2C):
        name = fields.take(_TEXT)
        fields.take(*_REQUESTS)
        fields.end()
        return Opening(version, name)
    if version == V3:
        return _read_v3(fields)
    raise NotSnmp(f"version {version}")


def _read_v3(fields: "_Fields") -> Opening:
    head = _Fields(fields.take(_SEQUENCE))
    for _ in ("message ID", "largest message"):
        head.take_integer()
    flags = head.take(_TEXT)
    if len(flags) != 1 or head.take_integer() != USM:
        raise NotSnmp("another security model")
    security = _Fields(_Fields(fields.take(_TEXT)).take(_SEQUENCE))
    engine_id = security.take(_TEXT)
    for _ in ("boots", "time"):
        security.take_integer()
    name, bits = security.take(_TEXT), flags[0]
    return Opening(V3, name, bits & SECURED == SECURED, bool(bits & AUTHENTICATED), engine_id)


class _Fields:
    """Fields of BER one after the other, with lengths as SNMP has them."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def take(self, *tags: int) -> bytes:
        """Return the content of the next field, which has one of these tags."""
        data, at = self._data, self._at
        if len(data) < at + 2 or data[at] not in tags:
            raise NotSnmp("another field")
        size, begin = data[at + 1], at + 2
        if size & 0x80:
            digits = size & 0x7F
            if not 1 <= digits <= 4 or len(data) < begin + digits:
                raise NotSnmp("a length without a meaning")
            size, begin = int.from_bytes(data[begin : begin + digits], "big"), begin + digits
        self._at = begin + size
        if self._at > len(data):
            raise NotSnmp("a field beyond the end")
        return data[begin : self._at]

    def take_integer(self) -> int:
        content = self.take(_INTEGER)
        if not 1 <= len(content) <= _MAX_INTEGER_BYTES:
            raise NotSnmp("a number without a meaning")
        return int.from_bytes(content, "big", signed=True)

    def end(self) -> None:
        if self._at != len(self._data):
            raise NotSnmp("data after the end")
