"""SPS30 on the I2C bus: words with check bytes."""

from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.i2c_chips import (
    check_sps30_byte,
    decode_sps30_masses,
    decode_sps30_ready,
    decode_sps30_words,
    encode_sps30_words,
    start_sps30_command,
)
from tests.cases import for_each

EXAMPLE = encode_sps30_words(pack(">4f", 1.5, 2.5, 4.25, 10.0))


def test_check_byte_is_that_of_the_data_sheet() -> None:
    assert check_sps30_byte(bytes.fromhex("BEEF")) == 0x92


def test_start_command_is_that_of_the_data_sheet() -> None:
    assert start_sps30_command() == bytes.fromhex("0010 0300 AC")


@given(st.binary(max_size=40).filter(lambda data: len(data) % 2 == 0))
def test_words_come_back(data: bytes) -> None:
    assert decode_sps30_words(encode_sps30_words(data)) == data


def test_four_masses_are_read() -> None:
    assert decode_sps30_masses(EXAMPLE) == (1.5, 2.5, 4.25, 10.0)


@for_each("bit", range(0, len(EXAMPLE) * 8, 3))
def test_flipped_bit_is_no_reading(bit: int) -> None:
    damaged = bytearray(EXAMPLE)
    damaged[bit // 8] ^= 1 << bit % 8
    assert decode_sps30_masses(bytes(damaged)) is None


def test_number_that_is_none_is_no_reading() -> None:
    assert decode_sps30_masses(encode_sps30_words(pack(">4f", 1.0, float("nan"), 1.0, 1.0))) is None


def test_measurement_is_ready_or_not() -> None:
    assert decode_sps30_ready(encode_sps30_words(b"\x00\x01"))
    assert not decode_sps30_ready(encode_sps30_words(b"\x00\x00"))
    assert not decode_sps30_ready(b"\x00\x01\x00")


@given(st.binary(max_size=30))
def test_noise_is_a_reading_or_nothing(noise: bytes) -> None:
    masses = decode_sps30_masses(noise)
    assert masses is None or len(masses) == 4
    assert decode_sps30_ready(noise) in (True, False)
