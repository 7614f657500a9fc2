"""Modbus requests and TCP frames, against pymodbus as an independent peer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.framer import FramerSocket
from pymodbus.pdu import DecodePDU, ModbusPDU
from pymodbus.pdu.bit_message import (
    ReadCoilsRequest,
    ReadDiscreteInputsRequest,
    WriteMultipleCoilsRequest,
    WriteSingleCoilRequest,
)
from pymodbus.pdu.register_message import (
    ReadHoldingRegistersRequest,
    ReadInputRegistersRequest,
    WriteMultipleRegistersRequest,
    WriteSingleRegisterRequest,
)

from leverframe.devices.wire.modbus import (
    ILLEGAL_ADDRESS,
    ILLEGAL_FUNCTION,
    ILLEGAL_VALUE,
    ModbusException,
    NotModbus,
    Read,
    TcpFrames,
    TcpRequest,
    Write,
    bits_from,
    data_answer,
    exception_answer,
    pack_bits,
    registers_from,
    request_from,
)
from tests.cases import for_each
from tests.effort import examples

PEER_AS_CLIENT = FramerSocket(DecodePDU(False))
#: Enough for every function code and every branch, small enough for each run.
FEW = examples(200)

ADDRESS = st.integers(0, 0xFF00)
WORD = st.integers(0, 0xFFFF)
BITS = st.lists(st.booleans(), min_size=1, max_size=200)
WORDS = st.lists(WORD, min_size=1, max_size=123)


def pdu_of(request: ModbusPDU) -> bytes:
    return bytes((request.function_code,)) + request.encode()


def as_text(bits: list[bool]) -> tuple[int, ...]:
    return tuple(int(bit) for bit in bits)


@for_each(
    ("peer", "most"),
    [
        (ReadCoilsRequest, 2000),
        (ReadDiscreteInputsRequest, 2000),
        (ReadHoldingRegistersRequest, 125),
        (ReadInputRegistersRequest, 125),
    ],
)
def test_reads_are_understood_as_the_peer_writes_them(peer: type[ModbusPDU], most: int) -> None:
    for address, count in ((0, 1), (300, 2), (65535, 1), (1, most)):
        pdu = pdu_of(peer(address=address, count=count))
        read = request_from(pdu)
        assert read == Read(peer.function_code, address, count)
        assert isinstance(read, Read)
        assert read.pdu() == pdu


@FEW
@given(ADDRESS, st.booleans(), WORD)
def test_single_writes_are_understood_as_the_peer_writes_them(
    address: int, on: bool, word: int
) -> None:
    coil = pdu_of(WriteSingleCoilRequest(address=address, bits=[on]))
    register = pdu_of(WriteSingleRegisterRequest(address=address, registers=[word]))
    assert request_from(coil) == Write(5, address, (int(on),))
    assert request_from(register) == Write(6, address, (word,))


@FEW
@given(ADDRESS, BITS, WORDS)
def test_multiple_writes_are_understood_as_the_peer_writes_them(
    address: int, bits: list[bool], words: list[int]
) -> None:
    coils = pdu_of(WriteMultipleCoilsRequest(address=address, bits=bits))
    registers = pdu_of(WriteMultipleRegistersRequest(address=address, registers=words))
    assert request_from(coils) == Write(15, address, as_text(bits))
    assert request_from(registers) == Write(16, address, tuple(words))


@FEW
@given(ADDRESS, BITS, WORDS)
def test_peer_understands_our_answers(address: int, bits: list[bool], words: list[int]) -> None:
    decode = DecodePDU(False).decode
    read = decode(data_answer(1, pack_bits([int(bit) for bit in bits])))
    assert read is not None
    assert read.bits[: len(bits)] == bits
    read = decode(data_answer(4, b"".join(word.to_bytes(2, "big") for word in words)))
    assert read is not None
    assert read.registers == words
    written = decode(Write(15, address, as_text(bits)).confirmation())
    assert written is not None
    assert (written.address, written.count) == (address, len(bits))
    written = decode(Write(6, address, (words[0],)).confirmation())
    assert written is not None
    assert (written.address, written.registers) == (address, words[:1])
    written = decode(Write(5, address, (int(bits[0]),)).confirmation())
    assert written is not None
    assert (written.address, written.bits[0]) == (address, bits[0])
    refused = decode(exception_answer(3, ILLEGAL_VALUE))
    assert refused is not None
    assert refused.exception_code == ILLEGAL_VALUE


@for_each(
    ("pdu", "code"),
    [
        ("07", ILLEGAL_FUNCTION),
        ("80", ILLEGAL_FUNCTION),
        ("0300000000", ILLEGAL_VALUE),
        ("030000007e", ILLEGAL_VALUE),
        ("01000007d1", ILLEGAL_VALUE),
        ("03000000", ILLEGAL_VALUE),
        ("030000000100", ILLEGAL_VALUE),
        ("03ffff0002", ILLEGAL_ADDRESS),
        ("0500000001", ILLEGAL_VALUE),
        ("050000ff", ILLEGAL_VALUE),
        ("0f00000001", ILLEGAL_VALUE),
        ("0f0000000802ff00", ILLEGAL_VALUE),
        ("0f0000000901ff", ILLEGAL_VALUE),
        ("0f0000000000", ILLEGAL_VALUE),
        ("0fffff000201ff", ILLEGAL_ADDRESS),
        ("10000000020400010002ff", ILLEGAL_VALUE),
        ("100000000102", ILLEGAL_VALUE),
    ],
)
def test_inexact_request_is_refused(pdu: str, code: int) -> None:
    with pytest.raises(ModbusException) as refused:
        request_from(bytes.fromhex(pdu))
    assert refused.value.code == code


@given(st.binary(min_size=1, max_size=253))
def test_any_bytes_are_a_request_or_an_exception(pdu: bytes) -> None:
    try:
        outcome: int = request_from(pdu).function
    except ModbusException as refused:
        outcome = -refused.code
    assert outcome in (pdu[0], -ILLEGAL_FUNCTION, -ILLEGAL_ADDRESS, -ILLEGAL_VALUE)


@given(st.lists(st.integers(0, 1), min_size=1, max_size=300))
def test_bits_survive_packing(bits: list[int]) -> None:
    assert bits_from(pack_bits(bits), len(bits)) == tuple(bits)


@given(WORDS)
def test_registers_survive_packing(words: list[int]) -> None:
    assert registers_from(b"".join(word.to_bytes(2, "big") for word in words)) == tuple(words)


def take_requests(frames: TcpFrames) -> list[TcpRequest]:
    found = []
    while (request := frames.next()) is not None:
        found.append(request)
    return found


@FEW
@given(
    st.lists(st.tuples(WORD, st.integers(0, 255), ADDRESS), min_size=1, max_size=5),
    st.integers(1, 30),
)
def test_frames_are_found_in_pieces_of_any_size(
    requested: list[tuple[int, int, int]], piece: int
) -> None:
    stream = b"".join(
        PEER_AS_CLIENT.buildFrame(
            ReadCoilsRequest(address=address, count=3, dev_id=unit, transaction_id=transaction)
        )
        for transaction, unit, address in requested
    )
    frames = TcpFrames()
    found = []
    for at in range(0, len(stream), piece):
        frames.feed(stream[at : at + piece])
        found += take_requests(frames)
    assert [(one.transaction, one.unit) for one in found] == [x[:2] for x in requested]
    assert [request_from(one.pdu) for one in found] == [Read(1, x[2], 3) for x in requested]
    assert not frames.is_within_a_frame


@FEW
@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_are_frames_or_no_modbus(pieces: list[bytes]) -> None:
    frames = TcpFrames()
    for piece in pieces:
        frames.feed(piece)
        try:
            for request in take_requests(frames):
                assert 1 <= len(request.pdu) <= 253
        except NotModbus:
            return


@for_each(
    "head",
    ["0001 0001 0006 01", "0001 0000 0001 01", "0001 0000 0000 01", "0001 0000 00ff 01"],
)
def test_head_of_another_protocol_or_length_is_no_modbus(head: str) -> None:
    frames = TcpFrames()
    frames.feed(bytes.fromhex(head))
    with pytest.raises(NotModbus):
        frames.next()
