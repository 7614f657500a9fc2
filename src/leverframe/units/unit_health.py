"""What is known of one unit from looking at it again and again, and what has gone wrong.

Values are kept only from a look that came to its end, from the unit that is expected there, and
that is not an old one given again. After any other look there are none: what is not known is not
shown. A trouble that two looks in a row have found is worth a message, and so is its end.
"""

from collections.abc import Mapping, Set
from typing import Annotated, NamedTuple

from msgspec import Meta, Struct, field

from leverframe.engine.machine import Value
from leverframe.engine.moment import Moment
from leverframe.status_files.value_parsing import MISSING
from leverframe.units.drift import DriftedSetting
from leverframe.units.live_reading import LiveReading

#: Looks in a row that must find a trouble before it is told.
WORTH_A_MESSAGE = 2
#: What an uptime may fall behind the time between two looks: whole seconds, slow answers, clocks.
_BEHIND_S, _BEHIND_SHARE = 10.0, 0.05
#: Between two looks there must be so much for a unit that tells the same uptime to be stale.
_STALE_S = 3.0

REACH, SIGN_IN, ANSWER, MAC, STALE, VALUES, OWN = (
    *("reach", "sign-in", "answer", "mac", "stale", "values", "own"),
)
DOUBLE, DRIFT, PULL = "double", "drift", "pull"
LOST = "lost "
#: Troubles that a look says nothing of.
_BESIDE = frozenset({DOUBLE, DRIFT, PULL})
#: Instead of a count.
_TOLD = -1


class UnitNotice(NamedTuple):
    """Something that people may want to be told at once."""

    unit: str
    #: Which trouble, or `restart`.
    kind: str
    #: It began, or was; False is its end.
    active: bool
    sentence: str


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
    troubles: Annotated[dict[str, str], Meta(description="What is wrong, in sentences.")] = {}
    digest: Annotated[str, Meta(description="Of the settings that were read last.")] = ""
    drift: Annotated[
        list[str] | None, Meta(description="Differences from the wanted file; null is not known.")
    ] = None
    differences: Annotated[
        list[DriftedSetting] | None, Meta(description="The same with the paths of settings.")
    ] = None
    names: Annotated[
        dict[str, str], Meta(description="What people called its things, by label.")
    ] = {}
    #: How many looks in a row have found each trouble, or that it was told.
    found: dict[str, int] = field(default_factory=dict)
    #: Labels that have had a value.
    was_there: set[str] = field(default_factory=set)
    #: When the last look with an uptime was, by the monotonic clock.
    looked_at: float | None = None

    def take(self, reading: LiveReading, at: Moment) -> list[UnitNotice]:
        """Take what a look has found; return what is worth telling."""
        self.looks += 1
        self.mac = self.mac or reading.mac
        if reading.mac != self.mac:
            return self._fail(
                MAC,
                f"Another unit answers at {self.address}: it has the MAC address {reading.mac}, "
                f"not {self.mac}.",
            )
        notices = self._compare_uptime(reading, at)
        if self._is_stale(reading, at):
            return self._fail(
                STALE,
                "It gives the same answer again and again: its uptime stands still, so what it "
                "tells may be old.",
            )
        self.uptime_s, self.looked_at, self.seen = reading.uptime_s, at.now, at.wall
        self.is_up = True
        self.told_name, self.hardware = reading.name, reading.hardware
        self.software = reading.software
        self.values = dict(reading.values)
        return notices + self._settle(self._troubles_of(reading), _BESIDE)

    def set_drift(self, differences: list[DriftedSetting] | None) -> None:
        """Take what differs from the wanted file; None where that is not known."""
        self.differences = differences
        self.drift = None if differences is None else [str(one) for one in differences]

    def fail(self, kind: str, sentence: str) -> list[UnitNotice]:
        """Take that a look came to nothing; return what is worth telling."""
        self.looks += 1
        return self._fail(kind, sentence)

    def _fail(self, kind: str, sentence: str) -> list[UnitNotice]:
        self.failures += 1
        self.is_up = False
        self.values = {}
        # What only a look that comes to its end can tell stays as it was.
        untold = {key for key in self.troubles if key.startswith(LOST) or key in (VALUES, OWN)}
        return self._settle({kind: sentence}, {*_BESIDE, *untold})

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
        sentence = f"It has restarted: it runs for {reading.uptime_s:.0f} s now."
        return [UnitNotice(self.name, "restart", True, sentence)]

    def _is_stale(self, reading: LiveReading, at: Moment) -> bool:
        return (
            not reading.is_virtual
            and self.looked_at is not None
            and reading.uptime_s == self.uptime_s
            and at.now - self.looked_at >= _STALE_S
        )

    def _troubles_of(self, reading: LiveReading) -> dict[str, str]:
        there = {label for label, value in reading.values.items() if value is not None}
        wrong = {label: why for label, why in reading.unreadable.items() if why != MISSING}
        lost = self.was_there - there - wrong.keys()
        self.was_there |= there
        troubles = {f"{LOST}{label}": f"{label} has no value any more." for label in sorted(lost)}
        if wrong:
            troubles[VALUES] = _nonsense(wrong)
        if reading.own_troubles:
            own = ", ".join(sorted(reading.own_troubles))
            troubles[OWN] = f"It tells troubles of its own: {own}."
        return troubles

    def note(self, kind: str, sentence: str | None) -> list[UnitNotice]:
        """Take a trouble that is found beside the looks, or with None its end."""
        others = self.troubles.keys() | self.found.keys()
        # Whatever finds it has been thorough.
        self.found.setdefault(kind, WORTH_A_MESSAGE - 1)
        return self._settle({} if sentence is None else {kind: sentence}, others - {kind})

    def _settle(self, troubles: Mapping[str, str], others: Set[str]) -> list[UnitNotice]:
        """Replace all troubles but those of the other kinds; return what is worth telling."""
        kept = {key: text for key, text in self.troubles.items() if key in others}
        self.troubles = {**kept, **troubles}
        notices = []
        for kind, sentence in troubles.items():
            count = self.found.get(kind, 0)
            if count != _TOLD:
                self.found[kind] = count = count + 1
                if count >= WORTH_A_MESSAGE:
                    self.found[kind] = _TOLD
                    notices.append(UnitNotice(self.name, kind, True, sentence))
        gone = self.found.keys() - self.troubles.keys() - others
        for kind in sorted(gone):
            if self.found.pop(kind) == _TOLD:
                notices.append(UnitNotice(self.name, kind, False, f"{_over(kind)}."))
        return notices


def _nonsense(wrong: Mapping[str, str]) -> str:
    label, why = next(iter(wrong.items()))
    more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
    return f"It tells values that cannot be: {label} {why}{more}."


def _over(kind: str) -> str:
    if kind.startswith(LOST):
        return f"{kind.removeprefix(LOST)} has a value again"
    return {
        REACH: "It answers again",
        SIGN_IN: "It takes the login again",
        ANSWER: "It answers as a unit does again",
        MAC: "The expected unit answers again",
        STALE: "Its uptime goes on again",
        VALUES: "All values can be read again",
        DOUBLE: "It alone has its MAC address again",
        DRIFT: "It is as its file wants it again",
        PULL: "Its settings can be compared again",
        OWN: "It tells no trouble of its own any more",
    }.get(kind, "It is over")
