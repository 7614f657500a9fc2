"""What was read from a unit: its settings, who it is, and what could not be read.

A setting that is not known is never taken for its default: it stands in `unread`, and what follows
from the settings (a comparison, a plan) leaves it alone.
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
    """Who a unit is, in its own words; empty is what it did not tell."""

    #: Where it was asked, like http://192.168.1.10.
    address: str
    name: str = ""
    mac: str = ""
    #: Its versions as it writes them; `PulledUnit.profile` is the known one they were taken as.
    hardware: str = ""
    software: str = ""


@dataclass(frozen=True)
class PulledUnit:
    """One unit as it was read; paths are those of `/api/settings`, of leaves or whole branches."""

    profile: Profile
    #: Complete as a tree; what is in `unread` holds the factory setting there.
    settings: Settings
    identity: UnitIdentity
    #: Path -> why the unit cannot tell it. A branch stands for everything below it.
    unread: Mapping[str, str] = field(default_factory=dict)
    #: Path -> what may be lost in what was read.
    lossy: Mapping[str, str] = field(default_factory=dict)
    #: What else is to be told: an unknown version, unknown keys, a missing file.
    remarks: tuple[str, ...] = ()

    def why_unread(self, path: str) -> str | None:
        """Return why a leaf or a branch could not be read; None if it was."""
        return reason_at(self.unread, path)

    def why_lossy(self, path: str) -> str | None:
        """Return what may be lost in a leaf or a branch; None if nothing is."""
        return reason_at(self.lossy, path)

    def read_leaves(self) -> Iterator[tuple[str, Any]]:
        """Yield the path and value of every setting that was read."""
        for path, value in leaves(self.settings):
            if self.why_unread(path) is None:
                yield path, value

    @property
    def digest(self) -> str:
        """Return what stands for everything that was read: the same as long as that is."""
        read = {
            "hw": self.identity.hardware,
            "sw": self.identity.software,
            "settings": dict(self.read_leaves()),
            "unread": sorted(self.unread),
        }
        return hashlib.sha256(msgspec.json.encode(read, order="sorted")).hexdigest()


def reason_at(reasons: Mapping[str, str], path: str) -> str | None:
    """Return the reason given for a path or for a branch above it."""
    while path:
        if path in reasons:
            return reasons[path]
        path = path.rpartition(".")[0]
    return None
