"""The commit path: changes of settings on their way to the disk, and from there to the engine.

The settings that a request changes are `pending` as soon as the request is accepted, and the next
request is staged on them. The engine adopts changes once they are on disk, in the order in which
they were accepted. If the disk refuses a change, all changes staged on top of it fail, too.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from leverframe.core.engine.calls import Action, WriteToModule
from leverframe.core.engine.journal import Cause, ChangeDescription
from leverframe.core.settings import Settings
from leverframe.interface.table.lookup import Call
from leverframe.interface.table.refusals import Malformed, Refusal
from leverframe.interface.table.stage import Stage
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.audit import AuditTrail
from leverframe.storage.store import DELETED, Changes, Rows, StoreUnavailable, leaf_texts, texts_of
from leverframe.storage.writer import Commit, Writer

# Work that is still in progress when a request has been accepted. The client gets its answer when
# this work is done.


class Outstanding(msgspec.Struct, eq=False):
    #: The request's own change.
    write: asyncio.Future[None] | None = None
    #: Work to wait for without looking at its result, because its owner handles failures: an output
    #: stays switched, for example, even if its state cannot be stored.
    beside: list[asyncio.Future[Any]] = []
    #: States and messages that must be on disk before the request is acknowledged, if another node
    #: may take over: that node would know nothing of them.
    promised: list[asyncio.Future[None]] = []

    #: The answer of a device that this request writes to.
    answer: asyncio.Future[None] | None = None

    def fail(self, fault: Exception) -> None:
        """End the wait for a change that is on disk but could not be applied."""
        if self.write is not None and not self.write.done():
            self.write.set_exception(fault)
            # Mark the exception as retrieved: it is logged, and no one may be waiting for it.
            self.write.exception()

    async def finish(self) -> None:
        """Wait until all work has ended; raise StoreUnavailable if the change is not on disk.

        Raise the refusal if a device has not accepted a value. Cancelling the wait reverts nothing.
        """
        if self.write is not None:
            await self.write
        if self.answer is not None:
            await asyncio.shield(self.answer)
        if self.beside:
            await asyncio.wait(self.beside)
        if self.promised:
            await asyncio.wait(self.promised)
            raise_if_forgotten(self.promised)

    def follow(self, other: "Outstanding") -> None:
        """Also wait for the work of another request, but not for the change of that request."""
        self.beside += other.beside
        self.promised += other.promised


class NotRemembered(StoreUnavailable):
    """The request was carried out, but its outcome may be lost if another node takes over."""

    is_in_doubt = True


def raise_if_forgotten(promised: Iterable[asyncio.Future[None]]) -> None:
    """Raise an error if one of these completed writes failed."""
    for one in promised:
        error = None if one.cancelled() else one.exception()
        if isinstance(error, StoreUnavailable) and (error.is_taken_over or error.is_over):
            raise error
        if not (one.cancelled() or isinstance(error, StoreUnavailable)):
            continue
        raise NotRemembered(
            "The request was carried out, but its outcome (the state of an output that is"
            " remembered, or a message) is not stored yet, because the database cannot be reached."
            " If another node takes over before then, the outcome is lost; check again when the"
            " database is back."
        ) from error


# The commands of one request, performed on a stage: all of them, or none if one is refused.

#: A command with the content of its body, if it has one.
Command = tuple[Call, Any]


class NeedsHashing(Exception):
    """The request sets passwords: hash these and perform it again with the hashes."""

    def __init__(self, passwords: Iterable[str]) -> None:
        super().__init__("passwords must be hashed first")
        self.passwords = tuple(passwords)


def perform_all(commands: Sequence[Command], stage: Stage, skipped: list[Refusal] | None) -> None:
    """Perform commands on a stage; if `skipped` is a list, skip refused commands and list them."""
    if skipped is None:
        for call, body in commands:
            call.perform(stage, body)
    else:
        perform_or_skip(commands, stage, skipped)
    if stage.unhashed:
        raise NeedsHashing(stage.unhashed)
    if len(commands) > 1:
        _check_alone(stage)


def perform_or_skip(commands: Iterable[Command], stage: Stage, skipped: list[Refusal]) -> None:
    """Perform each command on its own; a refused command leaves the stage unchanged."""
    for call, body in commands:
        settings, actions = stage.settings, len(stage.actions)
        try:
            call.perform(stage, body)
        except Refusal as refusal:
            skipped.append(refusal)
            stage.settings = settings
            del stage.actions[actions:]


def _check_alone(stage: Stage) -> None:
    """Refuse a write to a module together with other commands: these could not be undone."""
    if any(isinstance(action, WriteToModule) for action in stage.actions):
        raise Malformed(
            "A write to a Modbus module must be the only command of its request, because the "
            "module may refuse it after other commands have taken effect."
        )


# Machine state that survives a restart, on its way to the disk: counters, states of outputs.
#
# The engine reports each value once. A value that could not be written is written with the next
# change, retried periodically, and tried a last time at the stop. After any refused write the disk
# is retried in the same way, so that its recovery is noticed.

#: The pause between retries on a controller's own disk: a recovery is visible within a second, even
#: on a busy machine, where the write and the report take most of that second.
PAUSE_S = 0.25
#: The longest pause if many controllers share a disk; each pause is then twice as long as the
#: previous one.
LONGEST_PAUSE_S = 60.0
#: The number of refusals. It is stored because trying a disk requires something to write.
REFUSALS = "store.refused"

#: Prefixes of stored values that belong to the controller itself, not to its engine.
_OF_THE_CONTROLLER = (
    "identity.",
    "snmp.",
    "profile.",
    "firmware",
    "mqtt",
    "job.",
    "store.",
)


class PersistentState:
    __slots__ = (
        "_again",
        "_has_ended",
        "_missing",
        "_newest",
        "_note_store",
        "_pause_s",
        "_writer",
        "values",
    )

    def __init__(
        self,
        writer: Writer,
        values: dict[str, Any],
        note_store: Callable[[StoreUnavailable | None], None],
    ) -> None:
        self._writer = writer
        #: The values by name; None means that a value was removed.
        self.values = values
        self._note_store = note_store
        #: Names whose newest value did not reach the disk.
        self._missing: set[str] = set()
        #: The newest write, which ends after all others.
        self._newest: asyncio.Future[None] | None = None
        self._pause_s = PAUSE_S
        self._again: asyncio.TimerHandle | None = None
        self._has_ended = False

    def of_engine(self) -> dict[str, Any]:
        """Return the part of the engine's state that is remembered."""
        return {
            name: value
            for name, value in self.values.items()
            if not name.startswith(_OF_THE_CONTROLLER)
        }

    def persist(self, values: dict[str, Any]) -> asyncio.Future[None]:
        """Store these values; the future is done when they are on disk."""
        self.values.update(values)
        return self._write(self._missing.union(values))

    def promise(self) -> asyncio.Future[None] | None:
        """Return the future of the pending write, which may fail; None if everything is on disk."""
        if self._newest is not None and not self._newest.done():
            return self._newest
        return self._write(self._missing) if self._missing else None

    def missing(self) -> dict[str, Any]:
        """Return the rows that a change should include."""
        return self._rows(self._missing) if self._missing else {}

    def are_on_disk(self, names: Iterable[str]) -> None:
        self._missing.difference_update(names)

    def write_missing(self) -> None:
        """Immediately retry values that did not reach the disk."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if self._missing:
            self._write(self._missing)

    def end(self) -> None:
        """Write the missing values for the last time, without a retry."""
        self._has_ended = True
        self.write_missing()

    def _write(self, names: set[str]) -> asyncio.Future[None]:
        newest = self._writer.commit(Changes(kept=self._rows(names)), self._on_committed)
        self._newest = newest
        return newest

    def _rows(self, names: Iterable[str]) -> dict[str, Any]:
        return remove_empty({name: self.values[name] for name in names})

    def _on_committed(self, commits: Sequence[Commit], error: StoreUnavailable | None) -> None:
        self._note_store(error)
        names = {name for commit in commits for name in commit.rows.kept}
        if error is None:
            self.are_on_disk(names)
            self._pause_s = PAUSE_S
            return
        self._missing.update(names)
        self._write_later()

    def note_refusal(self) -> None:
        """Retry the disk after it refused a write of another part."""
        self.values[REFUSALS] = self.values.get(REFUSALS, 0) + 1
        self._missing.add(REFUSALS)
        self._write_later()

    def _write_later(self) -> None:
        if self._again is not None or self._has_ended:
            return
        loop = asyncio.get_running_loop()
        self._again = loop.call_later(self._pause_s, self.write_missing)
        if self._writer.number:
            # One of many controllers: retries must not keep the shared disk busy.
            self._pause_s = min(2 * self._pause_s, LONGEST_PAUSE_S)


def remove_empty(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert values for the store: None removes the row."""
    return {name: DELETED if value is None else value for name, value in values.items()}


NO_ROWS: Mapping[str, Any] = MappingProxyType({})


class Change(msgspec.Struct, eq=False):
    """A request that changes settings or uploads, on its way to the disk."""

    settings: Settings
    cause: Cause
    description: ChangeDescription
    #: Rows written with the change: of the audit trail, and of machine state not yet on disk.
    audit: Mapping[str, str | None]
    persisted: Mapping[str, Any] = NO_ROWS
    actions: Sequence[Action] = ()
    uploads: Sequence[str] = ()
    #: Other values to store with the change; None removes a value.
    also: Mapping[str, Any] = NO_ROWS
    outstanding: Outstanding = msgspec.field(default_factory=Outstanding)


class CommitPath:
    __slots__ = ("_adopt", "_adopted", "_audit", "_note_store", "_persistent", "_writer", "pending")

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

        `adopted` returns the settings of the engine, `adopt` passes changes to it, and `note_store`
        receives the outcome of every write.
        """
        #: The accepted settings, which the engine adopts once they are on disk.
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
        """Queue the changes now, in order; the engine adopts them when they are on disk."""
        stage.forget_redirected()
        leaves, blobs, actions = stage.leaves(), stage.blobs, stage.actions
        description = ChangeDescription.of(leaves, blobs)
        if stage.forgotten:
            description.note = f"; deleted because its server changed: {', '.join(stage.forgotten)}"
        persisted = self._persistent.missing()
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
            outstanding.write = self._writer.queue(rows, self._on_committed, change)
        except BaseException:
            self._audit.not_written(audit)
            raise
        # Nothing may fail between queueing the change and this line: later requests are staged on
        # `pending`.
        self.pending = stage.settings
        return outstanding

    def _on_committed(self, commits: Sequence[Commit], error: StoreUnavailable | None) -> None:
        changes = self.note_outcome(commits, error)
        if error is None:
            self._adopt(changes)

    def note_outcome(
        self, commits: Sequence[Commit], error: StoreUnavailable | None
    ) -> Sequence[Change]:
        """Record whether changes reached the disk, before anything else is staged."""
        changes: list[Change] = [commit.subject for commit in commits]
        if error is not None:
            # Changes that were staged on top of the failed ones fail, too.
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
