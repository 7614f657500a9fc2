"""The version that a controller starts as; its settings are converted where it is another one."""

import time
from typing import NamedTuple

from leverframe.commands.version_change.version_change import EARLIER
from leverframe.config import AskedVersion
from leverframe.engine.journal import Cause
from leverframe.engine.tree import settings_from_leaves
from leverframe.errors import ErrorForPeople
from leverframe.process.stored_profile import profile_in
from leverframe.profile import Profile
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Store, Stored, StoreUnavailable
from leverframe.storage.version_change import changes_of_version

START = Cause("start", "configured version")


class CannotBecome(ErrorForPeople):
    """The version cannot be changed: a sentence or two."""


class SettledVersion(NamedTuple):
    """The version that a controller starts as."""

    profile: Profile
    #: The store was to be changed for it; what was read before may not be what it holds.
    is_new: bool


async def settle_version(store: Store, asked: AskedVersion, stored: Stored) -> SettledVersion:
    """Choose the version to start as, and convert what the store holds to it."""
    hw, sw, configured_sw = profile_in(stored)
    profile = asked.profile(hw, sw, configured_sw)
    if (hw, sw, configured_sw) == (profile.hw, profile.sw, asked.sw):
        # As before: the start need not wait for the disk.
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
    if leaves:
        changes.audit = AuditTrail(stored.audit).rows(time.time(), START, leaves, {})
    changes.kept |= {
        "profile.hw": profile.hw,
        "profile.sw": profile.sw,
        "profile.configured_sw": asked.sw,
    }
    try:
        await store.commit(changes)
    except StoreUnavailable as error:
        # A controller that goes on as what it was works without; one that becomes another
        # version would forget that it has.
        if leaves or hw is None:
            raise CannotBecome(
                f"The controller is {old} and cannot become {profile} now. {error}"
            ) from error
    return SettledVersion(profile, is_new=True)
