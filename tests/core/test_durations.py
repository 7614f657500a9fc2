"""Durations as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.durations import MAX_S, BadDuration, seconds_from_text, text_from_seconds
from tests.cases import for_each


@for_each(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("24h", 86400),
        ("7d", 604800),
        ("1h30m", 5400),
        ("2d 3h", 183600),
        ("1.5h", 5400),
        ("0.25s", 0.25),
        ("90", 90),
        ("0", 0),
        ("1d2h3m4s", 93784),
        ("10min", 600),
        ("1h 5min 3s", 3903),
        ("250ms", 0.25),
        ("1m 5ms", 60.005),
        ("2min5ms", 120.005),
    ],
)
def test_units_add_up(text: str, seconds: float) -> None:
    assert seconds_from_text(text) == seconds


@for_each(
    "text",
    [
        "",
        " ",
        "h",
        "1x",
        "-5s",
        "30m1h",
        "1h1h",
        "1e3s",
        "1,5h",
        "5 parsecs",
        "٣s",
        "1h30",
        "5mins",
        "5ms1s",
    ],
)
def test_invalid_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(BadDuration, match="90s, 1h30m, 24h or 7d"):
        seconds_from_text(text)


def test_more_than_a_hundred_years_is_refused() -> None:
    with pytest.raises(BadDuration, match="hundred years"):
        seconds_from_text("40000d")


@given(st.integers(0, int(MAX_S)))
def test_whole_seconds_survive_being_written_and_read(seconds: int) -> None:
    assert seconds_from_text(text_from_seconds(seconds)) == seconds


@given(st.integers(0, 59_999))
def test_milliseconds_below_a_minute_survive_being_written_and_read(milliseconds: int) -> None:
    seconds = milliseconds / 1000
    assert seconds_from_text(text_from_seconds(seconds)) == seconds
