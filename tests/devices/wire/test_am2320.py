"""AM2320: the data sheet's example, signs, and damaged answers."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.i2c_chips import decode_am2320_answer
from leverframe.devices.wire.modbus_frames import crc16
from tests.cases import for_each

#: The data sheet's answer for 50.0 % and 25.0 °C.
EXAMPLE = bytes.fromhex("030401F400FA31A5")


def answer(humidity: int, temperature: int) -> bytes:
    body = b"\x03\x04" + humidity.to_bytes(2, "big") + temperature.to_bytes(2, "big")
    return body + crc16(body).to_bytes(2, "little")


def test_example_of_the_data_sheet() -> None:
    assert decode_am2320_answer(EXAMPLE) == (25.0, 50.0)


def test_highest_bit_is_the_sign() -> None:
    assert decode_am2320_answer(answer(655, 0x8000 | 101)) == (-10.1, 65.5)


@given(st.integers(0, 1000), st.integers(-400, 800))
def test_every_value_comes_back(humidity: int, temperature: int) -> None:
    raw = abs(temperature) | (0x8000 if temperature < 0 else 0)
    assert decode_am2320_answer(answer(humidity, raw)) == (temperature / 10, humidity / 10)


@for_each("bit", range(len(EXAMPLE) * 8))
def test_flipped_bit_is_no_reading(bit: int) -> None:
    damaged = bytearray(EXAMPLE)
    damaged[bit // 8] ^= 1 << bit % 8
    assert decode_am2320_answer(bytes(damaged)) is None


@given(st.binary(max_size=12))
def test_noise_is_no_reading(noise: bytes) -> None:
    assert decode_am2320_answer(noise) is None
