"""Answers on a serial line: found wherever they begin, and nothing else is taken for one."""

from hypothesis import given
from hypothesis import strategies as st
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU
from pymodbus.pdu.bit_message import ReadCoilsResponse
from pymodbus.pdu.register_message import (
    ReadHoldingRegistersRequest,
    ReadHoldingRegistersResponse,
    ReadInputRegistersResponse,
)

from leverframe.devices.wire.modbus import Read, Write, exception_answer
from leverframe.devices.wire.modbus_frames import (
    Answer,
    AnswerReader,
    Data,
    ExceptionReply,
    build_frame,
    crc16,
)
from tests.effort import examples

PEER = FramerRTU(DecodePDU(True))
SLAVE = 17
ASKED = Read(3, 300, 2)
FEW = examples(200)
REGISTERS = st.lists(st.integers(0, 0xFFFF), min_size=2, max_size=2)
NOISE = st.binary(max_size=30)


def answer_bytes(registers: list[int], slave: int = SLAVE) -> bytes:
    frame: bytes = PEER.buildFrame(ReadHoldingRegistersResponse(registers=registers, dev_id=slave))
    return frame


def data(registers: list[int]) -> Data:
    return Data(b"".join(register.to_bytes(2, "big") for register in registers))


def feed_pieces(*pieces: bytes) -> Answer | None:
    reader = AnswerReader(SLAVE, ASKED)
    for piece in pieces:
        answer = reader.feed(piece)
        if answer is not None:
            return answer
    return None


def test_checksum_is_that_of_the_standard() -> None:
    assert crc16(b"123456789") == 0x4B37


@FEW
@given(st.integers(1, 247), st.integers(0, 0xFFFF), st.integers(1, 125))
def test_requests_are_framed_as_the_peer_frames_them(slave: int, address: int, count: int) -> None:
    peer = ReadHoldingRegistersRequest(address=address, count=count, dev_id=slave)
    assert build_frame(slave, Read(3, address, count).pdu()) == PEER.buildFrame(peer)


@FEW
@given(REGISTERS, NOISE, st.integers(1, 12))
def test_answer_is_found_behind_noise_and_in_pieces(
    registers: list[int], noise: bytes, piece: int
) -> None:
    stream = noise + answer_bytes(registers)
    pieces = [stream[at : at + piece] for at in range(0, len(stream), piece)]
    assert feed_pieces(*pieces) == data(registers)


@given(REGISTERS, st.integers(0, 8), st.integers(1, 255))
def test_damaged_answer_is_none(registers: list[int], at: int, damage: int) -> None:
    frame = bytearray(answer_bytes(registers))
    frame[at] ^= damage
    assert feed_pieces(bytes(frame)) is None


@given(REGISTERS, st.integers(0, 8))
def test_short_answer_is_none_until_the_rest_has_come(registers: list[int], cut: int) -> None:
    frame = answer_bytes(registers)
    assert feed_pieces(frame[:cut]) is None
    assert feed_pieces(frame[:cut], frame[cut:]) == data(registers)


@given(REGISTERS)
def test_damaged_answer_does_not_hide_the_good_one_behind_it(registers: list[int]) -> None:
    damaged = answer_bytes([1, 2])[:-1] + b"\xff"
    assert feed_pieces(damaged + answer_bytes(registers)) == data(registers)


def test_answer_of_another_slave_is_ignored() -> None:
    assert feed_pieces(answer_bytes([1, 2], slave=SLAVE + 1)) is None
    assert feed_pieces(answer_bytes([1, 2], slave=SLAVE + 1), answer_bytes([3, 4])) == data([3, 4])


def test_answer_of_another_length_is_ignored() -> None:
    assert feed_pieces(answer_bytes([1, 2, 3]), answer_bytes([3, 4])) == data([3, 4])


def test_answer_to_another_function_is_ignored() -> None:
    other = PEER.buildFrame(ReadInputRegistersResponse(registers=[9, 9], dev_id=SLAVE))
    assert feed_pieces(other, answer_bytes([3, 4])) == data([3, 4])


def test_echo_of_the_request_is_ignored() -> None:
    echo = build_frame(SLAVE, ASKED.pdu())
    assert feed_pieces(echo) is None
    assert feed_pieces(echo + answer_bytes([3, 4])) == data([3, 4])


def test_echo_that_looks_like_an_answer_is_ignored() -> None:
    # 24 coils from 0x0300 on: the request begins like an answer of three bytes, and is as long.
    asked = Read(1, 0x0300, 24)
    reader = AnswerReader(SLAVE, asked)
    assert reader.feed(build_frame(SLAVE, asked.pdu())) is None
    bits = [True, False] * 12
    answer = reader.feed(PEER.buildFrame(ReadCoilsResponse(bits=bits, dev_id=SLAVE)))
    assert answer == Data(bytes([0x55] * 3))


def test_exception_is_an_answer() -> None:
    assert feed_pieces(build_frame(SLAVE, exception_answer(3, 2))) == ExceptionReply(2)
    assert feed_pieces(build_frame(SLAVE + 1, exception_answer(3, 2))) is None


WRITES = st.one_of(
    st.builds(Write, st.just(5), st.integers(0, 0xFFFF), st.tuples(st.integers(0, 1))),
    st.builds(Write, st.just(6), st.integers(0, 0xFFFF), st.tuples(st.integers(0, 0xFFFF))),
    st.builds(
        Write,
        st.just(15),
        st.integers(0, 0xF000),
        st.lists(st.integers(0, 1), min_size=1, max_size=30).map(tuple),
    ),
    st.builds(
        Write,
        st.just(16),
        st.integers(0, 0xF000),
        st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=20).map(tuple),
    ),
)


@FEW
@given(WRITES)
def test_write_is_framed_as_the_peer_reads_it_and_confirmed_as_it_answers(write: Write) -> None:
    raw = build_frame(SLAVE, write.pdu())
    read = DecodePDU(True).decode(raw[1:-2])
    assert (read.function_code, read.address) == (write.function, write.address)
    given = [int(bit) for bit in read.bits] if write.function in (5, 15) else read.registers
    assert tuple(given)[: len(write.values)] == write.values
    reader = AnswerReader(SLAVE, write)
    noise = build_frame(SLAVE + 1, write.confirmation())
    assert reader.feed(noise) is None
    assert reader.feed(build_frame(SLAVE, write.confirmation())) == Data(b"")
    assert AnswerReader(SLAVE, write).feed(
        build_frame(SLAVE, exception_answer(write.function, 3))
    ) == ExceptionReply(3)


def test_echo_of_a_write_of_several_is_not_its_confirmation() -> None:
    write = Write(16, 5, (1, 2))
    reader = AnswerReader(SLAVE, write)
    assert reader.feed(build_frame(SLAVE, write.pdu())) is None
    assert reader.feed(build_frame(SLAVE, write.confirmation())) == Data(b"")


@FEW
@given(st.lists(st.binary(max_size=300), max_size=10))
def test_any_bytes_are_an_answer_or_nothing(pieces: list[bytes]) -> None:
    answer = feed_pieces(*pieces)
    assert answer is None or isinstance(answer, Data | ExceptionReply)


def test_noise_without_end_takes_no_memory() -> None:
    reader = AnswerReader(SLAVE, ASKED)
    for _ in range(100):
        assert reader.feed(bytes((SLAVE, 3)) * 500) is None
    assert reader.feed(answer_bytes([5, 6])) == data([5, 6])
