"""Texts show the same readings on another version, or are left out."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.texts import CODED, message_texts, render_line
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, leaves, with_value
from leverframe.interface.table.refusals import NotCarriedOver, Restored
from leverframe.interface.version_change.conversion import carry_over
from leverframe.interface.version_change.entries import carry_texts
from leverframe.interface.version_change.limits import Content

NEW = Profile("3.9", "1.75")
OLD = Profile("3.0", "1.58a")
ELDER = Profile("3.5", "1.40")
PAIRS = [(NEW, OLD), (OLD, NEW), (NEW, ELDER), (ELDER, NEW)]

VALUES = {label: float(number) for number, label in enumerate(CODED)}
#: Codes, nearly codes, and what stands around them.
PIECES = ["%", "!", "0", "1", "4", "9", "014", "14", "%20", "x"]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def make_settings(profile: Profile, **changes: Any) -> Settings:
    tree = defaults(profile)
    for path, value in changes.items():
        tree = with_value(tree, path.replace("__", "."), value)
    return tree


def convert(source: Profile, target: Profile, **changes: Any) -> Restored:
    lost: list[NotCarriedOver] = []
    settings = carry_texts(make_settings(source, **changes), source, target, lost)
    return Restored(settings, tuple(lost))


def show_text(channel: str, settings: Settings, profile: Profile) -> str:
    return message_texts(channel, 1, True, settings, VALUES, profile)[0]


def test_code_gets_the_digits_of_the_version() -> None:
    there = convert(NEW, ELDER, http__0__url="x/?t=%0141", oled__screens__0__lines=("!01419",) * 4)
    assert there.settings.http[0].url == "x/?t=%141"
    assert there.settings.oled.screens[0].lines == ("!1419",) * 4
    assert there.not_carried_over == ()
    whole = Content(ELDER, dict(leaves(make_settings(ELDER, http__0__url="x/?t=%141"))))
    assert carry_over(whole, NEW, defaults(NEW)).settings.http[0].url == "x/?t=%0141"
    back = convert(ELDER, NEW, http__0__url="x/?t=%141", oled__screens__0__lines=("!1419",) * 4)
    assert back.settings.http[0].url == "x/?t=%0141"
    assert back.settings.oled.screens[0].lines == ("!01419",) * 4


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(text=TEXTS, double=st.booleans())
def test_address_shows_the_same_readings_or_is_left_out(
    source: Profile, target: Profile, text: str, double: bool
) -> None:
    here = {"http__0__url": f"host/?{text}", "http_double_percent": double}
    restored = convert(source, target, **here)
    before = make_settings(source, **here)
    listed = [lost.path for lost in restored.not_carried_over]
    if listed:
        assert (listed, restored.settings.http[0].url) == (["http.0.url"], "")
    else:
        assert show_text("http", restored.settings, target) == show_text("http", before, source)


@pytest.mark.parametrize(("source", "target"), PAIRS)
@given(text=TEXTS)
def test_line_of_the_display_shows_the_same_readings_or_is_left_out(
    source: Profile, target: Profile, text: str
) -> None:
    restored = convert(source, target, oled__screens__0__lines=("", text, "", ""))
    line = restored.settings.oled.screens[0].lines[1]
    if restored.not_carried_over:
        assert line == ""
    else:
        assert render_line(line, VALUES, target) == render_line(text, VALUES, source)


@pytest.mark.parametrize(("source", "target"), [(NEW, ELDER), (ELDER, NEW)])
@given(text=TEXTS)
def test_messages_show_the_same_readings_or_are_left_out(
    source: Profile, target: Profile, text: str
) -> None:
    here = {"email__on_texts": (text, "", "", ""), "gsm__sms__0__on_text": text}
    restored = convert(source, target, **here)
    before = make_settings(source, **here)
    for channel in ("email", "sms"):
        now = show_text(channel, restored.settings, target)
        assert now == show_text(channel, before, source) or (restored.not_carried_over and not now)


@pytest.mark.parametrize(("source", "target"), [(NEW, OLD), (OLD, NEW)])
def test_messages_of_a_version_without_codes_come_over_as_they_stand(
    source: Profile, target: Profile
) -> None:
    restored = convert(source, target, gsm__sms__0__on_text="now %0141")
    assert restored.settings.gsm.sms[0].on_text == "now %0141"


def test_text_that_becomes_too_long_is_left_out() -> None:
    text = "!1419" * 12 + "xyz"
    restored = convert(ELDER, NEW, oled__screens__0__lines=(text, "", "", ""))
    assert restored.settings.oled.screens[0].lines == ("",) * 4
    (lost,) = restored.not_carried_over
    assert (lost.path, lost.value) == ("oled.screens.0.lines", text)
