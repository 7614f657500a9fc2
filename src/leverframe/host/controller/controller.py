"""A controller, which connects engine, board, store and clock.

Requests arrive as calls of the command table. They are staged on the newest accepted settings
(`pending`) and queued for writing. The engine adopts them once they are on disk, in the order in
which they were accepted (`commit_path.py`), so the settings that it uses are always on disk. A
request that changes no setting goes straight to the engine. Effects are carried out here, in order
and immediately: no pin waits for the disk. The client is answered when all effects that must
survive a restart, including messages, are on disk.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import tzinfo
from math import inf, nextafter
from types import MappingProxyType
from typing import Any

import msgspec

from leverframe import __version__
from leverframe.core.engine import calls
from leverframe.core.engine.calls import Action, Effect, Restart
from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause, Journal
from leverframe.core.engine.machine import Value
from leverframe.core.engine.timers import Moment
from leverframe.core.labels import OUTPUTS
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference, settings_from_leaves
from leverframe.devices.board import Board
from leverframe.devices.readings import Readings
from leverframe.host.controller.commit_path import (
    NO_ROWS,
    Change,
    Command,
    CommitPath,
    Outstanding,
    PersistentState,
    perform_all,
)
from leverframe.host.controller.findings import FindingsWatch
from leverframe.host.controller.hooks import MOVING, ControllerElsewhere, Hindrance, Hooks
from leverframe.host.controller.scheduler import Scheduler
from leverframe.interface.table.lookup import FIELD_BUS, UNRESTRICTED, Account, check_calls
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.stage import NO_HASHES, Stage
from leverframe.interface.version_change.conversion import EARLIER
from leverframe.storage.action_audit import ActionAudit
from leverframe.storage.audit import PREFIX, AuditTrail, newest_entries
from leverframe.storage.store import Changes, Store, Stored, StoreUnavailable
from leverframe.storage.writer import Writer

log = logging.getLogger(__name__)

BOOTLOADER_S = 60.0
#: Effects that make the engine act again. They are carried out after all other effects of their
#: list; otherwise older effects would drive pins after newer ones.
AGAIN = (calls.SetClock, calls.RestartController)

#: Effects that are blocked while the bootloader waits: the pins stay safe until the next start.
PINS = (calls.DriveOutput, calls.DrivePwm)

#: The initial value of the version that the watchers have seen; no version of an engine has this
#: number.
NEVER_WATCHED = -1

NO_VALUES: Mapping[str, Value] = MappingProxyType({})


class Controller(Hooks):
    """One controller: an engine that uses its settings on a board, a store and a clock.

    Needs a running event loop from `start` to `stop`.
    """

    __slots__ = (
        "__weakref__",
        "_round_end",
        "_stands_still",
        "_watched_version",
        "action_audit",
        "audit",
        "board",
        "bootloader_until",
        "clock",
        "commits",
        "engine",
        "findings",
        "persistent",
        "profile",
        "store",
        "time",
        "timezone",
        "why_refused",
        "writer",
    )

    def __init__(
        self,
        profile: Profile,
        store: Store,
        board: Board,
        clock: Clock,
        timezone: tzinfo,
        stored: Stored | None = None,
    ) -> None:
        """Resume from the content of the store; `stored` is that content if it has already been
        read.
        """
        super().__init__()
        self.profile = profile
        self.store = store
        self.board = board
        self.clock = clock
        self.timezone = timezone
        stored = store.load() if stored is None else stored
        settings, unfit = settings_from_leaves(profile, stored.settings)
        if unfit:
            log.warning("settings that %s does not have are left out: %s", profile, unfit)
        self.audit = AuditTrail(stored.audit)
        self.writer = Writer(store)
        self.action_audit = ActionAudit(self.writer, self.audit, stored.audit)
        persisted = stored.kept.copy()
        self.persistent = PersistentState(self.writer, persisted, self._note_store)
        self.engine = Engine(profile, settings, timezone, persisted)
        self.commits = CommitPath(
            settings,
            self.writer,
            self.persistent,
            self.audit,
            adopted=self.find_settings,
            adopt=self._adopt,
            note_store=self._note_store,
        )
        self.findings = FindingsWatch(self.find_engine, clock, self.troubles)
        self.watchers.add(self.findings.check_if_due)
        if not clock.is_virtual:
            # Virtual time moves from deadline to deadline, so findings must not add deadlines.
            self.timed.append(self.findings)
        self.live_parts.append(self.findings)
        self.time = Scheduler(clock, self.next_deadline, self.tick, self._skip_quiet)
        #: When the waiting bootloader gives up, as a monotonic second; None if it is not waiting,
        #: and infinity without power. Unless it is None, requests and readings have no effect.
        self.bootloader_until: float | None = None
        #: Returns why requests are refused now, if another node may have taken over.
        self.why_refused: Callable[[], Hindrance | None] | None = None
        self._stands_still = False
        self._watched_version = NEVER_WATCHED
        self._round_end: asyncio.Handle | None = None

    # Bound methods, because nested functions would need 0.2 KB each.

    def find_engine(self) -> Engine:
        return self.engine

    def find_settings(self) -> Settings:
        return self.engine.settings

    def find_journal(self) -> Journal:
        return self.engine.machine.journal

    def describe_version(self) -> str:
        return f"{__version__} ({self.profile})"

    def note_history(self, sentence: str | None) -> None:
        self.troubles.note("history", sentence)

    def pass_to_board(self, _: Settings, settings: Settings) -> None:
        self.board.adopt(settings)

    # --- life -------------------------------------------------------------------------------------

    def start(self, former: Mapping[str, Value] = NO_VALUES) -> None:
        """Power on; `former` holds the previous values if this controller was on before."""
        sensed = self.board.connect(self.sense)
        at, machine = self.clock.read(), self.engine.machine
        machine.samples = None if self.history is None else self.history.samples
        emitted = self.engine.start(at, sensed)
        self._record_all(at, former)
        self.carry_out(emitted)

    def _record_all(self, at: Moment, former: Mapping[str, Value]) -> None:
        """Record the first values of a new engine: for the history, they are changes."""
        machine = self.engine.machine
        if machine.samples is not None:
            first = {
                label: value
                for label, value in machine.values.items()
                if value is not None or former.get(label) is not None
            }
            machine.samples.add_first(at.wall, first, machine.mover)
            self.engine.rules.trace()

    # Published name (docs/reference/library.md).
    def go_on_with(
        self, engine: Engine, bootloader_until: float | None, former: Mapping[str, Value]
    ) -> None:
        """Continue with another engine that has been started and matches the state of the board."""
        self.engine, self.commits.pending = engine, engine.settings
        engine.machine.persisted = self.persistent.values
        before, self.bootloader_until = self.bootloader_until, bootloader_until
        engine.machine.samples = None if self.history is None else self.history.samples
        self._record_all(self.clock.read(), former)
        self._watched_version = NEVER_WATCHED
        self._notify_pause(before)
        self._notify_if_changed()

    async def stop(self) -> None:
        """Stop cleanly: the remembered state is on disk before this returns."""
        self._let_nothing_wake()
        # Even if something fails here, the store writes the data that is queued.
        async with AsyncExitStack() as afterwards:
            afterwards.push_async_callback(self.writer.close)
            afterwards.callback(self.action_audit.end)
            afterwards.callback(self.persistent.end)
            if not self._stands_still:
                self._power_off()

    def stand_still(self) -> None:
        """Freeze permanently, because another process resumes the controller; `stop` follows."""
        self._let_nothing_wake()
        self._power_off()
        self._let_nothing_wake()
        self._stands_still = True
        # Later requests reach no controller.
        self.bootloader_until = inf
        self.why_refused = lambda: MOVING

    def check_that_it_is_here(self) -> None:
        """Refuse a request if another process has already resumed the controller."""
        if self._stands_still:
            raise ControllerElsewhere(MOVING.reason)

    def _let_nothing_wake(self) -> None:
        self.time.stop()
        if self._round_end is not None:
            self._round_end.cancel()
            self._round_end = None

    def restart(self) -> None:
        """Power off and on within the process: build a new engine from the remembered state."""
        self._restart_with(self.engine.settings)

    def lose_power(self) -> None:
        """Switch off until a restart: pins drop out, nothing is sensed, no timer runs."""
        self.carry_out(self.engine.lose_power(self.clock.read()))
        before, self.bootloader_until = self.bootloader_until, inf
        self._notify_pause(before)

    @property
    def has_power(self) -> bool:
        """Whether the controller has power; without it, nothing is received or sent."""
        return self.bootloader_until != inf

    def _notify_pause(self, before: float | None) -> None:
        """Notify the hooks if the state of the bootloader or of the power has changed."""
        now = self.bootloader_until
        if _waits(before) is not _waits(now):
            self.notify_bootloader(waits=_waits(now))
        if (before == inf) is self.has_power:
            self.notify_power(on=self.has_power)

    def forget_settings(self) -> None:
        """Start with factory settings and without remembered state.

        Accounts stay, as after a reset: the loss of settings must not open a controller to
        strangers.
        """
        factory = defaults(self.profile)
        access = self.commits.pending.access
        old, new = self.engine.settings, msgspec.structs.replace(factory, access=access)
        self.commits.pending = new
        accounts = {path: value for path, _, value in difference(factory, new)}
        self.writer.commit(Changes(accounts, replace_settings=True, blobs={EARLIER: None}))
        self.persistent.persist(dict.fromkeys(self.persistent.of_engine()))
        self._restart_with(new)
        self.notify_settings(old, new, ())

    def _power_off(self) -> None:
        if not self.has_power:
            # Otherwise an engine that is off would do what was due since the power failed.
            return
        self.carry_out(self.engine.stop(self.clock.read()), wake=False)
        self._notify_if_changed()

    def start_again(
        self,
        settings: Settings,
        remembered: Mapping[str, Any] | None = None,
        uploads: Iterable[str] = (),
    ) -> list[asyncio.Task[None]]:
        """Power off and on with settings that are on disk; `remembered`, if given, replaces the
        remembered state.

        Return the tasks that are still running, as `notify_settings` does.
        """
        old = self.engine.settings
        self._restart_with(settings, remembered)
        return self.notify_settings(old, settings, uploads)

    def _restart_with(
        self, settings: Settings, remembered: Mapping[str, Any] | None = None
    ) -> None:
        self._power_off()
        if remembered is not None:
            forgotten = dict.fromkeys(self.persistent.of_engine())
            self.persistent.persist({**forgotten, **remembered})
        journal = self.engine.machine.journal
        before, self.bootloader_until = self.bootloader_until, None
        former = self.engine.values
        self.engine = Engine(self.profile, settings, self.timezone, self.persistent.values)
        self.engine.machine.journal = journal
        # The new engine counts its changes from the beginning and may reach the same number.
        self._watched_version = NEVER_WATCHED
        self.start(former)
        self._notify_pause(before)

    # --- requests ---------------------------------------------------------------------------------

    @property
    def pending(self) -> Settings:
        """The settings that have been accepted; the engine's once they are on disk."""
        return self.commits.pending

    async def perform(
        self,
        commands: Sequence[Command],
        cause: Cause,
        hashes: Mapping[str, str] = NO_HASHES,
        *,
        account: Account = FIELD_BUS,
    ) -> None:
        """Carry out all commands, or none if one is refused; return when changes are on disk."""
        outstanding = self.submit(commands, cause, hashes, account=account)
        if outstanding is not None:
            await outstanding.finish()

    def submit(
        self,
        commands: Sequence[Command],
        cause: Cause,
        hashes: Mapping[str, str] = NO_HASHES,
        *,
        account: Account = FIELD_BUS,
        skipped: list[Refusal] | None = None,
        also: Mapping[str, Any] = NO_ROWS,
    ) -> Outstanding | None:
        """Carry out or queue all commands, or none if one is refused; return None if no work
        remains.

        With a list as `skipped`, refused commands are added to it and the others are carried out,
        as real units do. The values in `also` are remembered in the same write, so that neither
        the commands nor these values are stored alone.
        """
        pending = self.commits.pending
        if self.why_refused is not None and (hindrance := self.why_refused()) is not None:
            stage = Stage(self.profile, pending)
            hindrance.refuse(commands, stage)
        if account is not UNRESTRICTED:
            check_calls(account, [call for call, _ in commands], pending)
        stage = Stage(
            self.profile,
            pending,
            self.engine.inputs.i2c_found,
            hashes,
            skipped is not None,
        )
        perform_all(commands, stage, skipped)
        if stage.given and not stage.replaces_all:
            self.check_settings(stage.settings, stage.given)
        if stage.settings is not pending or stage.blobs or stage.replaces_all:
            return self.commits.queue(stage, self.clock.read().wall, cause, also)
        outstanding = self._act(stage.actions, cause)
        if self.why_refused is not None and any(map(self._may_be_remembered, stage.actions)):
            outstanding = self._promise(outstanding)
        if also:
            outstanding = outstanding or Outstanding()
            # The results of the actions, their audit entries and the values in `also` go to the
            # disk together.
            self.action_audit.write()
            outstanding.write = self.persistent.persist(dict(also))
        if stage.given and self.troubles:
            return self._try_again(outstanding or Outstanding())
        return outstanding

    def _may_be_remembered(self, action: Action) -> bool:
        """Return whether the result of an action may survive a restart; True if that is unknown."""
        if type(action) is not calls.Switch:
            return True
        if action.label not in OUTPUTS:
            return False
        return self.engine.settings.outputs[OUTPUTS.index(action.label)].remember

    def _promise(self, outstanding: Outstanding | None) -> Outstanding | None:
        """Also wait for values not yet on disk, which earlier requests may have failed to store."""
        promise = self.persistent.promise()
        if promise is not None:
            outstanding = outstanding or Outstanding()
            if promise not in outstanding.promised:
                outstanding.promised.append(promise)
        return outstanding

    def _try_again(self, outstanding: Outstanding) -> Outstanding:
        """Notify the parts of the settings again, so that they retry failed work."""
        settings = self.engine.settings
        outstanding.beside += self.notify_settings(settings, settings, ())
        return outstanding

    def _act(self, actions: Sequence[Action], cause: Cause) -> Outstanding | None:
        """Carry out actions that change no setting."""
        at = self.clock.read()
        self._run_overdue_timers(at)
        if actions:
            self.action_audit.note(self.engine.machine, actions, at.wall, cause)
        settings, pending = self.engine.machine.settings, self.commits.pending
        if settings is not pending and self.writer.is_idle:
            # A fault prevented the engine from adopting settings that are on disk.
            settings = pending
        return self._apply(settings, actions, at, cause)

    def _apply(
        self,
        settings: Settings,
        actions: Sequence[Action],
        at: Moment,
        cause: Cause,
        wake: bool = True,
    ) -> Outstanding | None:
        """Apply settings and actions; actions after a restart are applied to the new engine."""
        if len(actions) < 2 or not any(type(one) is Restart for one in actions[:-1]):
            return self.carry_out(self.engine.apply(settings, actions, at, cause), wake)
        until = 1 + next(place for place, one in enumerate(actions) if type(one) is Restart)
        emitted = self.engine.apply(settings, actions[:until], at, cause)
        outstanding = self.carry_out(emitted, wake=wake)
        at = self.clock.read()
        further = self._apply(self.engine.settings, actions[until:], at, cause, wake=wake)
        if outstanding is None or further is None:
            return outstanding or further
        further.follow(outstanding)
        return further

    def _adopt(self, changes: Sequence[Change]) -> None:
        """Apply changes that are on disk to the engine; then notify the parts, once for all."""
        at, old = self.clock.read(), self.engine.settings
        self._run_overdue_timers(at)
        for together in _split_after_actions(changes):
            try:
                self._apply_changes(together, at)
            except Exception as fault:
                log.exception("a change that is on disk could not be applied")
                for change in together:
                    change.outstanding.fail(fault)
        uploads = [name for change in changes for name in change.uploads]
        under_way = self.notify_settings(old, changes[-1].settings, uploads)
        if under_way:
            for change in changes:
                change.outstanding.beside = [*change.outstanding.beside, *under_way]
        # Not as a callback: it would run after 100 other controllers, when the data of this one is
        # no longer in the cache.
        self._end_round()

    def _apply_changes(self, changes: Sequence[Change], at: Moment) -> None:
        """Apply changes; only the last one may contain actions."""
        last = changes[-1]
        for change in changes:
            self.engine.machine.journal.add(at.wall, change.cause, change.description)
        if last.actions:
            self.action_audit.note(self.engine.machine, last.actions, at.wall, last.cause)
        following = self._apply(last.settings, last.actions, at, last.cause, wake=False)
        if following is not None:
            for change in changes:
                change.outstanding.beside = following.beside
                change.outstanding.promised = following.promised

    def _run_overdue_timers(self, at: Moment) -> None:
        """Run overdue timers first; their faults must not fail the request."""
        deadline = self.engine.machine.timers.next_due
        if deadline is None or deadline >= at.now:
            return
        try:
            self.carry_out(self.engine.tick(at))
        except Exception:
            log.exception("a timer failed")

    async def audit_entries(self) -> dict[int, msgspec.Raw]:
        """Return the audit trail by number, of settings and of actions."""
        return newest_entries(await self.store.audit(PREFIX)) | await self.action_audit.entries()

    # --- the world --------------------------------------------------------------------------------

    def sense(self, readings: Readings) -> None:
        """Pass new readings of the board to the engine."""
        if self.bootloader_until is None:
            self.carry_out(self.engine.sense(readings, self.clock.read()))

    def note_connection(self, mqtt: bool) -> None:
        if self.bootloader_until is None:
            self.carry_out(self.engine.note_connection(mqtt, self.clock.read()))

    def ping_answered(self, entry: int, milliseconds: float | None) -> None:
        if self.bootloader_until is None:
            self.carry_out(self.engine.ping_answered(entry, milliseconds, self.clock.read()))

    def carry_out(self, emitted: list[Effect], wake: bool = True) -> Outstanding | None:
        """Carry out effects immediately; return what remains to be written to disk, if anything."""
        if not emitted and not wake:
            # The usual case when settings are adopted.
            return None
        persisted: dict[str, Any] = {}
        again: list[Effect] = []
        messages: asyncio.Future[None] | None = None
        answer: asyncio.Future[None] | None = None
        for effect in emitted:
            if self.bootloader_until is not None and type(effect) in PINS:
                continue
            if type(effect) is calls.DriveOutput:
                # Effects of this kind are more frequent than all others together.
                self.board.drive_output(effect.index, effect.on)
            elif type(effect) is calls.Persist:
                persisted[effect.name] = effect.value
            elif type(effect) is calls.Notify:
                messages = self.on_notify(effect) or messages
            elif type(effect) in AGAIN:
                again.append(effect)
            elif type(effect) is calls.WriteModbus:
                writing = self.on_modbus_write(effect)
                answer = writing if effect.is_asked else answer
            else:
                _CARRY_OUT[type(effect)](self, effect)
        if wake and self._round_end is None:
            self._round_end = asyncio.get_running_loop().call_soon(self._on_round_end)
        outstanding: Outstanding | None = None
        if persisted or messages is not None or answer is not None:
            outstanding = Outstanding(answer=answer)
            may_move = self.why_refused is not None
            stored = outstanding.promised if may_move else outstanding.beside
            if messages is not None:
                # Messages that the disk refuses are sent from memory, so the request does not fail.
                stored.append(messages)
            if persisted:
                # Retried until the disk accepts it; until then `/health` reports the problem.
                stored.append(self.persistent.persist(persisted))
        for effect in again:
            _CARRY_OUT[type(effect)](self, effect)
        return outstanding

    def _on_round_end(self) -> None:
        self._round_end = None
        self._end_round()

    def _end_round(self) -> None:
        """Run the follow-up work of all events in one round of the event loop, once."""
        self._notify_if_changed()
        # Plan after the watchers were called, because they may set deadlines of their own.
        self.time.plan_now()

    def _notify_if_changed(self) -> None:
        """Call the watchers if values changed."""
        version = self.engine.machine.version
        if self._watched_version != version:
            self._watched_version = version
            self._call_watchers()

    # Published name (docs/reference/library.md).
    def tell_findings(self) -> None:
        """Notify the watchers immediately that a source of findings has changed."""
        self.findings.check_again()
        self._call_watchers()

    def name_or(self, fallback: str) -> str:
        """Return the name in the settings, else the name on the node, else `fallback`."""
        return self.engine.settings.name or self.new_name or fallback

    def take_name(self, name: str) -> None:
        """Change the name that is used if users have not set one."""
        self.new_name = name
        self.engine.machine.mark("name")
        self._notify_if_changed()

    def _note_store(self, error: StoreUnavailable | None) -> None:
        self.troubles.note("store", None if error is None else str(error))

    def _set_clock(self, effect: calls.SetClock) -> None:
        self.clock.set_wall(effect.wall)
        self.clock_changed()

    def clock_changed(self) -> None:
        """Adapt the engine to a wall clock that was set or stepped."""
        # The reported time has changed, and perhaps the report of whether the clock is set.
        self.engine.machine.mark("clock")
        self.carry_out(self.engine.clock_changed(self.clock.read()))

    def _enter_bootloader(self, effect: calls.EnterBootloader) -> None:
        self.bootloader_until = self.clock.read().now + BOOTLOADER_S
        self.notify_bootloader(waits=True)

    # --- time -------------------------------------------------------------------------------------

    def next_deadline(self) -> float | None:
        return self._own_deadline(self._deadline_beside())

    def _own_deadline(self, beside: float | None) -> float | None:
        """Return the next deadline of the engine and of the parts around it."""
        own = self.bootloader_until
        if own is None:
            own = self.engine.machine.timers.next_due
        return own if beside is None or (own is not None and own < beside) else beside

    def _deadline_beside(self) -> float | None:
        """Return when the board or a part around the controller is due."""
        first = self.board.next_deadline()
        for part in self.timed:
            due = part.next_deadline()
            if due is not None and (first is None or due < first):
                first = due
        return first

    def _skip_quiet(self, until: float) -> float | None:
        """Skip deadlines of the engine that change nothing, up to a moment of virtual time.

        Return the next deadline after the skipped ones.
        """
        beside = self._deadline_beside()
        if beside is not None and beside <= until:
            # Readings of the board at an instant come before the timers of that instant.
            until = nextafter(beside, -inf)
        if self.bootloader_until is None:
            last = self.engine.skip_quiet(until)
            if last is not None:
                self.clock.move_to(last)
                self.engine.machine.at = self.clock.read()
        return self._own_deadline(beside)

    def tick(self, at: Moment) -> None:
        of_board = self.board.next_deadline()
        if of_board is not None and of_board <= at.now:
            # Readings of an instant come before its timers.
            self.board.tick(at.now)
            at = self.clock.read()
        if self.bootloader_until is None:
            emitted = self.engine.tick(at)
            if emitted:
                # The scheduler plans the next call, and the watchers are called below.
                self.carry_out(emitted, wake=False)
        elif at.now >= self.bootloader_until:
            self.restart()
        for part in self.timed:
            part.tick(at)
        self._notify_if_changed()

    def plan_to_wake(self) -> None:
        self.time.plan()

    async def advance(self, seconds: float | None) -> None:
        """Advance virtual time; call the watchers even if nothing was due."""
        await self.time.advance(seconds)
        self._call_watchers()

    async def advance_until(self, holds: Callable[[], bool], within_s: float) -> bool:
        """Advance virtual time until a condition is met; return False if it was not met in time."""
        is_reached = await self.time.advance_until(holds, within_s)
        self._call_watchers()
        return is_reached


#: The functions that carry out the less frequent effects.
_CARRY_OUT: dict[type, Callable[[Controller, Any], None]] = {
    calls.DrivePwm: lambda own, effect: own.board.drive_pwm(effect.index, effect.level),
    calls.SetPwmFrequency: lambda own, effect: own.board.set_pwm_frequency(effect.group, effect.hz),
    calls.SetPullUp: lambda own, effect: own.board.set_pull_up(effect.index, effect.on),
    calls.SendModem: lambda own, effect: own.on_modem(effect),
    calls.PingHost: lambda own, effect: own.on_ping(effect),
    calls.ShowScreen: lambda own, effect: own.on_screen(effect),
    calls.SetClock: Controller._set_clock,
    calls.RestartController: lambda own, _: own.restart(),
    calls.EnterBootloader: Controller._enter_bootloader,
}


def _split_after_actions(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Split changes so that those without actions are applied together, with the last settings."""
    begin = 0
    for end, change in enumerate(changes, start=1):
        if change.actions or end == len(changes):
            yield changes[begin:end]
            begin = end


def _waits(bootloader_until: float | None) -> bool:
    """Return whether the bootloader waits; infinity means that the controller has no power."""
    return bootloader_until not in (None, inf)
