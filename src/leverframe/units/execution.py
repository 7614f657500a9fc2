"""Carry out a plan on one unit, step by step, and read each step back before the next.

A command is sent once. After a lost answer or an interruption, the unit is read first: a step is
sent again only if it was not carried out. If the outcome cannot be determined, the work stops
unless the step is safe to repeat. At the first difference the work stops and reports it; the
journal records how far it got.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from msgspec import UNSET

from leverframe.core.errors import ErrorForPeople, printable
from leverframe.core.profile import Profile
from leverframe.testing.recordings.unit_client import UnitError, UnitSilent
from leverframe.units.addresses import AnotherUnit
from leverframe.units.client import PacedClient, SignInNeeded, UnitAnswer
from leverframe.units.file_keys import key_of
from leverframe.units.journal import ApplyJournal, report_stop
from leverframe.units.live_values import is_leverframe, read_settings
from leverframe.units.pulled_unit import PulledUnit, nearest_profile, reason_at
from leverframe.units.unit_plan import (
    LoginUnknown,
    SettingChange,
    UnitPlan,
    UnitStep,
    as_stored,
    follow_accounts,
    refuse_unknown_login,
    store_leaves,
)
from leverframe.units.unit_reader import identify_unit, pull_unit

#: The state of a step on the unit: carried out, not carried out, something else, or unknown.
Seen = Literal["new", "old", "other", "nothing"]
_MAX_CHANGES = 200


class ApplyStopped(UnitError):
    """A plan stopped; the message says why and how far it got, in one or two sentences."""

    def __init__(self, sentence: str, *, can_resume: bool = True, can_revert: bool = True) -> None:
        super().__init__(sentence)
        #: Whether the same plan can be resumed.
        self.can_resume = can_resume
        #: Whether a rollback can restore the previous settings.
        self.can_revert = can_revert
        #: The incomplete settings, and the commands that continue or revert the work.
        self.report = ""

    @property
    def words(self) -> str:
        """Return the whole report for the command line."""
        return f"{self} {self.report}".rstrip()


class ApplyInterrupted(ApplyStopped):
    """The operator stopped the work."""


class Applier:
    """Carries out a plan on the unit of a client."""

    def __init__(
        self,
        plan: UnitPlan,
        client: PacedClient,
        journal: ApplyJournal,
        advance: Callable[[], None] = lambda: None,
        options: Sequence[str] = (),
    ) -> None:
        self._plan = plan
        self._client = client
        self._journal = journal
        self._advance = advance
        #: Options for the command that continues or reverts the work.
        self._options = options
        #: The client's count of unanswered requests at the last comparison of all settings.
        self._checked_at = client.unanswered

    async def run(self) -> None:
        """Carry out the steps that are not known to be done; raise `ApplyStopped` if unsafe."""
        plan, journal = self._plan, self._journal
        first = journal.confirmed
        uncertain = journal.is_uncertain
        if first or uncertain:
            journal.add("resumed", step=first + 1)
        try:
            if not first:
                refuse_unknown_login(self._client, plan)
            self._follow_accounts_of(plan.steps[:first])
            await self._check_unchanged_before(first, uncertain=uncertain)
            for _ in range(first):
                self._advance()
            for number, step in enumerate(plan.steps[first:], start=first + 1):
                await self._carry_out(number, step, is_uncertain=uncertain)
                uncertain = False
                self._advance()
            await self._check_unchanged(len(plan.steps), uncertain=False)
        except asyncio.CancelledError:
            interrupted = ApplyInterrupted(f"{self._where()}: interrupted.")
            raise self._stop(interrupted) from None
        except ApplyStopped as error:
            self._stop(error)
            raise
        except LoginUnknown as error:
            raise self._stop(ApplyStopped(str(error))) from error
        except ErrorForPeople as error:
            raise self._stop(ApplyStopped(f"{self._where()}: {error}")) from error
        journal.finish()

    def _stop(self, why: ApplyStopped) -> ApplyStopped:
        """Record why the work stops; return the exception, with a report for the operator."""
        if "Nothing was sent" not in str(why):
            why.report = printable(
                report_stop(
                    self._plan,
                    self._journal,
                    self._options,
                    can_resume=why.can_resume,
                    can_revert=why.can_revert,
                )
            )
        self._journal.stop(str(why))
        return why

    def _where(self) -> str:
        return (
            f"{self._plan.unit}, after {self._journal.confirmed} of {len(self._plan.steps)} steps"
        )

    def _follow_accounts_of(self, steps: Sequence[UnitStep]) -> None:
        """Sign in with the account as the completed steps have changed it."""
        for step in steps:
            follow_accounts(self._client, step, self._plan)

    async def _check_unchanged_before(self, done: int, *, uncertain: bool) -> None:
        try:
            await self._check_unchanged(done, uncertain=uncertain)
        except SignInNeeded:
            if not uncertain:
                raise
            # The step with the unknown outcome may have changed the account.
            follow_accounts(self._client, self._plan.steps[done], self._plan)
            await self._check_unchanged(done, uncertain=True)

    async def _check_unchanged(self, done: int, *, uncertain: bool) -> None:
        """Compare all readable settings with the expected settings after this number of steps."""
        plan = self._plan
        pulled = await pull_unit(self._client, mac=plan.mac)
        self._checked_at = self._client.unanswered
        self._refuse_another_version(pulled.profile, is_own=is_leverframe(pulled))
        if not done and not uncertain and pulled.digest == plan.digest:
            return
        open_paths = set()
        if uncertain and done < len(plan.steps):
            open_paths = {change.path for change in plan.steps[done].changes}
        expected = leaves_after(plan, done)
        found = store_leaves(pulled.read_leaves())
        for path in sorted(expected.keys() | found.keys()):
            was, should = found.get(path, UNSET), expected.get(path, UNSET)
            why = pulled.why_unread(path)
            if why is not None and path in expected:
                raise ApplyStopped(
                    f"{self._where()}: {key_of(path)} can no longer be read: {why}. Nothing more"
                    " was sent."
                )
            if was == should or path in open_paths or not self._is_readable(path, pulled):
                continue
            raise ApplyStopped(self._unlike(path, should, was, done), can_resume=False)

    def _is_readable(self, path: str, pulled: PulledUnit) -> bool:
        is_profile = path.startswith("profile.")
        doubtful = pulled.why_unread(path) is not None or pulled.why_lossy(path) is not None
        return not is_profile and not doubtful and self._plan.is_compared(path)

    def _unlike(self, path: str, should: Any, was: Any, done: int) -> str:
        change = SettingChange(path, was, should)
        shown = f"{change.key} is {change.show(was)}, not {change.show(should)}"
        if done:
            return f"{self._where()}: {shown}. Another client changed the unit; make a new plan."
        return (
            f"{self._plan.unit} has changed since the plan was made: {shown}. Nothing was sent;"
            " make a new plan."
        )

    async def _carry_out(self, number: int, step: UnitStep, *, is_uncertain: bool) -> None:
        if is_uncertain:
            seen = await self._look_with_any(step)
            if seen == "new":
                self._confirm(number, step)
                return
            if seen != "old" and not step.is_repeatable:
                raise ApplyStopped(
                    f"{self._where()}: it is unknown whether {self._show_step(step)} was carried"
                    " out, and it must not be sent twice. Check the unit and make a new plan.",
                    can_resume=False,
                )
        answer = await self._send(number, step)
        if answer is None and await self._look_with_any(step) == "old" and step.is_repeatable:
            # The step has no effect yet, and repeating it is harmless.
            answer = await self._send(number, step)
        if answer is not None and not answer.is_ok:
            raise ApplyStopped(
                f"{self._where()}: the unit rejected {self._show_step(step)} with status"
                f" {answer.status}; this step and the following steps were not carried out."
            )
        follow_accounts(self._client, step, self._plan)
        seen = await self._look(step)
        if seen == "new" or (seen == "nothing" and answer is not None):
            self._confirm(number, step)
            return
        if answer is None:
            raise ApplyStopped(
                f"{self._where()}: the unit did not answer {self._show_step(step)}, and it is"
                " unknown whether it was carried out; --resume checks it first."
            )
        try:
            await identify_unit(self._client, self._plan.mac)
        except AnotherUnit as error:
            raise ApplyStopped(
                f"{self._where()}: {error} It is unknown which of the two units carried out"
                f" {self._show_step(step)}."
            ) from error
        raise ApplyStopped(
            f"{self._where()}: {self._show_step(step)} was answered, but"
            f" {await self._differing(step)}."
        )

    async def _send(self, number: int, step: UnitStep) -> UnitAnswer | None:
        """Send a step; return None if its outcome is unknown."""
        await self._refuse_another_unit(number)
        request = step.request
        self._journal.add("sending", step=number, request=self._show_step(step))
        try:
            answer = await self._client.command(
                request.target, request.body.encode() if request.method == "POST" else None
            )
        except UnitSilent as error:
            self._journal.add("answered", step=number, told=str(error))
            return None
        self._journal.add("answered", step=number, status=answer.status)
        return answer

    async def _refuse_another_unit(self, number: int) -> None:
        """Stop if the next step would reach another unit, or a unit in an unexpected state."""
        identity = await identify_unit(self._client, self._plan.mac)
        nearest = nearest_profile(identity.hardware, identity.software)
        self._refuse_another_version(nearest.profile, is_own=self._plan.is_leverframe)
        if self._client.unanswered != self._checked_at:
            # The unit may have restarted and lost earlier changes.
            await self._check_unchanged(number - 1, uncertain=False)

    def _refuse_another_version(self, found: Profile, *, is_own: bool) -> None:
        plan = self._plan
        if (found, is_own) != (plan.profile, plan.is_leverframe):
            raise ApplyStopped(
                f"{plan.unit} is {found} now, but the plan was made for {plan.profile}: nothing"
                f" was sent after {self._journal.confirmed} of {len(plan.steps)} steps. Make a"
                " new plan.",
                can_resume=False,
                can_revert=False,
            )

    def _confirm(self, number: int, step: UnitStep) -> None:
        changes = "; ".join(map(str, step.changes))
        self._journal.add("confirmed", step=number, told=changes[:_MAX_CHANGES])

    def _show_step(self, step: UnitStep) -> str:
        request = step.mask_request(self._plan.profile)
        return f"{request.method} {request.target}"

    async def _look(self, step: UnitStep) -> Seen:
        """Compare the readable settings that a step changes with their old and new values."""
        compared = await self._read_changes(step)
        if not compared:
            return "nothing"
        if all(value == as_stored(change.new) for change, value in compared):
            return "new"
        if all(value == as_stored(change.old) for change, value in compared):
            return "old"
        return "other"

    async def _look_with_any(self, step: UnitStep) -> Seen:
        """Read with the login that is valid before the step, or else with the login after it."""
        try:
            return await self._look(step)
        except SignInNeeded:
            follow_accounts(self._client, step, self._plan)
            return await self._look(step)

    async def _differing(self, step: UnitStep) -> str:
        for change, value in await self._read_changes(step):
            if value != as_stored(change.new):
                return f"{change.key} is {change.show(value)}, not {change.show(change.new)}"
        return "the unit showed other settings for a while"

    async def _read_changes(self, step: UnitStep) -> list[tuple[SettingChange, Any]]:
        """Read the settings that a step changes, except unreadable and inexact ones."""
        changes = [change for change in step.changes if self._plan.is_compared(change.path)]
        if not changes:
            return []
        found = await read_settings(
            self._client,
            self._plan.profile,
            [change.path for change in changes],
            is_leverframe=self._plan.is_leverframe,
        )
        return [
            (change, as_stored(found.values.get(change.path, UNSET)))
            for change in changes
            if reason_at(found.lossy, change.path) is None
        ]


def leaves_after(plan: UnitPlan, done: int) -> dict[str, Any]:
    """Return the expected values of the readable settings after this number of steps."""
    expected = plan.all_before()
    for step in plan.steps[:done]:
        for change in step.changes:
            if change.new is UNSET:
                expected.pop(change.path, None)
            elif plan.is_compared(change.path):
                expected[change.path] = as_stored(change.new)
    return expected


# Carry out plans on many units: a few first, and the rest only if all of these succeeded.

#: The number of first units, or one of each version.
Canary = int | Literal["versions"]


class RolledOut(NamedTuple):
    """The outcome for one unit; `trouble` is empty if its plan was carried out."""

    unit: str
    trouble: str
    is_begun: bool = True
    #: Whether the operator stopped it.
    is_interrupted: bool = False


def choose_canaries(
    plans: Sequence[UnitPlan], canary: Canary, group: Collection[str] | None = None
) -> list[UnitPlan]:
    """Return the plans that come first: a number, one of each version, or those of a group."""
    if group is not None:
        return [plan for plan in plans if {plan.unit, plan.address} & set(group)]
    if canary == "versions":
        first: dict[Profile, UnitPlan] = {}
        for plan in plans:
            first.setdefault(plan.profile, plan)
        return list(first.values())
    return list(plans[:canary])


def waves(
    canaries: Sequence[UnitPlan], rest: Sequence[UnitPlan], batch: int
) -> Iterator[tuple[Sequence[UnitPlan], bool]]:
    """Yield the waves, and whether a wave is the last one of the canaries."""
    for number, plan in enumerate(canaries, start=1):
        yield [plan], number == len(canaries)
    for start in range(0, len(rest), batch):
        yield rest[start : start + batch], False


async def roll_out(
    plans: Sequence[UnitPlan],
    apply_one: Callable[[UnitPlan], Awaitable[None]],
    *,
    canaries: Sequence[UnitPlan] = (),
    batch: int = 1,
    may_continue: Callable[[int], bool] = lambda left: True,
    stops_at_failure: bool = True,
) -> list[RolledOut]:
    """Carry out plans; after a wave with a failure, the rest is usually not started."""
    found: list[RolledOut] = []
    is_stopped = False
    tried_first = {plan.unit for plan in canaries}
    rest = [plan for plan in plans if plan.unit not in tried_first]
    for wave, is_last_canary in waves(canaries, rest, batch):
        results, is_stopped = await _results(apply_one, wave)
        for plan, result in zip(wave, results, strict=True):
            if isinstance(result, BaseException) and not isinstance(result, ErrorForPeople):
                raise result
            is_interrupted = isinstance(result, ApplyInterrupted)
            trouble = result.words if isinstance(result, ApplyStopped) else str(result or "")
            found.append(RolledOut(plan.unit, trouble, is_interrupted=is_interrupted))
        left = len(plans) - len(found)
        failed = is_stopped or (stops_at_failure and any(one.trouble for one in found))
        if failed or (is_last_canary and left and not may_continue(left)):
            break
    left_over = [*canaries, *rest][len(found) :]
    return found + [RolledOut(plan.unit, "not started", False, is_stopped) for plan in left_over]


async def _results(
    apply_one: Callable[[UnitPlan], Awaitable[None]], wave: Sequence[UnitPlan]
) -> tuple[list[BaseException | None], bool]:
    """Carry out the plans of a wave; return the outcomes, and whether the operator stopped it."""
    tasks = [asyncio.ensure_future(apply_one(plan)) for plan in wave]
    is_stopped = False
    try:
        await asyncio.gather(*tasks, return_exceptions=True)
    except asyncio.CancelledError:
        is_stopped = True
    results = [
        ApplyInterrupted(f"{plan.unit}: interrupted. Nothing was sent to it.")
        if task.cancelled()
        else task.exception()
        for plan, task in zip(wave, tasks, strict=True)
    ]
    return results, is_stopped
