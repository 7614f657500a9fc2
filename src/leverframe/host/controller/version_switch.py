"""Switch a controller to another version: convert its settings, and report lost ones."""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial

import msgspec

from leverframe.core.engine.journal import Cause, ChangeDescription
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference, leaves, settings_from_leaves
from leverframe.host.controller.commit_path import Change
from leverframe.host.controller.controller import Controller
from leverframe.interface.table.refusals import NotCarriedOver, Refusal
from leverframe.interface.table.system import RESTORE_REPORT
from leverframe.interface.version_change.conversion import EARLIER, VersionChange, change_version
from leverframe.storage.store import Changes, StoreUnavailable
from leverframe.storage.writer import Commit

log = logging.getLogger(__name__)


def changes_of_version(
    present: Settings, old: Profile, new: Profile, earlier: bytes | None
) -> tuple[Changes, int]:
    """Convert the settings; return the changes and the number of lost settings, which are logged.

    `earlier` is the upload `EARLIER`: the settings before an earlier change of version.
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
        # A controller must start whatever its store contains.
        settings, _ = settings_from_leaves(new, dict(leaves(present)))
        reason = f"The settings could not be converted and are unchanged: {refusal.detail}"
        return VersionChange(settings, (NotCarriedOver("settings", None, reason),), earlier)


# Change the software version of a running controller, as new firmware does.


async def install(controller: Controller, sw: str, site: bytes | None, cause: Cause) -> None:
    """Change to another software version, optionally with a web site; commit first, in one step."""
    profile = Profile(controller.profile.hw, sw)
    changes, lost = await _convert(controller, profile)
    settings = controller.pending
    if changes.replace_settings:
        settings, _ = settings_from_leaves(profile, changes.settings)
    blobs: dict[str, bytes | None] = {} if site is None else {"site": site}
    leaf = ("profile.sw", controller.profile.sw, sw)
    description = ChangeDescription.of([leaf], blobs)
    if lost:
        description.note = f"; /api/restore-report lists {lost} settings left out"
    audit = controller.audit.rows(controller.clock.read().wall, cause, [leaf], blobs)
    change = Change(settings, cause, description, audit, uploads=tuple(blobs))
    changes.kept, changes.audit = {"profile.sw": sw}, audit
    changes.blobs |= blobs
    on_committed = partial(_on_installed, controller, profile)
    await controller.writer.commit(changes, on_committed, change)
    await change.outstanding.finish()


async def _convert(controller: Controller, profile: Profile) -> tuple[Changes, int]:
    """Convert the settings to another version, and count those that are left out."""
    while True:
        present = controller.pending
        earlier = await controller.store.blob(EARLIER)
        result = await asyncio.to_thread(
            changes_of_version, present, controller.profile, profile, earlier
        )
        if controller.pending is present:
            return result


def _on_installed(
    controller: Controller,
    profile: Profile,
    commits: Sequence[Commit],
    error: StoreUnavailable | None,
) -> None:
    (change,) = controller.commits.note_outcome(commits, error)
    if error is not None:
        return
    wall = controller.clock.read().wall
    controller.engine.machine.journal.add(wall, change.cause, change.description)
    controller.profile, controller.commits.pending = profile, change.settings
    controller.notify_profile()
    change.outstanding.beside += controller.start_again(change.settings, uploads=change.uploads)
