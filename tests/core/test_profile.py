"""Profiles, version order and spans of availability."""

from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leverframe.core.profile import (
    ALWAYS,
    HARDWARE,
    HW30,
    HW35,
    HW35_TO_38,
    HW39,
    Profile,
    UnknownProfile,
    VersionSpan,
    existing,
    is_offered,
    newest_software,
    spans_in_words,
    version,
    withdrawn,
)
from tests.cases import for_each

software = st.builds(
    "{}.{:02}{}".format, st.integers(1, 9), st.integers(0, 99), st.sampled_from(["", *"abcdez"])
)


def test_default_is_the_newest_that_the_document_names() -> None:
    assert Profile() == Profile("3.9", "1.75")
    assert str(Profile()) == "HW 3.9 SW 1.75"


def test_software_versions_order_by_number_then_letter() -> None:
    order = ["1.19", "1.36", "1.42b", "1.45", "1.45b", "1.49", "1.49d", "1.49e", "1.60a", "1.75"]
    assert all(version(older) < version(newer) for older, newer in pairwise(order))


@given(software, software)
def test_software_versions_order_as_their_texts_do(first: str, other: str) -> None:
    assert (version(first) < version(other)) == (first < other)


@for_each("hw", HARDWARE)
def test_every_hardware_revision_makes_a_profile(hw: str) -> None:
    assert str(Profile(hw, "1.49d")) == f"HW {hw} SW 1.49d"


@for_each(
    ("hw", "sw", "naming"),
    [
        ("3.1", "1.49", "3.0, 3.5, 3.6, 3.7, 3.8, 3.9"),
        ("", "1.49", "3.0"),
        ("3.9", "", "1.49d"),
        ("3.9", "1.4", "1.36"),
        ("3.9", "1.490", "1.36"),
        ("3.9", "1.49D", "1.36"),
        ("3.9", "1.49dd", "1.36"),
        ("3.9", "0.49", "1.36"),
        ("3.9", " 1.49", "1.36"),
        ("3.9", "1.49\n", "1.36"),
        ("3.9", "1.４９", "1.36"),
    ],
)
def test_unknown_version_is_refused_with_what_exists(hw: str, sw: str, naming: str) -> None:
    with pytest.raises(UnknownProfile, match=naming):
        Profile(hw, sw)


@for_each(
    ("span", "inside", "outside"),
    [
        (VersionSpan(), ["3.0 1.10", "3.9 1.75"], []),
        (VersionSpan(HW30), ["3.0 1.10", "3.0 1.75"], ["3.5 1.10", "3.9 1.75"]),
        (VersionSpan(HW35), ["3.5 1.10", "3.8 1.10", "3.9 1.10"], ["3.0 1.75"]),
        (VersionSpan(since="1.44"), ["3.0 1.44", "3.9 1.44a"], ["3.0 1.43e", "3.9 1.43"]),
        (VersionSpan(until="1.44"), ["3.0 1.43e"], ["3.0 1.44", "3.9 1.75"]),
        (VersionSpan(HW35, "1.36", "1.45"), ["3.7 1.36", "3.7 1.44z"], ["3.7 1.35", "3.7 1.45"]),
        (VersionSpan(HW39, "1.24", "1.75"), ["3.9 1.67"], ["3.8 1.30", "3.9 1.75"]),
    ],
)
def test_span_holds_since_but_not_until(
    span: VersionSpan, inside: list[str], outside: list[str]
) -> None:
    assert [text for text in inside + outside if span.covers(Profile(*text.split()))] == inside


@given(st.sampled_from(HARDWARE), software, software, software)
def test_version_is_before_in_or_after_a_span(hw: str, sw: str, version: str, other: str) -> None:
    assume(version != other)
    span, profile = VersionSpan(HARDWARE, *sorted((version, other))), Profile(hw, sw)
    answers = [span.is_before(profile), span.covers(profile), span.is_after(profile)]
    assert answers.count(True) == 1


def test_something_is_withdrawn_only_where_the_same_hardware_once_had_it() -> None:
    spans = (VersionSpan(HW35_TO_38, "1.24", "1.67"), VersionSpan(HW39, "1.24", "1.75"))
    assert is_offered(spans, Profile("3.8", "1.60a"))
    assert withdrawn(spans, Profile("3.8", "1.67"))
    assert is_offered(spans, Profile("3.9", "1.67"))
    assert withdrawn(spans, Profile("3.9", "1.75"))
    assert not withdrawn(spans, Profile("3.9", "1.20"))
    assert not withdrawn(spans, Profile("3.0", "1.75"))
    assert not withdrawn(ALWAYS, Profile("3.0", "1.10"))


def test_reintroduced_feature_is_not_withdrawn() -> None:
    spans = (VersionSpan(until="1.30"), VersionSpan(since="1.40"))
    assert withdrawn(spans, Profile("3.5", "1.35"))
    assert is_offered(spans, Profile("3.5", "1.40"))
    assert not withdrawn(spans, Profile("3.5", "1.40"))


def test_since_asks_for_hardware_and_software() -> None:
    profile = Profile("3.5", "1.49")
    assert profile.since("1.49")
    assert profile.since("1.49", HW35)
    assert not profile.since("1.49", HW39)
    assert not profile.since("1.49d")


@for_each(
    ("spans", "words"),
    [
        (ALWAYS, "all versions"),
        ((VersionSpan(HW35),), "HW 3.5+"),
        ((VersionSpan(HW35, "1.36"),), "HW 3.5+ SW 1.36+"),
        ((VersionSpan(until="1.44"),), "before SW 1.44"),
        ((VersionSpan(HW35, "1.40", "1.45"),), "HW 3.5+ SW 1.40+ before SW 1.45"),
        ((VersionSpan(HW35, until="1.49"), VersionSpan(HW30)), "HW 3.5+ before SW 1.49 or HW 3.0"),
        ((VersionSpan(HW35_TO_38, "1.24"),), "HW 3.5-3.8 SW 1.24+"),
    ],
)
def test_spans_are_said_in_the_words_of_the_document(
    spans: tuple[VersionSpan, ...], words: str
) -> None:
    assert spans_in_words(spans) == words


@pytest.mark.parametrize(
    ("hw", "sw", "nearest"),
    [("3.9", "9.99", "1.75"), ("3.0", "1.75", "1.58a"), ("3.5", "1.76", "1.75")],
)
def test_version_that_never_existed_is_refused_with_the_nearest_that_did(
    hw: str, sw: str, nearest: str
) -> None:
    with pytest.raises(UnknownProfile, match=f"newest version for it is {nearest}"):
        existing(hw, sw)
    assert existing(hw, nearest) == Profile(hw, nearest)


def test_every_hardware_has_a_newest_software() -> None:
    assert all(existing(hw, newest_software(hw)).hw == hw for hw in HARDWARE)
