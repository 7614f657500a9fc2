"""The result of reading a unit: its settings, its identity, and what could not be read.

An unknown setting is never treated as its default: it is in `unread`, and comparisons and plans
ignore it.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec

from leverframe.core.foreign_documents import BadDocument, read_json_object
from leverframe.core.profile import HARDWARE, Profile, newest_software, version
from leverframe.core.settings import CONFIDENTIAL, Identity, Settings
from leverframe.core.tree import MASK, UnfitSettings, leaves, settings_from_leaves
from leverframe.interface.status_files.settings_reader import list_names, without_unfit
from leverframe.units.client import UnitAnswer, UnusableAnswer

# The version as which a unit is read: the known version nearest to the one that the unit shows.

_NUMBERS = re.compile(r"([0-9]{1,3})\.([0-9]{1,3})")
#: Some units append their variant, such as `ps` for a power strip.
_SOFTWARE = re.compile(r"[1-9]\.[0-9]{2}[a-z]?")


class NearestProfile(NamedTuple):
    profile: Profile
    #: A remark if it is not exactly the version that the unit shows; else empty.
    remark: str


def nearest_profile(hardware: str, software: str) -> NearestProfile:
    """Return the known version nearest to the version that a unit shows."""
    hw = _nearest_hardware(hardware)
    newest = newest_software(hw)
    found = _SOFTWARE.match(software)
    sw = found[0] if found and version(found[0]) <= version(newest) else newest
    profile = Profile(hw, sw)
    if (hw, sw) == (hardware, software):
        return NearestProfile(profile, "")
    if not (hardware or software):
        return NearestProfile(profile, f"The unit shows no version; it is read as {profile}.")
    shown = f"HW {hardware[:20]} SW {software[:20]}"
    return NearestProfile(
        profile, f"The version {shown} of the unit is unknown; it is read as {profile}."
    )


def _nearest_hardware(hardware: str) -> str:
    """Return the newest known hardware up to this version, or else the oldest."""
    if hardware in HARDWARE:
        return hardware
    found = _NUMBERS.match(hardware)
    if found is None:
        return HARDWARE[-1]
    order = (int(found[1]), int(found[2]))
    older = [hw for hw in HARDWARE if tuple(map(int, hw.split("."))) <= order]
    return older[-1] if older else HARDWARE[0]


@dataclass(frozen=True)
class UnitIdentity:
    """The identity that a unit shows; empty for parts it does not show."""

    #: The address at which it was read, like http://192.168.1.10.
    address: str
    name: str = ""
    mac: str = ""
    #: The versions as the unit writes them; `PulledUnit.profile` is the known version for them.
    hardware: str = ""
    software: str = ""


@dataclass(frozen=True)
class PulledUnit:
    """One unit as read; paths are those of `/api/settings`, of leaves or whole branches."""

    profile: Profile
    #: Complete as a tree; settings in `unread` have their factory values.
    settings: Settings
    identity: UnitIdentity
    #: Path -> why the unit does not show it. A branch includes everything below it.
    unread: Mapping[str, str] = field(default_factory=dict)
    #: Path -> what may be incomplete.
    lossy: Mapping[str, str] = field(default_factory=dict)
    #: Remarks: an unknown version, unknown keys, a missing file.
    remarks: tuple[str, ...] = ()

    def why_unread(self, path: str) -> str | None:
        """Return why a leaf or a branch could not be read; None if it was."""
        return reason_at(self.unread, path)

    def why_lossy(self, path: str) -> str | None:
        """Return what may be incomplete in a leaf or a branch; None if nothing is."""
        return reason_at(self.lossy, path)

    def read_leaves(self) -> Iterator[tuple[str, Any]]:
        """Yield the path and value of every setting that was read."""
        for path, value in leaves(self.settings):
            if self.why_unread(path) is None:
                yield path, value

    @property
    def digest(self) -> str:
        """Return a digest of all settings that were read."""
        read = {
            "hw": self.identity.hardware,
            "sw": self.identity.software,
            "settings": dict(self.read_leaves()),
            "unread": sorted(self.unread),
        }
        return hashlib.sha256(msgspec.json.encode(read, order="sorted")).hexdigest()


def reason_at(reasons: Mapping[str, str], path: str) -> str | None:
    """Return the reason for a path or for a branch above it."""
    while path:
        if path in reasons:
            return reasons[path]
        path = path.rpartition(".")[0]
    return None


# The settings of a Leverframe unit from its `/api/settings`.
#
# Another release may have settings that are unknown to this one; these are listed. It may also lack
# settings; these are unread.

SECRET = "this setting is a secret, which never leaves the unit"
_PROFILE = "profile."
UNTOLD = "this release of Leverframe does not show this setting"


def own_document(answer: UnitAnswer) -> dict[str, Any] | None:
    """Return the settings in an answer; None if it is not from Leverframe."""
    if not answer.is_ok or not answer.content_type.startswith("application/json"):
        return None
    try:
        document = read_json_object(answer.body)
        msgspec.convert(document["profile"], Identity)
    except (BadDocument, msgspec.MsgspecError, KeyError):
        return None
    return document


def pull_from_own(document: dict[str, Any], identity: UnitIdentity) -> PulledUnit:
    """Return the settings of a Leverframe unit."""
    try:
        secrets = _take_out_secrets(document)
        tree = msgspec.convert(document, Settings)
        nearest = nearest_profile(tree.profile.hw, tree.profile.sw)
        found = {path: value for path, value in leaves(tree) if not path.startswith(_PROFILE)}
        settings, foreign = settings_from_leaves(nearest.profile, found)
    except (msgspec.MsgspecError, UnfitSettings) as error:
        raise UnusableAnswer(
            f"{identity.address} is a Leverframe controller, but its settings cannot be read:"
            f" {error}"
        ) from None
    settings, unfit = without_unfit(settings, nearest.profile)
    whole = msgspec.json.decode(msgspec.json.encode(tree))
    untold = (path for path, _ in leaves(settings) if path not in found)
    missing = {
        path: UNTOLD
        for path in (*_paths_beyond(whole, document), *untold)
        if not path.startswith(_PROFILE)
    }
    unknown = [*_paths_beyond(document, whole), *foreign]
    remarks = [nearest.remark] if nearest.remark else []
    if unknown:
        remarks.append(f"Settings unknown to this program: {list_names(unknown)}.")
    return PulledUnit(
        nearest.profile,
        settings,
        identity,
        dict.fromkeys(secrets, SECRET) | missing | unfit,
        remarks=tuple(remarks),
    )


def _take_out_secrets(document: dict[str, Any]) -> list[str]:
    """Clear masked values in a document; return their paths. A recording masks more than a unit."""
    found: list[str] = []
    for pattern in sorted(CONFIDENTIAL):
        for path, node, name in _at(document, pattern.split(".")):
            if node[name] == MASK:
                found.append(path)
            if node[name] in (MASK, None):
                node[name] = ""
    return found


def _at(node: Any, steps: list[str], path: str = "") -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield path, node and name of every leaf of a document that matches a pattern."""
    step, rest = steps[0], steps[1:]
    if step == "*" and isinstance(node, list):
        for place, item in enumerate(node):
            yield from _at(item, rest, f"{path}{place}.")
    elif isinstance(node, dict) and step in node:
        if rest:
            yield from _at(node[step], rest, f"{path}{step}.")
        else:
            yield f"{path}{step}", node, step


def _paths_beyond(first: Any, second: Any, path: str = "") -> Iterator[str]:
    """Yield the paths that only the first document has."""
    if isinstance(first, dict) and isinstance(second, dict):
        for name, value in first.items():
            inner = f"{path}.{name}" if path else name
            if name in second:
                yield from _paths_beyond(value, second[name], inner)
            else:
                yield inner
    elif isinstance(first, list) and isinstance(second, list):
        for place, (value, counterpart) in enumerate(zip(first, second, strict=False)):
            yield from _paths_beyond(value, counterpart, f"{path}.{place}")
