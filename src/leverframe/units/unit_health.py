"""What is known of one unit from looking at it again and again, and what has gone wrong.

Values are kept only from a look that came to its end, from the unit that is expected there, and
that is not an old one given again. After any other look nothing is known of the unit but why:
no value, no finding of its own, no drift. A problem that two looks in a row have found is worth a
message, and so is its end.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, Struct, field

from leverframe.durations import DAY_S, HOUR_S, MINUTE_S, text_from_seconds
from leverframe.engine.machine import Value
from leverframe.engine.moment import Moment
from leverframe.status_files.value_parsing import MISSING
from leverframe.units.drift import DriftedSetting
from leverframe.units.live_reading import LiveReading
from leverframe.units.unit_findings import Severity, UnitFinding

#: Looks in a row that must find a problem before a message is sent.
WORTH_A_MESSAGE = 2
#: What an uptime may fall behind the time between two looks: whole seconds, slow answers, clocks.
_BEHIND_S, _BEHIND_SHARE = 10.0, 0.05
#: Between two looks there must be this time for a unit with the same uptime to be stale.
_STALE_S = 3.0

#: Why nothing is known of a unit.
REACH, SIGN_IN, ANSWER, MAC, STALE = CONTACT = ("reach", "sign-in", "answer", "mac", "stale")
VALUES = "values"
#: Problems that a look says nothing of.
DOUBLE, DRIFT, PULL = _BESIDE = ("double", "drift", "pull")
#: Followed by a label, or by the identifier of a finding.
LOST, FINDING = "lost ", "finding "
#: What is not shown to clients, or is answered by `/api/state`.
_NOT_SHOWN = ("by_look", "beside", "compared", "reported", "was_there", "looked_at", "values")

#: What a message says at the end of each problem.
_ENDS = {
    REACH: "It answers again",
    SIGN_IN: "It accepts the login again",
    ANSWER: "Its answers are usable again",
    MAC: "The expected unit answers again",
    STALE: "Its uptime advances again",
    VALUES: "All values can be read again",
    DOUBLE: "No other unit has its MAC address any more",
    DRIFT: "It matches its file again",
    PULL: "Its settings can be compared again",
}

Health = Literal["lost", "fault", "attention", "waiting", "fine"]
#: Worst first.
HEALTHS: tuple[Health, ...] = ("lost", "fault", "attention", "waiting", "fine")


class UnitNotice(NamedTuple):
    """Something of which users may want a message."""

    unit: str
    #: Which problem, or `restart`.
    kind: str
    #: It began, or was; False is its end.
    active: bool
    sentence: str
    severity: Severity = "attention"


class UnitProblem(NamedTuple):
    severity: Severity
    sentence: str


class ReportedProblem(Struct):
    """How far a problem has come on its way to a message."""

    sentence: str
    #: How many looks in a row have found it.
    looks: int = 0
    is_sent: bool = False


class UnitHealth(Struct):
    """One unit as it is known now."""

    name: str
    address: str
    #: The MAC address that is expected, from the inventory or the first look.
    mac: str = ""
    #: What the unit says of itself.
    told_name: str = ""
    hardware: str = ""
    software: str = ""
    is_up: Annotated[bool, Meta(description="Did the last look come to its end?")] = False
    seen: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    uptime_s: float | None = None
    restarts: Annotated[int, Meta(description="Since the watch began.")] = 0
    restarted: Annotated[float | None, Meta(description="Seconds since 1970.")] = None
    looks: int = 0
    failures: int = 0
    values: dict[str, Value] = {}
    findings: Annotated[
        list[UnitFinding], Meta(description="What the unit finds wrong with itself.")
    ] = []
    digest: Annotated[str, Meta(description="Of the settings that were read last.")] = ""
    names: Annotated[
        dict[str, str], Meta(description="What people called its things, by label.")
    ] = {}
    #: What the last look has found, and what was found beside the looks, by kind.
    by_look: dict[str, UnitProblem] = field(default_factory=dict)
    beside: dict[str, UnitProblem] = field(default_factory=dict)
    #: How its settings differed from the wanted file when they were read last.
    compared: list[DriftedSetting] | None = None
    reported: dict[str, ReportedProblem] = field(default_factory=dict)
    #: Labels that have had a value.
    was_there: set[str] = field(default_factory=set)
    #: When the last look with an uptime was, by the monotonic clock.
    looked_at: float | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the last look has failed, so that nothing is known of the unit now."""
        return self.looks > 0 and not self.is_up

    @property
    def problems(self) -> dict[str, UnitProblem]:
        """What is wrong, by kind, worst first; of a unit without contact little is known."""
        beside = {
            kind: problem
            for kind, problem in self.beside.items()
            if kind == DOUBLE or not self.is_lost
        }
        return _worst_first({**self.by_look, **beside})

    @property
    def troubles(self) -> dict[str, str]:
        """What is wrong, in sentences."""
        return {kind: problem.sentence for kind, problem in self.problems.items()}

    @property
    def health(self) -> Health:
        usual: Health = "fine" if self.looks else "waiting"
        return next((problem.severity for problem in self.problems.values()), usual)

    @property
    def differences(self) -> list[DriftedSetting] | None:
        """What differs from the wanted file; None where that is not known now."""
        return None if self.is_lost else self.compared

    @property
    def drift(self) -> list[str] | None:
        differences = self.differences
        return None if differences is None else [str(one) for one in differences]

    def stranger(self, mac: str) -> str:
        """Return why a unit with this MAC address is not the expected one."""
        return (
            f"Another unit answers at {self.address}: it has the MAC address {mac}, not {self.mac}."
        )

    def shown(self) -> dict[str, Any]:
        """Return what clients may know of the unit, besides its values."""
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

    def take(self, reading: LiveReading, at: Moment) -> list[UnitNotice]:
        """Take what a look has found; return what is worth a message, worst first."""
        self.looks += 1
        self.mac = self.mac or reading.mac
        if reading.mac != self.mac:
            return self._fail(MAC, self.stranger(reading.mac))
        restarts = self._compare_uptime(reading, at)
        if self._is_stale(reading, at):
            return self._fail(
                STALE,
                "It repeats an old answer: its uptime does not advance, so its values may be out "
                "of date.",
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
        """Take that a look came to nothing; return what is worth a message."""
        self.looks += 1
        return self._fail(kind, sentence)

    def _fail(self, kind: str, sentence: str) -> list[UnitNotice]:
        self.failures += 1
        self.is_up = False
        self.values, self.findings = {}, []
        self.by_look = {kind: UnitProblem("lost", sentence)}
        # Whether other problems are over is known only from a look that comes to its end.
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
        sentence = f"It restarted {_roughly(reading.uptime_s)} ago."
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
            # Leverframe lists a lost sensor itself, and knows which ones are still set up.
            found |= {
                f"{LOST}{label}": UnitProblem("fault", f"{label} has no value any more.")
                for label in sorted(lost)
            }
        return _worst_first(found)

    def compare(self, differences: list[DriftedSetting] | None) -> list[UnitNotice]:
        """Take how the settings differ from the wanted file; None where that is not known."""
        self.compared = differences
        if differences is None:
            self.beside.pop(DRIFT, None)
            return []
        return self.note(DRIFT, _drift_sentence(differences))

    def note(
        self, kind: str, sentence: str | None, severity: Severity = "attention"
    ) -> list[UnitNotice]:
        """Take a problem that is found beside the looks, or with None its end."""
        if sentence is None:
            self.beside.pop(kind, None)
            return self._notices({}, self.reported.keys() & {kind})
        self.beside[kind] = problem = UnitProblem(severity, sentence)
        # One such search is as thorough as two looks.
        self.reported.setdefault(kind, ReportedProblem(sentence, WORTH_A_MESSAGE - 1))
        return self._notices({kind: problem}, ())

    def _notices(self, found: Mapping[str, UnitProblem], gone: Iterable[str]) -> list[UnitNotice]:
        """Count what was found, and forget what is gone; return what is worth a message."""
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
    """Sort units by their health; those of one health stay in the order of the inventory."""
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
    return f"It reports impossible values: {label} {why}{more}."


def _drift_sentence(differences: list[DriftedSetting]) -> str | None:
    if not differences:
        return None
    more = f", and {len(differences) - 1} more" if len(differences) > 1 else ""
    return f"It differs from its file: {differences[0]}{more}."


def _end_of(kind: str, sentence: str) -> str:
    if kind.startswith(FINDING):
        return f"No longer found: {sentence}"
    if kind.startswith(LOST):
        kind, end = kind.removeprefix(LOST), "has a value again"
        return f"{kind} {end}."
    return f"{_ENDS[kind]}."
