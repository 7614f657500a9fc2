"""Read some settings of a unit again while it is changed, only from the files that show them."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from msgspec import UNSET

from leverframe.commands.plan.written import leaf_or_missing
from leverframe.engine.settings import Settings
from leverframe.profile import Profile
from leverframe.status_files.catalogue import keys_of
from leverframe.status_files.decoding import keys_in
from leverframe.status_files.forms import NotReadable
from leverframe.status_files.reading_back import FileContent, files_of, read_back
from leverframe.units.client import PacedClient, UnusableAnswer
from leverframe.units.file_keys import key_of
from leverframe.units.own_settings import own_document
from leverframe.units.pulled_unit import PulledUnit, reason_at
from leverframe.units.pulling import SETTINGS_PATH

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
