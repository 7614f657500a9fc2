"""Try or carry out commands on many controllers, with a result for each.

Trying a command stages it without writing it, so the refusals are real. "All or none" first tries
the command on all controllers, and then runs it in the same round of the event loop.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from leverframe.core.engine.calls import ON, Switch, after_switching
from leverframe.core.engine.journal import Cause
from leverframe.core.errors import ErrorForPeople
from leverframe.core.runtime.event_loop import in_turns
from leverframe.core.runtime.log_lines import finish_within, within
from leverframe.core.settings import Settings
from leverframe.core.tree import MISSING, is_confidential
from leverframe.fleet.member import Member, check_that_all_are_here
from leverframe.fleet.progress import NOT_DONE, count_done
from leverframe.fleet.records import NotRunning
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import NoLiveSnapshot
from leverframe.interface.names import name_of
from leverframe.interface.table.command_text import (
    WrittenCommand,
    calls_of,
    parse_commands,
    perform_one,
)
from leverframe.interface.table.lookup import Account, check_calls, items_of
from leverframe.interface.table.refusals import BadValue, Refusal
from leverframe.interface.table.row import ADMIN
from leverframe.interface.table.stage import NO_HASHES, Stage
from leverframe.server.http.messages import AnyReply, Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.problems import reply_to_refusal, reply_when_done
from leverframe.storage.store import StoreUnavailable

#: The account in journals and audit trails.
BY_FLEET = Account("fleet", ADMIN, joins_commands=True)
#: Maximum number of changes by a command that are reported.
MAX_EFFECTS = 4
DONE = 200
NOT_SAVED = 507
#: Maximum number of commands, over all controllers, that run within one round of the event loop.
MAX_TOGETHER = 5_000
_NOTHING = Reply(DONE, "", b"")
_NOT_DONE = "Nothing was changed here, because other controllers reject the command."


class CommandEffect(Struct, frozen=True, forbid_unknown_fields=True):
    """A state or a setting that a command would set, possibly to the value that it already has."""

    what: Annotated[str, Meta(description="The name of an output, or the path of a setting.")]
    old: Any = None
    new: Annotated[Any, Meta(description="Null for a value that is not shown.")] = None
    is_state: bool = False


class MemberResult(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    name: str
    status: Annotated[int, Meta(description="200, or the status of the refusal.")]
    detail: Annotated[
        str | None, Meta(description="The reason for the refusal, or the result.")
    ] = None
    effects: Annotated[
        list[CommandEffect],
        Meta(description="The first changes that the command would make; only in a dry run."),
    ] = []
    password: Annotated[
        str | None,
        Meta(
            description="Password of the administrator that was created if the controller had"
            " none; shown only once."
        ),
    ] = None


class BulkReport(Struct, frozen=True, forbid_unknown_fields=True):
    """The result of an operation for each chosen controller."""

    done: int
    refused: int
    dry_run: Annotated[bool, Meta(description="True for a dry run: nothing was changed.")]
    results: list[MemberResult]


def report_of(results: list[MemberResult], *, dry_run: bool = False) -> BulkReport:
    done = sum(result.status == DONE for result in results)
    return BulkReport(done, len(results) - done, dry_run, results)


def refusal_result(member: Member, refusal: Refusal) -> MemberResult:
    return MemberResult(member.name, refusal.status, str(refusal.as_problem()["detail"]))


async def each(
    members: Sequence[Member], work: Callable[[Member], Coroutine[Any, Any, None]]
) -> BulkReport:
    """Apply an operation to controllers one after the other, and report each refusal."""
    results = []
    async for member in in_turns(members):
        try:
            check_that_all_are_here([member])
            await finish_within(member.entrance.logged, work(member))
            results.append(MemberResult(member.name, DONE))
        except Refusal as refusal:
            results.append(refusal_result(member, refusal))
        except NoLiveSnapshot as error:
            results.append(MemberResult(member.name, 409, str(error)))
        except StoreUnavailable as error:
            results.append(MemberResult(member.name, NOT_SAVED, str(error)))
        except ErrorForPeople as error:
            results.append(MemberResult(member.name, 400, str(error)))
        count_done()
    return report_of(results)


async def send(
    members: Sequence[Member],
    text: str,
    source: str,
    *,
    dry_run: bool,
    all_or_none: bool,
    requester: Account = BY_FLEET,
) -> BulkReport:
    """Carry out or try a command on every controller; `&` joins several commands."""
    (command,) = parse_commands(text)
    if all_or_none and not dry_run:
        return await _all_or_none(members, command, source, requester)
    if dry_run:
        return await try_out(members, partial(_perform, command, requester))
    answers = [_ask(member, command, source, requester) async for member in in_turns(members)]
    return await _collect_results(members, answers)


def _perform(
    command: WrittenCommand, requester: Account, controller: Controller, stage: Stage
) -> None:
    """Perform a command on a stage, with the permissions of an account."""
    if requester.role != ADMIN:
        calls = [call for call, _ in calls_of(command, controller.profile)]
        check_calls(requester, calls, controller.pending)
    perform_one(command, stage)


async def try_out(
    members: Sequence[Member], perform: Callable[[Controller, Stage], None]
) -> BulkReport:
    """Return the result that an operation would have on every controller; change nothing."""
    tried = []
    async for member in in_turns(members):
        tried.append(_try_on(member, partial(perform, member.controller)))
        count_done()
    return report_of(tried, dry_run=True)


async def _all_or_none(
    members: Sequence[Member], command: WrittenCommand, source: str, requester: Account
) -> BulkReport:
    """Carry out a command on all controllers within one round of the event loop, or on none.

    The command is first tried on each controller, with pauses for other requests; controllers that
    have changed since their trial are tried again in the final round. Passwords are hashed before
    that round. Hashing takes a while, so the command is tried again afterwards.
    """
    _check_together(len(members), len(items_of(command.query)))
    hashes: dict[str, str] = {}
    passwords = Passwords()
    while True:
        needed: set[str] = set()
        tried = await _try_on_all(members, command, requester, hashes, needed)
        if any(result.status != DONE for result in tried):
            return report_of(not_done(tried))
        if not needed:
            break
        for password in needed:
            hashes[password] = await passwords.hash(password)
    if hashes:
        return await _collect_results(
            members, [_submit(member, command, source, requester, hashes) for member in members]
        )
    return await _collect_results(
        members, [_ask(member, command, source, requester) for member in members]
    )


async def _try_on_all(
    members: Sequence[Member],
    command: WrittenCommand,
    requester: Account,
    hashes: Mapping[str, str],
    needed: set[str],
) -> list[MemberResult]:
    """Try a command on all controllers; the results hold for the round in which this returns."""

    def attempt(member: Member) -> MemberResult:
        perform = partial(_perform, command, requester, member.controller)
        return _try_on(member, perform, hashes, needed)

    tried: dict[int, MemberResult] = {}
    before: dict[int, _Decisive] = {}
    async for member in in_turns(members):
        before[member.number] = _Decisive.of(member)
        tried[member.number] = attempt(member)
    for member in members:
        if not before[member.number].is_still(member):
            tried[member.number] = attempt(member)
    return [tried[member.number] for member in members]


def _check_together(members: int, commands: int) -> None:
    """Refuse a change that would block the event loop for long."""
    if members * commands > MAX_TOGETHER:
        raise BadValue(
            f"{commands} commands for {members} controllers are too many for all-or-none.",
            allowed=f"up to {MAX_TOGETHER} commands in all",
        )


class _Decisive(Struct, frozen=True, eq=False):
    """The state that decides whether a controller refuses a command."""

    settings: Settings
    others: tuple[object, ...]

    @classmethod
    def of(cls, member: Member) -> "_Decisive":
        controller = member.controller
        ends_at, found = controller.bootloader_until, controller.engine.inputs.i2c_found
        others = (controller.profile, ends_at, controller.has_power, found, member.has_left)
        return cls(controller.pending, others)

    def is_still(self, member: Member) -> bool:
        now = _Decisive.of(member)
        return now.settings is self.settings and now.others == self.others


async def _collect_results(
    members: Sequence[Member], answers: Sequence[AnyReply | Coroutine[Any, Any, AnyReply]]
) -> BulkReport:
    results = []
    for member, answer in zip(members, answers, strict=True):
        results.append(_result(member, await _reply(answer)))
        count_done()
    return report_of(results)


def _try_on(
    member: Member,
    perform: Callable[[Stage], None],
    hashes: Mapping[str, str] = NO_HASHES,
    needed: set[str] | None = None,
) -> MemberResult:
    """Stage a command; collect passwords without a hash in `needed`."""
    controller = member.controller
    stage = Stage(
        controller.profile,
        controller.pending,
        controller.engine.inputs.i2c_found,
        hashes,
    )
    try:
        check_that_all_are_here([member])
        check_that_it_runs(controller)
        perform(stage)
        if stage.given and not stage.replaces_all:
            controller.check_settings(stage.settings, stage.given)
    except Refusal as refusal:
        return refusal_result(member, refusal)
    if needed is not None:
        needed |= stage.unhashed
    return MemberResult(member.name, DONE, None, _effects(controller, stage))


def check_that_it_runs(controller: Controller) -> None:
    if controller.bootloader_until is not None:
        raise NotRunning(
            "The controller waits for firmware."
            if controller.has_power
            else "The controller has no power."
        )


def _effects(controller: Controller, stage: Stage) -> list[CommandEffect]:
    settings, values = controller.pending, controller.engine.values
    found = [
        CommandEffect(
            name_of(action.label, settings) or action.label,
            values[action.label],
            int(after_switching(action.value, values[action.label] == ON)),
            is_state=True,
        )
        for action in stage.actions
        if isinstance(action, Switch)
    ]
    leaves = stage.leaves()
    return (found + [_effect_on(*leaf) for leaf in leaves[:MAX_EFFECTS]])[:MAX_EFFECTS]


def _effect_on(path: str, old: Any, new: Any) -> CommandEffect:
    if is_confidential(path):
        return CommandEffect(path)
    return CommandEffect(path, None if old is MISSING else old, None if new is MISSING else new)


def not_done(tried: list[MemberResult]) -> list[MemberResult]:
    """Return the results of a change that no controller made, because some of them refuse it."""
    return [
        MemberResult(one.name, NOT_DONE, _NOT_DONE) if one.status == DONE else one for one in tried
    ]


def _ask(
    member: Member, command: WrittenCommand, source: str, requester: Account
) -> AnyReply | Coroutine[Any, Any, AnyReply]:
    try:
        check_that_all_are_here([member])
        check_that_it_runs(member.controller)
    except Refusal as refusal:
        return reply_to_refusal(refusal)
    method = "POST" if command.body else "GET"
    request = Request(method, command.path, command.query, {}, command.body, source)
    answer = within(member.entrance.logged, member.built.web.handle)(request, requester=requester)
    if isinstance(answer, AnyReply):
        return answer
    return finish_within(member.entrance.logged, answer)


async def submit_all(
    members: Sequence[Member],
    command: Callable[[Member], str],
    source: str,
    requester: Account,
    hashes: Mapping[str, str],
) -> BulkReport:
    """Run a separate command on each controller; the passwords are already hashed."""
    answers = []
    for member in members:
        (written,) = parse_commands(command(member))
        answers.append(_submit(member, written, source, requester, hashes))
    return await _collect_results(members, answers)


def _submit(
    member: Member,
    command: WrittenCommand,
    source: str,
    requester: Account,
    hashes: Mapping[str, str],
) -> AnyReply | Coroutine[Any, Any, AnyReply]:
    """Run a command whose passwords are already hashed."""
    controller = member.controller
    cause = Cause("command", f"{requester.name} {source}", requester.name, source)
    try:
        calls = list(calls_of(command, controller.profile))
        outstanding = controller.submit(calls, cause, hashes, account=requester)
    except Refusal as refusal:
        return reply_to_refusal(refusal)
    return _NOTHING if outstanding is None else reply_when_done(outstanding, lambda: _NOTHING)


async def _reply(answer: AnyReply | Coroutine[Any, Any, AnyReply]) -> AnyReply:
    return answer if isinstance(answer, AnyReply) else await answer


def _result(member: Member, reply: AnyReply) -> MemberResult:
    if reply.status == DONE or not isinstance(reply, Reply):
        return MemberResult(member.name, reply.status)
    return MemberResult(member.name, reply.status, msgspec.json.decode(reply.body)["detail"])
