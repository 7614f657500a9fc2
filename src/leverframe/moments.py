"""Durations and moments as tests write them, and moments as the command line shows them."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from leverframe.durations import BadDuration, seconds_from_text
from leverframe.errors import ErrorForPeople

Duration = str | float | timedelta
WhenText = str | float | datetime


class BadMoment(ErrorForPeople, ValueError):
    """An error about a moment, in one sentence: what is wrong, what is allowed."""


def seconds_of(duration: Duration) -> float:
    """Return the seconds of `"1h30m"`, of a number of seconds, or of a `timedelta`."""
    if isinstance(duration, str):
        return seconds_from_text(duration)
    if isinstance(duration, bool) or not isinstance(duration, int | float | timedelta):
        raise BadDuration(f"{duration!r} is not a duration; write it like 90s, 1h30m, 24h or 7d.")
    seconds = duration.total_seconds() if isinstance(duration, timedelta) else float(duration)
    if not seconds >= 0:
        raise BadDuration(f"{duration!r} is not a duration; time goes forward only.")
    return seconds


def wall_of(moment: WhenText, zone: tzinfo) -> float:
    """Return the seconds since 1970 of `"2026-03-29T00:30"`, a `datetime`, or such a number.

    Without an offset it is local time; a time that the clock shows twice is the first of them.
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
            f"{moment!r} is not a moment; write it like 2026-03-29T00:30, or give a datetime or"
            " seconds since 1970."
        )
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=zone)
    return moment.astimezone(UTC).timestamp()


def zone_named(name: str) -> tzinfo:
    """Return the time zone that a node reports; UTC if this machine does not know it."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


def moment_words(wall: float, zone: tzinfo) -> str:
    """Format a moment, `2026-01-05 06:00:00 CET`; an hour comes twice when clocks go back."""
    return f"{datetime.fromtimestamp(wall, zone):%Y-%m-%d %H:%M:%S %Z}"


def with_zone(words: str, zone: tzinfo) -> str:
    """Name the place behind moments or above them: `(Europe/Warsaw)`, nothing for UTC."""
    return words if str(zone) == "UTC" else f"{words} ({zone})"
