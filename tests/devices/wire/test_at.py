"""The AT dialogue: answers, prompts, unsolicited lines, and a modem that restarts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.devices.wire.gsm import (
    ECHO_OFF,
    AtAnswer,
    AtDialogue,
    Heard,
    Prompt,
    Restarted,
    Unasked,
)
from tests.cases import for_each
from tests.effort import examples

FEW = examples(80)


def feed_answer(command: str, data: bytes) -> list[Heard]:
    dialogue = AtDialogue()
    dialogue.ask(command)
    return dialogue.feed(data)


def without_echo() -> AtDialogue:
    dialogue = AtDialogue()
    dialogue.ask(ECHO_OFF)
    dialogue.feed(b"ATE0\r\r\nOK\r\n")
    return dialogue


def test_command_ends_with_a_carriage_return_and_a_text_with_control_z() -> None:
    dialogue = AtDialogue()
    assert dialogue.ask("AT+CSQ") == b"AT+CSQ\r"
    assert dialogue.text("0011") == b"0011\x1a"


def test_answer_is_every_line_up_to_the_result() -> None:
    assert feed_answer("AT+CSQ", b"AT+CSQ\r\r\n+CSQ: 17,0\r\n\r\nOK\r\n") == [
        AtAnswer(("+CSQ: 17,0",), "OK")
    ]


@for_each(
    ("result", "good"),
    [
        ("OK", True),
        ("SHUT OK", True),
        ("ERROR", False),
        ("+CME ERROR: SIM not inserted", False),
        ("+CMS ERROR: 331", False),
        ("NO CARRIER", False),
    ],
)
def test_result_is_good_or_bad(result: str, good: bool) -> None:
    (answer,) = feed_answer("AT+X", f"\r\n{result}\r\n".encode())
    assert isinstance(answer, AtAnswer)
    assert answer.good is good
    assert answer.result == result


def test_unasked_line_is_recognised_in_the_middle_of_an_answer() -> None:
    said = b'\r\n+CMTI: "SM",3\r\n+CSQ: 17,0\r\nRING\r\n\r\nOK\r\n'
    assert feed_answer("AT+CSQ", said) == [
        Unasked('+CMTI: "SM",3'),
        Unasked("RING"),
        AtAnswer(("+CSQ: 17,0",), "OK"),
    ]


def test_state_of_the_sim_card_is_an_answer_only_where_it_was_asked_for() -> None:
    said = b"\r\n+CPIN: READY\r\n\r\nOK\r\n"
    assert feed_answer("AT+CPIN?", said) == [AtAnswer(("+CPIN: READY",), "OK")]
    assert feed_answer("AT+CSQ", said) == [Unasked("+CPIN: READY"), AtAnswer((), "OK")]


def test_answer_that_comes_after_it_was_given_up_is_nobodys() -> None:
    dialogue = AtDialogue()
    dialogue.ask("AT+COPS?")
    dialogue.forget()
    assert dialogue.feed(b"+COPS: 0\r\nOK\r\n") == [Unasked("+COPS: 0"), Unasked("OK")]


def test_prompt_is_heard_without_a_line_end() -> None:
    dialogue = AtDialogue()
    dialogue.ask("AT+CMGS=20")
    assert dialogue.feed(b"AT+CMGS=20\r\r\n>") == []
    assert dialogue.feed(b" ") == [Prompt()]
    assert dialogue.feed(b"\r\n+CMGS: 12\r\n\r\nOK\r\n") == [AtAnswer(("+CMGS: 12",), "OK")]


@pytest.mark.parametrize(
    "sign", [b"RDY\r\n", b"NORMAL POWER DOWN\r\n", b"UNDER-VOLTAGE POWER DOWN\r\n"]
)
def test_modem_that_starts_or_stops_says_so(sign: bytes) -> None:
    assert feed_answer("AT+CSQ", b"\r\n" + sign) == [Restarted()]


def test_echo_after_it_was_switched_off_means_a_restart() -> None:
    dialogue = without_echo()
    dialogue.ask("AT+CSQ")
    assert dialogue.feed(b"AT+CSQ\r\r\n") == [Restarted()]
    # Afterwards the echo is on until it is switched off again.
    dialogue.ask("AT+CSQ")
    assert dialogue.feed(b"AT+CSQ\r\r\nOK\r\n") == [AtAnswer((), "OK")]


def test_value_behind_its_prefix_is_found() -> None:
    answer = AtAnswer(("noise", "+CREG: 0,1"), "OK")
    assert answer.after("+CREG:") == "0,1"
    assert answer.after("+CSQ:") is None


@FEW
@given(st.binary(max_size=200), st.lists(st.integers(0, 200)))
def test_random_bytes_never_raise_and_pieces_do_not_matter(noise: bytes, cuts: list[int]) -> None:
    # A prompt is known by what has arrived so far, so it depends on the pieces.
    noise = noise.replace(b">", b"")
    places = sorted({cut % (len(noise) + 1) for cut in cuts} | {0, len(noise)})
    pieces = [noise[start:end] for start, end in zip(places, places[1:], strict=False)]
    whole, cut_up = AtDialogue(), AtDialogue()
    whole.ask("AT"), cut_up.ask("AT")
    assert [heard for piece in pieces for heard in cut_up.feed(piece)] == whole.feed(noise)


def test_noise_without_end_is_not_hoarded() -> None:
    dialogue = AtDialogue()
    for _ in range(100):
        dialogue.feed(b"\xff" * 1000)
    dialogue.ask("AT")
    assert dialogue.feed(b"\r\nOK\r\n") == [AtAnswer((), "OK")]
