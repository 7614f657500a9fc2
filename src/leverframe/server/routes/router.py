"""The handler of all requests to one controller: its endpoint table and its commands.

The table is in `endpoints`, the dispatching in `dispatcher`.
"""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from functools import partial
from math import ceil
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.host.controller import Controller
from leverframe.interface.table.lookup import (
    ANONYMOUS,
    COMMAND_PATHS,
    Account,
    check_calls,
    require,
)
from leverframe.interface.table.refusals import NotAllowed, Refusal, SignInRequired
from leverframe.interface.table.row import ANYONE, CONTROL
from leverframe.server.cross_site import OwnNames
from leverframe.server.http.messages import Answer, Reply, Request
from leverframe.server.passwords import Passwords
from leverframe.server.problems import NoSuchPath, reply_to_refusal
from leverframe.server.routes import admission
from leverframe.server.routes.admission import NO_TRUSTED_NETWORKS, Admission, TrustedNetworks
from leverframe.server.routes.backups import BackupEndpoint
from leverframe.server.routes.commands import CommandEndpoint, Commands
from leverframe.server.routes.context import (
    Context,
    ControllerWork,
    Handlers,
    StreamShares,
    work_alone,
)
from leverframe.server.routes.dispatcher import Dispatcher, wrong_method
from leverframe.server.routes.endpoints import ENDPOINTS, STREAM_PATH, Endpoint
from leverframe.server.routes.files import StatusFiles, Uploads
from leverframe.server.routes.headers import VersionDocuments, with_headers
from leverframe.server.routes.pages import PREFIX, page_reply, pages
from leverframe.server.routes.sentence_page import InBootloader, bootloader_reply, missing_page
from leverframe.server.routes.sign_in import (
    OPEN_FILES,
    SIGN_IN_PATH,
    SignInEndpoint,
    is_browser,
    is_script,
    redirect,
    wants_page,
)
from leverframe.server.routes.sim import SimCommands
from leverframe.server.routes.sim_time import SimSnapshots
from leverframe.server.routes.state_document import StateDocuments
from leverframe.server.sessions import Access, AccountsOfSettings

_SLASHES = re.compile("//+")
_OPEN_COMMANDS = ("signin", "signout")


class Reach(Struct, frozen=True):
    """How a controller can be reached."""

    names: OwnNames
    #: Whether sign-in is required regardless of the settings, because unknown clients can reach the
    #: controller.
    must_sign_in: bool = False
    #: Networks in which programs need not sign in.
    trusted: TrustedNetworks = NO_TRUSTED_NETWORKS
    #: If clients need no sign-in: whether other controllers of this process need none, either.
    open_to_itself: bool = True


THIS_MACHINE = Reach(OwnNames())


def read_permitted_commands(context: Context) -> Commands:
    """Read the commands of a request; refuse those that its account may not run."""
    commands = context.handlers.commands.commands(context.request)
    if calls := commands.calls:
        check_calls(context.account, calls, context.controller.commits.pending)
    else:
        require(context.account, CONTROL)
    return commands


def run_commands(context: Context) -> Answer:
    request, account, handlers = context.request, context.account, context.handlers
    commands = read_permitted_commands(context)
    if commands.is_about_account:
        return handlers.sign_in.handle(request, commands, account)
    if commands.is_restore:
        return handlers.backups.restore(request, commands.calls[0], account)
    return handlers.commands.handle(request, commands, account)


def send_file(context: Context) -> Coroutine[Any, Any, Reply]:
    """Send a file of the built-in pages or of the uploaded site."""
    request = context.request
    if request.method not in ("GET", "HEAD"):
        raise _nothing_there()
    if request.path.startswith(PREFIX) and request.path in pages():
        return page_reply(request.path, request)
    require(context.account, CONTROL)
    return _send_uploaded_file(context)


async def _send_uploaded_file(context: Context) -> Reply:
    page = await _send_uploaded(context)
    return admission.with_session(context.request, context.handlers.admission) or page


async def _send_uploaded(context: Context) -> Reply:
    request = context.request
    page = await context.handlers.uploads.page(request.path)
    if page is None or "service-worker" in request.headers:
        # A service worker could intercept the requests of the built-in pages.
        raise _nothing_there()
    return page


def _nothing_there() -> NoSuchPath:
    # The path is not named: a query that was encoded by mistake is part of the path, with its
    # passwords.
    return NoSuchPath("There is nothing at this path.")


#: Endpoints whose functions check the account and the method themselves.
_checking = partial(Endpoint, "", role=ANYONE, methods=(), content_type="", doc="")
_COMMANDS = _checking(function=run_commands, changes=True, refuses_itself=True)
_FILE = _checking(function=send_file)
_TABLE = dict.fromkeys(COMMAND_PATHS, _COMMANDS) | {x.path: x for x in ENDPOINTS}
#: Paths that no file of an uploaded site can have.
OWN_PATHS = frozenset(_TABLE)
#: Paths that are answered without sign-in.
_OPEN_PATHS = {*OPEN_FILES, *(x.path for x in ENDPOINTS if x.role == ANYONE)}


class Web(Dispatcher[Endpoint, Account]):
    """The handler of all requests to one controller."""

    table = _TABLE

    def __init__(
        self,
        controller: Controller,
        *,
        name: str,
        mac: str,
        lenient: bool = False,
        reach: Reach = THIS_MACHINE,
        cookie_name: str = "leverframe",
        public_name: str = "",
        hashing: asyncio.Semaphore | None = None,
        backups: asyncio.Semaphore | None = None,
        documents: VersionDocuments | None = None,
        work: ControllerWork | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controller = controller
        self._names = reach.names
        passwords = Passwords(hashing)
        accounts = AccountsOfSettings(lambda: controller.pending.access)
        self.access = Access(accounts, passwords, self._log_failed_sign_in, cookie_name, monotonic)
        self._admission = Admission(
            controller,
            self.access,
            must_sign_in=reach.must_sign_in,
            trusted=reach.trusted,
            open_to_itself=reach.open_to_itself,
        )
        commands = CommandEndpoint(controller, passwords, lenient=lenient)
        bench, files = controller.board.bench, StatusFiles(controller, name, mac)
        uploads = Uploads(controller.store, files.view)
        #: The streams of the live state.
        self.streams = StreamShares()
        self._handlers = Handlers(
            self._admission,
            commands,
            BackupEndpoint(controller, commands, backups),
            SignInEndpoint(controller, reach.names, self.access, commands, public_name),
            uploads,
            files,
            StateDocuments(controller),
            self.streams,
            work or work_alone(),
            None if bench is None else SimCommands(controller, bench),
            None if bench is None else SimSnapshots(controller),
        )
        controller.upload_watchers.append(uploads.forget)
        #: Hashes of passwords that are easy to guess, if they were set or used here.
        self.weak_passwords = passwords.weak
        self._documents = documents or VersionDocuments()
        #: The endpoint for requests of an uploaded site's pages.
        self._site = _checking(function=self._answer_page_of_site, refuses_itself=True)

    def find_other(self, request: Request) -> Endpoint:
        return self._site if request.path.startswith(admission.PREFIX) else _FILE

    def recognise(self, request: Request, endpoint: Endpoint) -> Account | None:
        controller = self._controller
        bootloader_until = controller.bootloader_until
        if bootloader_until is not None and not endpoint.in_bootloader:
            controller.check_that_it_is_here()
            raise InBootloader(ceil(bootloader_until - controller.clock.read().now))
        self._names.check_host(request)
        if endpoint is self._site:
            # The account is found later, by the key in the path.
            return ANONYMOUS
        return self._admission.account(request)

    async def check_password(self, request: Request) -> Account:
        return await self.access.who(request)

    def admit(self, request: Request, endpoint: Endpoint, account: Account) -> None:
        if endpoint is self._site:
            raise NotAllowed("A page of an uploaded site can only send commands without a body.")
        self.check(request, endpoint, account)
        if endpoint is _COMMANDS:
            read_permitted_commands(Context(request, account, self._controller, self._handlers))
        elif endpoint is _FILE:
            require(account, CONTROL)

    def check(self, request: Request, endpoint: Endpoint, account: Account) -> None:
        if endpoint is self._site:
            return
        if request.query or request.method == "POST":
            by_session = account.path != "" and "authorization" not in request.headers
            self._names.check_page(
                request, by_session and (endpoint.changes or request.method == "POST")
            )
        if account is ANONYMOUS and not _is_open(request):
            # Checked before anything is parsed: a more detailed refusal would reveal the version.
            require(account, CONTROL)
        if endpoint.role != ANYONE:
            require(account, endpoint.role)

    def call(self, request: Request, endpoint: Endpoint, account: Account) -> Answer:
        context = Context(request, account, self._controller, self._handlers)
        if endpoint.refuses_itself:
            answer: Answer = endpoint.function(context)
            return answer
        if endpoint.methods and request.method not in endpoint.methods:
            raise wrong_method(endpoint.path, endpoint.methods)
        if endpoint.fixed:
            profile, make = self._controller.profile, partial(endpoint.function, context)
            document = self._documents.reply(profile, endpoint.path, endpoint.content_type, make)
            return document.reply_to(request)
        return self.answer(request, endpoint, endpoint.function(context))

    def _answer_page_of_site(self, outer: Context) -> Answer:
        """Answer a request of a page of the uploaded site."""
        key, inner = admission.split_request(outer.request)
        account = self._admission.account_of_site(key)
        if account is None and is_browser(outer.request):
            return redirect("/")
        try:
            if account is None:
                raise SignInRequired(
                    "The session of this page has ended; open the front page again."
                )
            answer = self._answer_site(
                Context(inner, admission.limit_rights(account), self._controller, self._handlers)
            )
        except Refusal as refusal:
            answer = reply_to_refusal(refusal)
        return with_headers(answer, admission.READABLE)

    def _answer_site(self, context: Context) -> Answer:
        request = context.request
        endpoint = self.table.get(request.path, _FILE)
        if endpoint is _COMMANDS:
            commands = read_permitted_commands(context)
            if commands.is_about_account:
                raise NotAllowed("A page of an uploaded site may not do this.")
            return context.handlers.commands.handle(request, commands, context.account)
        if request.method not in ("GET", "HEAD"):
            raise _nothing_there()
        # A page may read every endpoint that a control user may read, except the stream, which uses
        # the cookie.
        if endpoint.role == CONTROL and endpoint.path != STREAM_PATH:
            return self.answer(request, endpoint, endpoint.function(context))
        return self.answer(request, _FILE, _send_uploaded(context))

    def refuse(self, request: Request, refusal: Refusal) -> Reply:
        """Return the reason; redirect browsers to the sign-in page, offer programs HTTP Basic."""
        if isinstance(refusal, InBootloader):
            return bootloader_reply(request, refusal)
        is_file = isinstance(refusal, NoSuchPath) and request.path not in self.table
        if is_file and wants_page(request):
            return missing_page(request)
        if not isinstance(refusal, SignInRequired) or is_script(request):
            return reply_to_refusal(refusal)
        if is_browser(request):
            has_credentials = "authorization" in request.headers
            return reply_to_refusal(refusal) if has_credentials else redirect(SIGN_IN_PATH)
        return super().refuse(request, refusal)

    def _log_failed_sign_in(self, name: str, source: str) -> None:
        # An unknown account name is not logged: it may be a password typed into the wrong field.
        fact = (
            Fact("wrong_password", figures={"account": name})
            if name
            else Fact("wrong_password_nobody")
        )
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall, Cause("sign-in", source, source=source), fact
        )


class LenientWeb(Web):
    """The handler of a lenient controller: accepts doubled slashes, which some clients create."""

    def handle(
        self, request: Request, requester: Account | None = None, only_head: bool = False
    ) -> Answer:
        if "//" in request.path:
            path = without_doubled_slashes(request.path)
            request = msgspec.structs.replace(request, path=path)
        return super().handle(request, requester, only_head)


def without_doubled_slashes(path: str) -> str:
    return _SLASHES.sub("/", path)


def _is_open(request: Request) -> bool:
    """Return whether a request is answered without sign-in."""
    if request.path == "/post.cgi":
        return request.query in _OPEN_COMMANDS
    return request.path in _OPEN_PATHS
