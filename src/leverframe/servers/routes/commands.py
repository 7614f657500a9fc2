"""The command endpoints: a raw query becomes calls, the controller performs them, all or nothing.

The query is split at `&` before anything is decoded. Commands run in order on one stage; the answer
is the status reply, sent when every change is on disk. Calls of the switching commands are kept by
their text, because clients repeat the same few requests for ever.
"""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import Any

from leverframe.commands.table.bodies import Upload
from leverframe.commands.table.matching import Call, find, items_of
from leverframe.commands.table.refusals import Malformed, Refusal, UnknownCommand
from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import CONTROL
from leverframe.commands.table.stage import NO_HASHES
from leverframe.controller import Command, Controller, NeedsHashing
from leverframe.engine.actions import Action
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.problems import (
    StoreFailed,
    TooManyCommands,
    WrongMethodForPath,
    reply_to_refusal,
)
from leverframe.status_files import bootloader_reply, command_reply
from leverframe.storage.store import StoreUnavailable

MAX_COMMANDS = 100
MAX_KEPT_CALLS = 1024


class CommandEndpoint:
    """Takes the requests of all command paths of one controller."""

    def __init__(self, controller: Controller, passwords: Passwords, *, lenient: bool) -> None:
        self._controller = controller
        self._passwords = passwords
        self._lenient = lenient
        self._kept_calls: dict[tuple[str, str], tuple[Call, ...]] = {}
        #: What requests that switch and nothing else do, on the settings they were staged on.
        self._switchings: dict[tuple[str, str], tuple[Action, ...]] = {}
        self._staged_on = controller.pending
        self._replies: dict[bytes, Reply] = {}
        #: The last status reply, and the state it tells of.
        self._told: Reply | None = None
        self._told_engine: Engine | None = None
        self._told_version = 0
        self._causes: dict[str, Cause] = {}
        controller.profile_watchers += [self._kept_calls.clear, self._switchings.clear]

    def calls(self, request: Request) -> tuple[Call, ...]:
        """The commands of a request; raises the first refusal unless lenient."""
        if not request.query:
            return ()
        kept = self._kept_calls.get((request.path, request.query))
        if kept is not None:
            return kept
        items = self._items(request)
        found: list[Call] = []
        skipped = False
        for call in find(request.method, request.path, items, self._controller.profile):
            if isinstance(call, Call):
                found.append(call)
            elif self._lenient:
                skipped = True
                self._skip(call, Cause("command", request.peer))
            else:
                raise call
        calls = tuple(found)
        switching = not skipped and all(call.row.role == CONTROL for call in calls)
        if switching and len(request.query) < 100:
            self._keep(request.path, request.query, calls)
        return calls

    def _skip(self, refusal: Refusal, cause: Cause) -> None:
        """A lenient controller tells in its log what it answers 200 to without doing it."""
        command = refusal.command or ""
        if isinstance(refusal, UnknownCommand):
            # What was meant as another command may hold a password.
            command = command.partition("=")[0]
        text = f"skipped {command}: {refusal.as_problem()['detail']}"
        self._controller.engine.machine.journal.add(self._controller.clock.read().wall, cause, text)

    def _items(self, request: Request) -> list[str]:
        items = items_of(request.query or "")
        if len(items) > MAX_COMMANDS:
            raise TooManyCommands(
                f"The request has {len(items)} commands.",
                allowed=f"up to {MAX_COMMANDS} commands in one request",
            )
        return items

    def _keep(self, path: str, query: str, calls: tuple[Call, ...]) -> None:
        if len(self._kept_calls) >= MAX_KEPT_CALLS:
            self._kept_calls.clear()
            self._switchings.clear()
        self._kept_calls[(path, query)] = calls

    def switch(self, request: Request) -> Reply | Awaitable[Reply] | None:
        """The short way for everybody's administrator: a request to switch that came before."""
        if request.method != "GET" or not request.query or request.body or self._lenient:
            return None
        actions = self._actions(request.path, request.query)
        if actions is None:
            return None
        cause = self._causes.get(request.peer) or self._cause_of(request.peer)
        done = self._controller.act(actions, cause)
        return self.status_reply() if done is None else self._reply_when_done(done)

    def _actions(self, path: str, query: str) -> tuple[Action, ...] | None:
        """What a request does that came before; None if it is another one. Raises its refusal."""
        if self._staged_on is not self._controller.pending:
            self._switchings.clear()
            self._staged_on = self._controller.pending
        actions = self._switchings.get((path, query))
        if actions is None and (calls := self._kept_calls.get((path, query))) is not None:
            actions = self._controller.actions_of(calls)
            if actions is not None:
                self._switchings[(path, query)] = actions
        return actions

    def _cause_of(self, peer: str) -> Cause:
        if len(self._causes) >= MAX_KEPT_CALLS:
            self._causes.clear()
        cause = self._causes[peer] = Cause("command", peer, "", peer)
        return cause

    def handle(
        self, request: Request, calls: tuple[Call, ...], account: Account
    ) -> Reply | Awaitable[Reply]:
        """Perform the commands; an awaitable where something goes to the disk."""
        if request.method not in ("GET", "POST"):
            raise WrongMethodForPath("Commands take GET or POST.", allowed="GET, POST")
        if any(isinstance(call.row.body, Upload) for call in calls):
            return self._take_file(request, calls, account)
        try:
            commands = self._with_bodies(request, calls)
        except Refusal as refusal:
            return self._bad_body(refusal, request)
        return self._carry_out(commands, request, account)

    async def _take_file(
        self, request: Request, calls: tuple[Call, ...], account: Account
    ) -> Reply:
        """Looking through a file takes a while, so that is done beside the event loop."""
        try:
            commands = await asyncio.to_thread(self._with_bodies, request, calls)
        except Refusal as refusal:
            return self._bad_body(refusal, request)
        try:
            reply = self._carry_out(commands, request, account)
            return reply if isinstance(reply, Reply) else await reply
        except Refusal as refusal:
            return reply_to_refusal(refusal)

    def _bad_body(self, refusal: Refusal, request: Request) -> Reply:
        if not self._lenient:
            return reply_to_refusal(refusal)
        self._skip(refusal, Cause("command", request.peer))
        return self.status_reply()

    def _carry_out(
        self, commands: Sequence[Command], request: Request, account: Account
    ) -> Reply | Awaitable[Reply]:
        peer, name = request.peer, account.name
        cause = Cause("command", f"{name} {peer}" if name else peer, name, peer)
        try:
            done = self._perform(commands, cause, account, NO_HASHES)
        except NeedsHashing as needed:
            return self._hash_and_perform(commands, cause, account, needed.passwords)
        if done is None:
            return self.status_reply()
        return self._reply_when_done(done)

    def _with_bodies(self, request: Request, calls: Sequence[Call]) -> list[Command]:
        with_body = [call for call in calls if call.row.body is not None]
        if len(with_body) > 1 or (with_body and len(calls) > 1):
            raise Malformed("A command with a body comes alone.", allowed="one command")
        if not with_body:
            if calls and request.body:
                raise Malformed(
                    "The command takes no body.", command=calls[0].text, allowed="an empty body"
                )
            return [(call, None) for call in calls]
        call = with_body[0]
        assert call.row.body is not None
        content_type = request.headers.get("content-type", "")
        try:
            body = call.row.body.read(request.body, content_type, self._controller.profile)
        except Refusal as refusal:
            if call.row.secret:
                refusal.without_value()
            raise refusal.of(call.row.line) from None
        return [(call, body)]

    def _perform(
        self,
        commands: Sequence[Command],
        cause: Cause,
        account: Account,
        hashes: Mapping[str, str],
    ) -> asyncio.Future[None] | None:
        controller = self._controller
        try:
            if not self._lenient:
                return controller.perform(commands, cause, hashes, account=account)
            done, skipped = controller.perform_leniently(commands, cause, hashes, account=account)
        except StoreUnavailable as error:
            raise StoreFailed(str(error)) from error
        for refusal in skipped:
            self._skip(refusal, cause)
        return done

    async def _hash_and_perform(
        self,
        commands: Sequence[Command],
        cause: Cause,
        account: Account,
        passwords: Sequence[str],
    ) -> Reply:
        hashes = {password: await self._passwords.hash(password) for password in passwords}
        try:
            done = self._perform(commands, cause, account, hashes)
        except Refusal as refusal:
            return reply_to_refusal(refusal)
        return self.status_reply() if done is None else await self._reply_when_done(done)

    def _reply_when_done(self, done: asyncio.Future[None]) -> asyncio.Future[Reply]:
        """A future of its own and no task: the change goes on even if nobody waits any more."""
        reply: asyncio.Future[Reply] = done.get_loop().create_future()
        done.add_done_callback(partial(self._reply, reply))
        return reply

    def _reply(self, reply: asyncio.Future[Reply], done: asyncio.Future[None]) -> None:
        error = done.exception()
        if reply.done():
            return
        if error is None:
            reply.set_result(self.status_reply())
        elif isinstance(error, StoreUnavailable):
            reply.set_result(reply_to_refusal(StoreFailed(str(error))))
        else:
            reply.set_exception(error)

    def form(self, request: Request) -> dict[str, Any]:
        """The fields of a command whose body is a form."""
        ((_, fields),) = self._with_bodies(request, self.calls(request))
        return dict(fields)

    def status_reply(self) -> Reply:
        engine = self._controller.engine
        if self._controller.bootloader_until is not None:
            return self._reply_with(bootloader_reply(engine))
        version = engine.machine.version
        if self._told is None or version != self._told_version or engine is not self._told_engine:
            self._told = self._reply_with(command_reply(engine))
            self._told_engine, self._told_version = engine, version
        return self._told

    def _reply_with(self, body: bytes) -> Reply:
        reply = self._replies.get(body)
        if reply is None:
            if len(self._replies) >= MAX_KEPT_CALLS:
                self._replies.clear()
            reply = self._replies[body] = Reply(200, "text/xml", body)
        return reply
