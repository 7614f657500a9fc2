"""The times at which a schedule entry runs, computed from local dates and times.

- An entry with a date runs on that day only; its weekdays are then ignored. Without a date it runs
  on its weekdays. A periodic entry without a date or weekdays runs every day.
- It runs at its time of day, by the local clock: a skipped time means the end of the gap, and a
  repeated time means its first occurrence.
- Gap: a periodic entry runs at local midnight and then at its period in seconds until the next
  midnight. The period is in elapsed seconds, so a change to or from daylight saving time causes no
  gap.
"""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from errno import EMFILE, ENFILE
from zoneinfo import ZoneInfo

from leverframe.core.settings import ScheduleEntry

# The time zone that the settings name.
#
# The machine provides the zones as files; each is read only once.

#: Errors of too many open files, which do not mean that the zone is unknown.
_NONE_OPENS_NOW = (EMFILE, ENFILE)


def zone_named(name: str) -> tzinfo | None:
    """Return the zone with this name; None if this machine does not have it."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError):
        return None
    except OSError as error:
        # A name that is too long, or that of a folder of zones such as Europe, cannot be opened.
        if error.errno in _NONE_OPENS_NOW:
            raise
        return None


WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_ONE_DAY = timedelta(days=1)
#: A week and one day before and after it always contain the next run, even if a gap moves it.
_DAYS_LOOKED_AT = 10


def next_run(entry: ScheduleEntry, after: float, timezone: tzinfo) -> float | None:
    """Return the first moment after `after` at which the entry runs, or None if it never does."""
    if entry.periodic and entry.time <= 0:
        return None
    for day in _days(entry, after, timezone):
        run = _next_run_on(day, entry, after, timezone)
        if run is not None:
            return run
    return None


def previous_run(entry: ScheduleEntry, until: float, timezone: tzinfo) -> float | None:
    """Return the last moment up to `until` at which an entry that is not periodic was to run."""
    if entry.date is not None:
        days = [date.fromisoformat(entry.date)]
    else:
        last = datetime.fromtimestamp(until, timezone).date()
        days = [last - timedelta(days=offset) for offset in range(_DAYS_LOOKED_AT)]
        days = [day for day in days if WEEKDAYS[day.weekday()] in entry.days]
    runs = (instant(day, entry.time, timezone) for day in days)
    return next((run for run in runs if run <= until), None)


def _days(entry: ScheduleEntry, after: float, timezone: tzinfo) -> Iterator[date]:
    if entry.date is not None:
        yield date.fromisoformat(entry.date)
        return
    days = WEEKDAYS if entry.periodic and not entry.days else entry.days
    first = datetime.fromtimestamp(after, timezone).date() - _ONE_DAY
    for offset in range(_DAYS_LOOKED_AT):
        day = first + timedelta(days=offset)
        if WEEKDAYS[day.weekday()] in days:
            yield day


def _next_run_on(day: date, entry: ScheduleEntry, after: float, timezone: tzinfo) -> float | None:
    if not entry.periodic:
        run = instant(day, entry.time, timezone)
        return run if run > after else None
    midnight = instant(day, 0, timezone)
    periods = (after - midnight) // entry.time + 1 if after >= midnight else 0
    run = midnight + periods * entry.time
    return run if run < instant(day + _ONE_DAY, 0, timezone) else None


def instant(day: date, second: int, timezone: tzinfo) -> float:
    """Convert a second of a local day to seconds since 1970 UTC."""
    local = datetime.combine(day, time(), timezone) + timedelta(seconds=second)
    run = local.timestamp()
    if datetime.fromtimestamp(run, timezone).replace(tzinfo=None) == local.replace(tzinfo=None):
        return run
    return _end_of_gap(local, timezone)


def _end_of_gap(local: datetime, timezone: tzinfo) -> float:
    """Find the time at which the clock skips a nonexistent local time."""
    # With the offset from before the gap, the time is after the change; with the offset from after
    # the gap, it is before the change.
    after, before = int(local.timestamp()), int(local.replace(fold=1).timestamp())
    old_offset = _offset(before, timezone)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(middle, timezone) == old_offset:
            before = middle
        else:
            after = middle
    return float(after)


def _offset(wall: int, timezone: tzinfo) -> timedelta | None:
    return datetime.fromtimestamp(wall, UTC).astimezone(timezone).utcoffset()
