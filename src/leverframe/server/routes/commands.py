"""The command endpoints: parse a raw query into calls, which the controller runs, all or none.

The query is split at `&` before anything is decoded. Commands run in order on one stage; the answer
is the status reply, sent when every change is on disk. Parsed switching commands are cached by
their text, because clients keep repeating the same few requests.
"""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from itertools import repeat
from typing import Any

import msgspec

from leverframe.core.engine.engine import Engine
from leverframe.core.engine.journal import Cause, Fact
from leverframe.host.controller import Command, Controller, NeedsHashing
from leverframe.interface.status_files import bootloader_reply, command_reply
from leverframe.interface.table.bodies import ON_LOOP_BODY_LIMIT, Upload
from leverframe.interface.table.lookup import Account, Call, find, items_of
from leverframe.interface.table.refusals import Malformed, Refusal
from leverframe.interface.table.row import ACCOUNT, ANYONE, CONTROL
from leverframe.interface.table.rules import with_sources_of_hw_30
from leverframe.interface.table.stage import NO_HASHES
from leverframe.interface.table.system import RESTORE_ROW
from leverframe.server.http.messages import Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.problems import WrongMethodForPath, reply_to_refusal, reply_when_done

#: The path of commands that have a body.
BODIES_PATH = "/post.cgi"
MAX_KEPT_REQUESTS = 1024
MAX_KEPT_LETTERS = 100


class Commands(msgspec.Struct, frozen=True):
    """The commands of a request, with the properties that are needed to handle any request."""

    calls: tuple[Call, ...]
    without_bodies: tuple[Command, ...]
    takes_body: bool
    takes_file: bool
    #: The commands sign in or out, or change the user's own password.
    is_about_account: bool
    is_restore: bool
    only_switches: bool

    @classmethod
    def of(cls, calls: tuple[Call, ...]) -> "Commands":
        if len(calls) == 1 and (row := calls[0].row).body is None:
            # Nearly all requests are like this, and this branch takes 1 us less.
            is_about_account = row.role in (ANYONE, ACCOUNT)
            switches, restores = row.role == CONTROL, row is RESTORE_ROW
            alone = ((calls[0], None),)
            return cls(calls, alone, False, False, is_about_account, restores, switches)
        takes_body = takes_file = False
        only_switches = True
        for call in calls:
            row = call.row
            if row.role != CONTROL:
                only_switches = False
            if row.body is not None:
                takes_body, takes_file = True, takes_file or isinstance(row.body, Upload)
        return cls(
            calls,
            tuple(zip(calls, repeat(None))),
            takes_body,
            takes_file,
            bool(calls) and calls[0].row.role in (ANYONE, ACCOUNT),
            len(calls) == 1 and calls[0].row is RESTORE_ROW,
            only_switches,
        )


NO_COMMANDS = Commands.of(())


def _form(request: Request) -> str:
    """Return the commands of a form sent as the body, which has the syntax of a query."""
    if request.path == BODIES_PATH:
        raise Malformed(
            "The request has a body but names no command for it.",
            allowed=f"POST {BODIES_PATH}?COMMAND",
        )
    try:
        return request.body.decode("ascii").strip()
    except UnicodeDecodeError:
        raise Malformed(
            "The body is not a form.", allowed="encoded commands as in a query, or an empty body"
        ) from None


class CommandEndpoint:
    """The endpoint of all command paths of one controller."""

    def __init__(self, controller: Controller, passwords: Passwords, *, lenient: bool) -> None:
        self._controller = controller
        self._passwords = passwords
        self._lenient = lenient
        #: The cause of the last request.
        self._cause = Cause("command")
        #: Cached by path and query: parsing and checking the commands needs 10 us.
        self._kept: dict[tuple[str, str], Commands] = {}
        #: The last status reply, and the engine state that it shows.
        self._reply = Reply(200, "text/xml", b"")
        self._reply_engine: Engine | None = None
        self._reply_version = 0
        controller.profile_watchers.append(self._kept.clear)

    def commands(self, request: Request) -> Commands:
        """Read the commands of a request; unless lenient, raise the first refusal."""
        if not request.query:
            return self._read(request, _form(request)) if request.body else NO_COMMANDS
        kept = self._kept.get((request.path, request.query))
        return self._read(request, request.query) if kept is None else kept

    def _read(self, request: Request, query: str) -> Commands:
        items = items_of(query)
        found: list[Call] = []
        skipped = False
        for call in find(request.method, request.path, items, self._controller.profile):
            if isinstance(call, Call):
                found.append(call)
            elif self._lenient and (understood := self._as_hw_30_means(call, request)):
                found.append(understood)
            elif self._lenient:
                skipped = True
                self._skip(call, Cause("command", request.peer))
            else:
                raise call
        commands = Commands.of(tuple(found))
        if commands.only_switches and not skipped and len(query) < MAX_KEPT_LETTERS:
            if len(self._kept) >= MAX_KEPT_REQUESTS:
                self._kept.clear()
            self._kept[(request.path, query)] = commands
        return commands

    def _as_hw_30_means(self, refusal: Refusal, request: Request) -> Call | None:
        """Read an event entry whose sources are codes of HW 3.0, if that is its only error."""
        item = with_sources_of_hw_30(refusal.command or "")
        if item is None:
            return None
        (call,) = find(request.method, request.path, [item], self._controller.profile)
        return call if isinstance(call, Call) else None

    def _skip(self, refusal: Refusal, cause: Cause) -> None:
        """Journal a command that a lenient controller skips although it answers 200."""
        problem = refusal.as_problem()["detail"]
        figures = {"command": refusal.command or "a command", "problem": problem}
        fact = Fact("command_skipped", figures=figures)
        self._controller.engine.machine.journal.add(self._controller.clock.read().wall, cause, fact)

    def handle(
        self, request: Request, commands: Commands, account: Account
    ) -> Reply | Coroutine[Any, Any, Reply]:
        """Run the commands; return a coroutine if something must be awaited."""
        if request.method not in ("GET", "POST"):
            raise WrongMethodForPath("Commands require GET or POST.", allowed="GET, POST")
        if commands.takes_file or len(request.body) > ON_LOOP_BODY_LIMIT:
            return self._take_large_body(request, commands, account)
        with_bodies: Sequence[Command] = commands.without_bodies
        if commands.takes_body or request.body:
            try:
                with_bodies = self._with_bodies(request, commands)
            except Refusal as refusal:
                return self._bad_body(refusal, request)
        return self._carry_out(with_bodies, request, account)

    async def _take_large_body(
        self, request: Request, commands: Commands, account: Account
    ) -> Reply:
        """Parse a large body off the event loop, then run its command."""
        try:
            with_bodies = await asyncio.to_thread(self._with_bodies, request, commands)
        except Refusal as refusal:
            # A command with a file is the only one of its request: skipping it would report success
            # although nothing was done.
            if commands.takes_file:
                return reply_to_refusal(refusal)
            return self._bad_body(refusal, request)
        try:
            reply = self._carry_out(with_bodies, request, account)
            return reply if isinstance(reply, Reply) else await reply
        except Refusal as refusal:
            return reply_to_refusal(refusal)

    def _bad_body(self, refusal: Refusal, request: Request) -> Reply:
        if not self._lenient:
            return reply_to_refusal(refusal)
        self._skip(refusal, Cause("command", request.peer))
        return self.status_reply()

    def _carry_out(
        self,
        commands: Sequence[Command],
        request: Request,
        account: Account,
        hashes: Mapping[str, str] = NO_HASHES,
    ) -> Reply | Coroutine[Any, Any, Reply]:
        peer, name, cause = request.peer, account.name, self._cause
        if cause.source != peer or cause.account != name:
            # The journal keeps many causes; consecutive requests of one client share an object.
            cause = Cause("command", f"{name} {peer}" if name else peer, name, peer)
            self._cause = cause
        skipped: list[Refusal] | None = [] if self._lenient else None
        try:
            outstanding = self._controller.submit(
                commands, cause, hashes, account=account, skipped=skipped
            )
        except NeedsHashing as needed:
            return self._hash_and_carry_out(commands, request, account, needed.passwords)
        for refusal in skipped or ():
            self._skip(refusal, cause)
        if outstanding is None:
            return self.status_reply()
        return reply_when_done(outstanding, self.status_reply)

    def _with_bodies(self, request: Request, commands: Commands) -> Sequence[Command]:
        calls = commands.calls
        if not commands.takes_body:
            if calls and request.body and request.query:
                raise Malformed(
                    "The command accepts no body.", command=calls[0].text, allowed="an empty body"
                )
            return commands.without_bodies
        if len(calls) > 1:
            raise Malformed(
                "A command with a body cannot be combined with others.", allowed="one command"
            )
        (call,) = calls
        assert call.row.body is not None
        content_type = request.headers.get("content-type", "")
        try:
            body = call.row.body.read(request.body, content_type, self._controller.profile)
        except Refusal as refusal:
            if call.row.secret:
                refusal.without_value()
            raise refusal.of(call.row.line) from None
        return [(call, body)]

    async def _hash_and_carry_out(
        self,
        commands: Sequence[Command],
        request: Request,
        account: Account,
        passwords: Sequence[str],
    ) -> Reply:
        hashes = {password: await self._passwords.hash(password) for password in passwords}
        try:
            reply = self._carry_out(commands, request, account, hashes)
            return reply if isinstance(reply, Reply) else await reply
        except Refusal as refusal:
            return reply_to_refusal(refusal)

    def form(self, request: Request) -> dict[str, Any]:
        """Read the fields of a command that has a form as its body."""
        ((_, fields),) = self._with_bodies(request, self.commands(request))
        return dict(fields)

    def status_reply(self) -> Reply:
        """Return the states as a reply; it is rebuilt only after they have changed."""
        engine = self._controller.engine
        if self._controller.bootloader_until is not None:
            return Reply(200, "text/xml", bootloader_reply(engine))
        version = engine.machine.version
        if version != self._reply_version or engine is not self._reply_engine:
            self._reply = Reply(200, "text/xml", command_reply(engine))
            self._reply_engine, self._reply_version = engine, version
        return self._reply
