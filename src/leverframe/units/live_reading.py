"""Poll the readings and states of a unit once.

A real unit shows them in two status files, Leverframe in `/api/state`. Nothing is guessed: an
impossible value is reported with its reason instead of a value.
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
#: The answer of a unit that does not have this path.
_NOT_THERE = (400, 403, 404, 405, 501)


class LoginRefused(SignInNeeded):
    """The unit rejects the login, or too many wrong logins: one sentence."""


class LiveReading(NamedTuple):
    mac: str
    #: Empty if the unit does not show it.
    name: str
    #: As the unit writes them.
    hardware: str
    software: str
    #: The known version as which its files are read.
    profile: Profile
    #: None for a missing sensor.
    values: Mapping[str, Value]
    #: Label -> why the unit's value is not usable.
    unreadable: Mapping[str, str]
    uptime_s: float
    #: Whether it has virtual time: a twin.
    is_virtual: bool = False
    #: Problems that Leverframe reports about itself, worst first; None from a real unit.
    findings: Sequence[UnitFinding] | None = None


class LiveReader:
    """Polls one unit repeatedly; the first poll finds out which files it has."""

    def __init__(self, client: PacedClient) -> None:
        self._client = client
        #: Whether it has the state of controllers of this program; None if unknown.
        self._tells_state: bool | None = None

    async def look(self) -> LiveReading:
        """Poll it once; raise an error for people if it does not answer like a unit."""
        try:
            return await self._look()
        except BaseException:
            # Another unit may answer there next time.
            self._tells_state = None
            raise

    async def _look(self) -> LiveReading:
        found = await self._object(ALL)
        mac = normal_mac(str(found.get("mac", "")))
        if mac is None:
            raise UnusableAnswer(f"{ALL} contains no MAC address; the device there is not a unit.")
        hardware, software = short_text(found.get("hw")), short_text(found.get("sw"))
        name = short_text(found.get("sname"))
        profile = find_profile(hardware, software)
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
            raise LoginRefused(f"This login may not read {path}; use another account.")
        if self._client.login is not None and answer.status == 429:
            raise LoginRefused(
                "It accepts no login at present, because this machine sent too many wrong"
                " passwords."
            )
        return _object(answer, path)

    async def _state(self) -> Mapping[str, Any] | None:
        answer = await self._client.read(STATE)
        if answer.status in _NOT_THERE or "json" not in answer.content_type:
            return None
        state = _object(answer, STATE)
        return state if isinstance(state.get("profile"), dict) else None


def find_profile(hardware: str, software: str) -> Profile:
    """Return the known version as which a unit is read; raise if it shows none."""
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
        raise UnusableAnswer(f"It answered {path} with status {answer.status}.")
    try:
        return keys_in(ALL, answer.body)
    except NotReadable as error:
        raise UnusableAnswer(f"The answer to {path} {error}.") from None


def short_text(text: Any) -> str:
    """Return the printable beginning of a text of a unit."""
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
        raise UnusableAnswer(f"{PERIODIC} contains no usable uptime: {uptime.why}.")
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
            unreadable[label] = f"is {str(state[label])[:40]!r}, which is not a value of it"
    findings, why = findings_in(state)
    if why:
        unreadable["its list of findings"] = why
    uptime = state.get("uptime")
    if uptime is None or not _is_number(uptime):
        raise UnusableAnswer(f"{STATE} contains no uptime.")
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
