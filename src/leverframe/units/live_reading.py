"""One look at what a unit measures and how its outputs stand.

A real unit tells it in two status files, Leverframe in `/api/state`. Nothing is guessed: a value
that is told in a way it cannot be has no value here, but a reason.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

from leverframe.engine.labels import LABELS, STATES
from leverframe.engine.machine import Value
from leverframe.engine.pwm import DUTIES
from leverframe.plain_text import printable
from leverframe.profile import Profile, UnknownProfile, version
from leverframe.status_files.catalogue import parse_values
from leverframe.status_files.decoding import keys_in
from leverframe.status_files.forms import NotReadable
from leverframe.status_files.states import parse_uptime
from leverframe.status_files.value_parsing import MISSING, ParsedValue, Unreadable
from leverframe.units.client import PacedClient, SignInNeeded, UnitAnswer, UnusableAnswer
from leverframe.units.mac_addresses import normal_mac
from leverframe.units.unit_findings import UnitFinding, findings_in

ALL, PERIODIC, STATE = "/json/all.json", "/json/status_per.json", "/api/state"
_KNOWN = (*LABELS, *DUTIES)
_MAX_TEXT = 64
#: What a unit says that has no such path.
_NOT_THERE = (400, 403, 404, 405, 501)


class LoginRefused(SignInNeeded):
    """The unit knows the login, or too many wrong ones, and answers nothing: one sentence."""


class LiveReading(NamedTuple):
    mac: str
    #: Empty where the unit does not tell it.
    name: str
    #: As the unit writes them.
    hardware: str
    software: str
    #: The known version that its files are read as.
    profile: Profile
    #: None is a sensor that is not there.
    values: Mapping[str, Value]
    #: Label -> why what the unit tells is no value.
    unreadable: Mapping[str, str]
    uptime_s: float
    #: Its time is moved by hand: a twin.
    is_virtual: bool = False
    #: What Leverframe finds wrong with itself, worst first; None from a real unit.
    findings: Sequence[UnitFinding] | None = None


class LiveReader:
    """Looks at one unit again and again; what it is asked for is learned by the first look."""

    def __init__(self, client: PacedClient) -> None:
        self._client = client
        #: Whether it tells its state as controllers of this program do; None is not known.
        self._tells_state: bool | None = None

    async def look(self) -> LiveReading:
        """Look at it once; raise an error for people where it does not answer as a unit does."""
        try:
            return await self._look()
        except BaseException:
            # Another unit may answer there the next time.
            self._tells_state = None
            raise

    async def _look(self) -> LiveReading:
        found = await self._object(ALL)
        mac = normal_mac(str(found.get("mac", "")))
        if mac is None:
            raise UnusableAnswer(f"{ALL} has no MAC address; what answers there is not a unit.")
        hardware, software = short_text(found.get("hw")), short_text(found.get("sw"))
        name = short_text(found.get("sname"))
        profile = known_profile(hardware, software)
        reading = LiveReading(mac, name, hardware, software, profile, {}, {}, 0.0)
        if self._tells_state is not False:
            state = await self._state()
            self._tells_state = state is not None
            if state is not None:
                return _from_state(reading, state)
        periodic = await self._object(PERIODIC)
        return _from_files(reading, {**found, **periodic})

    async def _object(self, path: str) -> dict[str, Any]:
        answer = await self._client.read(path)
        if self._client.login is not None and answer.status == 403:
            raise LoginRefused(f"It does not let this login read {path}; use another account.")
        if self._client.login is not None and answer.status == 429:
            raise LoginRefused(
                "It accepts no login for now, because too many wrong passwords came from this"
                " machine."
            )
        return _object(answer, path)

    async def _state(self) -> Mapping[str, Any] | None:
        answer = await self._client.read(STATE)
        if answer.status in _NOT_THERE or "json" not in answer.content_type:
            return None
        state = _object(answer, STATE)
        return state if isinstance(state.get("profile"), dict) else None


def known_profile(hardware: str, software: str) -> Profile:
    """Return the known version that a unit is read as; raise where it tells none at all."""
    try:
        version(software)
        return Profile(hardware, software)
    except UnknownProfile:
        raise UnusableAnswer(
            f"It reports hardware {hardware!r} and software {software!r}, which is not a known"
            " version."
        ) from None


def _object(answer: UnitAnswer, path: str) -> dict[str, Any]:
    if not answer.is_ok:
        raise UnusableAnswer(f"The answer to {path} has the status {answer.status}.")
    try:
        return keys_in(ALL, answer.body)
    except NotReadable as error:
        raise UnusableAnswer(f"The answer to {path} {error}.") from None


def short_text(text: Any) -> str:
    """Return the beginning of a text of a unit, as it can be shown."""
    return printable(str(text or "")[:_MAX_TEXT])


def _from_files(reading: LiveReading, file: Mapping[str, Any]) -> LiveReading:
    profile = reading.profile
    found: dict[str, ParsedValue] = {}
    for path in (ALL, PERIODIC):
        for label, value in parse_values(path, file, profile).items():
            if label not in found or not isinstance(value, Unreadable):
                found[label] = value
    uptime = parse_uptime(file)
    if isinstance(uptime, Unreadable):
        raise UnusableAnswer(f"{PERIODIC} has no usable uptime: {uptime.why}.")
    return reading._replace(
        values={
            label: value for label, value in found.items() if not isinstance(value, Unreadable)
        },
        unreadable={
            label: value.why for label, value in found.items() if isinstance(value, Unreadable)
        },
        uptime_s=float(uptime),
    )


def _from_state(reading: LiveReading, state: Mapping[str, Any]) -> LiveReading:
    values: dict[str, Value] = {}
    unreadable: dict[str, str] = {}
    for label in _KNOWN:
        if label not in state:
            unreadable[label] = MISSING
        elif _is_value(label, state[label]):
            values[label] = state[label]
        else:
            unreadable[label] = f"is {str(state[label])[:40]!r}, which is no value of it"
    findings, why = findings_in(state)
    if why:
        unreadable["its list of findings"] = why
    uptime = state.get("uptime")
    if uptime is None or not _is_number(uptime):
        raise UnusableAnswer(f"{STATE} has no uptime.")
    return reading._replace(
        values=values,
        unreadable=unreadable,
        uptime_s=float(uptime),
        is_virtual=state.get("virtual_time") is True,
        findings=findings,
    )


def _is_value(label: str, value: Any) -> bool:
    if value is None:
        return True
    return _is_number(value) and (label not in STATES or value in (0, 1))


def _is_number(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and isfinite(value)
