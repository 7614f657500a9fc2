"""The changes that make a controller another version: settings converted, and a report."""

import logging

import msgspec

from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.restored import NotCarriedOver
from leverframe.commands.table.system import RESTORE_REPORT
from leverframe.commands.version_change.version_change import EARLIER, VersionChange, change_version
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Settings
from leverframe.engine.tree import difference, leaves, settings_from_leaves
from leverframe.profile import Profile
from leverframe.storage.store import Changes

log = logging.getLogger(__name__)


def changes_of_version(
    present: Settings, old: Profile, new: Profile, earlier: bytes | None
) -> tuple[Changes, int]:
    """Convert the settings; return the changes and how many were lost, which the log names.

    `earlier` is the upload of that name, the settings before an earlier change.
    """
    if old == new:
        return Changes(), 0
    changed = _change_version(present, old, new, earlier)
    for lost in changed.not_carried_over:
        log.warning("not carried over to %s: %s: %s", new, lost.path, lost.reason)
    settings = {path: value for path, _, value in difference(defaults(new), changed.settings)}
    report = msgspec.json.encode(changed.not_carried_over)
    blobs = {RESTORE_REPORT: report, EARLIER: changed.earlier}
    changes = Changes(settings=settings, blobs=blobs, replace_settings=True)
    return changes, len(changed.not_carried_over)


def _change_version(
    present: Settings, old: Profile, new: Profile, earlier: bytes | None
) -> VersionChange:
    try:
        return change_version(present, old, new, earlier)
    except Refusal as refusal:
        # A controller starts whatever its store holds.
        settings, _ = settings_from_leaves(new, dict(leaves(present)))
        reason = f"The settings could not be converted and are unchanged: {refusal.detail}"
        return VersionChange(settings, (NotCarriedOver("settings", None, reason),), earlier)
