"""Which version a controller starts as; its settings are converted where that is another one."""

import time

from leverframe.config import Config
from leverframe.engine.journal import Cause
from leverframe.engine.tree import settings_from_leaves
from leverframe.process.build import stored_profile
from leverframe.profile import Profile
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Store
from leverframe.storage.version import changes_of_version

START = Cause("start", "configured version")


async def settle_version(store: Store, config: Config) -> Profile:
    """The version to start as; what the store holds is of that version when this returns."""
    hw, sw, configured_sw = stored_profile(store)
    profile = config.profile(hw, sw, configured_sw)
    old = Profile(hw or profile.hw, sw or profile.sw)
    stored = store.load()
    present, _ = settings_from_leaves(old, stored.settings)
    changes, _ = changes_of_version(store, present, old, profile)
    leaves = [
        (f"profile.{name}", getattr(old, name), getattr(profile, name))
        for name in ("hw", "sw")
        if getattr(old, name) != getattr(profile, name)
    ]
    if leaves:
        changes.kept = AuditTrail(stored.kept).rows(time.time(), START, leaves, {})
    changes.kept |= {
        "profile.hw": profile.hw,
        "profile.sw": profile.sw,
        "profile.configured_sw": config.sw,
    }
    await store.commit(changes)
    return profile
