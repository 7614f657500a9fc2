"""The measured values, output states and reported problems of a unit."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from math import isfinite
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, Struct, field

from leverframe.core.engine.machine import Value
from leverframe.core.engine.pwm import DUTIES
from leverframe.core.errors import printable
from leverframe.core.labels import LABELS, STATES
from leverframe.core.profile import Profile, UnknownProfile, version
from leverframe.core.settings import Settings
from leverframe.interface.plan.plan_builder import leaf_or_missing
from leverframe.interface.status_files.catalogue import keys_of, parse_values
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.parsers import MISSING, ParsedValue, Unreadable
from leverframe.interface.status_files.settings_reader import (
    FileContent,
    files_of,
    keys_in,
    read_back,
)
from leverframe.interface.status_files.states import parse_uptime
from leverframe.units.addresses import normal_mac
from leverframe.units.client import PacedClient, SignInNeeded, UnitAnswer, UnusableAnswer
from leverframe.units.file_keys import key_of
from leverframe.units.pulled_unit import PulledUnit, own_document, reason_at
from leverframe.units.unit_reader import SETTINGS_PATH

# The problems that a Leverframe unit reports about itself in its `/api/state`.
#
# A unit is not trusted: each finding is checked, shortened and made printable; an unreadable
# finding is reported as such. Units of version 0.1.0 list only the affected parts.

Severity = Literal["lost", "fault", "attention"]

#: More findings than twenty conflicting rules produce; the worst findings are kept.
MAX_FINDINGS = 250
_MAX_SENTENCE = 300
_MAX_FIGURES = 20
_MAX_WORD = 100
#: A label such as `DS1`, and a place in the pages such as `rules?edit=3`.
_LABEL = re.compile(r"[A-Z][A-Z0-9]{0,15}")
_PAGE = re.compile(r"[a-z_]{1,30}(\?[a-z]{1,20}=[\w.]{1,30})?", re.ASCII)

Figure = int | float | str


class UnitFinding(Struct, frozen=True):
    """A finding of a unit; `kind`, `label` and `figures` allow a text in every language."""

    id: str
    kind: str
    severity: Literal["fault", "attention"]
    text: str
    label: str | None = None
    figures: dict[str, Figure] = field(default_factory=dict)
    page: Annotated[str, Meta(description="The page on which to fix it, as after `#/`.")] = ""


def findings_in(state: Mapping[str, Any]) -> tuple[list[UnitFinding], str]:
    """Return the findings of a unit, worst first, and why some are unreadable, if any are."""
    listed = state.get("findings")
    if listed is None:
        return list(_of_troubles(state.get("troubles"))), ""
    if not isinstance(listed, list):
        return [], "is not a list"
    found = []
    for one in listed:
        try:
            found.append(_make_printable(msgspec.convert(one, UnitFinding)))
        except msgspec.ValidationError:
            continue
    found.sort(key=lambda one: one.severity != "fault")
    if len(found) > MAX_FINDINGS:
        return found[:MAX_FINDINGS], f"has more than {MAX_FINDINGS} entries"
    return found, "" if len(found) == len(listed) else "has entries that cannot be read"


def _make_printable(finding: UnitFinding) -> UnitFinding:
    """Return a finding in printable, shortened form."""
    figures = list(finding.figures.items())[:_MAX_FIGURES]
    return UnitFinding(
        _short(finding.id),
        _short(finding.kind),
        finding.severity,
        _short(finding.text, _MAX_SENTENCE),
        finding.label if finding.label and _LABEL.fullmatch(finding.label) else None,
        {
            _short(name): _short(figure, _MAX_SENTENCE) if isinstance(figure, str) else figure
            for name, figure in figures
        },
        finding.page if _PAGE.fullmatch(finding.page) else "",
    )


def _of_troubles(troubles: Any) -> Iterator[UnitFinding]:
    if isinstance(troubles, dict):
        for part, why in list(troubles.items())[:MAX_FINDINGS]:
            figures = {"part": _short(part), "sentence": _short(str(why), _MAX_SENTENCE)}
            text = "{part}: {sentence}".format_map(figures)
            yield UnitFinding(
                f"trouble.{_short(part)}", "trouble", "fault", text, None, {**figures}
            )


def _short(text: str, most: int = _MAX_WORD) -> str:
    return printable(text[:most])


# Read some settings of a unit again while it is changed, only from the files that show them.

#: Settings of the pages are among the stored variables.
_KEPT_ELSEWHERE = {"ui": "variables"}


class ReadAgain(NamedTuple):
    """Settings that were read again, by path."""

    values: Mapping[str, Any]
    #: Path -> why the shown value may differ from the set value.
    lossy: Mapping[str, str]


async def read_settings(
    client: PacedClient, profile: Profile, paths: Collection[str], *, is_leverframe: bool
) -> ReadAgain:
    """Read settings again; reject an answer that no longer shows one of them.

    The result lacks settings of entries that the unit does not have.
    """
    if is_leverframe:
        document = own_document(await client.read(SETTINGS_PATH))
        if document is None:
            raise UnusableAnswer(f"{client.address} no longer shows its settings.")
        found = ((path, _in_tree(document, path)) for path in paths)
        return ReadAgain({path: value for path, value in found if value is not UNSET}, {})
    files: dict[str, FileContent] = {}
    for file in files_showing(profile, paths):
        answer = await client.read(file)
        try:
            files[file] = (
                keys_in(file, answer.body)
                if answer.is_ok
                else f"does not exist (status {answer.status})"
            )
        except NotReadable as error:
            files[file] = str(error)
    read = read_back(profile, files)
    return ReadAgain(_check_answer(client, paths, read.settings, read.unread), read.lossy)


def _in_tree(document: Any, path: str) -> Any:
    """Return a leaf of the settings as in `/api/settings`; UNSET if there is none."""
    for step in path.split("."):
        try:
            document = document[int(step)] if isinstance(document, list) else document[step]
        except (KeyError, IndexError, TypeError, ValueError):
            return UNSET
    return document


def _check_answer(
    client: PacedClient, paths: Collection[str], settings: Settings, unread: Mapping[str, str]
) -> Mapping[str, Any]:
    """Reject an answer without settings that the unit showed before."""
    for path in paths:
        if (why := reason_at(unread, path)) is not None:
            raise UnusableAnswer(f"{client.address} no longer shows {key_of(path)}: {why}.")
    found = ((path, leaf_or_missing(settings, path)) for path in paths)
    return {path: value for path, value in found if value is not UNSET}


def files_showing(profile: Profile, paths: Collection[str]) -> list[str]:
    """Return the files of a version that show one of these settings."""
    branches = {path.partition(".")[0] for path in paths}
    branches |= {_KEPT_ELSEWHERE[branch] for branch in branches if branch in _KEPT_ELSEWHERE}
    found = []
    for file in files_of(profile):
        patterns = (
            pattern
            for keys in keys_of(file, profile) or ()
            if keys.stored is not None
            for pattern in keys.stored.patterns
        )
        if any(pattern.partition(".")[0] in branches for pattern in patterns):
            found.append(file)
    return found


def is_leverframe(pulled: PulledUnit) -> bool:
    """Return whether a unit is Leverframe: it shows settings that no status file contains."""
    return pulled.why_unread("mqtt.prefix") is None


# Poll the readings and states of a unit once.
#
# A real unit shows them in two status files, Leverframe in `/api/state`. Nothing is guessed: an
# impossible value is reported with its reason instead of a value.

ALL, PERIODIC, STATE = "/json/all.json", "/json/status_per.json", "/api/state"
_KNOWN = (*LABELS, *DUTIES)
_MAX_TEXT = 64
#: The statuses with which a unit answers if it does not have this path.
_NOT_THERE = (400, 403, 404, 405, 501)


class LoginRefused(SignInNeeded):
    """The unit rejects the login, or all logins after wrong ones; the message is one sentence."""


class LiveReading(NamedTuple):
    mac: str
    #: Empty if the unit does not show it.
    name: str
    #: As the unit writes them.
    hardware: str
    software: str
    #: The known version whose file formats are used to read the unit.
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
    """Polls one unit repeatedly; the first poll determines which files it has."""

    def __init__(self, client: PacedClient) -> None:
        self._client = client
        #: Whether it has `/api/state` like a controller of this program; None if unknown.
        self._shows_state: bool | None = None

    async def look(self) -> LiveReading:
        """Poll the unit once; raise `ErrorForPeople` if it does not answer like a unit."""
        try:
            return await self._look()
        except BaseException:
            # Another unit may answer there next time.
            self._shows_state = None
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
        if self._shows_state is not False:
            state = await self._state()
            self._shows_state = state is not None
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
                "The unit accepts no login at present, because this machine sent too many wrong"
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
    """Return the known version to use for reading a unit; raise if the unit shows none."""
    try:
        version(software)
        return Profile(hardware, software)
    except UnknownProfile:
        raise UnusableAnswer(
            f"The unit reports hardware {hardware!r} and software {software!r}, which is not a"
            f" known"
            " version."
        ) from None


def _object(answer: UnitAnswer, path: str) -> dict[str, Any]:
    if not answer.is_ok:
        raise UnusableAnswer(f"The unit answered {path} with status {answer.status}.")
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
            unreadable[label] = f"is {str(state[label])[:40]!r}, which is not a valid value"
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
