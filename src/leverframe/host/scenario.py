"""Scenarios: the events of a simulated run, read from a TOML file.

    start = 2026-06-01T05:00:00       # local time; without it the run begins on 5 January 2026
    timezone = "Europe/Warsaw"        # without it UTC
    profile = { hw = "3.9", sw = "1.75" }
    record = ["DS1", "OUT0", "PWM0.duty"]
    sim = "DS2=8&INPD1=1"             # initial readings of the board, as for /sim.cgi
    commands = ["/outs.cgi?ortime=05", "/post.cgi?sched_save &s0=lamp*0*1*64800*0*127*1&&"]

    [[plants]]                        # see devices/simulated/plant_wiring.py
    kind = "room"
    heater = "PWM0"

    [[at]]                            # "06:00", "+90s", "2d 3h", or a local date and time
    time = "06:00"
    sim = "DS2=14"
    commands = ["/outs.cgi?out0=1"]

The body of a command follows after a space. Everything that can be checked before the run is
checked here or by `simulate.py`; a mistake is a sentence with its line and what is allowed.
"""

import re
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from msgspec import Struct

from leverframe.core.durations import BadDuration, seconds_from_text
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.engine.schedule_times import instant
from leverframe.core.errors import ErrorForPeople
from leverframe.core.labels import LABELS
from leverframe.core.profile import Profile, UnknownProfile, existing, newest_software
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.simulated.plant_kinds import Plant
from leverframe.devices.simulated.plant_wiring import BadPlant, plant_from_fields
from leverframe.host.configuration import BadConfiguration, Config
from leverframe.host.configuration.toml import TomlPath, line_of, read_toml
from leverframe.interface.table.lookup import COMMAND_PATHS, Call, find, items_of
from leverframe.interface.table.refusals import Refusal

RECORDABLE = (*LABELS, *DUTIES)
_TOP_KEYS = ("start", "timezone", "profile", "record", "sim", "commands", "plants", "at")
_TIME_OF_DAY = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])(?::([0-5][0-9]))?")


class BadScenario(ErrorForPeople):
    """One sentence: which line is wrong, why, and what is allowed."""


class Order(Struct, frozen=True):
    """A command or a `sim` text, with its line in the file."""

    text: str
    line: int


class Happening(Struct, frozen=True):
    """The orders of one moment of the run."""

    #: Seconds after the start.
    after_s: float
    sim: Order | None
    commands: tuple[Order, ...]


class Scenario(Struct, frozen=True):
    path: Path
    profile: Profile
    timezone: ZoneInfo
    #: Seconds since 1970 UTC.
    start: float
    record: tuple[str, ...]
    #: The tables as they are in the file.
    plants: tuple[Mapping[str, Any], ...]
    #: In order of time; the first is at the start.
    happenings: tuple[Happening, ...]

    def mistake(self, order: Order, why: str) -> BadScenario:
        return BadScenario(f"{self.path}, line {order.line}: {why}")


def read_scenario(path: Path) -> Scenario:
    text, values = read_toml(path, BadScenario)
    return _Reader(path, text).read(values)


def plant_from_table(table: Mapping[str, Any]) -> Plant:
    """Create a plant from its `[[plants]]` table; raise `BadPlant`."""
    fields = dict(table)
    kind = fields.pop("kind", "")
    return plant_from_fields(str(kind), fields)


def request_parts(order: Order) -> tuple[str, str, bytes]:
    """Split a command of a scenario into path, query and body."""
    target, _, body = order.text.partition(" ")
    path, _, query = target.partition("?")
    return path, query, body.strip().encode()


class _Reader:
    """Checks values and reports the place of a wrong value."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text

    def read(self, values: Mapping[str, Any]) -> Scenario:
        self._check_keys(values, _TOP_KEYS, ())
        profile = self._profile(values.get("profile", {}))
        timezone = self._timezone(values.get("timezone", "UTC"))
        start = self._start(values.get("start"), timezone)
        at_start = Happening(0.0, *self._orders(values, (), profile))
        later = [
            self._happening(table, ("at", index), start, timezone, profile)
            for index, table in enumerate(self._tables(values, "at"))
        ]
        for index, table in enumerate(self._tables(values, "plants")):
            self._check_plant(table, ("plants", index))
        return Scenario(
            self._path,
            profile,
            timezone,
            start,
            self._record(values),
            tuple(values.get("plants", ())),
            (at_start, *sorted(later, key=lambda happening: happening.after_s)),
        )

    def _wrong(self, place: TomlPath, why: str) -> BadScenario:
        return BadScenario(f"{self._path}, line {line_of(self._text, place)}: {why}")

    def _check_keys(
        self, table: Mapping[str, Any], known: tuple[str, ...], place: TomlPath
    ) -> None:
        for key in table:
            if key not in known:
                raise self._wrong(
                    (*place, key), (f"Unknown key {key}; known keys: {', '.join(known)}.")
                )

    def _tables(self, values: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
        tables = values.get(key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            raise self._wrong((key,), f"{key} must be written as [[{key}]] tables.")
        return tables

    def _texts(self, values: Mapping[str, Any], key: str, place: TomlPath) -> list[str]:
        texts = values.get(key, [])
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise self._wrong(
                (*place, key), f'{key} must be a list of strings: {key} = ["...", "..."].'
            )
        return texts

    def _profile(self, value: Any) -> Profile:
        if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
            raise self._wrong(("profile",), 'profile must look like { hw = "3.9", sw = "1.75" }.')
        self._check_keys(value, ("hw", "sw"), ("profile",))
        try:
            hw = value.get("hw", Profile().hw)
            return existing(hw, value.get("sw", newest_software(hw)))
        except UnknownProfile as error:
            raise self._wrong(("profile",), str(error)) from None

    def _timezone(self, value: Any) -> ZoneInfo:
        try:
            return Config(timezone=str(value)).zone()
        except BadConfiguration as error:
            raise self._wrong(("timezone",), str(error)) from None

    def _start(self, value: Any, timezone: ZoneInfo) -> float:
        if value is None:
            return VirtualClock.START
        moment = _local_moment(value)
        if moment is None:
            raise self._wrong(
                ("start",), "start must be a local date and time such as 2026-06-01T05:00:00."
            )
        return _wall(moment, timezone)

    def _record(self, values: Mapping[str, Any]) -> tuple[str, ...]:
        labels = self._texts(values, "record", ())
        for index, label in enumerate(labels):
            if label not in RECORDABLE:
                known = (
                    "allowed are labels of readings and states, such as DS1, OUT0, EVENT1,"
                    " PWM0.duty"
                )
                raise self._wrong(("record", index), f"{label!r} cannot be recorded; {known}.")
        return tuple(labels)

    def _check_plant(self, table: Mapping[str, Any], place: TomlPath) -> None:
        try:
            plant_from_table(table)
        except BadPlant as error:
            raise self._wrong((*place, error.field), str(error)) from None

    def _happening(
        self,
        table: Mapping[str, Any],
        place: TomlPath,
        start: float,
        timezone: ZoneInfo,
        profile: Profile,
    ) -> Happening:
        self._check_keys(table, ("time", "sim", "commands"), place)
        after_s = self._after_s(table, place, start, timezone)
        return Happening(after_s, *self._orders(table, place, profile))

    def _orders(
        self, values: Mapping[str, Any], place: TomlPath, profile: Profile
    ) -> tuple[Order | None, tuple[Order, ...]]:
        sim = values.get("sim")
        if sim is not None and not isinstance(sim, str):
            raise self._wrong((*place, "sim"), 'sim must be a string such as "DS1=21.5&INPD1=0".')
        commands = [
            Order(text, line_of(self._text, (*place, "commands", index)))
            for index, text in enumerate(self._texts(values, "commands", place))
        ]
        for order in commands:
            self._check_command(order, profile)
        placed = None if sim is None else Order(sim, line_of(self._text, (*place, "sim")))
        return placed, tuple(commands)

    def _check_command(self, order: Order, profile: Profile) -> None:
        path, query, body = request_parts(order)
        here = f"{self._path}, line {order.line}: "
        if path not in COMMAND_PATHS:
            raise BadScenario(
                f"{here}{order.text[:60]!r} is not a command; write it like /outs.cgi?out0=1,"
                f" with one of {', '.join(sorted(COMMAND_PATHS))}."
            )
        try:
            items = items_of(query)
        except Refusal as refusal:
            raise BadScenario(here + sentence_of(refusal)) from None
        for call in find("POST", path, items, profile):
            if isinstance(call, Refusal):
                raise BadScenario(here + sentence_of(call))
            _check_body(call, body, profile, here)

    def _after_s(
        self, table: Mapping[str, Any], place: TomlPath, start: float, timezone: ZoneInfo
    ) -> float:
        place = (*place, "time")
        value = table.get("time")
        after_s = seconds_after(value, start, timezone)
        if after_s is None:
            wrong = (
                "the time is missing" if value is None else f"{value!r} is not a time of the run"
            )
            raise self._wrong(
                place,
                f"{wrong}; write a time of day like 06:00, a duration from the start like +90s or"
                " 2d 3h, or a local date and time.",
            )
        if after_s < 0:
            raise self._wrong(place, f"{value} is before the start of the run.")
        return after_s


def sentence_of(refusal: Refusal) -> str:
    """Format a refusal for the terminal."""
    return str(refusal.as_problem()["detail"])


def _check_body(call: Call, body: bytes, profile: Profile, here: str) -> None:
    if call.row.body is not None:
        try:
            call.row.body.read(body, "", profile)
        except Refusal as refusal:
            raise BadScenario(here + sentence_of(refusal)) from None


def seconds_after(value: Any, start: float, timezone: ZoneInfo) -> float | None:
    """Return the seconds from the start to a written time; None if it is not a time."""
    if isinstance(value, time):
        value = value.isoformat()
    moment = _local_moment(value)
    if moment is not None:
        return _wall(moment, timezone) - start
    if not isinstance(value, str):
        return None
    of_day = _TIME_OF_DAY.fullmatch(value)
    if of_day is not None:
        hours, minutes, seconds = (int(number or 0) for number in of_day.groups())
        return _next_at(hours * 3600 + minutes * 60 + seconds, start, timezone) - start
    try:
        return seconds_from_text(value.removeprefix("+"))
    except BadDuration:
        return None


def _local_moment(value: Any) -> datetime | None:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value) if "-" in value else None
        except ValueError:
            return None
    return value if isinstance(value, datetime) and value.tzinfo is None else None


def _wall(moment: datetime, timezone: ZoneInfo) -> float:
    second = moment.hour * 3600 + moment.minute * 60 + moment.second
    return instant(moment.date(), second, timezone) + moment.microsecond / 1e6


def _next_at(second_of_day: int, start: float, timezone: ZoneInfo) -> float:
    """Find the first moment from the start at which the local clock shows a time."""
    today: date = datetime.fromtimestamp(start, timezone).date()
    first = instant(today, second_of_day, timezone)
    return first if first >= start else instant(today + timedelta(days=1), second_of_day, timezone)
