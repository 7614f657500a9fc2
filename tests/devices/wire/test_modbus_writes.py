"""Values for coils and registers as requests, and what a read gives afterwards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import WriteModbus
from leverframe.devices.wire.modbus import Read, Write
from leverframe.devices.wire.modbus_numbers import (
    encode_written,
    is_written,
    read_of,
    value_in,
    writes_of,
)
from tests.cases import for_each

ENDIANS = ("none", "byte", "word", "byte and word")
RANGES = {
    "int16": (-0x8000, 0x7FFF),
    "uint16": (0, 0xFFFF),
    "int32": (-0x80000000, 0x7FFFFFFF),
    "uint32": (0, 0xFFFFFFFF),
}


def to_write(type_name: str, value: float, endian: str = "none") -> WriteModbus:
    return WriteModbus(1, 100, type_name, endian, value, "test", is_asked=True)


@for_each(
    ("type_name", "value", "endian", "writes", "read"),
    [
        ("coil", 1, "none", [(5, (1,)), (15, (1,))], (1, 1)),
        ("coil", 0, "none", [(5, (0,)), (15, (0,))], (1, 1)),
        ("int16", -2, "none", [(6, (0xFFFE,)), (16, (0xFFFE,))], (3, 1)),
        ("uint16", 0x1234, "byte", [(6, (0x3412,)), (16, (0x3412,))], (3, 1)),
        ("int32", -2, "none", [(16, (0xFFFF, 0xFFFE))], (3, 2)),
        ("uint32", 0x12345678, "word", [(16, (0x5678, 0x1234))], (3, 2)),
        ("float", 21.5, "none", [(16, (0x41AC, 0x0000))], (3, 2)),
    ],
)
def test_value_is_written_by_the_usual_function_and_read_back(
    type_name: str,
    value: float,
    endian: str,
    writes: list[tuple[int, tuple[int, ...]]],
    read: tuple[int, int],
) -> None:
    effect = to_write(type_name, value, endian)
    assert writes_of(effect) == tuple(Write(function, 100, words) for function, words in writes)
    assert read_of(effect) == Read(read[0], 100, read[1])


@given(st.sampled_from(sorted(RANGES)), st.sampled_from(ENDIANS), st.data())
def test_written_number_is_read_back_unchanged(
    type_name: str, endian: str, data: st.DataObject
) -> None:
    effect = to_write(type_name, data.draw(st.integers(*RANGES[type_name])), endian)
    read = encode_written(effect)
    assert is_written(effect, read)
    assert value_in(effect, read) == effect.value
    assert not is_written(effect, bytes(byte ^ 1 for byte in read))


def test_other_bits_of_the_byte_do_not_belong_to_a_coil() -> None:
    assert is_written(to_write("coil", 1), b"\xff")
    assert is_written(to_write("coil", 0), b"\xfe")
    assert not is_written(to_write("coil", 1), b"\xfe")


@pytest.mark.parametrize(
    ("type_name", "value"), [("int16", 32768), ("uint16", -1), ("float", 1e39)]
)
def test_value_outside_the_type_is_refused(type_name: str, value: float) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        writes_of(to_write(type_name, value))
