"""The schedule against a model that looks at the clock every minute.

The clock is Warsaw's around the nights in which an hour is skipped or repeated, and it is set back
and forth. The model knows only what the clock shows now and what it showed a minute ago.
"""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from leverframe.core.engine.schedule_times import WEEKDAYS
from leverframe.core.settings import ScheduleEntry
from tests.effort import examples

from .clockwork import DAY, HOUR, MINUTE, WARSAW, Clockwork, at, entry


class LocalMinute(NamedTuple):
    second_of_day: int
    date: str
    weekday: str


def local(wall: int) -> datetime:
    return datetime.fromtimestamp(wall, WARSAW)


@cache
def minutes_reached(wall: int) -> list[LocalMinute]:
    """The local minutes that come at this one: several where the clock jumps forward, none where
    it shows a minute for the second time."""
    if local(wall).fold:
        return []
    now, before = (local(t).replace(tzinfo=None) for t in (wall, wall - MINUTE))
    reached = [
        now - timedelta(minutes=n) for n in range(int((now - before) / timedelta(minutes=1)))
    ]
    return [
        LocalMinute(t.hour * HOUR + t.minute * MINUTE, t.date().isoformat(), f"{t:%a}")
        for t in reached
    ]


@cache
def first_minute(day: date) -> int:
    """Local midnight, found by looking at the clock minute by minute."""
    wall = int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp()) - DAY
    while local(wall).date() < day:
        wall += MINUTE
    return wall


@cache
def real_minute(wall: int) -> LocalMinute:
    """A minute of the local day, counted in real seconds."""
    day = local(wall).date()
    return LocalMinute(wall - first_minute(day), day.isoformat(), f"{day:%a}")


def is_time(planned: ScheduleEntry, wall: int) -> bool:
    if planned.periodic:
        minutes = [m for m in [real_minute(wall)] if m.second_of_day % planned.time == 0]
    else:
        minutes = [m for m in minutes_reached(wall) if m.second_of_day == planned.time]
    if planned.date:
        return any(m.date == planned.date for m in minutes)
    return any(m.weekday in planned.days for m in minutes)


class MinuteModel:
    def __init__(self, wall: int, entries: list[ScheduleEntry]) -> None:
        self.wall = wall
        self.entries = entries
        self.last: list[int | None] = [None] * len(entries)
        self.silent_until = [0] * len(entries)
        self.runs: list[tuple[float, str]] = []

    def pass_minute(self) -> None:
        self.wall += MINUTE
        for index, planned in enumerate(self.entries):
            if is_time(planned, self.wall) and self.wall > self.silent_until[index]:
                self.run(index)

    def run(self, index: int) -> None:
        self.last[index] = self.wall
        self.runs.append((float(self.wall), str(index + 1)))

    def set_clock(self, wall: int) -> None:
        missed = [t for t in (wall - MINUTE, wall) if t > self.wall]
        self.wall = wall
        overdue = []
        for index, planned in enumerate(self.entries):
            late = [t for t in missed if is_time(planned, t) and t > self.silent_until[index]]
            overdue += [(late[0], index)] if late else []
        for _, index in sorted(overdue):
            self.run(index)
        for index, planned in enumerate(self.entries):
            last = self.last[index]
            repeated = planned.time if planned.periodic else DAY
            silent = last is not None and last - wall < repeated
            self.silent_until[index] = (last or 0) if silent else 0


DAYS_IN_MARCH = [f"2025-03-{day}" for day in (29, 30, 31)]
DAYS_IN_OCTOBER = [f"2025-10-{day}" for day in (25, 26, 27)]
TIMES = st.one_of(
    # Most of them near the hour that is skipped or repeated, and at both ends of the day.
    st.integers(0, 5 * 12).map(lambda n: n * 5 * MINUTE),
    st.sampled_from([0, MINUTE, DAY - MINUTE]),
    st.integers(0, 24 * 60 - 1).map(lambda n: n * MINUTE),
)


def entries_near(days: list[str]) -> st.SearchStrategy[ScheduleEntry]:
    weekdays = st.sampled_from([WEEKDAYS, ("Sun",), ("Sat", "Mon"), ("Mon", "Wed")])
    periods = st.sampled_from([1, 7, 30, 60, 90, 1000, 1425, 1470]).map(lambda n: n * MINUTE)
    return st.one_of(
        st.builds(entry, TIMES, days=weekdays),
        st.builds(entry, TIMES, date=st.sampled_from(days)),
        st.builds(entry, periods, days=weekdays, periodic=st.just(True)),
    )


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([1, 4, 60, 200, 700, 1500])),
        st.tuples(st.just("set"), st.sampled_from([-1500, -600, -90, -40, -7, -2, -1])),
        st.tuples(st.just("set"), st.sampled_from([1, 2, 3, 7, 61, 600, 1500])),
    ),
    min_size=1,
    max_size=8,
)


@examples(200)
@given(st.sampled_from([DAYS_IN_MARCH, DAYS_IN_OCTOBER]), st.data())
def test_schedule_runs_what_a_look_at_the_clock_every_minute_runs(
    days: list[str], data: st.DataObject
) -> None:
    entries = data.draw(st.lists(entries_near(days), min_size=1, max_size=4))
    wall = int(at(f"{days[0]} 00:00")) + data.draw(st.sampled_from([0, 700, 1430, 1550])) * MINUTE
    clock, model = Clockwork(wall, *entries), MinuteModel(wall, entries)
    for kind, minutes in [*data.draw(STEPS), ("wait", 2 * 24 * 60)]:
        if kind == "wait":
            clock.pass_time(minutes * MINUTE)
            for _ in range(minutes):
                model.pass_minute()
        else:
            clock.set_clock(model.wall + minutes * MINUTE)
            model.set_clock(model.wall + minutes * MINUTE)
        assert clock.actuator.runs == model.runs
