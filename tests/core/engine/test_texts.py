"""Reading codes in texts: which, how they are shown, and what is left alone."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.texts import CODED, render, render_line
from leverframe.core.labels import DIGITAL, LABELS
from leverframe.core.profile import Profile
from leverframe.core.settings import Rule
from tests.cases import for_each

from .bench import Bench

NEWEST = Profile()
OLD = Profile("3.0", "1.58a")
BEFORE = Profile("3.9", "1.45b")
VALUES: dict[str, Any] = {"T1": 26.34, "VCC": 12.0, "OUT0": 1, "DS1": None, "m30": -1234.5678}


@for_each(
    ("text", "shown"),
    [
        ("%0141", "26.3"),
        ("T=%0140 C", "T=26 C"),
        ("%0142%0001", "26.3412.0"),
        ("%0793", "-1234.568"),
        ("%0080", "1"),
        ("%0085", "1"),
        ("%0181", "--"),
    ],
)
def test_code_becomes_the_value_with_that_many_decimals(text: str, shown: str) -> None:
    assert render(text, VALUES, NEWEST) == shown


@pytest.mark.parametrize(("value", "shown"), [(-0.04, "0.0"), (-0.0, "0.0"), (-0.06, "-0.1")])
def test_value_that_rounds_to_zero_has_no_sign(value: float, shown: str) -> None:
    assert render("%0141", {"T1": value}, NEWEST) == shown


@for_each("text", ["%", "100 %", "%014", "%9991", "%0971", "%20x", "%abc1", "%%"])
def test_text_that_is_no_code_stays_unchanged(text: str) -> None:
    assert render(text, VALUES, NEWEST) == text


def test_t1_is_14_and_every_label_has_one_number() -> None:
    assert CODED.index("T1") == 14
    assert sorted(CODED) == sorted(LABELS)
    assert len(CODED) <= 100


@pytest.mark.parametrize("profile", [OLD, BEFORE])
def test_older_versions_have_numbers_of_two_digits(profile: Profile) -> None:
    assert render("%141 %1411", VALUES, profile) == "26.3 26.31"
    assert render("%991", VALUES, profile) == "%991"


def test_doubled_marker_leaves_single_percent_signs_alone() -> None:
    assert render("a%20b%0141=%%0141", VALUES, NEWEST, "%%") == "a%20b%0141=26.3"


def test_display_shows_an_exclamation_mark_as_a_per_cent_sign() -> None:
    assert render_line("load 50 !, !!, !99999", VALUES, NEWEST) == "load 50 %, %%, %99999"


def test_on_the_display_a_second_digit_is_the_least_width() -> None:
    assert render_line("!01410|!01417|%01410", VALUES, NEWEST) == "26.3|   26.3|%01410"
    assert render_line("!1415", VALUES, OLD) == " 26.3"


CODES = st.integers(0, len(CODED) - 1).map(lambda number: (f"%{number:03}0", f"<{number}>"))
PLAIN = st.text(alphabet="0123456789a !", max_size=6).map(lambda text: (text, text))
UNKNOWN = st.integers(len(CODED), 999).map(lambda number: (f"%{number:03}0", f"%{number:03}0"))


@given(st.lists(CODES | PLAIN | UNKNOWN))
def test_every_code_is_replaced_and_everything_else_is_left(pieces: list[tuple[str, str]]) -> None:
    text = "".join(written for written, _ in pieces)
    absent = "".join(re.sub("<.*>", "--", shown) for _, shown in pieces)
    assert render(text, {}, NEWEST) == absent


@given(st.sampled_from(LABELS), st.floats(-1e9, 1e9), st.integers(0, 9))
def test_shown_value_reads_back_as_the_value(label: str, value: float, decimals: int) -> None:
    text = render(f"%{CODED.index(label):03}{decimals}", {label: value}, NEWEST)
    if label in DIGITAL:
        assert int(text) == int(value)
    else:
        assert float(text) == pytest.approx(value, abs=0.51 * 10**-decimals, rel=1e-12)


def messages(bench: Bench) -> list[tuple[str, str]]:
    return [(effect.text, effect.body) for effect in bench.effects(Notify)]


def alarm(action: str, **more: Any) -> Bench:
    """A controller with one rule: the action is met while DS1 is 30 or more."""
    rule = Rule(source="DS1", reference=30.0, action=action, enabled=True)
    paths = {path.replace("__", "."): value for path, value in more.items()}
    return Bench({"rules": (rule,), **paths})


def test_activation_and_deactivation_have_separate_texts_with_the_current_value() -> None:
    bench = alarm(
        "SMS2", gsm__sms__1__on_text="Hot: %0181 C", gsm__sms__1__off_text="Fine: %0181 C"
    )
    bench.sense(DS1=31.26)
    bench.sense(DS1=20.0)
    assert messages(bench) == [("Hot: 31.3 C", ""), ("Fine: 20.0 C", "")]


def test_mail_texts_are_four_per_edge() -> None:
    bench = alarm(
        "eMail 3", email__on_texts=("a", "b", "c", "d"), email__off_texts=("e", "f", "g", "h")
    )
    bench.sense(DS1=31.0)
    bench.sense(DS1=20.0)
    assert messages(bench) == [("c", ""), ("g", "")]


def test_codes_in_an_address_and_a_body_are_replaced() -> None:
    bench = alarm("HTTP4", http__3__url="example.org/%0181", http__3__body='{"t": %0181}')
    bench.sense(DS1=31.0)
    assert messages(bench) == [("example.org/31.0", '{"t": 31.0}')]


def test_doubled_marker_is_an_option_of_addresses() -> None:
    bench = alarm("HTTP1", http__0__url="example.org/%0181/%%0181", http_double_percent=True)
    bench.sense(DS1=31.0)
    assert messages(bench) == [("example.org/%0181/31.0", "")]


def test_sms_is_never_longer_than_160_letters() -> None:
    bench = alarm("SMS1", gsm__sms__0__on_text="%0189" * 32)
    bench.sense(DS1=31.0)
    ((text, _),) = messages(bench)
    assert len(text) == 160


def test_versions_before_the_codes_send_message_texts_as_they_are() -> None:
    bench = Bench({"email.on_texts.0": "%181"}, profile=Profile("3.9", "1.36"))
    bench.engine.machine.notify("email", 1, True, "rule 1")
    assert bench.engine.machine.effects[-1] == Notify("email", 1, True, "rule 1", text="%181")
