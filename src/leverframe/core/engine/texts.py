"""Reading codes in texts, and the texts of messages.

A code stands for the value of a reading or state when the text is created: `%0141` is T1 with one
decimal. The marker is followed by the number of the label and one digit for the decimals; on the
display a second digit is the minimum width, so that columns stay aligned. The numbers are the same
in all versions. They have three digits on HW 3.5+ from SW 1.49 on, otherwise two. The marker is
`%`, on the display `!`, and in HTTP addresses optionally `%%`.

Other text, including codes with unknown numbers, is not changed; on the display, an `!` in it is
shown as `%`.

# Gap: the interface document shows only codes of T1 (14); we defined the table and the meaning of
the digits.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

from leverframe.core import labels
from leverframe.core.profile import HW35, Profile
from leverframe.core.settings import Settings

Values = Mapping[str, float | int | None]

#: The labels, in the order of their numbers in codes. T1 is 14, as on existing units.
CODED = (
    "VCC",
    "TEMP",
    *labels.ANALOG_INPUTS,
    *labels.OUTPUTS,
    "T1",
    "H1",
    "P1",
    "DEWPOINT",
    *labels.ONEWIRE,
    *labels.DIFFERENTIALS,
    "CO2",
    *labels.PARTICULATES,
    "DISTANCE",
    *labels.POWERS,
    *labels.ENERGIES,
    *labels.MAPPED,
    *labels.DIGITAL_INPUTS,
    *labels.EVENT_VARIABLES,
    *labels.PWMS,
    "MQTT",
)
#: Text for an absent value: it cannot be mistaken for a number, and is safe in a URL.
ABSENT = "--"
#: Maximum length of an SMS after its codes are replaced.
MAX_SMS_LETTERS = 160
TEST_TEXT = "Test message"


def number_digits(profile: Profile) -> int:
    return 3 if profile.since("1.49", HW35) else 2


def labels_by_digits(profile: Profile) -> dict[str, str]:
    """Map the digits of this version's codes to the labels that they stand for."""
    digits = number_digits(profile)
    return {f"{number:0{digits}}": label for number, label in enumerate(CODED)}


def has_codes_in_messages(profile: Profile) -> bool:
    """Return True if texts of mails and SMS may contain codes; addresses always may."""
    return profile.since("1.40", HW35)


def render(text: str, values: Values, profile: Profile, marker: str = "%") -> str:
    """Replace the codes in a text by values."""
    return _with_values(text, values, profile, marker, width_digits=0)


def render_line(text: str, values: Values, profile: Profile) -> str:
    """Replace the codes of a display line, with the marker `!` and a digit for the minimum width.

    Clients that send a line replace `%` by `!`, so any `!` that remains was a `%`.
    """
    return _with_values(text, values, profile, "!", width_digits=1).replace("!", "%")


def codes_in(
    text: str, profile: Profile, marker: str, width_digits: int
) -> list[tuple[int, str, str]]:
    """List the codes in a text: the label's number, decimals and width."""
    pattern = _pattern(marker, number_digits(profile), width_digits)
    codes = ((int(code[1]), code[2], code[3]) for code in pattern.finditer(text))
    return [code for code in codes if code[0] < len(CODED)]


def with_digits_of(text: str, old: Profile, new: Profile, marker: str, width_digits: int) -> str:
    """Convert the codes in a text of one version to those of another version."""

    def rewritten(code: re.Match[str]) -> str:
        number = int(code[1])
        is_label = number < len(CODED)
        return f"{marker}{number:0{number_digits(new)}}{code[2]}{code[3]}" if is_label else code[0]

    return _pattern(marker, number_digits(old), width_digits).sub(rewritten, text)


def _with_values(
    text: str, values: Values, profile: Profile, marker: str, *, width_digits: int
) -> str:
    if marker not in text:
        return text
    pattern = _pattern(marker, number_digits(profile), width_digits)
    return pattern.sub(lambda found: _replacement(found, values), text)


@lru_cache(maxsize=16)
def _pattern(marker: str, digits: int, width_digits: int) -> re.Pattern[str]:
    return re.compile(
        rf"{re.escape(marker)}([0-9]{{{digits}}})([0-9])([0-9]{{{width_digits}}})", re.ASCII
    )


def _replacement(code: re.Match[str], values: Values) -> str:
    number, decimals, width = int(code[1]), int(code[2]), int(code[3] or 0)
    if number >= len(CODED):
        return code[0]
    label = CODED[number]
    return format_value(label, values.get(label), decimals).rjust(width)


def format_value(label: str, value: float | int | None, decimals: int) -> str:
    if value is None:
        return ABSENT
    # A state is 0 or 1, regardless of the decimals in the code.
    if label in labels.DIGITAL:
        return str(int(value))
    # Rounded first: -0.04 with one decimal is 0.0, not -0.0.
    return f"{round(value, decimals) + 0.0:.{decimals}f}"


def message_texts(
    channel: str, slot: int, active: bool, settings: Settings, values: Values, profile: Profile
) -> tuple[str, str]:
    """Return the text of a message, or its address for HTTP, and the body of a POST."""
    if channel == "http":
        call = settings.http[slot - 1]
        marker = "%%" if settings.http_double_percent else "%"
        return (
            render(call.url, values, profile, marker),
            render(call.body, values, profile, marker),
        )
    if channel == "email":
        texts = settings.email.on_texts if active else settings.email.off_texts
        return _message_text(texts[slot - 1], values, profile), ""
    if channel == "sms":
        sms = settings.gsm.sms[slot - 1]
        text = _message_text(sms.on_text if active else sms.off_text, values, profile)
        return text[:MAX_SMS_LETTERS], ""
    return "", ""


def _message_text(text: str, values: Values, profile: Profile) -> str:
    return render(text, values, profile) if has_codes_in_messages(profile) else text
