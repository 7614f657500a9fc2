"""A controller that becomes another software version while it runs, as by new firmware."""

import asyncio
from collections.abc import Sequence
from functools import partial

from leverframe.commands.version_change.version_change import EARLIER
from leverframe.controller.commit_path import Change
from leverframe.controller.controller import Controller
from leverframe.engine.change_description import ChangeDescription
from leverframe.engine.journal import Cause
from leverframe.engine.tree import settings_from_leaves
from leverframe.profile import Profile
from leverframe.storage.store import Changes, StoreUnavailable
from leverframe.storage.version_change import changes_of_version
from leverframe.storage.writer import Commit


async def install(controller: Controller, sw: str, site: bytes | None, cause: Cause) -> None:
    """Change to another software version, perhaps with a web site; commit in one step first."""
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
