"""1-Wire sensors as the Linux kernel shows them: their names, and the text of `w1_slave`.

The kernel names a sensor by family and serial number, most significant byte first
(`28-0317611d64ff`); other programs write the eight bytes in the order in which they come over the
wire, with the check byte at the end (`28:FF:64:1D:61:17:03:8D`).

`w1_slave` has two lines: the nine bytes of the sensor's scratchpad with the verdict of the kernel
about their checksum, and the temperature in thousandths of a degree. The scratchpad shows what is
no reading: zeros come from a wire that is shorted, and their checksum is right; ones come from an
idle wire; a sensor that has just got power and has not measured yet shows 85 °C with a byte that no
measurement leaves there.
"""

import re

from leverframe.errors import ErrorForPeople

_NAME = re.compile(r"([0-9a-f]{2})-([0-9a-f]{12})")
_TEXT = re.compile(
    r"((?:[0-9a-f]{2} ){9}): crc=[0-9a-f]{2} (YES|NO)\n.*t=(-?\d{1,6})\s*", re.DOTALL
)
#: What the sensors can measure, in thousandths of a degree.
_MIN, _MAX = -55_000, 125_000
_POWER_ON = 85_000
#: Of the scratchpad: after a measurement of 85 °C it is 0x10.
_STATE_BYTE, _STATE_AT_POWER_ON = 6, 0x0C


SILENT = "does not answer; check its wires and its supply."
SHORTED = "returns only zeros; its data wire is shorted to ground, check the wires."
DAMAGED = (
    "answers with wrong checksums; the line is disturbed: check the length of the cable, its"
    " joints and the pull-up resistor."
)
IMPOSSIBLE = "returns a temperature that it cannot measure; check its supply, or replace it."
NOT_MEASURED = "was reset and has not measured since; check its supply."


class NoTemperature(ErrorForPeople):
    """What a sensor showed is no temperature: what it is instead, and what to do."""


def check_byte(data: bytes) -> int:
    """Compute the CRC-8 of the 1-Wire bus."""
    crc = 0
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x8C if crc & 1 else 0)
    return crc


def id_from_name(name: str) -> str | None:
    """Return the ID of the sensor that has this folder; None if it is no sensor's."""
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    body = bytes.fromhex(found[1]) + bytes.fromhex(found[2])[::-1]
    return ":".join(f"{byte:02X}" for byte in (*body, check_byte(body)))


def name_from_id(sensor_id: str) -> str:
    """Return the folder of the sensor with this ID."""
    family, *serial, _ = sensor_id.lower().split(":")
    return f"{family}-{''.join(reversed(serial))}"


def celsius_from_text(text: str) -> float:
    """Decode the temperature in `w1_slave`; raises `NoTemperature` where there is none."""
    found = _TEXT.search(text)
    if found is None:
        raise NoTemperature(SILENT)
    scratchpad, is_checked, millidegrees = bytes.fromhex(found[1]), found[2] == "YES", int(found[3])
    if not any(scratchpad):
        raise NoTemperature(SHORTED)
    if all(byte == 0xFF for byte in scratchpad):
        raise NoTemperature(SILENT)
    if not is_checked:
        raise NoTemperature(DAMAGED)
    if not _MIN <= millidegrees <= _MAX:
        raise NoTemperature(IMPOSSIBLE)
    if millidegrees == _POWER_ON and scratchpad[_STATE_BYTE] == _STATE_AT_POWER_ON:
        raise NoTemperature(NOT_MEASURED)
    return millidegrees / 1000
