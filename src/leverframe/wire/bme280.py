"""BME280: temperature, humidity and pressure from its registers, by the formulas of its data sheet.

Every part has calibration numbers of its own, read once (`decode_calibration`); a measurement is
eight bytes (`decode_measurement`). A value that was not measured has a fixed pattern and is absent.
"""

from struct import unpack
from typing import NamedTuple

ADDRESSES = (0x76, 0x77)
CHIP_ID_REGISTER, CHIP_ID = 0xD0, 0x60
#: The calibration numbers stand in two places.
CALIBRATION_REGISTERS = ((0x88, 26), (0xE1, 7))
CONTROL_HUMIDITY, CONTROL_MEASUREMENT = 0xF2, 0xF4
STATUS_REGISTER, STATUS_MEASURING = 0xF3, 0x08
#: One sample of each, measured once, then sleep.
SINGLE_SAMPLE, MEASURE_ONCE = 0x01, 0x25
MEASUREMENT_REGISTER, MEASUREMENT_BYTES = 0xF7, 8

_NOT_MEASURED = 0x80000
_NO_HUMIDITY = 0x8000


class Bme280Calibration(NamedTuple):
    t: tuple[int, ...]
    p: tuple[int, ...]
    h: tuple[int, ...]


class Bme280Measurement(NamedTuple):
    celsius: float | None
    percent: float | None
    hpa: float | None


def decode_calibration(low: bytes, high: bytes) -> Bme280Calibration:
    """Decode the calibration numbers from the two blocks of `CALIBRATION_REGISTERS`."""
    words = unpack("<HhhHhhhhhhhh", low[:24])
    h2, h3, middle, h6 = unpack("<hB3sb", high)
    # H4 and H5 have twelve bits each and share the byte between them.
    h4 = unpack("b", middle[:1])[0] << 4 | middle[1] & 0x0F
    h5 = unpack("b", middle[2:])[0] << 4 | middle[1] >> 4
    return Bme280Calibration(words[:3], words[3:], (low[25], h2, h3, h4, h5, h6))


def decode_measurement(data: bytes, calibration: Bme280Calibration) -> Bme280Measurement:
    pressure = data[0] << 12 | data[1] << 4 | data[2] >> 4
    temperature = data[3] << 12 | data[4] << 4 | data[5] >> 4
    humidity = data[6] << 8 | data[7]
    if temperature == _NOT_MEASURED:
        # The other two are corrected by the temperature.
        return Bme280Measurement(None, None, None)
    fine = _fine_temperature(temperature, calibration.t)
    return Bme280Measurement(
        round(fine / 5120.0, 2),
        None if humidity == _NO_HUMIDITY else round(_percent(humidity, fine, calibration.h), 2),
        None if pressure == _NOT_MEASURED else _hpa(pressure, fine, calibration.p),
    )


def _fine_temperature(raw: int, t: tuple[int, ...]) -> float:
    t1, t2, t3 = t
    linear = (raw / 16384.0 - t1 / 1024.0) * t2
    square = (raw / 131072.0 - t1 / 8192.0) ** 2 * t3
    return linear + square


def _hpa(raw: int, fine: float, p: tuple[int, ...]) -> float | None:
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = p
    half = fine / 2.0 - 64000.0
    offset = (half * half * p6 / 32768.0 + half * p5 * 2.0) / 4.0 + p4 * 65536.0
    slope = (1.0 + (p3 * half * half / 524288.0 + p2 * half) / 524288.0 / 32768.0) * p1
    if slope == 0.0:
        return None
    pascal = (1048576.0 - raw - offset / 4096.0) * 6250.0 / slope
    pascal += (p9 * pascal * pascal / 2147483648.0 + pascal * p8 / 32768.0 + p7) / 16.0
    return round(pascal / 100.0, 2)


def _percent(raw: int, fine: float, h: tuple[int, ...]) -> float:
    h1, h2, h3, h4, h5, h6 = h
    warmth = fine - 76800.0
    gain = h2 / 65536.0 * (1.0 + h6 / 67108864.0 * warmth * (1.0 + h3 / 67108864.0 * warmth))
    percent = (raw - (h4 * 64.0 + h5 / 16384.0 * warmth)) * gain
    percent *= 1.0 - h1 * percent / 524288.0
    return min(max(percent, 0.0), 100.0)
