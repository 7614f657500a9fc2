"""Durations and moments as users write them, such as `1h30m`, and as reports show them."""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leverframe.core.errors import ErrorForPeople

# Durations as users write them: `90s`, `1h30m`, `2d 3h`, `10min`, `250ms`, or bare seconds.
#
# From days to milliseconds, largest unit first, each at most once; spaces do not matter.

DAY_S, HOUR_S, MINUTE_S = 86400.0, 3600.0, 60.0
#: About a hundred years: longer than anyone needs, and short enough to prevent overflows.
MAX_S = 3.2e9
#: The longest time by which one request may advance virtual time: a leap year.
MAX_ADVANCE_S = 366 * DAY_S

_UNITS = {"d": DAY_S, "h": HOUR_S, "m": MINUTE_S, "s": 1.0}
#: Units that users may write. Output uses `_UNITS`, without milliseconds.
_READ_UNITS = {**_UNITS, "ms": 0.001}
# Uncompiled patterns: `re` compiles them on first use, which keeps startup fast.
_NUMBER = r"([0-9]{1,12}(?:\.[0-9]{1,9})?)"
#: Minutes may also be written `min`; `ms` is not read as minutes followed by seconds.
_WRITTEN = {"m": "m(?:in|(?!s))"}
_WITH_UNITS = "".join(rf"(?:{_NUMBER}{_WRITTEN.get(unit, unit)})?" for unit in _READ_UNITS)


class BadDuration(ErrorForPeople, ValueError):
    """An invalid duration; the message says what is wrong and what is allowed."""


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
    """Format 5400 seconds as `1h30m`; round durations of a minute or more to whole seconds."""
    if seconds < MINUTE_S:
        return f"{round(seconds, 3):.12g}s"
    remaining = round(seconds)
    text = ""
    for unit, unit_s in _UNITS.items():
        count, remaining = divmod(remaining, int(unit_s))
        text += f"{count}{unit}" if count else ""
    return text


# Durations and moments as tests write them, and moments as the command line shows them.

Duration = str | float | timedelta
WhenText = str | float | datetime


class BadMoment(ErrorForPeople, ValueError):
    """An invalid date and time; the message says what is wrong and what is allowed."""


def seconds_of(duration: Duration) -> float:
    """Return the number of seconds in `"1h30m"`, a number of seconds, or a `timedelta`."""
    if isinstance(duration, str):
        return seconds_from_text(duration)
    if isinstance(duration, bool) or not isinstance(duration, int | float | timedelta):
        raise BadDuration(f"{duration!r} is not a duration; write it like 90s, 1h30m, 24h or 7d.")
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not seconds >= 0:
        raise BadDuration(f"{duration!r} is not a duration; it must be 0 or more.")
    return seconds


def wall_of(moment: WhenText, zone: tzinfo) -> float:
    """Convert `"2026-03-29T00:30"` or a `datetime` to seconds since 1970; keep a number.

    A time without an offset is local; if it occurs twice on that day, the first occurrence is used.
    """
    if isinstance(moment, int | float) and not isinstance(moment, bool):
        return float(moment)
    if isinstance(moment, str):
        try:
            moment = datetime.fromisoformat(moment)
        except ValueError:
            raise BadMoment(
                f"{moment!r} is not a moment; write it like 2026-03-29T00:30."
            ) from None
    if not isinstance(moment, datetime):
        raise BadMoment(
            f"{moment!r} is not a moment; write it like 2026-03-29T00:30, or pass a datetime or"
            " seconds since 1970."
        )
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC).timestamp()


def zone_named(name: str) -> tzinfo:
    """Return the time zone that a node reports; UTC if this machine does not have it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def moment_words(wall: float, zone: tzinfo) -> str:
    """Format a moment as `2026-01-05 06:00:00 CET`; the zone distinguishes repeated hours."""
    return f"{datetime.fromtimestamp(wall, zone):%Y-%m-%d %H:%M:%S %Z}"


def with_zone(words: str, zone: tzinfo) -> str:
    """Add the name of the time zone, such as `(Europe/Warsaw)`; nothing for UTC."""
    return words if str(zone) == "UTC" else f"{words} ({zone})"
