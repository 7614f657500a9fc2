"""Answers by Modbus TCP: found by their number, and nothing else is taken for one."""

from hypothesis import given
from hypothesis import strategies as st
from pymodbus.framer import FramerSocket
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.register_message import ReadHoldingRegistersRequest, ReadHoldingRegistersResponse

from leverframe.devices.wire.modbus import Read, Write, exception_answer
from leverframe.devices.wire.modbus_frames import (
    Data,
    ExceptionReply,
    NoAnswer,
    TcpAnswerReader,
    host_and_port,
)
from tests.cases import for_each

PEER = FramerSocket(DecodePDU(True))
ASKED = Read(3, 300, 2)


def answer(transaction: int, registers: list[int], unit: int = 9) -> bytes:
    response = ReadHoldingRegistersResponse(
        registers=registers, dev_id=unit, transaction_id=transaction
    )
    frame: bytes = PEER.buildFrame(response)
    return frame


def build_frame(transaction: int, pdu: bytes, unit: int = 9) -> bytes:
    return transaction.to_bytes(2, "big") + bytes((0, 0, 0, len(pdu) + 1, unit)) + pdu


@given(st.integers(0, 0xFFFF), st.integers(1, 247), st.integers(0, 0xFFFF), st.integers(1, 125))
def test_requests_are_framed_as_the_peer_frames_them(
    transaction: int, unit: int, address: int, count: int
) -> None:
    peer = ReadHoldingRegistersRequest(
        address=address, count=count, dev_id=unit, transaction_id=transaction
    )
    reader = TcpAnswerReader(transaction, unit, Read(3, address, count))
    assert reader.request == PEER.buildFrame(peer)


@given(st.integers(1, 13))
def test_answer_is_found_in_pieces_behind_answers_to_earlier_requests(piece: int) -> None:
    stream = answer(4, [9, 9]) + answer(5, [7, 7], unit=8) + answer(5, [1, 2])
    reader = TcpAnswerReader(5, 9, ASKED)
    answers = [reader.feed(stream[at : at + piece]) for at in range(0, len(stream), piece)]
    assert [one for one in answers if one is not None] == [Data(b"\x00\x01\x00\x02")]


@for_each(
    ("data", "meaning"),
    [
        (build_frame(5, exception_answer(3, 11)), ExceptionReply(11)),
        (answer(5, [1, 2, 3]), NoAnswer(is_damaged=True)),
        (build_frame(5, exception_answer(4, 2)), NoAnswer(is_damaged=True)),
        (b"HTTP/1.1 400 Bad Request\r\n", NoAnswer(is_damaged=True)),
        (answer(5, [1, 2])[:-1], None),
    ],
    ids=["exception", "too long", "of another function", "no Modbus", "cut"],
)
def test_nonsense_is_no_answer(data: bytes, meaning: object) -> None:
    assert TcpAnswerReader(5, 9, ASKED).feed(data) == meaning


def test_write_is_confirmed() -> None:
    write = Write(16, 5, (1, 2))
    assert TcpAnswerReader(5, 9, write).feed(build_frame(5, write.confirmation())) == Data(b"")


@for_each(
    ("address", "parts"),
    [
        ("meter", ("meter", 502)),
        ("10.0.0.7:1502", ("10.0.0.7", 1502)),
        ("[fd00::7]", ("fd00::7", 502)),
        ("[fd00::7]:503", ("fd00::7", 503)),
    ],
)
def test_address_without_a_port_means_502(address: str, parts: tuple[str, int]) -> None:
    assert host_and_port(address) == parts
