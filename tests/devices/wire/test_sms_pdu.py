"""SMS as PDUs, checked by a library that others wrote and by examples from elsewhere."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.devices.wire.gsm import (
    MAX_UNFINISHED,
    BadPdu,
    Inbox,
    decode_delivery,
    list_stored_messages,
    pack,
    septets_of,
    submits,
)
from tests.cases import for_each
from tests.devices.wire.incoming_sms import incoming
from tests.devices.wire.sms_oracle import decodeSmsPdu
from tests.effort import examples

NUMBER = "+48501234567"
FEW = examples(80)
GSM7_LETTERS = (
    "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡"
    "ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ¿abcdefghijklmnopqrstuvwxyzäöñüà^{}\\[~]|€"
)
#: The other library has another letter in the place of these two.
NOT_IN_ORACLE = "§\f"
numbers = st.from_regex(r"\+?[0-9]{3,15}", fullmatch=True)
texts = st.one_of(
    st.text(st.sampled_from(GSM7_LETTERS + NOT_IN_ORACLE), max_size=400),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=200),
)


def read_by_oracle(text: str) -> tuple[str, list[dict[str, Any]]]:
    parts = [decodeSmsPdu(message.digits) for message in submits(NUMBER, text, 5)]
    return "".join(part["text"] for part in parts), parts


def read_back(sender: str, text: str) -> str | None:
    inbox = Inbox()
    whole = [inbox.take(digits) for digits in incoming(sender, text)]
    assert whole[:-1] == [None] * (len(whole) - 1)
    assert whole[-1] is not None
    assert whole[-1].sender == sender
    return whole[-1].text


@FEW
@given(numbers, texts)
@example(NUMBER, "€" * 80)
@example(NUMBER, "a" * 152 + "€" + "b" * 20)
@example(NUMBER, "ż" * 66 + "😀" + "ż" * 20)
@example(NUMBER, "")
def test_encoded_message_is_decoded_again(number: str, text: str) -> None:
    assert read_back(number, text) == text


@FEW
@given(st.text(st.sampled_from(GSM7_LETTERS), max_size=400))
@example("x" * 160)
@example("x" * 161)
@example("{}" * 90)
def test_other_library_reads_the_letters_of_the_gsm_alphabet(text: str) -> None:
    assert read_by_oracle(text)[0] == text


@FEW
@given(st.text(st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"]), max_size=200))
@example("ż" * 70)
@example("ż" * 71)
def test_other_library_reads_all_other_letters(text: str) -> None:
    if not set(text) & set(NOT_IN_ORACLE):
        assert read_by_oracle(text)[0] == text


def test_other_library_agrees_on_number_length_and_parts() -> None:
    _, parts = read_by_oracle("Gewächshaus zu warm. " * 20)
    lengths = [message.length for message in submits(NUMBER, "Gewächshaus zu warm. " * 20, 5)]
    assert [part["tpdu_length"] for part in parts] == lengths
    assert {part["number"] for part in parts} == {NUMBER}
    joins = [part["udh"][0] for part in parts]
    assert [(join.reference, join.parts, join.number) for join in joins] == [
        (5, 3, 1),
        (5, 3, 2),
        (5, 3, 3),
    ]


@for_each(
    ("text", "parts"),
    [
        ("x" * 160, 1),
        ("x" * 161, 2),
        ("x" * 306, 2),
        ("x" * 307, 3),
        ("€" * 80, 1),
        ("€" * 81, 2),
        ("ż" * 70, 1),
        ("ż" * 71, 2),
        ("ż" * 134, 2),
        ("ż" * 135, 3),
    ],
)
def test_text_takes_as_few_messages_as_the_standard_allows(text: str, parts: int) -> None:
    assert len(submits(NUMBER, text, 1)) == parts


def test_text_of_more_parts_than_can_be_joined_is_refused() -> None:
    with pytest.raises(ValueError, match="255"):
        submits(NUMBER, "x" * 50_000, 1)


def test_message_of_a_real_network_is_read() -> None:
    # The example of many introductions to PDUs: from +27838890001.
    received = decode_delivery(
        "07917283010010F5040BC87238880900F10000993092516195800AE8329BFD4697D9EC37"
    )
    assert received.sender.lstrip("+") == "27838890001"
    assert received.text == "hellohello"
    assert received.can_be_answered


def test_sender_with_a_name_is_shown_and_cannot_be_answered() -> None:
    letters = septets_of("Network")
    assert letters is not None
    # An address is counted in half bytes: seven letters of seven bits are 13 of them.
    address = b"\x0d\xd0" + pack(letters, b"")[0]
    pdu = b"\x00\x04" + address + bytes.fromhex("00 00 62 11 41 21 43 65 40 00")
    received = decode_delivery(pdu.hex())
    assert (received.sender, received.text) == ("Network", "")
    assert not received.can_be_answered


@for_each(
    ("digits", "why"),
    [
        ("", "nothing"),
        ("00", "no flags"),
        ("0011000B914805214365F70000AA02C834", "a message that was sent"),
        ("0004039121F3000462114121436540 02ABCD", "data instead of text"),
        ("not hexadecimal", "no digits"),
    ],
)
def test_pdu_without_a_received_text_is_refused(digits: str, why: str) -> None:
    with pytest.raises(BadPdu):
        decode_delivery(digits)


@examples(400)
@given(st.binary(max_size=80))
def test_random_bytes_are_a_message_or_none(data: bytes) -> None:
    Inbox().take(data.hex())
    Inbox().take(b"\x00\x44".hex() + data.hex())


def test_parts_are_joined_in_any_order_and_twice() -> None:
    text = "Türen und Fenster. " * 20
    first, second, third = incoming(NUMBER, text)
    inbox = Inbox()
    taken = [inbox.take(digits) for digits in (third, first, first, second)]
    assert [message and message.text for message in taken] == [None, None, None, text]


def test_parts_of_several_senders_are_kept_apart() -> None:
    inbox = Inbox()
    mine, yours = incoming("+481", "m" * 200), incoming("+482", "y" * 200)
    taken = [inbox.take(digits) for digits in (mine[0], yours[0], mine[1], yours[1])]
    assert [message and message.text for message in taken] == [None, None, "m" * 200, "y" * 200]


def test_messages_that_are_never_completed_are_dropped() -> None:
    inbox = Inbox()
    for sender in range(MAX_UNFINISHED + 3):
        inbox.take(incoming(f"+48{sender}", "x" * 200)[0])
    assert inbox.take(incoming("+480", "x" * 200)[1]) is None
    last = inbox.take(incoming(f"+48{MAX_UNFINISHED + 2}", "x" * 200)[1])
    assert last is not None


def test_list_of_a_modem_is_read() -> None:
    lines = ["+CMGL: 1,0,,24", "AB", '+CMGL: 12,1,"",30', "CD", "+CMGL: 13,1,,2"]
    assert list(list_stored_messages(lines)) == [(1, "AB"), (12, "CD")]
