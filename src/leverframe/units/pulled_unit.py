"""The result of reading a unit: its settings, its identity, and what could not be read.

An unknown setting is never treated as its default: it is in `unread`, and comparisons and plans
ignore it.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from leverframe.engine.settings import Settings
from leverframe.engine.tree import leaves
from leverframe.profile import Profile


@dataclass(frozen=True)
class UnitIdentity:
    """The identity that a unit shows; empty for parts it does not show."""

    #: The address at which it was read, like http://192.168.1.10.
    address: str
    name: str = ""
    mac: str = ""
    #: Its versions as it writes them; `PulledUnit.profile` is the known version for them.
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
