"""SPS30 on the I2C bus: commands of two bytes, answers in words of two bytes and a check byte.

The sensor measures once a second after the start command. Its answer holds ten numbers; the first
four are the masses of particles up to 1.0, 2.5, 4.0 and 10 µm in µg/m3.
"""

from math import isfinite
from struct import unpack

ADDRESS = 0x69
START = bytes((0x00, 0x10))
STOP = bytes((0x01, 0x04))
DATA_READY = bytes((0x02, 0x02))
READ = bytes((0x03, 0x00))
#: Ask for floating-point numbers.
FLOAT_FORMAT = bytes((0x03, 0x00))

DATA_READY_BYTES = 3
#: Only the four masses are fetched; an answer may be cut short anywhere.
MASSES_BYTES = 4 * 6


def check_byte(data: bytes) -> int:
    """Compute the CRC-8 of Sensirion's sensors."""
    crc = 0xFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x31 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def encode_words(data: bytes) -> bytes:
    """Encode an even number of bytes with a check byte behind every two."""
    pairs = (data[at : at + 2] for at in range(0, len(data), 2))
    return b"".join(pair + bytes((check_byte(pair),)) for pair in pairs)


def decode_words(answer: bytes) -> bytes | None:
    """Decode bytes without their check bytes; None if one of those is wrong or something is cut."""
    data = b"".join(answer[at : at + 2] for at in range(0, len(answer), 3))
    return data if len(answer) % 3 == 0 and encode_words(data) == answer else None


def start_command() -> bytes:
    return START + encode_words(FLOAT_FORMAT)


def decode_ready(answer: bytes) -> bool:
    """Return whether there is a measurement that was not fetched yet."""
    data = decode_words(answer)
    return data is not None and len(data) == 2 and data[1] == 1


def decode_masses(answer: bytes) -> tuple[float, ...] | None:
    """Decode PM1.0, PM2.5, PM4.0 and PM10.0 in µg/m3; None for a damaged answer."""
    data = decode_words(answer)
    if data is None or len(data) != 16:
        return None
    masses = tuple(round(mass, 3) for mass in unpack(">4f", data))
    return masses if all(map(isfinite, masses)) else None
