"""Choose the version that a controller starts with: the stored version, or another."""

import logging
import time
from typing import Any, NamedTuple

import msgspec

from leverframe.core.engine.journal import Cause
from leverframe.core.errors import ErrorForPeople
from leverframe.core.profile import Profile
from leverframe.core.tree import settings_from_leaves
from leverframe.host.configuration import AskedVersion
from leverframe.host.controller.version_switch import changes_of_version
from leverframe.interface.table.refusals import NotCarriedOver
from leverframe.interface.table.system import RESTORE_REPORT
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.interface.version_change.entries import find_reversed_conditions
from leverframe.interface.version_change.limits import EDITION
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Changes, Store, Stored, StoreUnavailable

#: The row with the edition: how the last program interpreted the settings.
STORED_EDITION = "settings.edition"


def profile_rows(profile: Profile) -> dict[str, Any]:
    """Return the rows that store the version and the edition of a controller."""
    return {"profile.hw": profile.hw, "profile.sw": profile.sw, STORED_EDITION: EDITION}


def is_of_this_edition(stored: Stored) -> bool:
    """Return whether the last program that used the store interpreted the settings the same way."""
    return bool(stored.kept.get(STORED_EDITION) == EDITION)


def read_stored_profile(store: Store) -> tuple[str | None, str | None, str | None]:
    """Return the profile that the store was last used with, and the `sw` configured then."""
    return profile_in(store.load())


def profile_in(stored: Stored) -> tuple[str | None, str | None, str | None]:
    """Return the result of `read_stored_profile` for content that was already read."""
    kept = stored.kept
    return kept.get("profile.hw"), kept.get("profile.sw"), kept.get("profile.configured_sw")


# Choose the version that a controller starts with, and convert its settings if it changes.

log = logging.getLogger(__name__)

START = Cause("start", "configured version")
UPDATE = Cause("start", "update of the program")


class CannotBecome(ErrorForPeople):
    """The version cannot be changed; the message is one or two sentences."""


class SettledVersion(NamedTuple):
    """The version that a controller starts with."""

    profile: Profile
    #: Whether this version required a change to the store; data read before it may be outdated.
    is_new: bool


async def settle_version(store: Store, configured: AskedVersion, stored: Stored) -> SettledVersion:
    """Choose the version to start with, and convert the content of the store to it."""
    hw, sw, configured_sw = profile_in(stored)
    profile = configured.profile(hw, sw, configured_sw)
    same_version = (hw, sw, configured_sw) == (profile.hw, profile.sw, configured.sw)
    if same_version and is_of_this_edition(stored):
        # The version is unchanged: the start need not wait for the disk.
        return SettledVersion(profile, is_new=False)
    old = Profile(hw or profile.hw, sw or profile.sw)
    present, _ = settings_from_leaves(old, stored.settings)
    earlier = None if old == profile else await store.blob(EARLIER)
    changes, _ = changes_of_version(present, old, profile, earlier)
    leaves = [
        (f"profile.{name}", getattr(old, name), getattr(profile, name))
        for name in ("hw", "sw")
        if getattr(old, name) != getattr(profile, name)
    ]
    trail = AuditTrail(stored.audit)
    if leaves:
        changes.audit = trail.rows(time.time(), START, leaves, {})
    if hw is not None and not is_of_this_edition(stored):
        await _report_reversed(store, changes, profile, stored, trail)
    changes.kept |= profile_rows(profile) | {"profile.configured_sw": configured.sw}
    try:
        await store.commit(changes)
    except StoreUnavailable as error:
        # A controller that keeps its version can run without this write, but a change of version
        # would be lost.
        if leaves or hw is None:
            raise CannotBecome(
                f"The controller has version {old} and cannot change to {profile} now. {error}"
            ) from error
    return SettledVersion(profile, is_new=True)


async def _report_reversed(
    store: Store, changes: Changes, profile: Profile, stored: Stored, trail: AuditTrail
) -> None:
    """Report rules whose meaning changed with the update: log, audit, restore report."""
    leaves = changes.settings if changes.replace_settings else stored.settings
    settings, _ = settings_from_leaves(profile, leaves)
    found = find_reversed_conditions(settings.rules)
    if not found:
        return
    for one in found:
        log.warning("%s", one.reason)
    report = changes.blobs.get(RESTORE_REPORT) or await store.blob(RESTORE_REPORT) or b"[]"
    earlier = msgspec.json.decode(report, type=tuple[NotCarriedOver, ...])
    changes.blobs[RESTORE_REPORT] = msgspec.json.encode((*earlier, *found))
    changed = [(one.path, "met at 1", "met at 0") for one in found]
    changes.audit |= trail.rows(time.time(), UPDATE, changed, {})
