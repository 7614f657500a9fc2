"""A schedule alone, with a clock that can be set without the time passing.

An actuator that writes down which entry ran when takes the place of the real one.
"""

from datetime import datetime, tzinfo
from zoneinfo import ZoneInfo

from leverframe.core.engine.journal import Cause
from leverframe.core.engine.machine import Machine
from leverframe.core.engine.schedule import Schedule
from leverframe.core.engine.schedule_times import WEEKDAYS
from leverframe.core.engine.timers import Moment
from leverframe.core.profile import Profile
from leverframe.core.settings import SCHEDULE_ENTRIES, ScheduleEntry
from leverframe.core.tree import defaults, with_value

WARSAW = ZoneInfo("Europe/Warsaw")
MINUTE, HOUR, DAY = 60, 3600, 86400
PROFILE = Profile()


def entry(time: int = 6 * HOUR, **fields: object) -> ScheduleEntry:
    """Active, on every day, switching OUT0 on at six by default."""
    chosen: dict[str, object] = {"value": 1, "days": WEEKDAYS, "active": True, **fields}
    return ScheduleEntry(time=time, **chosen)  # type: ignore[arg-type]


def places(*entries: ScheduleEntry | None) -> tuple[ScheduleEntry | None, ...]:
    return (*entries, *(None,) * (SCHEDULE_ENTRIES - len(entries)))


class RecordingActuator:
    """Writes down which entry ran when."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self.runs: list[tuple[float, str]] = []

    def perform(
        self,
        action: str,
        value: int,
        active: bool,
        cause: Cause,
        label: str | None = None,
        measured: float | None = None,
    ) -> None:
        assert active
        self.runs.append((self._machine.at.wall, cause.detail))


class Clockwork:
    def __init__(self, wall: float, *entries: ScheduleEntry | None, zone: tzinfo = WARSAW) -> None:
        self.now = 5000.0
        tree = with_value(defaults(PROFILE), "schedule", places(*entries))
        self.machine = Machine(PROFILE, tree, zone, {})
        self.machine.at = self.machine.started = Moment(self.now, wall)
        self.actuator = RecordingActuator(self.machine)
        self.schedule = Schedule(self.machine, self.actuator)  # type: ignore[arg-type]
        self.schedule.start()
        self.wakes = 0

    def pass_time(self, seconds: float) -> None:
        end = self.machine.at.now + seconds
        while (when := self.machine.timers.next_due) is not None and when <= end:
            key = self.machine.timers.pop()
            self._move_to(when)
            self.wakes += 1
            self.schedule.on_timer(key)
        self._move_to(end)

    def _move_to(self, now: float) -> None:
        at = self.machine.at
        self.machine.at = Moment(now, at.wall + (now - at.now))

    def set_clock(self, wall: float) -> None:
        self.machine.at = Moment(self.machine.at.now, wall)
        self.schedule.clock_changed()

    def edit(self, *entries: ScheduleEntry | None) -> None:
        old = self.machine.settings
        self.machine.settings = with_value(old, "schedule", places(*entries))
        self.schedule.adopt(old)

    def runs(self, zone: tzinfo = WARSAW) -> list[str]:
        """The local times of all runs so far."""
        local = [datetime.fromtimestamp(round(wall, 3), zone) for wall, _ in self.actuator.runs]
        return [f"{time:%a %d.%m. %H:%M:%S}" for time in local]


def at(text: str, zone: tzinfo = WARSAW) -> float:
    """Seconds since 1970 UTC of a local time."""
    return datetime.fromisoformat(text).replace(tzinfo=zone).timestamp()
