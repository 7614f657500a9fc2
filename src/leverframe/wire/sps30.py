"""The particulate sensor SPS30 on its serial interface: SHDLC frames at 115200 bit/s.

    request  7E | 00 | command | length | data | check | 7E
    answer   7E | 00 | command | state | length | data | check | 7E

The check byte is the inverted sum of what stands before it. Between the 7E, the bytes 7D, 7E, 11
and 13 are sent as 7D and the byte with bit 5 flipped. `START` begins to measure, big-endian floats;
`REQUEST` asks for the newest values, of which the first four are the masses in µg/m3. An answer
without data means that nothing was measured since the last one.
"""

from math import isfinite
from struct import unpack

from leverframe.engine.labels import PARTICULATES
from leverframe.wire.serial_decoder import Found

BITRATE = 115200
LABELS = PARTICULATES
_MARK, _ESCAPE, _FLIP = 0x7E, 0x7D, 0x20
_ESCAPED = frozenset((_MARK, _ESCAPE, 0x11, 0x13))
_START_MEASURING, _READ_VALUES = 0x00, 0x03
_BIG_ENDIAN_FLOATS = bytes((0x01, 0x03))
_VALUES = 10
_STATE_OK = 0x00
#: No frame is longer, even if every byte of it is escaped.
_MAX_PENDING = 2 * (255 + 5)


def frame(*content: int) -> bytes:
    """Make a frame around address, command, state if any, length and data."""
    body = bytes((*content, ~sum(content) & 0xFF))
    stuffed = bytearray()
    for byte in body:
        stuffed += bytes((_ESCAPE, byte ^ _FLIP)) if byte in _ESCAPED else bytes((byte,))
    return bytes((_MARK, *stuffed, _MARK))


START = frame(0, _START_MEASURING, len(_BIG_ENDIAN_FLOATS), *_BIG_ENDIAN_FLOATS)
REQUEST = frame(0, _READ_VALUES, 0)


class Sps30Decoder:
    """A decoder of frames between 7E bytes, each of which may be an end and a beginning."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Found]:
        self._pending += data
        *ended, rest = bytes(self._pending).split(bytes((_MARK,)))
        self._pending = bytearray(rest[-_MAX_PENDING:])
        readings = (_read(between) for between in ended)
        return [reading for reading in readings if reading is not None]


def _read(between: bytes) -> Found | None:
    content = _unstuff(between)
    if len(content) < 5 or (~sum(content[:-1]) & 0xFF) != content[-1]:
        return None
    _, command, state, length = content[:4]
    data = content[4:-1]
    if command != _READ_VALUES or state != _STATE_OK or not length == len(data) == 4 * _VALUES:
        return None
    masses = unpack(f">{_VALUES}f", data)[: len(LABELS)]
    return {
        label: round(mass, 3) if isfinite(mass) else None
        for label, mass in zip(LABELS, masses, strict=True)
    }


def _unstuff(between: bytes) -> bytes:
    content = bytearray()
    flip = 0
    for byte in between:
        if byte == _ESCAPE:
            flip = _FLIP
        else:
            content.append(byte ^ flip)
            flip = 0
    return bytes(content)
