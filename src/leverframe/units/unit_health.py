"""The state of one unit from repeated polls, and its problems.

Values are kept only from a complete poll of the expected unit that is not a repeated old answer.
After any other poll nothing is known about the unit except the reason: no value, no finding of its
own, no difference from its file.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from leverframe.core.durations import DAY_S, HOUR_S, MINUTE_S, text_from_seconds
from leverframe.core.engine.machine import Value
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import OUTPUTS, STATES
from leverframe.interface.status_files.parsers import MISSING
from leverframe.units.comparison import DriftedSetting
from leverframe.units.live_values import LiveReading, Severity, UnitFinding

#: Number of consecutive polls that must find a problem before a message is sent.
WORTH_A_MESSAGE = 2
#: Tolerated lag of an uptime, due to whole seconds, slow answers and inaccurate clocks.
_BEHIND_S, _BEHIND_SHARE = 10.0, 0.05
#: Minimum time between two polls with the same uptime before a unit counts as stale.
_STALE_S = 3.0

#: Reasons why nothing is known of a unit.
REACH, SIGN_IN, ANSWER, MAC, STALE = CONTACT = ("reach", "sign-in", "answer", "mac", "stale")
VALUES = "values"
#: Kinds of problems that polls do not detect.
DOUBLE, DRIFT, PULL = _BESIDE = ("double", "drift", "pull")
#: Prefixes of kinds; a label or the identifier of a finding follows.
LOST, FINDING = "lost ", "finding "
#: Fields that clients do not see, or get from `/api/state`.
_NOT_SHOWN = (
    *("by_look", "beside", "compared", "reported", "was_there", "looked_at", "values"),
    "changed",
)
#: Maximum number of remembered changes of outputs and inputs: more than polls find in an hour.
_MAX_CHANGES = 2000

#: The message at the end of each problem.
_ENDS = {
    REACH: "The unit answers again",
    SIGN_IN: "The unit accepts the login again",
    ANSWER: "The answers of the unit are usable again",
    MAC: "The expected unit answers again",
    STALE: "The uptime of the unit advances again",
    VALUES: "All values can be read again",
    DOUBLE: "The MAC address of the unit is unique again",
    DRIFT: "The unit matches its file again",
    PULL: "The settings of the unit can be compared again",
}

Health = Literal["lost", "fault", "attention", "waiting", "fine"]
#: Worst first.
HEALTHS: tuple[Health, ...] = ("lost", "fault", "attention", "waiting", "fine")


class UnitNotice(NamedTuple):
    """An event for which users may want a message."""

    unit: str
    #: The kind of problem, or `restart`.
    kind: str
    #: True for its start, False for its end.
    active: bool
    sentence: str
    severity: Severity = "attention"


class UnitProblem(NamedTuple):
    severity: Severity
    sentence: str


class ReportedProblem(Struct):
    """The progress of a problem towards a message."""

    sentence: str
    #: Number of consecutive polls that found it.
    looks: int = 0
    is_sent: bool = False


class UnitHealth(Struct):
    """The present state of one unit."""

    name: str
    address: str
    #: The expected MAC address, from the inventory or the first poll.
    mac: str = ""
    #: The identity that the unit shows.
    told_name: str = ""
    hardware: str = ""
    software: str = ""
    is_up: Annotated[bool, Meta(description="Whether the last poll was complete.")] = False
    seen: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    uptime_s: float | None = None
    tags: Annotated[
        tuple[str, ...], Meta(description="The groups of the inventory that it belongs to.")
    ] = ()
    restarts: Annotated[
        int, Meta(description="Number of restarts since the start of the watch.")
    ] = 0
    restarted: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    looks: int = 0
    failures: int = 0
    values: dict[str, Value] = {}
    findings: Annotated[
        list[UnitFinding], Meta(description="Problems that the unit reports about itself.")
    ] = []
    digest: Annotated[str, Meta(description="Digest of the settings that were read last.")] = ""
    names: Annotated[dict[str, str], Meta(description="Names of the unit's labels.")] = {}
    #: Problems found by the last poll, and by other checks, by kind.
    by_look: dict[str, UnitProblem] = field(default_factory=dict)
    beside: dict[str, UnitProblem] = field(default_factory=dict)
    #: Differences of its settings from the wanted file when they were last read.
    compared: list[DriftedSetting] | None = None
    reported: dict[str, ReportedProblem] = field(default_factory=dict)
    #: Labels that have had a value.
    was_there: set[str] = field(default_factory=set)
    #: Time of the last poll with an uptime, by the monotonic clock.
    looked_at: float | None = None
    #: The times at which polls found changed outputs or inputs, oldest first.
    changed: deque[float] = field(default_factory=lambda: deque(maxlen=_MAX_CHANGES))

    @property
    def is_lost(self) -> bool:
        """Whether the last poll failed, so that the state of the unit is unknown."""
        return self.looks > 0 and not self.is_up

    @property
    def problems(self) -> dict[str, UnitProblem]:
        """The problems by kind, worst first; without contact, most of them are unknown."""
        beside = {
            kind: problem
            for kind, problem in self.beside.items()
            if kind == DOUBLE or not self.is_lost
        }
        return _worst_first({**self.by_look, **beside})

    @property
    def troubles(self) -> dict[str, str]:
        """The problems, in sentences."""
        return {kind: problem.sentence for kind, problem in self.problems.items()}

    @property
    def health(self) -> Health:
        usual: Health = "fine" if self.looks else "waiting"
        return next((problem.severity for problem in self.problems.values()), usual)

    @property
    def differences(self) -> list[DriftedSetting] | None:
        """The differences from the wanted file; None while unknown."""
        return None if self.is_lost else self.compared

    @property
    def drift(self) -> list[str] | None:
        differences = self.differences
        return None if differences is None else [str(one) for one in differences]

    def stranger(self, mac: str) -> str:
        """Return why a unit with this MAC address is not the expected one."""
        return f"Another unit answers at {self.address}: its MAC address is {mac}, not {self.mac}."

    def public_fields(self) -> dict[str, Any]:
        """Return the public state of the unit, besides its values."""
        fields: dict[str, Any] = msgspec.structs.asdict(self)
        known = {key: value for key, value in fields.items() if key not in _NOT_SHOWN}
        return {
            **known,
            "uptime_s": self.uptime_s if self.is_up else None,
            "health": self.health,
            "troubles": self.troubles,
            "drift": self.drift,
            "differences": self.differences,
        }

    @property
    def levers(self) -> list[Value]:
        """The states of the outputs; empty while unknown."""
        return [self.values[label] for label in OUTPUTS if label in self.values]

    def note_changes(self, now: float, before: Mapping[str, Value]) -> None:
        """Note which outputs and inputs differ from the last known values."""
        for label in STATES:
            was, value = before.get(label), self.values.get(label)
            if None not in (was, value) and was != value:
                self.changed.append(now)

    def take(self, reading: LiveReading, at: Moment) -> list[UnitNotice]:
        """Record the result of a poll; return the notices, worst first."""
        self.looks += 1
        self.mac = self.mac or reading.mac
        if reading.mac != self.mac:
            return self._fail(MAC, self.stranger(reading.mac))
        restarts = self._compare_uptime(reading, at)
        if self._is_stale(reading, at):
            return self._fail(
                STALE,
                "The unit repeats an old answer: its uptime does not advance, so its values may"
                " be outdated.",
            )
        self.uptime_s, self.looked_at, self.seen = reading.uptime_s, at.now, at.wall
        self.is_up = True
        self.told_name, self.hardware = reading.name, reading.hardware
        self.software = reading.software
        self.values = dict(reading.values)
        self.findings = list(reading.findings or ())
        self.by_look = self._problems_of(reading)
        gone = self.reported.keys() - self.by_look.keys() - {*_BESIDE}
        return self._notices(self.by_look, gone) + restarts

    def fail(self, kind: str, sentence: str) -> list[UnitNotice]:
        """Record a failed poll; return the notices."""
        self.looks += 1
        return self._fail(kind, sentence)

    def _fail(self, kind: str, sentence: str) -> list[UnitNotice]:
        self.failures += 1
        self.is_up = False
        self.values, self.findings = {}, []
        self.by_look = {kind: UnitProblem("lost", sentence)}
        # Only a complete poll shows whether other problems are over.
        gone = self.reported.keys() & {*CONTACT} - {kind}
        return self._notices(self.by_look, gone)

    def _compare_uptime(self, reading: LiveReading, at: Moment) -> list[UnitNotice]:
        before, looked_at = self.uptime_s, self.looked_at
        if before is None or looked_at is None or reading.is_virtual:
            return []
        passed_s = at.now - looked_at
        behind_s = before + passed_s - reading.uptime_s
        allowed_s = _BEHIND_S + passed_s * _BEHIND_SHARE
        stands_still = reading.uptime_s == before
        if reading.uptime_s >= before and (behind_s <= allowed_s or stands_still):
            return []
        self.restarts += 1
        self.restarted = at.wall - reading.uptime_s
        sentence = f"The unit restarted {_roughly(reading.uptime_s)} ago."
        return [UnitNotice(self.name, "restart", True, sentence)]

    def _is_stale(self, reading: LiveReading, at: Moment) -> bool:
        return (
            not reading.is_virtual
            and self.looked_at is not None
            and reading.uptime_s == self.uptime_s
            and at.now - self.looked_at >= _STALE_S
        )

    def _problems_of(self, reading: LiveReading) -> dict[str, UnitProblem]:
        there = {label for label, value in reading.values.items() if value is not None}
        wrong = {label: why for label, why in reading.unreadable.items() if why != MISSING}
        lost = self.was_there - there - wrong.keys()
        self.was_there |= there
        found = {
            f"{FINDING}{one.id}": UnitProblem(one.severity, one.text)
            for one in reading.findings or ()
        }
        if wrong:
            found[VALUES] = UnitProblem("fault", _nonsense(wrong))
        if reading.findings is None:
            # Leverframe reports lost sensors itself, and knows which are still configured.
            found |= {
                f"{LOST}{label}": UnitProblem("fault", f"{label} no longer has a value.")
                for label in sorted(lost)
            }
        return _worst_first(found)

    def compare(self, differences: list[DriftedSetting] | None) -> list[UnitNotice]:
        """Record the differences from the wanted settings; None if unknown."""
        self.compared = differences
        if differences is None:
            self.beside.pop(DRIFT, None)
            return []
        return self.note(DRIFT, _drift_sentence(differences))

    def note(
        self, kind: str, sentence: str | None, severity: Severity = "attention"
    ) -> list[UnitNotice]:
        """Record a problem found outside the polls; a `sentence` of None records its end."""
        if sentence is None:
            self.beside.pop(kind, None)
            return self._notices({}, self.reported.keys() & {kind})
        self.beside[kind] = problem = UnitProblem(severity, sentence)
        # A check outside the polls counts like two polls, so its problem is reported immediately.
        self.reported.setdefault(kind, ReportedProblem(sentence, WORTH_A_MESSAGE - 1))
        return self._notices({kind: problem}, ())

    def _notices(self, found: Mapping[str, UnitProblem], gone: Iterable[str]) -> list[UnitNotice]:
        """Count found problems, and forget those that are gone; return the notices."""
        notices = []
        for kind, (severity, sentence) in found.items():
            reported = self.reported.setdefault(kind, ReportedProblem(sentence))
            reported.looks += 1
            reported.sentence = sentence
            if reported.looks >= WORTH_A_MESSAGE and not reported.is_sent:
                reported.is_sent = True
                notices.append(UnitNotice(self.name, kind, True, sentence, severity))
        for kind in sorted(gone):
            reported = self.reported.pop(kind)
            if reported.is_sent:
                notices.append(UnitNotice(self.name, kind, False, _end_of(kind, reported.sentence)))
        return notices


def worst_first(units: Iterable[UnitHealth]) -> list[UnitHealth]:
    """Sort units by their health; equal ones stay in the order of the inventory."""
    return sorted(units, key=lambda unit: HEALTHS.index(unit.health))


def _worst_first(problems: Mapping[str, UnitProblem]) -> dict[str, UnitProblem]:
    return dict(sorted(problems.items(), key=lambda item: HEALTHS.index(item[1].severity)))


def _roughly(seconds: float) -> str:
    """Return a duration in its two largest units: `20s`, `5m10s`, `2h30m`, `3d4h`."""
    for unit_s, part_s in ((DAY_S, HOUR_S), (HOUR_S, MINUTE_S)):
        if seconds >= unit_s:
            return text_from_seconds(seconds // part_s * part_s)
    return text_from_seconds(round(seconds))


def _nonsense(wrong: Mapping[str, str]) -> str:
    label, why = next(iter(wrong.items()))
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"The unit reports impossible values: {label} {why}{more}."


def _drift_sentence(differences: list[DriftedSetting]) -> str | None:
    if not differences:
        return None
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"The unit differs from its file: {differences[0]}{more}."


def _end_of(kind: str, sentence: str) -> str:
    if kind.startswith(FINDING):
        return f"No longer found: {sentence}"
    if kind.startswith(LOST):
        kind, end = kind.removeprefix(LOST), "has a value again"
        return f"{kind} {end}."
    return f"{_ENDS[kind]}."
