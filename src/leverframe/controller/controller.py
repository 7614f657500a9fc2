"""One controller: engine, board, store and clock joined.

Requests come in as calls of the command table. They are staged on the newest accepted settings
(`pending`), written to the store, and only then given to the engine, in the order in which they
were accepted; so what the engine lives by is always on disk. A request that changes no setting goes
straight to the engine. Effects are carried out here, in order, at once: no pin waits for the disk.
Whoever asked is answered when what must survive of them, messages too, is on disk.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import tzinfo
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from leverframe.clock import Clock
from leverframe.commands.table.matching import Call
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.rights import FIELD_BUS, UNRESTRICTED, Account, check_calls
from leverframe.commands.table.stage import NO_HASHES, Stage
from leverframe.commands.version_change.version_change import EARLIER
from leverframe.controller.hooks import Hooks
from leverframe.controller.on_disk import pass_on, refuse, settle, when_all, when_over
from leverframe.controller.remembered import Remembered
from leverframe.controller.scheduler import Scheduler
from leverframe.engine import effects as do
from leverframe.engine.actions import Action
from leverframe.engine.change_description import describe_changes
from leverframe.engine.effects import Effect
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.engine.machine import Value
from leverframe.engine.moment import Moment
from leverframe.engine.settings import Settings
from leverframe.engine.tree import GONE, difference, settings_from_leaves
from leverframe.hardware.board import Board, Readings
from leverframe.profile import Profile
from leverframe.storage.action_audit import ActionAudit
from leverframe.storage.audit import AuditTrail, is_audit
from leverframe.storage.store import DELETED, Changes, Store, StoreUnavailable
from leverframe.storage.version_change import changes_of_version

log = logging.getLogger(__name__)

BOOTLOADER_S = 60.0
#: Effects that make the engine act again. They come after all others of their list, whose pins
#: would otherwise be driven after, and to an older state than, what follows from these.
AGAIN = (do.SetClock, do.RestartController)

#: Effects that the bootloader does not let through: the pins stay safe until the next start.
PINS = (do.DriveOutput, do.DrivePwm)

#: Before watchers are told for the first time; no version of an engine has this number.
NEVER_WATCHED = -1

NO_VALUES: Mapping[str, Value] = MappingProxyType({})

#: A command with what its body says, if it has one.
Command = tuple[Call, Any]


class ChangeRecord(NamedTuple):
    """What a change leaves behind: a line of the log, and rows of the audit trail; and the rows of
    remembered state that it took along."""

    text: str
    audit: dict[str, Any]
    remembered: Mapping[str, Any] = MappingProxyType({})


class NeedsHashing(Exception):
    """The request sets passwords: hash these and perform it again with the hashes."""

    def __init__(self, passwords: Iterable[str]) -> None:
        super().__init__("passwords must be hashed first")
        self.passwords = tuple(passwords)


class Controller(Hooks):
    def __init__(
        self, profile: Profile, store: Store, board: Board, clock: Clock, timezone: tzinfo
    ) -> None:
        super().__init__()
        self.profile = profile
        self.store = store
        self.board = board
        self.clock = clock
        self._timezone = timezone
        stored = store.load()
        settings, unfit = settings_from_leaves(profile, stored.settings)
        if unfit:
            log.warning("settings that %s does not have are left out: %s", profile, unfit)
        self.audit = AuditTrail(stored.kept)
        self.action_audit = ActionAudit(store, self.audit, stored.kept)
        kept = {name: value for name, value in stored.kept.items() if not is_audit(name)}
        self._remembered = Remembered(store, kept, self._tell_of_store)
        #: What has been accepted, and will be the engine's settings once it is on disk.
        self.pending = settings
        self.engine = Engine(profile, settings, timezone, kept)
        self.time = Scheduler(clock, self.next_deadline, self.tick)
        #: The monotonic second at which the bootloader gives up, while it waits.
        self.bootloader_until: float | None = None
        self._watched_version = NEVER_WATCHED
        self._carry_out: dict[type, Callable[[Any], None]] = {
            do.DriveOutput: lambda effect: board.drive_output(effect.index, effect.on),
            do.DrivePwm: lambda effect: board.drive_pwm(effect.index, effect.level),
            do.SetPwmFrequency: lambda effect: board.set_pwm_frequency(effect.group, effect.hz),
            do.SetPullUp: lambda effect: board.set_pull_up(effect.index, effect.on),
            do.SendModem: lambda effect: self.on_modem(effect),
            do.PingHost: lambda effect: self.on_ping(effect),
            do.ShowScreen: lambda effect: self.on_screen(effect),
            do.SetClock: self._set_clock,
            do.RestartController: lambda effect: self.restart(),
            do.EnterBootloader: self._enter_bootloader,
        }

    # --- life -------------------------------------------------------------------------------------

    def start(self, former: Mapping[str, Value] = NO_VALUES) -> None:
        """Power on. `former` are the values before, if this controller was on before."""
        sensed = self.board.connect(self.sense)
        at, machine = self.clock.read(), self.engine.machine
        samples = machine.samples = None if self.history is None else self.history.samples
        effects = self.engine.start(at, sensed)
        if samples is not None:
            # What a new engine begins with is no change to it, but one to who records.
            samples += [
                (at.wall, label, value)
                for label, value in machine.values.items()
                if value is not None or former.get(label) is not None
            ]
        self._live(effects)

    async def stop(self) -> None:
        """A clean end: what must be remembered is on disk before this returns."""
        self.time.stop()
        # Whatever fails on the way, the store writes what it has.
        async with AsyncExitStack() as afterwards:
            afterwards.push_async_callback(self.store.close)
            afterwards.callback(self.action_audit.write)
            afterwards.callback(self._remembered.end)
            self._live(self.engine.stop(self.clock.read()), wake=False)

    def restart(self) -> None:
        """Power off and on within the process: a new engine from what was remembered."""
        self._start_anew(self.engine.settings)

    def _start_anew(self, settings: Settings) -> None:
        self._live(self.engine.stop(self.clock.read()), wake=False)
        journal = self.engine.machine.journal
        was_waiting, self.bootloader_until = self.bootloader_until is not None, None
        former = self.engine.values
        kept = self._remembered.values
        self.engine = Engine(self.profile, settings, self._timezone, kept)
        self.engine.machine.journal = journal
        # The new engine counts its changes from the beginning and may arrive at the same number.
        self._watched_version = NEVER_WATCHED
        self.start(former)
        if was_waiting:
            self.tell_of_bootloader(waits=False)

    def install(self, sw: str, site: bytes | None, cause: Cause) -> asyncio.Future[None]:
        """Become another software version, perhaps with a web site: on disk first, in one step."""
        profile = Profile(self.profile.hw, sw)
        changes, lost = changes_of_version(self.store, self.pending, self.profile, profile)
        blobs: dict[str, bytes | None] = {} if site is None else {"site": site}
        leaf = ("profile.sw", self.profile.sw, sw)
        audit = self.audit.rows(self.clock.read().wall, cause, [leaf], blobs)
        told = ChangeRecord(describe_changes([leaf], blobs), audit)
        if lost:
            told = ChangeRecord(
                f"{told.text}; /api/restore-report lists {lost} settings left out", audit
            )
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        changes.kept = {**audit, "profile.sw": sw}
        changes.blobs |= blobs
        follow = partial(self._start_as, profile, tuple(blobs), cause, told, done)
        self.store.commit(changes, follow)
        return done

    def _start_as(
        self,
        profile: Profile,
        uploads: Sequence[str],
        cause: Cause,
        told: ChangeRecord,
        done: asyncio.Future[None],
        error: StoreUnavailable | None,
    ) -> None:
        """The store has the new version; the settings are those that a new process would read."""
        if error is not None:
            self.audit.not_written(told.audit)
            refuse(done, error)
            return
        try:
            under_way = self._become(profile, uploads, cause, told)
        except Exception as fault:
            # It is on disk; the log gets the trace from the store, which asked for this.
            settle(done, fault)
            raise
        when_all(under_way, partial(pass_on, done, None))

    def _become(
        self, profile: Profile, uploads: Sequence[str], cause: Cause, told: ChangeRecord
    ) -> list[asyncio.Task[None]]:
        old = self.engine.settings
        settings, _ = settings_from_leaves(profile, self.store.load().settings)
        self.engine.machine.journal.add(self.clock.read().wall, cause, told.text)
        self.audit.written(told.audit)
        self.profile, self.pending = profile, settings
        for profile_watcher in self.profile_watchers:
            profile_watcher()
        self._start_anew(settings)
        return self.tell_watchers(old, settings, uploads)

    # --- requests ---------------------------------------------------------------------------------

    def perform(
        self,
        commands: Sequence[Command],
        cause: Cause,
        hashes: Mapping[str, str] = NO_HASHES,
        *,
        account: Account = FIELD_BUS,
    ) -> asyncio.Future[None] | None:
        """All commands or, by a refusal, none. What is returned is done when it is on disk."""
        if account is not UNRESTRICTED:
            check_calls(account, [call for call, _ in commands], self.pending)
        stage = self._stage(hashes)
        for call, body in commands:
            call.perform(stage, body)
        return self._accept(stage, cause)

    def perform_leniently(
        self,
        commands: Sequence[Command],
        cause: Cause,
        hashes: Mapping[str, str] = NO_HASHES,
        *,
        account: Account = FIELD_BUS,
    ) -> tuple[asyncio.Future[None] | None, list[Refusal]]:
        """As real units do: what is refused is skipped, the rest is carried out."""
        if account is not UNRESTRICTED:
            check_calls(account, [call for call, _ in commands], self.pending)
        stage = self._stage(hashes)
        skipped = []
        for call, body in commands:
            settings, actions = stage.settings, len(stage.actions)
            try:
                call.perform(stage, body)
            except Refusal as refusal:
                skipped.append(refusal)
                stage.settings = settings
                del stage.actions[actions:]
        return self._accept(stage, cause), skipped

    def _stage(self, hashes: Mapping[str, str]) -> Stage:
        return Stage(self.profile, self.pending, self.engine.inputs.i2c_found, hashes)

    def _accept(self, stage: Stage, cause: Cause) -> asyncio.Future[None] | None:
        if stage.unhashed:
            raise NeedsHashing(stage.unhashed)
        if self._is_written(stage):
            return self._commit(stage, cause)
        return self.act(stage.actions, cause)

    def _is_written(self, stage: Stage) -> bool:
        """Whether something of it goes to the disk before it is done."""
        return stage.settings is not self.pending or bool(stage.blobs) or stage.replaces_all

    def actions_of(self, calls: Iterable[Call]) -> tuple[Action, ...] | None:
        """What these commands do while the settings stay as they are; None if they change some."""
        stage = self._stage(NO_HASHES)
        for call in calls:
            call.perform(stage)
        return None if stage.unhashed or self._is_written(stage) else tuple(stage.actions)

    def act(self, actions: Sequence[Action], cause: Cause) -> asyncio.Future[None] | None:
        """Do what has been staged and checked. What is returned is done when it is on disk."""
        at = self.clock.read()
        self._catch_up(at)
        if actions:
            self.action_audit.note(self.engine.machine, actions, at.wall, cause)
        return self._live(self.engine.apply(self.engine.settings, actions, at, cause))

    def _commit(self, stage: Stage, cause: Cause) -> asyncio.Future[None]:
        """Queue the changes now, in order; the engine follows when they are on disk."""
        leaves = list(difference(self.pending, stage.settings))
        stored = {path: DELETED if value is GONE else value for path, _, value in leaves}
        before, self.pending = self.pending, stage.settings
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        audit = self.audit.rows(self.clock.read().wall, cause, leaves, stage.blobs)
        told = ChangeRecord(
            describe_changes(leaves, stage.blobs), audit, self._remembered.missing()
        )
        follow = partial(self._follow, stage, cause, told, done)
        changes = Changes(settings=stored, kept={**told.remembered, **audit}, blobs=stage.blobs)
        if stage.replaces_all:
            changes.blobs = {**stage.blobs, EARLIER: None}
        try:
            self.store.commit(changes, follow)
        except StoreUnavailable as error:
            self.pending = before
            self.audit.not_written(audit)
            self._tell_of_store(error)
            raise
        return done

    def _follow(
        self,
        stage: Stage,
        cause: Cause,
        told: ChangeRecord,
        done: asyncio.Future[None],
        error: StoreUnavailable | None,
    ) -> None:
        """The store has reported; it reports in the order of the commits."""
        self._tell_of_store(error)
        if error is not None:
            # Everything that was staged on top of this fails with it.
            self.pending = self.engine.settings
            self.audit.not_written(told.audit)
            refuse(done, error)
            return
        try:
            kept, under_way = self._adopt(stage, cause, told)
        except Exception as fault:
            # It is on disk; the log gets the trace from the store, which asked for this.
            settle(done, fault)
            raise
        if under_way:
            when_all(under_way, partial(pass_on, done, kept))
        else:
            pass_on(done, kept)

    def _adopt(
        self, stage: Stage, cause: Cause, told: ChangeRecord
    ) -> tuple[asyncio.Future[None] | None, list[asyncio.Task[None]]]:
        at = self.clock.read()
        self._catch_up(at)
        old = self.engine.settings
        self.engine.machine.journal.add(at.wall, cause, told.text)
        self.audit.written(told.audit)
        self._remembered.are_on_disk(told.remembered)
        if stage.actions:
            self.action_audit.note(self.engine.machine, stage.actions, at.wall, cause)
        kept = self._live(self.engine.apply(stage.settings, stage.actions, at, cause))
        return kept, self.tell_watchers(old, stage.settings, tuple(stage.blobs))

    def _catch_up(self, at: Moment) -> None:
        """What was due before a request is not its own: it neither waits nor fails with that."""
        deadline = self.engine.next_deadline()
        if deadline is not None and deadline < at.now:
            self._live(self.engine.tick(at))

    # --- the world --------------------------------------------------------------------------------

    def sense(self, readings: Readings) -> None:
        """The board has something new."""
        if self.bootloader_until is None:
            self._live(self.engine.sense(readings, self.clock.read()))

    def connected(self, mqtt: bool) -> None:
        if self.bootloader_until is None:
            self._live(self.engine.connected(mqtt, self.clock.read()))

    def ping_answered(self, entry: int, milliseconds: float | None) -> None:
        if self.bootloader_until is None:
            self._live(self.engine.ping_answered(entry, milliseconds, self.clock.read()))

    def _live(self, effects: list[Effect], *, wake: bool = True) -> asyncio.Future[None] | None:
        """Carry effects out; what is returned is done when what must survive is on disk."""
        if not effects and wake:
            self.plan_to_wake()
            self._tell_of_change()
            return None
        kept: dict[str, Any] = {}
        again: list[Effect] = []
        messages: asyncio.Future[None] | None = None
        for effect in effects:
            if type(effect) is do.Keep:
                kept[effect.name] = effect.value
            elif type(effect) is do.Notify:
                messages = self.on_notify(effect) or messages
            elif type(effect) in AGAIN:
                again.append(effect)
            elif self.bootloader_until is None or type(effect) not in PINS:
                self._carry_out[type(effect)](effect)
        if wake:
            self.plan_to_wake()
        self._tell_of_change()
        # Later than the messages, so on disk after them.
        future = self._remembered.keep(kept) if kept else when_over(messages)
        for effect in again:
            self._carry_out[type(effect)](effect)
        return future

    def _tell_of_change(self) -> None:
        version = self.engine.machine.version
        if self._watched_version != version:
            self._watched_version = version
            for watcher in self.watchers:
                watcher()

    def _tell_of_store(self, error: StoreUnavailable | None) -> None:
        if error is None:
            self.troubles.pop("store", None)
        else:
            self.troubles["store"] = str(error)

    def _set_clock(self, effect: do.SetClock) -> None:
        self.clock.set_wall(effect.wall)
        self.clock_changed()

    def clock_changed(self) -> None:
        """The wall clock shows another time than it would have by itself."""
        self._live(self.engine.clock_changed(self.clock.read()))

    def _enter_bootloader(self, effect: do.EnterBootloader) -> None:
        self.bootloader_until = self.clock.read().now + BOOTLOADER_S
        self.tell_of_bootloader(waits=True)

    def hold_bootloader(self, until: float) -> None:
        """Firmware is coming in: do not give up before this monotonic second."""
        if self.bootloader_until is not None:
            self.bootloader_until = max(self.bootloader_until, until)
            self.plan_to_wake()

    # --- time -------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        own = self.bootloader_until
        if own is None:
            own = self.engine.next_deadline()
        of_board = self.board.next_deadline()
        if own is None or (of_board is not None and of_board < own):
            own = of_board
        for part in self.timed:
            of_part = part.next_deadline()
            if of_part is not None and (own is None or of_part < own):
                own = of_part
        return own

    def tick(self, at: Moment) -> None:
        of_board = self.board.next_deadline()
        if of_board is not None and of_board <= at.now:
            # Readings of an instant come before its timers.
            self.board.tick(at.now)
            at = self.clock.read()
        if self.bootloader_until is None:
            self._live(self.engine.tick(at))
        elif at.now >= self.bootloader_until:
            self.restart()
        for part in self.timed:
            part.tick(at)

    def plan_to_wake(self) -> None:
        self.time.plan()

    async def advance(self, seconds: float | None) -> None:
        """Move virtual time, which is a change to see even where nothing was due."""
        await self.time.advance(seconds)
        for watcher in self.watchers:
            watcher()
