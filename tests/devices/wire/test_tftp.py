"""TFTP without a socket: the answers to a client's datagrams, and the file at the end."""

from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.tftp import (
    MAX_BLOCK,
    SILENCE_S,
    Receiver,
    TransferAnswer,
    acknowledgement,
    error_packet,
)
from tests.cases import for_each
from tests.effort import examples

CLIENT, OTHER = ("192.0.2.1", 2000), ("192.0.2.2", 2000)
MOST = 100_000


def write_request(mode: str = "octet", **options: object) -> bytes:
    texts = ["image.bin", mode, *(str(text) for pair in options.items() for text in pair)]
    return b"\0\2" + b"".join(text.encode() + b"\0" for text in texts)


def data(block: int, content: bytes) -> bytes:
    return b"\0\3" + (block % 0x10000).to_bytes(2, "big") + content


def begin_transfer(**options: object) -> Receiver:
    receiver = Receiver(MOST)
    receiver.datagram(write_request(**options), CLIENT, 0.0)  # type: ignore[arg-type]
    return receiver


def is_error(answer: TransferAnswer, code: int) -> bool:
    return answer.packet is not None and answer.packet[:4] == b"\0\5" + code.to_bytes(2, "big")


@examples(50)
@given(st.binary(max_size=3000), st.integers(8, 600) | st.none())
def test_file_arrives_as_it_was_sent(content: bytes, block_bytes: int | None) -> None:
    options = {} if block_bytes is None else {"blksize": block_bytes}
    receiver, size = begin_transfer(**options), block_bytes or 512
    for number in range(len(content) // size + 1):
        packet = data(number + 1, content[number * size : (number + 1) * size])
        answer = receiver.datagram(packet, CLIENT, 0.0)
        if answer.file is None:
            assert answer.packet == acknowledgement(number + 1)
            # Whatever comes twice is acknowledged twice and taken once.
            assert receiver.datagram(packet, CLIENT, 0.0) == answer
    assert answer.file == content
    assert receiver.finish(None) == acknowledgement(len(content) // size + 1)


def test_block_numbers_go_round() -> None:
    receiver = begin_transfer(blksize=8)
    receiver._most_bytes = 1_000_000
    for number in range(1, 65_540):
        answer = receiver.datagram(data(number, b"12345678"), CLIENT, 0.0)
        assert answer.packet == acknowledgement(number)
    assert receiver.datagram(data(65_540, b""), CLIENT, 0.0).file == b"12345678" * 65_539


def test_write_request_without_options_is_acknowledged() -> None:
    assert Receiver(MOST).datagram(write_request(), CLIENT, 0.0) == TransferAnswer(b"\0\4\0\0")


def test_known_options_are_confirmed_and_others_are_not() -> None:
    request = write_request(blksize=1428, tsize=5000, timeout=3, unknown=1)
    answer = Receiver(MOST).datagram(request, CLIENT, 0.0)
    assert answer.packet == b"\0\6tsize\x005000\0blksize\x001428\0"


def test_block_size_is_agreed_upon_that_fits() -> None:
    answer = Receiver(MOST).datagram(write_request(blksize=65464), CLIENT, 0.0)
    assert answer.packet == b"\0\6blksize\0" + str(MAX_BLOCK).encode() + b"\0"
    assert Receiver(MOST).datagram(write_request(blksize=7), CLIENT, 0.0) == TransferAnswer(
        b"\0\4\0\0"
    )


def test_repeated_write_request_gets_the_same_answer() -> None:
    receiver = Receiver(MOST)
    first = receiver.datagram(write_request(blksize=1024), CLIENT, 0.0)
    assert receiver.datagram(write_request(blksize=1024), CLIENT, 1.0) == first


def test_last_block_is_acknowledged_only_when_the_file_was_judged() -> None:
    receiver = begin_transfer()
    last = data(1, b"short")
    assert receiver.datagram(last, CLIENT, 0.0) == TransferAnswer(file=b"short")
    assert receiver.datagram(last, CLIENT, 1.0) == TransferAnswer()
    error = receiver.finish("The image is not signed.")
    assert error == error_packet(0, "The image is not signed.")
    # Our answer was lost.
    assert receiver.datagram(last, CLIENT, 2.0) == TransferAnswer(error)


def test_second_client_has_to_wait_until_the_first_is_silent() -> None:
    receiver = begin_transfer()
    assert is_error(receiver.datagram(write_request(), OTHER, SILENCE_S - 0.1), 0)
    assert receiver.datagram(write_request(), OTHER, SILENCE_S) == TransferAnswer(b"\0\4\0\0")
    assert is_error(receiver.datagram(data(1, b"x"), CLIENT, SILENCE_S), 5)


@for_each(
    ("packet", "code"),
    [
        (b"\0\1image.bin\0octet\0", 2),
        (write_request("netascii"), 4),
        (b"\0\2no end", 4),
        (write_request(tsize=MOST + 1), 3),
        (data(1, b"who are you"), 5),
        (b"", 5),
    ],
    ids=["read", "netascii", "torn", "too large", "unknown sender", "empty"],
)
def test_nonsense_is_answered_with_an_error(packet: bytes, code: int) -> None:
    assert is_error(Receiver(MOST).datagram(packet, CLIENT, 0.0), code)


def test_file_that_grows_too_large_is_refused() -> None:
    receiver = begin_transfer(blksize=8192)
    answers = [receiver.datagram(data(n, bytes(8192)), CLIENT, 0.0) for n in range(1, 14)]
    assert is_error(answers[-1], 3)
    assert not receiver.is_receiving


def test_block_out_of_turn_is_ignored() -> None:
    assert begin_transfer().datagram(data(3, bytes(512)), CLIENT, 0.0) == TransferAnswer()


def test_client_can_give_up() -> None:
    receiver = begin_transfer()
    assert receiver.datagram(error_packet(0, "stopped"), CLIENT, 0.0) == TransferAnswer()
    assert not receiver.is_receiving


def test_nothing_new_is_taken_once_it_is_shut() -> None:
    receiver = Receiver(MOST)
    receiver.shut()
    assert is_error(receiver.datagram(write_request(), CLIENT, 0.0), 2)


@given(st.lists(st.tuples(st.binary(max_size=40), st.sampled_from([CLIENT, OTHER])), max_size=12))
def test_no_datagram_upsets_the_receiver(packets: list[tuple[bytes, tuple[str, int]]]) -> None:
    receiver = begin_transfer()
    for packet, sender in packets:
        answer = receiver.datagram(packet, sender, 0.0)
        assert answer.packet is None or answer.packet[:2] in (b"\0\4", b"\0\5", b"\0\6")
        if answer.file is not None:
            receiver.finish(None)
