"""Durations as people write them: `90s`, `1h30m`, `2d 3h`, `10min`, `250ms`, or bare seconds.

From days to milliseconds, the greater unit first, each at most once; spaces do not matter.
"""

import re

from leverframe.errors import ErrorForPeople

DAY_S, HOUR_S, MINUTE_S = 86400.0, 3600.0, 60.0
#: A hundred years: long enough for every use, and short enough that no number overflows.
MAX_S = 3.2e9
#: What one request may move virtual time by: a year, whichever it is.
MAX_ADVANCE_S = 366 * DAY_S

_UNITS = {"d": DAY_S, "h": HOUR_S, "m": MINUTE_S, "s": 1.0}
#: Only read: seconds are never shown as thousands of a smaller unit.
_READ_UNITS = {**_UNITS, "ms": 0.001}
# Texts, which `re` compiles when they are first used: no start waits for them.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
#: Minutes are often written like this, to distinguish them from metres and months.
_WRITTEN = {"m": "m(?:in|(?!s))"}
_WITH_UNITS = "".join(rf"(?:{_NUMBER}{_WRITTEN.get(unit, unit)})?" for unit in _READ_UNITS)


class BadDuration(ErrorForPeople, ValueError):
    """An error about a duration, in one sentence: what is wrong, what is allowed."""


def seconds_from_text(text: str) -> float:
    """Return the number of seconds in a duration such as `1h30m`."""
    packed = text.replace(" ", "")
    bare = re.fullmatch(_NUMBER, packed)
    found = re.fullmatch(_WITH_UNITS, packed) if packed else None
    if bare:
        seconds = float(bare[1])
    elif found:
        parts = zip(found.groups(), _READ_UNITS.values(), strict=True)
        seconds = sum(float(number) * unit_s for number, unit_s in parts if number)
    else:
        raise BadDuration(f"{text[:40]!r} is not a duration; write it like 90s, 1h30m, 24h or 7d.")
    if seconds > MAX_S:
        raise BadDuration(f"{text[:40]!r} is more than a hundred years.")
    return seconds


def text_from_seconds(seconds: float) -> str:
    """Format 5400 seconds as `1h30m`; round to whole seconds from one minute on."""
    if seconds < MINUTE_S:
        return f"{round(seconds, 3):.12g}s"
    remaining = round(seconds)
    text = ""
    for unit, unit_s in _UNITS.items():
        count, remaining = divmod(remaining, int(unit_s))
        text += f"{count}{unit}" if count else ""
    return text
