"""Serial modules as bytes: CO2, particulate and distance sensors, and a code scanner."""

import re
from collections.abc import Callable
from math import isfinite
from struct import unpack
from typing import Protocol

from leverframe.core.labels import PARTICULATES

# The interface of decoders of serial modules, and frames of one length.
#
# A decoder receives the incoming bytes in pieces of any size, and returns the readings that they
# complete, by label; None is a reading that the module itself reports as absent. Invalid bytes are
# skipped one by one until a valid frame follows, so noise destroys only the frames in which it
# occurs.

#: Numbers by label, and the text of a scanner.
Found = dict[str, float | str | None]


class Decoder(Protocol):
    def feed(self, data: bytes) -> list[Found]:
        """Process bytes and return the readings that they complete."""


class FixedFrames:
    """Frames of one length that begin with a fixed byte; `read` decodes a frame."""

    def __init__(self, head: int, length: int, read: Callable[[bytes], Found | None]) -> None:
        self._head = head
        self._length = length
        self._read = read
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Found]:
        pending, length = self._pending, self._length
        pending += data
        found = []
        start = pending.find(self._head)
        while start >= 0 and start + length <= len(pending):
            reading = self._read(bytes(pending[start : start + length]))
            if reading is None:
                start = pending.find(self._head, start + 1)
            else:
                found.append(reading)
                start = pending.find(self._head, start + length)
        del pending[: len(pending) if start < 0 else start]
        return found


# The CO2 sensors MH-Z16 and MH-Z19: answer a request, at 9600 bit/s.
#
#     request  FF 01 86 00 00 00 00 00 79
#     answer   FF 86 | ppm high, low | four bytes that differ by model | check
#
# The check byte makes the sum of all bytes except the first a multiple of 256.

MHZ19_BITRATE = 9600
MHZ19_LABELS = ("CO2",)
MHZ19_REQUEST = bytes.fromhex("FF 01 86 00 00 00 00 00 79")
_MHZ19_HEAD, _MHZ19_ANSWER = 0xFF, 0x86
_MHZ19_LENGTH = 9


def mhz19_decoder() -> FixedFrames:
    return FixedFrames(_MHZ19_HEAD, _MHZ19_LENGTH, _read_mhz19)


def _read_mhz19(frame: bytes) -> Found | None:
    if frame[1] != _MHZ19_ANSWER or sum(frame[1:]) & 0xFF:
        return None
    return {"CO2": int.from_bytes(frame[2:4], "big")}


# A scanner of bar or QR codes: every code is a line of text, at 9600 bit/s.
#
# Scanners end a code with CR, LF or both. Some add control characters, which are removed. Text that
# is not UTF-8 is read as Latin-1. A line longer than any plausible code is noise.

SCANNER_BITRATE = 9600
SCANNER_LABELS = ("barcode",)
SCANNER_MAX_BYTES = 1024
_SCANNER_LINE_ENDS = re.compile(rb"[\r\n]")
_SCANNER_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ScannerDecoder:
    def __init__(self) -> None:
        self._pending = b""
        #: The line being received is too long; skip it to its end.
        self._skipping = False

    def feed(self, data: bytes) -> list[Found]:
        *lines, self._pending = _SCANNER_LINE_ENDS.split(self._pending + data)
        if lines and self._skipping:
            del lines[0]
            self._skipping = False
        if len(self._pending) > SCANNER_MAX_BYTES:
            self._pending, self._skipping = b"", True
        codes = (_code_scanner(line) for line in lines if len(line) <= SCANNER_MAX_BYTES)
        return [{"barcode": code} for code in codes if code]


def _code_scanner(line: bytes) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("latin-1")
    return _SCANNER_CONTROL.sub("", text).strip()


# The particulate sensor SDS011: reports unprompted once a second at 9600 bit/s.
#
#     AA C0 | PM2.5 low, high | PM10 low, high | ID, ID | sum | AB
#
# Values are tenths of µg/m3; the sum covers the six bytes before it. `WAKE` wakes a sensor that
# sleeps or reports only on request.

SDS011_BITRATE = 9600
SDS011_LABELS = ("PM2.5", "PM10.0")
_SDS011_HEAD, _SDS011_REPORT, _SDS011_COMMAND, _SDS011_TAIL = 0xAA, 0xC0, 0xB4, 0xAB
_SDS011_LENGTH = 10
_SDS011_ANY_SENSOR = bytes((0xFF, 0xFF))


def sds011_decoder() -> FixedFrames:
    return FixedFrames(_SDS011_HEAD, _SDS011_LENGTH, _read_sds011)


def _read_sds011(frame: bytes) -> Found | None:
    if frame[1] != _SDS011_REPORT or frame[9] != _SDS011_TAIL or sum(frame[2:8]) & 0xFF != frame[8]:
        return None
    fine, coarse = (int.from_bytes(frame[at : at + 2], "little") / 10 for at in (2, 4))
    return {"PM2.5": fine, "PM10.0": coarse}


def _command_sds011(*what: int) -> bytes:
    body = bytes(what).ljust(13, b"\0") + _SDS011_ANY_SENSOR
    return bytes((_SDS011_HEAD, _SDS011_COMMAND, *body, sum(body) & 0xFF, _SDS011_TAIL))


#: Wake up and report without requests.
SDS011_WAKE = _command_sds011(6, 1, 1) + _command_sds011(2, 1, 0)


# The particulate sensor SPS30 on its serial interface: SHDLC frames at 115200 bit/s.
#
#     request  7E | 00 | command | length | data | check | 7E
#     answer   7E | 00 | command | state | length | data | check | 7E
#
# The check byte is the inverted sum of the bytes before it. Between the 7E, the bytes 7D, 7E, 11
# and 13 are sent as 7D and the byte with bit 5 flipped. `START` starts measuring with big-endian
# floats; `REQUEST` requests the newest values, of which the first four are the masses in µg/m3. An
# answer without data means that there is no new measurement since the last one.

SPS30_BITRATE = 115200
SPS30_LABELS = PARTICULATES
_SPS30_MARK, _SPS30_ESCAPE, _SPS30_FLIP = 0x7E, 0x7D, 0x20
_SPS30_ESCAPED = frozenset((_SPS30_MARK, _SPS30_ESCAPE, 0x11, 0x13))
_SPS30_START_MEASURING, _SPS30_READ_VALUES = 0x00, 0x03
_SPS30_BIG_ENDIAN_FLOATS = bytes((0x01, 0x03))
_SPS30_VALUES = 10
_SPS30_STATE_OK = 0x00
#: The maximum length of a frame in which every byte is escaped.
_SPS30_MAX_PENDING = 2 * (255 + 5)


def sps30_frame(*content: int) -> bytes:
    """Build a frame around address, command, state if any, length and data."""
    body = bytes((*content, ~sum(content) & 0xFF))
    stuffed = bytearray()
    for byte in body:
        stuffed += (
            bytes((_SPS30_ESCAPE, byte ^ _SPS30_FLIP)) if byte in _SPS30_ESCAPED else bytes((byte,))
        )
    return bytes((_SPS30_MARK, *stuffed, _SPS30_MARK))


SPS30_START = sps30_frame(
    0, _SPS30_START_MEASURING, len(_SPS30_BIG_ENDIAN_FLOATS), *_SPS30_BIG_ENDIAN_FLOATS
)
SPS30_REQUEST = sps30_frame(0, _SPS30_READ_VALUES, 0)


class Sps30Decoder:
    """A decoder of frames between 7E bytes; a 7E can end one frame and begin the next."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[Found]:
        self._pending += data
        *ended, rest = bytes(self._pending).split(bytes((_SPS30_MARK,)))
        self._pending = bytearray(rest[-_SPS30_MAX_PENDING:])
        readings = (_read_sps30(between) for between in ended)
        return [reading for reading in readings if reading is not None]


def _read_sps30(between: bytes) -> Found | None:
    content = _unstuff_sps30(between)
    if len(content) < 5 or (~sum(content[:-1]) & 0xFF) != content[-1]:
        return None
    _, command, state, length = content[:4]
    data = content[4:-1]
    if (
        command != _SPS30_READ_VALUES
        or state != _SPS30_STATE_OK
        or not length == len(data) == 4 * _SPS30_VALUES
    ):
        return None
    masses = unpack(f">{_SPS30_VALUES}f", data)[: len(SPS30_LABELS)]
    return {
        label: round(mass, 3) if isfinite(mass) else None
        for label, mass in zip(SPS30_LABELS, masses, strict=True)
    }


def _unstuff_sps30(between: bytes) -> bytes:
    content = bytearray()
    flip = 0
    for byte in between:
        if byte == _SPS30_ESCAPE:
            flip = _SPS30_FLIP
        else:
            content.append(byte ^ flip)
            flip = 0
    return bytes(content)


# Ultrasonic distance sensors with a serial output (A02YYUW, JSN-SR04T and others), 9600 bit/s.
#
#     FF | millimetres high, low | sum
#
# The sum covers the three bytes before it; the AJ-SR04M omits the first one. Some sensors send
# without requests, and are not affected by `REQUEST`; others only answer `REQUEST`. A distance of 0
# means that there was no echo.

ULTRASONIC_BITRATE = 9600
ULTRASONIC_LABELS = ("DISTANCE",)
ULTRASONIC_REQUEST = b"\x55"
_ULTRASONIC_HEAD = 0xFF
_ULTRASONIC_LENGTH = 4


def ultrasonic_decoder() -> FixedFrames:
    return FixedFrames(_ULTRASONIC_HEAD, _ULTRASONIC_LENGTH, _read_ultrasonic)


def _read_ultrasonic(frame: bytes) -> Found | None:
    without_head = frame[1] + frame[2]
    if frame[3] not in (without_head & 0xFF, (_ULTRASONIC_HEAD + without_head) & 0xFF):
        return None
    return {"DISTANCE": int.from_bytes(frame[1:3], "big") or None}
