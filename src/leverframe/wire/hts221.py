"""HTS221: humidity and temperature on straight lines through two points measured by the maker.

The two points of each line stand in the calibration registers: the value (x2 or x8) and what the
converter showed at it. A part without calibration gives no reading.
"""

from struct import unpack
from typing import NamedTuple

ADDRESS = 0x5F
WHO_AM_I_REGISTER, WHO_AM_I = 0x0F, 0xBC
CONTROL_REGISTER = 0x20
#: On, both bytes of a value belong together, one measurement a second.
MEASURE_EVERY_SECOND = 0x85
#: The highest bit of a register's address lets the address count up.
CALIBRATION_REGISTER, CALIBRATION_BYTES = 0x30 | 0x80, 16
STATUS_REGISTER, STATUS_BOTH_NEW = 0x27, 0x03
MEASUREMENT_REGISTER, MEASUREMENT_BYTES = 0x28 | 0x80, 4


class CalibrationLine(NamedTuple):
    """Through (raw0, value0) and (raw1, value1)."""

    raw0: int
    value0: float
    raw1: int
    value1: float


class Hts221Calibration(NamedTuple):
    humidity: CalibrationLine
    temperature: CalibrationLine


class Hts221Measurement(NamedTuple):
    celsius: float | None
    percent: float | None


def decode_calibration(data: bytes) -> Hts221Calibration:
    h0_x2, h1_x2, t0_x8, t1_x8, _, tops = data[:6]
    h0_raw, _, h1_raw, t0_raw, t1_raw = unpack("<5h", data[6:16])
    # The two highest bits of both temperatures share a byte.
    t0_x8 |= (tops & 0b0011) << 8
    t1_x8 |= (tops & 0b1100) << 6
    return Hts221Calibration(
        CalibrationLine(h0_raw, h0_x2 / 2, h1_raw, h1_x2 / 2),
        CalibrationLine(t0_raw, t0_x8 / 8, t1_raw, t1_x8 / 8),
    )


def decode_measurement(data: bytes, calibration: Hts221Calibration) -> Hts221Measurement:
    humidity, temperature = unpack("<2h", data)
    percent = _on_line(humidity, calibration.humidity)
    return Hts221Measurement(
        _on_line(temperature, calibration.temperature),
        None if percent is None else min(max(percent, 0.0), 100.0),
    )


def _on_line(raw: int, line: CalibrationLine) -> float | None:
    if line.raw0 == line.raw1:
        return None
    slope = (line.value1 - line.value0) / (line.raw1 - line.raw0)
    return round(line.value0 + (raw - line.raw0) * slope, 2)
