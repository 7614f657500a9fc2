"""Read a unit: all settings of Leverframe, or those in the status files of a real unit.

If a file is missing or invalid, the settings that only this file shows are unread. A unit that
restarts while it is read is read again, because its settings may have changed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from leverframe.core.errors import printable
from leverframe.core.tree import MISSING, defaults, difference
from leverframe.host.recordings import read_recording
from leverframe.interface.exchange import RecordedAnswer
from leverframe.interface.status_files.catalogue import PATHS
from leverframe.interface.status_files.entries import late_letters
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.parsers import Unreadable
from leverframe.interface.status_files.settings_reader import (
    FileContent,
    files_of,
    keys_in,
    read_back,
)
from leverframe.interface.status_files.states import parse_uptime
from leverframe.interface.table.rules import SETTINGS as RULE_SETTINGS
from leverframe.interface.version_change.limits import Content
from leverframe.testing.recordings.unit_client import UnitSilent
from leverframe.units.addresses import refuse_another_unit
from leverframe.units.client import PacedClient, UnitAnswer, UnusableAnswer
from leverframe.units.pulled_unit import (
    PulledUnit,
    UnitIdentity,
    nearest_profile,
    own_document,
    pull_from_own,
)

SETTINGS_PATH = "/api/settings"
#: Files with the identity of a unit, tried until one has it.
IDENTITY_PATHS = ("/xml/stat.xml", "/json/network.json", "/json/all.json", "/json/status.json")
#: Files with the uptime of the unit, read first and last.
FIRST, LAST = "/json/status.json", "/json/status_per.json"
MAX_ATTEMPTS = 3
#: Time limit for all settings; a real unit needs 5 s, and three times that if it restarts.
PULL_S = 180.0
#: Number of unanswered files after which the unit is given up.
MAX_SILENT = 2
_KEYS = {"name": ("sname",), "mac": ("mac", "ip4"), "hardware": ("hw",), "software": ("sw",)}
_MAX_TEXT = 64
UNPROVEN = (
    "its position in the files of real units is not documented; it was read from the"
    " position that Leverframe uses"
)
NOT_ADMINISTRATOR = "Only the administrator can read all settings; sign in as administrator."


async def pull_unit(
    client: PacedClient, *, by_files: bool = False, mac: str = "", within_s: float = PULL_S
) -> PulledUnit:
    """Read a unit; with `by_files`, Leverframe is read like a real unit.

    A unit with another MAC address than expected is rejected before anything else is read.
    """
    try:
        async with asyncio.timeout(within_s):
            if mac:
                await identify_unit(client, mac)
            pulled = await _pull(client, by_files=by_files)
            refuse_another_unit(client.address, pulled.identity.mac, mac)
            return pulled
    except TimeoutError:
        raise UnitSilent(
            f"{client.address} is too slow: it was not read completely within {within_s:g} s.",
            504,
        ) from None


async def _pull(client: PacedClient, *, by_files: bool) -> PulledUnit:
    remarks: list[str] = []
    if not by_files:
        answer = await client.read(SETTINGS_PATH)
        document = own_document(answer)
        if document is not None:
            # Leverframe needs no pacing: it does not have the small network stack of a real unit.
            client.paced = False
            files = await _files(client, IDENTITY_PATHS[1:2])
            return pull_from_own(document, identity_in(client.address, files.values()))
        if answer.status == 403 and "problem+json" in answer.content_type:
            client.paced = False
            remarks.append(NOT_ADMINISTRATOR)
    for _ in range(MAX_ATTEMPTS):
        identity = await identify_unit(client)
        nearest = nearest_profile(identity.hardware, identity.software)
        files = await _files(client, _in_order(files_of(nearest.profile)))
        if _has_restarted(files):
            continue
        identity = identity_in(client.address, files.values())
        pulled = pull_from_files(identity, files, remarks)
        return pulled if by_files or remarks else with_doubts(pulled)
    raise UnusableAnswer(f"{client.address} restarts repeatedly while it is read.")


def pull_from_files(
    identity: UnitIdentity, files: Mapping[str, FileContent], remarks: Iterable[str] = ()
) -> PulledUnit:
    """Return the settings in the status files of a unit."""
    nearest = nearest_profile(identity.hardware, identity.software)
    read = read_back(nearest.profile, files)
    return PulledUnit(
        nearest.profile,
        read.settings,
        identity,
        read.unread,
        read.lossy,
        (*((nearest.remark,) if nearest.remark else ()), *remarks, *read.remarks),
    )


def with_doubts(pulled: PulledUnit) -> PulledUnit:
    """Mark settings in fields whose order is unconfirmed, because no public client reads them."""
    names = [RULE_SETTINGS[letter] for letter in late_letters(pulled.profile)]
    doubts = {
        f"rules.{place}.{name}": UNPROVEN
        for place, rule in enumerate(pulled.settings.rules)
        if rule is not None
        for name in names
    }
    return replace(pulled, lossy=doubts | dict(pulled.lossy))


def identity_in(address: str, files: Iterable[FileContent]) -> UnitIdentity:
    """Return the identity in the files; reject files of two units."""
    found: dict[str, str] = {}
    for content in files:
        for field, names in _KEYS.items():
            for text in (content.get(name) for name in names if not isinstance(content, str)):
                if isinstance(text, str) and text and found.setdefault(field, text) != text:
                    raise UnusableAnswer(
                        f"{address} shows two values of its {field}, {found[field][:_MAX_TEXT]!r}"
                        f" and {text[:_MAX_TEXT]!r}: two units seem to answer there."
                    )
    shown = {field: printable(text[:_MAX_TEXT]) for field, text in found.items()}
    return UnitIdentity(address, **shown)


async def identify_unit(client: PacedClient, mac: str = "") -> UnitIdentity:
    """Return the identity of the unit; reject another MAC address than expected."""
    known: list[FileContent] = []
    for path in IDENTITY_PATHS:
        known += (await _files(client, [path])).values()
        identity = identity_in(client.address, known)
        if identity.hardware and identity.software and (identity.mac or not mac):
            break
    refuse_another_unit(client.address, identity.mac, mac)
    if identity.hardware and identity.software:
        return identity
    raise UnusableAnswer(
        f"The device at {client.address} is not a unit: no status file shows its version."
    )


def _in_order(paths: Iterable[str]) -> list[str]:
    between = [path for path in paths if path not in (FIRST, LAST)]
    return [FIRST, *between, LAST]


async def _files(client: PacedClient, paths: Iterable[str]) -> dict[str, FileContent]:
    files: dict[str, FileContent] = {}
    silent = 0
    for path in paths:
        try:
            files[path] = await _content(client, path)
        except UnitSilent as failure:
            silent += 1
            if silent >= MAX_SILENT or not files:
                raise
            files[path] = f"was not answered: {str(failure).rstrip('.')}"
    return files


async def _content(client: PacedClient, path: str) -> FileContent:
    """Return a file; a truncated or garbled file is requested again."""
    problem = ""
    for _ in range(MAX_ATTEMPTS):
        answer = await client.read(path)
        if not answer.is_ok:
            return f"does not exist (status {answer.status})"
        try:
            return keys_in(path, answer.body)
        except NotReadable as found:
            problem = str(found)
    return problem


def _has_restarted(files: Mapping[str, FileContent]) -> bool:
    first, last = _uptime(files.get(FIRST)), _uptime(files.get(LAST))
    return first is not None and last is not None and last < first


def _uptime(content: FileContent | None) -> int | None:
    if content is None or isinstance(content, str):
        return None
    uptime = parse_uptime(content)
    return None if isinstance(uptime, Unreadable) else uptime


# The settings in a recording of a unit, read as by `unit pull` from recorded answers.
#
# For each file the first answer counts, because a twin starts at the beginning of the recording.
# For the state at the end, the last answer counts.

NOT_RECORDED = "is not in the recording"


def read_recorded_unit(recording: Path, *, in_the_end: bool = False) -> PulledUnit:
    """Return the settings in a recording, and what it does not contain."""
    answers: dict[str, RecordedAnswer] = {}
    for one in read_recording(recording):
        is_whole = one.answer.status == 200 and not one.answer.body.left_out
        is_wanted = in_the_end or one.path not in answers
        if one.method == "GET" and one.query is None and is_whole and is_wanted:
            answers[one.path] = one.answer
    files = {path: _read_recorded(path, answers.get(path)) for path in PATHS}
    identity = identity_in(str(recording), files.values())
    if (answer := answers.get(SETTINGS_PATH)) is not None:
        kind = answer.headers.get("content-type", "")
        document = own_document(UnitAnswer(200, kind, answer.body.content()))
        if document is not None:
            return pull_from_own(document, identity)
    return with_doubts(pull_from_files(identity, files))


def _read_recorded(path: str, answer: RecordedAnswer | None) -> FileContent:
    if answer is None:
        return NOT_RECORDED
    try:
        return keys_in(path, answer.body.content())
    except NotReadable as problem:
        return str(problem)


def content_of_unit(unit: PulledUnit) -> Content:
    """Return the settings as the content of a backup, which twins of other versions also accept."""
    changed = difference(defaults(unit.profile), unit.settings)
    return Content(
        unit.profile,
        {
            path: value
            for path, _, value in changed
            if value is not MISSING and unit.why_unread(path) is None
        },
    )
