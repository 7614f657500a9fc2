"""Reading codes in texts on another version: numbers of labels have two digits or three.

A text is rewritten with the digits of the version, so that it shows the same readings. One that
would show others all the same, or that becomes too long, is left out. Messages of versions without
codes are sent as they stand, and so they come over.
"""

from collections.abc import Iterator
from typing import Any

from leverframe.commands.table.restored import NotCarriedOver, report_lost
from leverframe.commands.version_change.limits import is_allowed
from leverframe.engine.settings import Settings
from leverframe.engine.texts import (
    codes_in,
    has_codes_in_messages,
    number_digits,
    with_digits_of,
)
from leverframe.engine.tree import value_at, with_value
from leverframe.profile import Profile

_DISPLAY = "!"
_MESSAGE = "%"


def carry_texts(
    settings: Settings, source: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    if number_digits(source) == number_digits(target):
        return settings
    for path, marker in _places(settings, source, target):
        value = value_at(settings, path)
        texts = value if isinstance(value, tuple) else (value,)
        carried = tuple(_carry_text(text, path, marker, source, target, lost) for text in texts)
        whole: Any = carried if isinstance(value, tuple) else carried[0]
        settings = with_value(settings, path, whole)
    return settings


def _places(settings: Settings, source: Profile, target: Profile) -> Iterator[tuple[str, str]]:
    """Yield the paths of texts with codes, each with the marker of its codes."""
    for number in range(len(settings.oled.screens)):
        yield f"oled.screens.{number}.lines", _DISPLAY
    for number in range(len(settings.http)):
        marker = _MESSAGE * 2 if settings.http_double_percent else _MESSAGE
        yield f"http.{number}.url", marker
        yield f"http.{number}.body", marker
    if has_codes_in_messages(source) and has_codes_in_messages(target):
        yield "email.on_texts", _MESSAGE
        yield "email.off_texts", _MESSAGE
        for number in range(len(settings.gsm.sms)):
            yield f"gsm.sms.{number}.on_text", _MESSAGE
            yield f"gsm.sms.{number}.off_text", _MESSAGE


def _carry_text(
    text: str,
    path: str,
    marker: str,
    source: Profile,
    target: Profile,
    lost: list[NotCarriedOver],
) -> str:
    width_digits = int(marker == _DISPLAY)
    carried = with_digits_of(text, source, target, marker, width_digits)
    shows_the_same = codes_in(text, source, marker, width_digits) == codes_in(
        carried, target, marker, width_digits
    )
    if shows_the_same and _fits(path, carried, target):
        return carried
    reason = f"{target} would show other readings in it, or cannot hold it; the text is left out."
    lost.append(report_lost(path, text, reason))
    return ""


def _fits(path: str, text: str, target: Profile) -> bool:
    """Return whether the path can hold the text; lists of texts have one length in all versions."""
    count = 4 if path.endswith(("texts", "lines")) else 0
    whole: Any = (text, *("",) * (count - 1)) if count else text
    return is_allowed(path, whole, None, target)
