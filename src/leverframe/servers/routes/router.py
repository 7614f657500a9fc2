"""One function from request to reply: host, bootloader, account, endpoint.

On the fast path, a command that switches an output on an open controller, nothing is awaited and no
task is made.
"""

import asyncio
import re
import time
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from math import ceil
from types import CoroutineType
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.commands.table.matching import COMMAND_PATHS
from leverframe.commands.table.refusals import NotAllowed, Refusal, SignInRequired
from leverframe.commands.table.rights import ANONYMOUS, Account, check_calls, require
from leverframe.commands.table.row import ANYBODY, CONTROL
from leverframe.controller import Controller
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.accounts.known_accounts import AccountsOfSettings
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Sessions
from leverframe.servers.accounts.trusted import NOBODY_TRUSTED, TrustedNetworks
from leverframe.servers.accounts.weak_passwords import password_findings
from leverframe.servers.http.client_presence import ends_with_client
from leverframe.servers.http.messages import (
    CONTINUE,
    Answer,
    AnyReply,
    Reply,
    Request,
)
from leverframe.servers.problems import (
    NoSuchPath,
    NotReadNow,
    WrongMethodForPath,
    reply_to_refusal,
)
from leverframe.servers.routes import site_session
from leverframe.servers.routes.added_headers import with_headers
from leverframe.servers.routes.admission import Admission
from leverframe.servers.routes.backups import BackupEndpoint
from leverframe.servers.routes.bootloader_page import bootloader_reply
from leverframe.servers.routes.bounded_requests import ControllerWork, work_alone
from leverframe.servers.routes.commands import CommandEndpoint, Commands
from leverframe.servers.routes.compressed import CompressedReply
from leverframe.servers.routes.context import Context, Handlers
from leverframe.servers.routes.endpoints import ENDPOINTS, STREAM_PATH, Endpoint
from leverframe.servers.routes.metrics import stream_families
from leverframe.servers.routes.missing_page import missing_page
from leverframe.servers.routes.pages import PREFIX, page_reply, pages
from leverframe.servers.routes.sign_in import (
    SIGN_IN_PATH,
    SignInEndpoint,
    is_browser,
    is_script,
    redirect,
    wants_page,
)
from leverframe.servers.routes.sign_in_page import OPEN_FILES
from leverframe.servers.routes.sim import SimCommands
from leverframe.servers.routes.sim_snapshots import SimSnapshots
from leverframe.servers.routes.status_files import StatusFiles
from leverframe.servers.routes.stream_shares import StreamShares
from leverframe.servers.routes.uploaded import Uploads
from leverframe.servers.routes.version_documents import VersionDocuments
from leverframe.storage.store import StoreUnavailable

_BY_PATH = {endpoint.path: endpoint for endpoint in ENDPOINTS}
_SLASHES = re.compile("//+")
#: What is asked for many times a second, and told from all the rest by one look-up.
OWN_PATHS = COMMAND_PATHS | _BY_PATH.keys()
#: Paths that are answered without sign-in.
_OPEN_PATHS = {*OPEN_FILES, *(x.path for x in ENDPOINTS if x.role == ANYBODY)}
#: Paths at which a query changes something, whatever the method.
_CHANGING_PATHS = COMMAND_PATHS | {x.path for x in ENDPOINTS if x.changes}
_BOOTLOADER_PATHS = {x.path for x in ENDPOINTS if x.in_bootloader}
#: Paths of the table that pages of an uploaded site may read; the stream lives by its cookie.
_SITE_PATHS = {x.path for x in ENDPOINTS if x.role == CONTROL} - {STREAM_PATH}
_OPEN_COMMANDS = ("signin", "signout")


class Reach(Struct, frozen=True):
    """The ways in which a controller can be reached."""

    names: OwnNames
    #: Sign-in is asked for whatever the settings say: strangers can reach the controller.
    must_sign_in: bool = False
    #: Where programs need not sign in.
    trusted: TrustedNetworks = NOBODY_TRUSTED
    #: Where no sign-in is asked for, also controllers of this process need none.
    open_to_itself: bool = True


THIS_MACHINE = Reach(OwnNames())


class Web:
    """The handler of all requests to one controller."""

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
        self._lenient = lenient
        self._names = reach.names
        passwords = Passwords(hashing)
        sessions = Sessions(cookie_name, monotonic)
        accounts = AccountsOfSettings(lambda: controller.pending.access)
        self.access = Access(accounts, passwords, sessions, monotonic, self._log_failed_sign_in)
        self._admission = Admission(
            controller,
            self.access,
            must_sign_in=reach.must_sign_in,
            trusted=reach.trusted,
            open_to_itself=reach.open_to_itself,
        )
        self._commands = CommandEndpoint(controller, passwords, lenient=lenient)
        self._backups = BackupEndpoint(controller, self._commands, backups)
        self._signing_in = SignInEndpoint(
            controller, reach.names, self.access, self._commands, public_name
        )
        bench, files = controller.board.bench, StatusFiles(controller, name, mac)
        self._uploads = Uploads(controller.store, files.view)
        self._handlers = Handlers(
            self._admission,
            self._commands,
            self._backups,
            self._signing_in,
            self._uploads,
            files,
            StreamShares(),
            work or work_alone(),
            None if bench is None else SimCommands(controller, bench),
            None if bench is None else SimSnapshots(controller),
        )
        controller.upload_watchers.append(self._uploads.changed)
        controller.findings.sources.append(
            lambda: password_findings(controller.engine.settings.access, passwords.weak)
        )
        controller.figures.append(lambda: stream_families(self._handlers.streams))
        self._documents = documents or VersionDocuments()
        self._find_documents()
        controller.profile_watchers.append(self._find_documents)

    def _find_documents(self) -> None:
        #: Replies of the endpoints that are fixed for a version.
        self._fixed = self._documents.of(self._controller.profile)

    def handle(self, request: Request) -> Answer:
        return self._admitted(request, only_head=False)

    def handle_as(self, request: Request, account: Account) -> Answer:
        """Answer somebody whose account is known, such as the owner of the process."""
        try:
            return self._answer(request, account)
        except Refusal as refusal:
            return self._refused(request, refusal)

    def admit_body(self, request: Request) -> Answer:
        """Return by its head whether the body of a request is taken: `CONTINUE`, or the refusal."""
        return self._admitted(request, only_head=True)

    def _admitted(self, request: Request, only_head: bool) -> Answer:
        """Answer a request that may come in, or its head, once its account is known."""
        try:
            if self._lenient and "//" in request.path:
                path = without_doubled_slashes(request.path)
                request = msgspec.structs.replace(request, path=path)
            bootloader_until = self._controller.bootloader_until
            if bootloader_until is not None and request.path not in _BOOTLOADER_PATHS:
                self._controller.check_that_it_is_here()
                return self._in_bootloader(request, bootloader_until)
            self._names.check_host(request)
            if request.path not in OWN_PATHS and request.path.startswith(site_session.PREFIX):
                if only_head:
                    raise NotAllowed("A page of an uploaded site sends commands without a body.")
                return self._of_site(request)
            account = self._admission.account(request)
            if account is None:
                return self._with_password(request, only_head)
            if only_head:
                return self._admit_body_of(request, account)
            return self._answer(request, account)
        except Refusal as refusal:
            return self._refused(request, refusal)

    def _admit_body_of(self, request: Request, account: Account) -> Reply:
        self._check_caller(request, account)
        if request.path in COMMAND_PATHS:
            self._permitted_commands(request, account)
        else:
            endpoint = _BY_PATH.get(request.path)
            require(account, CONTROL if endpoint is None else endpoint.role)
        return CONTINUE

    async def _with_password(self, request: Request, only_head: bool) -> AnyReply:
        """Check the password, which takes a while, then answer."""
        try:
            account = await self._admission.check_password(request)
            if only_head:
                return self._admit_body_of(request, account)
            answer = self._answer(request, account)
            return answer if isinstance(answer, AnyReply) else await answer
        except Refusal as refusal:
            return self._refused(request, refusal)

    def _check_caller(self, request: Request, account: Account) -> None:
        if request.query or request.method == "POST":
            by_session = account.path != "" and "authorization" not in request.headers
            self._names.check_page(request, by_session and _changes(request))
        if account is ANONYMOUS and not _is_open(request):
            # Before anything is examined: a more detailed refusal would reveal the version.
            require(account, CONTROL)

    def _answer(self, request: Request, account: Account) -> Answer:
        self._check_caller(request, account)
        if request.path in COMMAND_PATHS:
            return self._command(request, account)
        if (endpoint := _BY_PATH.get(request.path)) is None:
            return self._file(request, account)
        require(account, endpoint.role)
        if request.method not in endpoint.methods:
            raise WrongMethodForPath(
                f"{endpoint.path} takes {endpoint.methods[0]}.",
                allowed=", ".join(endpoint.methods),
            )
        return self._endpoint(endpoint, Context(request, account, self._controller, self._handlers))

    def _endpoint(self, endpoint: Endpoint, context: Context) -> Answer:
        if endpoint.fixed:
            return self._fixed_reply(endpoint, context).reply_to(context.request)
        value = endpoint.function(context)
        if isinstance(value, Reply):
            # As of the status files, which clients poll.
            return value
        if isinstance(value, CoroutineType):
            return self._awaited(
                context.request, endpoint.content_type, value, only_reads=endpoint.ends_with_client
            )
        return _as_reply(value, endpoint.content_type)

    async def _awaited(
        self,
        request: Request,
        content_type: str,
        answer: Coroutine[Any, Any, Any],
        *,
        only_reads: bool = False,
    ) -> AnyReply:
        """Await an answer; where it only reads, no longer than the client does."""
        try:
            with ends_with_client() if only_reads else nullcontext():
                return _as_reply(await answer, content_type)
        except Refusal as refusal:
            return self._refused(request, refusal)
        except StoreUnavailable as error:
            # Changes, which are told otherwise, are seen through by who makes them.
            return self._refused(request, NotReadNow.because(error))

    def _fixed_reply(self, endpoint: Endpoint, context: Context) -> CompressedReply:
        """Build and compress a document once for a version: 20 to 55 ms, sending it 0.04 ms."""
        reply = self._fixed.get(endpoint.path)
        if reply is None:
            body = msgspec.json.encode(endpoint.function(context))
            reply = self._fixed[endpoint.path] = CompressedReply(endpoint.content_type, body)
        return reply

    def _file(self, request: Request, account: Account) -> Answer:
        """Send a file of the built-in pages or of the uploaded site."""
        path = request.path
        if request.method in ("GET", "HEAD"):
            if path.startswith(PREFIX) and path in pages():
                return self._awaited(request, "", page_reply(path, request))
            require(account, CONTROL)
            return self._awaited(request, "", self._uploaded_file(request))
        raise _nothing_there()

    async def _uploaded_file(self, request: Request) -> Reply:
        page = await self._uploaded(request)
        return site_session.with_session(request, self._admission) or page

    async def _uploaded(self, request: Request) -> Reply:
        page = await self._uploads.page(request.path)
        if page is None or "service-worker" in request.headers:
            # A service worker would stand between the browser and the built-in pages.
            raise _nothing_there()
        return page

    def _of_site(self, request: Request) -> Answer:
        """Answer what a page of the uploaded site asks for."""
        key, inner = site_session.taken_apart(request)
        account = self._admission.account_of_site(key)
        if account is None and is_browser(request):
            return redirect("/")
        try:
            if account is None:
                raise SignInRequired("The session of this page is over; open the front page again.")
            answer = self._answer_site(inner, site_session.limited(account))
        except Refusal as refusal:
            answer = reply_to_refusal(refusal)
        return with_headers(answer, site_session.READABLE)

    def _answer_site(self, request: Request, account: Account) -> Answer:
        if request.path in COMMAND_PATHS:
            commands = self._permitted_commands(request, account)
            if commands.is_about_account:
                raise NotAllowed("A page of an uploaded site cannot do this.")
            return self._commands.handle(request, commands, account)
        if request.method not in ("GET", "HEAD"):
            raise _nothing_there()
        if request.path not in _SITE_PATHS:
            return self._awaited(request, "", self._uploaded(request))
        context = Context(request, account, self._controller, self._handlers)
        return self._endpoint(_BY_PATH[request.path], context)

    def _permitted_commands(self, request: Request, account: Account) -> Commands:
        commands = self._commands.commands(request)
        if commands.calls:
            check_calls(account, commands.calls, self._controller.commits.pending)
        else:
            require(account, CONTROL)
        return commands

    def _command(self, request: Request, account: Account) -> Answer:
        commands = self._permitted_commands(request, account)
        if commands.is_about_account:
            return self._signing_in.handle(request, commands, account)
        if commands.is_restore:
            return self._backups.restore(request, commands.calls[0], account)
        return self._commands.handle(request, commands, account)

    def _refused(self, request: Request, refusal: Refusal) -> Reply:
        """Give the reason; redirect browsers to the sign-in page, ask programs for HTTP Basic."""
        is_file = isinstance(refusal, NoSuchPath) and request.path not in OWN_PATHS
        if is_file and wants_page(request):
            return missing_page(request)
        reply = reply_to_refusal(refusal)
        if not isinstance(refusal, SignInRequired) or is_script(request):
            return reply
        if is_browser(request):
            return redirect(SIGN_IN_PATH) if "authorization" not in request.headers else reply
        challenge = ("WWW-Authenticate", 'Basic realm="Leverframe", charset="UTF-8"')
        return Reply(reply.status, reply.content_type, reply.body, (challenge,))

    def _log_failed_sign_in(self, name: str, source: str) -> None:
        # The name of an account that does not exist may be a password typed into the wrong field.
        fact = (
            Fact("wrong_password", figures={"account": name})
            if name
            else Fact("wrong_password_nobody")
        )
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall, Cause("sign-in", source, source=source), fact
        )

    def _in_bootloader(self, request: Request, until: float) -> Reply:
        return bootloader_reply(request, ceil(until - self._controller.clock.read().now))


def _as_reply(value: Any, content_type: str) -> AnyReply:
    """Encode what an endpoint gives, unless it is a reply already."""
    if isinstance(value, AnyReply):
        return value
    return Reply(200, content_type, msgspec.json.encode(value))


def without_doubled_slashes(path: str) -> str:
    """Take `//outs.cgi` for `/outs.cgi`: clients join an address that ends in a slash with one."""
    return _SLASHES.sub("/", path)


def _nothing_there() -> NoSuchPath:
    # Without the path: a query that was encoded by mistake is a part of it, with its passwords.
    return NoSuchPath("There is nothing at this path.")


def _changes(request: Request) -> bool:
    return request.method == "POST" or request.path in _CHANGING_PATHS


def _is_open(request: Request) -> bool:
    """Return whether a request is answered to somebody who has not signed in."""
    if request.path == "/post.cgi":
        return request.query in _OPEN_COMMANDS
    return request.path in _OPEN_PATHS
