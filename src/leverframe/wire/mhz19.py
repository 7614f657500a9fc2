"""The CO2 sensors MH-Z16 and MH-Z19: answer a request, at 9600 bit/s.

    request  FF 01 86 00 00 00 00 00 79
    answer   FF 86 | ppm high, low | four bytes that differ by model | check

The check byte makes the sum of all bytes but the first a multiple of 256.
"""

from leverframe.wire.serial_decoder import FixedFrames, Found

BITRATE = 9600
LABELS = ("CO2",)
REQUEST = bytes.fromhex("FF 01 86 00 00 00 00 00 79")
_HEAD, _ANSWER = 0xFF, 0x86
_LENGTH = 9


def decoder() -> FixedFrames:
    return FixedFrames(_HEAD, _LENGTH, _read)


def _read(frame: bytes) -> Found | None:
    if frame[1] != _ANSWER or sum(frame[1:]) & 0xFF:
        return None
    return {"CO2": int.from_bytes(frame[2:4], "big")}
