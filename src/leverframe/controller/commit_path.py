"""The commit path: changes of settings on their way to the disk, and from there to the engine.

What a request changes is `pending` as soon as it is accepted, and the next request is staged on it.
It is adopted once it is on disk, in the order in which it was accepted. Where the disk refuses a
change, everything that was staged on top of it fails with it.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from leverframe.commands.table.stage import Stage
from leverframe.commands.version_change.version_change import EARLIER
from leverframe.controller.outstanding import Outstanding
from leverframe.controller.persistent_state import PersistentState, remove_empty
from leverframe.engine.actions import Action
from leverframe.engine.change_description import ChangeDescription
from leverframe.engine.journal import Cause
from leverframe.engine.settings import Settings
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import Rows, StoreUnavailable, leaf_texts, texts_of
from leverframe.storage.writer import Commit, Writer

NO_ROWS: Mapping[str, Any] = MappingProxyType({})


class Change(msgspec.Struct, eq=False):
    """A request that changes settings or uploads, on its way to the disk."""

    settings: Settings
    cause: Cause
    description: ChangeDescription
    #: Rows that go with it: of the audit trail, and of machine state that was not on disk yet.
    audit: Mapping[str, str | None]
    persisted: Mapping[str, Any] = NO_ROWS
    actions: Sequence[Action] = ()
    uploads: Sequence[str] = ()
    #: What else is remembered with it, None where it is removed.
    also: Mapping[str, Any] = NO_ROWS
    outstanding: Outstanding = msgspec.field(default_factory=Outstanding)


class CommitPath:
    def __init__(
        self,
        settings: Settings,
        writer: Writer,
        persistent: PersistentState,
        audit: AuditTrail,
        *,
        adopted: Callable[[], Settings],
        adopt: Callable[[Sequence[Change]], None],
        note_store: Callable[[StoreUnavailable | None], None],
    ) -> None:
        """Begin with settings that are on disk.

        `adopted` returns the settings of the engine, `adopt` gives it others; `note_store` gets
        every outcome.
        """
        #: What has been accepted, and will be the engine's settings once it is on disk.
        self.pending = settings
        self._writer = writer
        self._persistent = persistent
        self._audit = audit
        self._adopted = adopted
        self._adopt = adopt
        self._note_store = note_store

    def queue(
        self, stage: Stage, wall: float, cause: Cause, also: Mapping[str, Any] = NO_ROWS
    ) -> Outstanding:
        """Queue the changes now, in order; the engine follows when they are on disk."""
        stage.forget_redirected()
        leaves, blobs, actions = stage.leaves(), stage.blobs, stage.actions
        description = ChangeDescription.of(leaves, blobs)
        if stage.forgotten:
            description.note = f"; forgotten with its server: {', '.join(stage.forgotten)}"
        persisted = self._persistent.missing()
        # Changes that only set are handed over together, each one with actions for itself.
        on_committed = partial(self._on_committed) if actions else self._on_committed
        audit = self._audit.rows(wall, cause, leaves, blobs)
        try:
            rows = Rows(leaf_texts(leaves), audit)
            if persisted or also:
                rows.kept = texts_of(persisted | remove_empty(also)) | audit
            if blobs or stage.replaces_all:
                rows.blobs = {**blobs, EARLIER: None} if stage.replaces_all else blobs
            change = Change(
                stage.settings,
                cause,
                description,
                audit,
                persisted,
                actions,
                tuple(blobs),
                also,
            )
            outstanding = change.outstanding
            outstanding.write = self._writer.queue(rows, on_committed, change)
        except BaseException:
            self._audit.not_written(audit)
            raise
        # Nothing may fail between this and the queue: others are staged on what is pending.
        self.pending = stage.settings
        return outstanding

    def _on_committed(self, commits: Sequence[Commit], error: StoreUnavailable | None) -> None:
        changes = self.note_outcome(commits, error)
        if error is None:
            self._adopt(changes)

    def note_outcome(
        self, commits: Sequence[Commit], error: StoreUnavailable | None
    ) -> Sequence[Change]:
        """Note whether changes reached the disk, before anything else is staged."""
        changes: list[Change] = [commit.subject for commit in commits]
        if error is not None:
            # Everything that was staged on top of these fails with them.
            self.pending = self._adopted()
            self._persistent.note_refusal()
            for change in changes:
                self._audit.not_written(change.audit)
        self._note_store(error)
        if error is None:
            for change in changes:
                if change.audit:
                    self._audit.entry_count += 1
                if change.persisted:
                    self._persistent.are_on_disk(change.persisted)
                if change.also:
                    self._persistent.values.update(change.also)
        return changes
