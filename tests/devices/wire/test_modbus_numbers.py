"""Numbers in registers: every type in all four orders of bytes, against struct and pymodbus."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.client.mixin import ModbusClientMixin

from leverframe.devices.wire.modbus import registers_from
from leverframe.devices.wire.modbus_numbers import in_usual_order, number_in, register_count
from tests.cases import for_each

#: The bytes of 0x0A0B0C0D as they come in each form.
ORDERS = {
    "none": "0a0b0c0d",
    "byte": "0b0a0d0c",
    "word": "0c0d0a0b",
    "byte and word": "0d0c0b0a",
}
ENDIANS = tuple(ORDERS)
PEER_TYPES = {
    "int16": ModbusClientMixin.DATATYPE.INT16,
    "uint16": ModbusClientMixin.DATATYPE.UINT16,
    "int32": ModbusClientMixin.DATATYPE.INT32,
    "uint32": ModbusClientMixin.DATATYPE.UINT32,
}
TYPES = (*PEER_TYPES, "float")


@for_each("endian", ENDIANS)
def test_four_forms_order_bytes_like_this(endian: str) -> None:
    data = bytes.fromhex(ORDERS[endian])
    assert number_in(data, "int32", endian, 1) == 0x0A0B0C0D
    assert in_usual_order(bytes.fromhex("0a0b0c0d"), endian) == data


@for_each("endian", ENDIANS)
def test_only_bytes_can_be_swapped_in_one_register(endian: str) -> None:
    expected = 0x0201 if "byte" in endian else 0x0102
    assert number_in(b"\x01\x02", "int16", endian, 1) == expected


@given(st.sampled_from(sorted(PEER_TYPES)), st.sampled_from(("none", "word")), st.data())
def test_whole_numbers_are_those_of_the_peer(
    type_name: str, endian: str, data: st.DataObject
) -> None:
    raw = data.draw(st.binary(min_size=2, max_size=2)) * register_count(type_name)
    peer = ModbusClientMixin.convert_from_registers(
        list(registers_from(raw)),
        PEER_TYPES[type_name],
        word_order="little" if endian == "word" else "big",
    )
    assert number_in(raw, type_name, endian, 1) == peer


@given(st.floats(width=32, allow_nan=False, allow_infinity=False), st.sampled_from(ENDIANS))
def test_float_is_exactly_the_one_that_was_sent(value: float, endian: str) -> None:
    raw = in_usual_order(struct.pack(">f", value), endian)
    read = number_in(raw, "float", endian, 1)
    assert read is not None
    # There is no minus zero to be shown.
    assert struct.pack(">f", read) == struct.pack(">f", value + 0.0)


@for_each("shown", [230.1, 0.7, 16777215.0, 16777216.0, 1234567.5, -0.001, 3.4028235e38])
def test_float_is_the_number_that_the_device_shows(shown: float) -> None:
    assert number_in(struct.pack(">f", shown), "float", "none", 1) == shown


@pytest.mark.parametrize("bits", ["7fc00000", "7f800000", "ff800000"])
def test_invalid_number_is_absent(bits: str) -> None:
    assert number_in(bytes.fromhex(bits), "float", "none", 1) is None


@pytest.mark.parametrize(("divisor", "value"), [(1, -1234), (10, -123.4), (1000, -1.234)])
def test_divisor_divides(divisor: int, value: float) -> None:
    assert number_in(struct.pack(">h", -1234), "int16", "none", divisor) == value


@given(st.sampled_from(TYPES), st.sampled_from(ENDIANS), st.data())
def test_any_bytes_are_a_number_or_absent(type_name: str, endian: str, data: st.DataObject) -> None:
    size = 2 * register_count(type_name)
    value = number_in(data.draw(st.binary(min_size=size, max_size=size)), type_name, endian, 100)
    assert value is None or isinstance(value, float)
