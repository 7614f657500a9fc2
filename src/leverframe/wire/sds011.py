"""The particulate sensor SDS011: reports unprompted once a second at 9600 bit/s.

    AA C0 | PM2.5 low, high | PM10 low, high | ID, ID | sum | AB

Values are tenths of µg/m3; the sum is that of the six bytes before it. A sensor that was put to
sleep, or set to report only on request, is woken by `WAKE`.
"""

from leverframe.wire.serial_decoder import FixedFrames, Found

BITRATE = 9600
LABELS = ("PM2.5", "PM10.0")
_HEAD, _REPORT, _COMMAND, _TAIL = 0xAA, 0xC0, 0xB4, 0xAB
_LENGTH = 10
_ANY_SENSOR = bytes((0xFF, 0xFF))


def decoder() -> FixedFrames:
    return FixedFrames(_HEAD, _LENGTH, _read)


def _read(frame: bytes) -> Found | None:
    if frame[1] != _REPORT or frame[9] != _TAIL or sum(frame[2:8]) & 0xFF != frame[8]:
        return None
    fine, coarse = (int.from_bytes(frame[at : at + 2], "little") / 10 for at in (2, 4))
    return {"PM2.5": fine, "PM10.0": coarse}


def _command(*what: int) -> bytes:
    body = bytes(what).ljust(13, b"\0") + _ANY_SENSOR
    return bytes((_HEAD, _COMMAND, *body, sum(body) & 0xFF, _TAIL))


#: Work, then report without being asked.
WAKE = _command(6, 1, 1) + _command(2, 1, 0)
