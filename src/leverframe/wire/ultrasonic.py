"""Ultrasonic distance sensors with a serial output (A02YYUW, JSN-SR04T and their like), 9600 bit/s.

    FF | millimetres high, low | sum

The sum is that of the three bytes before it; the AJ-SR04M leaves the first one out. Some send by
themselves, others when asked with `REQUEST`, which the former do not mind. A distance of 0 means
that no echo came back.
"""

from leverframe.wire.serial_decoder import FixedFrames, Found

BITRATE = 9600
LABELS = ("DISTANCE",)
REQUEST = b"\x55"
_HEAD = 0xFF
_LENGTH = 4


def decoder() -> FixedFrames:
    return FixedFrames(_HEAD, _LENGTH, _read)


def _read(frame: bytes) -> Found | None:
    without_head = frame[1] + frame[2]
    if frame[3] not in (without_head & 0xFF, (_HEAD + without_head) & 0xFF):
        return None
    return {"DISTANCE": int.from_bytes(frame[1:3], "big") or None}
