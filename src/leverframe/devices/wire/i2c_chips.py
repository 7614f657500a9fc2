"""I2C sensors as bytes: AM2320, BME280, HTS221 and SPS30, by the formulas of their data sheets."""

from math import isfinite
from struct import unpack
from typing import NamedTuple

from leverframe.devices.wire.modbus_frames import crc16

# AM2320: humidity and temperature in one answer of eight bytes, closed by a Modbus CRC.
#
# The sensor sleeps between two readings. The first access only wakes it and is not answered. Then
# the sensor accepts the request, and its answer can be read a little later.

AM2320_ADDRESS = 0x5C
#: Function 3, from register 0, four bytes.
AM2320_REQUEST = bytes((0x03, 0x00, 0x04))
AM2320_ANSWER_BYTES = 8
AM2320_WAKE_UP_S = 0.001
AM2320_ANSWER_AFTER_S = 0.002

_AM2320_SIGN = 0x8000


class Am2320Measurement(NamedTuple):
    celsius: float
    percent: float


def decode_am2320_answer(answer: bytes) -> Am2320Measurement | None:
    """Decode an answer; return None if it is damaged or of another kind."""
    if len(answer) != AM2320_ANSWER_BYTES or answer[:2] != b"\x03\x04":
        return None
    if crc16(answer[:6]) != int.from_bytes(answer[6:], "little"):
        return None
    humidity = int.from_bytes(answer[2:4], "big")
    temperature = int.from_bytes(answer[4:6], "big")
    # The highest bit is the sign, the other bits are the magnitude.
    amount = (temperature & ~_AM2320_SIGN) / 10
    return Am2320Measurement(-amount if temperature & _AM2320_SIGN else amount, humidity / 10)


# BME280: temperature, humidity and pressure from its registers, by the formulas of its data
# sheet.
#
# Every part has its own calibration numbers, read once (`decode_calibration`); a measurement is
# eight bytes (`decode_measurement`). A value that was not measured has a fixed pattern and is
# absent.

BME280_ADDRESSES = (0x76, 0x77)
BME280_CHIP_ID_REGISTER, BME280_CHIP_ID = 0xD0, 0x60
#: The calibration numbers are in two blocks of registers.
BME280_CALIBRATION_REGISTERS = ((0x88, 26), (0xE1, 7))
BME280_CONTROL_HUMIDITY, BME280_CONTROL_MEASUREMENT = 0xF2, 0xF4
BME280_STATUS_REGISTER, BME280_STATUS_MEASURING = 0xF3, 0x08
#: Measure each quantity once, then sleep.
BME280_SINGLE_SAMPLE, BME280_MEASURE_ONCE = 0x01, 0x25
BME280_MEASUREMENT_REGISTER, BME280_MEASUREMENT_BYTES = 0xF7, 8

_BME280_NOT_MEASURED = 0x80000
_BME280_NO_HUMIDITY = 0x8000


class Bme280Calibration(NamedTuple):
    t: tuple[int, ...]
    p: tuple[int, ...]
    h: tuple[int, ...]


class Bme280Measurement(NamedTuple):
    celsius: float | None
    percent: float | None
    hpa: float | None


def decode_bme280_calibration(low: bytes, high: bytes) -> Bme280Calibration:
    """Decode the calibration numbers from the two blocks of `CALIBRATION_REGISTERS`."""
    words = unpack("<HhhHhhhhhhhh", low[:24])
    h2, h3, middle, h6 = unpack("<hB3sb", high)
    # H4 and H5 have twelve bits each and share the middle byte.
    h4 = unpack("b", middle[:1])[0] << 4 | middle[1] & 0x0F
    h5 = unpack("b", middle[2:])[0] << 4 | middle[1] >> 4
    return Bme280Calibration(words[:3], words[3:], (low[25], h2, h3, h4, h5, h6))


def decode_bme280_measurement(data: bytes, calibration: Bme280Calibration) -> Bme280Measurement:
    pressure = data[0] << 12 | data[1] << 4 | data[2] >> 4
    temperature = data[3] << 12 | data[4] << 4 | data[5] >> 4
    humidity = data[6] << 8 | data[7]
    if temperature == _BME280_NOT_MEASURED:
        # Pressure and humidity are corrected by the temperature.
        return Bme280Measurement(None, None, None)
    fine = _fine_bme280_temperature(temperature, calibration.t)
    return Bme280Measurement(
        round(fine / 5120.0, 2),
        None
        if humidity == _BME280_NO_HUMIDITY
        else round(_percent_bme280(humidity, fine, calibration.h), 2),
        None if pressure == _BME280_NOT_MEASURED else _hpa_bme280(pressure, fine, calibration.p),
    )


def _fine_bme280_temperature(raw: int, t: tuple[int, ...]) -> float:
    t1, t2, t3 = t
    linear = (raw / 16384.0 - t1 / 1024.0) * t2
    square = (raw / 131072.0 - t1 / 8192.0) ** 2 * t3
    return linear + square


def _hpa_bme280(raw: int, fine: float, p: tuple[int, ...]) -> float | None:
    p1, p2, p3, p4, p5, p6, p7, p8, p9 = p
    half = fine / 2.0 - 64000.0
    offset = (half * half * p6 / 32768.0 + half * p5 * 2.0) / 4.0 + p4 * 65536.0
    slope = (1.0 + (p3 * half * half / 524288.0 + p2 * half) / 524288.0 / 32768.0) * p1
    if slope == 0.0:
        return None
    pascal = (1048576.0 - raw - offset / 4096.0) * 6250.0 / slope
    pascal += (p9 * pascal * pascal / 2147483648.0 + pascal * p8 / 32768.0 + p7) / 16.0
    return round(pascal / 100.0, 2)


def _percent_bme280(raw: int, fine: float, h: tuple[int, ...]) -> float:
    h1, h2, h3, h4, h5, h6 = h
    warmth = fine - 76800.0
    gain = h2 / 65536.0 * (1.0 + h6 / 67108864.0 * warmth * (1.0 + h3 / 67108864.0 * warmth))
    percent = (raw - (h4 * 64.0 + h5 / 16384.0 * warmth)) * gain
    percent *= 1.0 - h1 * percent / 524288.0
    return min(max(percent, 0.0), 100.0)


# HTS221: humidity and temperature by linear interpolation between two points measured in the
# factory.
#
# The calibration registers contain two points for each quantity: the value (x2 or x8) and the
# converter's output for it. A sensor without calibration has no reading.

HTS221_ADDRESS = 0x5F
HTS221_WHO_AM_I_REGISTER, HTS221_WHO_AM_I = 0x0F, 0xBC
HTS221_CONTROL_REGISTER = 0x20
#: Power on, keep both bytes of a value consistent, measure once per second.
HTS221_MEASURE_EVERY_SECOND = 0x85
#: If the highest bit of a register's address is set, the address is incremented after each byte.
HTS221_CALIBRATION_REGISTER, HTS221_CALIBRATION_BYTES = 0x30 | 0x80, 16
HTS221_STATUS_REGISTER, HTS221_STATUS_BOTH_NEW = 0x27, 0x03
HTS221_MEASUREMENT_REGISTER, HTS221_MEASUREMENT_BYTES = 0x28 | 0x80, 4


class Hts221CalibrationLine(NamedTuple):
    """The line through (raw0, value0) and (raw1, value1)."""

    raw0: int
    value0: float
    raw1: int
    value1: float


class Hts221Calibration(NamedTuple):
    humidity: Hts221CalibrationLine
    temperature: Hts221CalibrationLine


class Hts221Measurement(NamedTuple):
    celsius: float | None
    percent: float | None


def decode_hts221_calibration(data: bytes) -> Hts221Calibration:
    h0_x2, h1_x2, t0_x8, t1_x8, _, tops = data[:6]
    h0_raw, _, h1_raw, t0_raw, t1_raw = unpack("<5h", data[6:16])
    # The two highest bits of both temperatures share a byte.
    t0_x8 |= (tops & 0b0011) << 8
    t1_x8 |= (tops & 0b1100) << 6
    return Hts221Calibration(
        Hts221CalibrationLine(h0_raw, h0_x2 / 2, h1_raw, h1_x2 / 2),
        Hts221CalibrationLine(t0_raw, t0_x8 / 8, t1_raw, t1_x8 / 8),
    )


def decode_hts221_measurement(data: bytes, calibration: Hts221Calibration) -> Hts221Measurement:
    humidity, temperature = unpack("<2h", data)
    percent = _on_hts221_line(humidity, calibration.humidity)
    return Hts221Measurement(
        _on_hts221_line(temperature, calibration.temperature),
        None if percent is None else min(max(percent, 0.0), 100.0),
    )


def _on_hts221_line(raw: int, line: Hts221CalibrationLine) -> float | None:
    if line.raw0 == line.raw1:
        return None
    slope = (line.value1 - line.value0) / (line.raw1 - line.raw0)
    return round(line.value0 + (raw - line.raw0) * slope, 2)


# SPS30 on the I2C bus: commands of two bytes, answers in words of two bytes and a check byte.
#
# After the start command, the sensor measures once per second. Its answer contains ten numbers; the
# first four are the masses of particles up to 1.0, 2.5, 4.0 and 10 µm in µg/m3.

SPS30_ADDRESS = 0x69
SPS30_START = bytes((0x00, 0x10))
SPS30_STOP = bytes((0x01, 0x04))
SPS30_DATA_READY = bytes((0x02, 0x02))
SPS30_READ = bytes((0x03, 0x00))
#: The code that requests floating-point numbers.
SPS30_FLOAT_FORMAT = bytes((0x03, 0x00))

SPS30_DATA_READY_BYTES = 3
#: Only the four masses are read, because the sensor permits reading just the beginning of an
#: answer.
SPS30_MASSES_BYTES = 4 * 6


def check_sps30_byte(data: bytes) -> int:
    """Compute the CRC-8 of Sensirion's sensors."""
    crc = 0xFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc << 1 ^ 0x31 if crc & 0x80 else crc << 1) & 0xFF
    return crc


def encode_sps30_words(data: bytes) -> bytes:
    """Encode an even number of bytes, with a check byte after every two."""
    pairs = (data[at : at + 2] for at in range(0, len(data), 2))
    return b"".join(pair + bytes((check_sps30_byte(pair),)) for pair in pairs)


def decode_sps30_words(answer: bytes) -> bytes | None:
    """Decode bytes without their check bytes; None if one is wrong or bytes are missing."""
    data = b"".join(answer[at : at + 2] for at in range(0, len(answer), 3))
    return data if len(answer) % 3 == 0 and encode_sps30_words(data) == answer else None


def start_sps30_command() -> bytes:
    return SPS30_START + encode_sps30_words(SPS30_FLOAT_FORMAT)


def decode_sps30_ready(answer: bytes) -> bool:
    """Return whether there is a measurement that has not been read yet."""
    data = decode_sps30_words(answer)
    return data is not None and len(data) == 2 and data[1] == 1


def decode_sps30_masses(answer: bytes) -> tuple[float, ...] | None:
    """Decode PM1.0, PM2.5, PM4.0 and PM10.0 in µg/m3; None for a damaged answer."""
    data = decode_sps30_words(answer)
    if data is None or len(data) != 16:
        return None
    masses = tuple(round(mass, 3) for mass in unpack(">4f", data))
    return masses if all(map(isfinite, masses)) else None
