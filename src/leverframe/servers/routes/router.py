"""One function from request to reply: commands, status files, the API, the test bench.

It knows paths, who may use them, and which answers can be kept until something changes. What the
paths mean lives elsewhere. On the fast way, a command that switches an output on an open
controller, nothing is awaited and no task is made.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from math import ceil
from typing import Any

import msgspec

from leverframe import status_files
from leverframe.commands.describe.endpoints import EVENT_STREAM, STREAM_PATH, TRY_PATH
from leverframe.commands.describe.endpoints import METRICS as METRICS_TYPE
from leverframe.commands.table.matching import COMMAND_PATHS
from leverframe.commands.table.refusals import Refusal, SignInRequired
from leverframe.commands.table.rights import ANONYMOUS, UNRESTRICTED, Account, check_calls, require
from leverframe.commands.table.row import ACCOUNT, ADMIN, ANYBODY, CONTROL
from leverframe.commands.table.system import RESTORE_ROW
from leverframe.controller import Controller
from leverframe.engine.engine import Engine
from leverframe.engine.journal import Cause
from leverframe.hardware.display_picture import png_of
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.cross_site import OwnNames
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.accounts.sessions import Sessions
from leverframe.servers.http.messages import NOT_KEPT, AnyReply, Reply, Request, StreamReply
from leverframe.servers.problems import NoSuchPath, WrongMethodForPath, reply_to_refusal
from leverframe.servers.routes import api
from leverframe.servers.routes.backups import BackupEndpoint, restore_report
from leverframe.servers.routes.bootloader_page import bootloader_page
from leverframe.servers.routes.commands import CommandEndpoint
from leverframe.servers.routes.history import HISTORY_PATHS, history_reply
from leverframe.servers.routes.metrics import metrics_text
from leverframe.servers.routes.packed import Packed
from leverframe.servers.routes.pages import PREFIX, pages
from leverframe.servers.routes.rule_trials import rule_trial
from leverframe.servers.routes.rules import rule_reports
from leverframe.servers.routes.sign_in_page import STYLE_PATH
from leverframe.servers.routes.signing_in import (
    PAGE_PATH,
    SignInEndpoint,
    is_browser,
    is_script,
    redirect,
    wants_page,
)
from leverframe.servers.routes.sim import Bench
from leverframe.servers.routes.sim_report import bench_report
from leverframe.servers.routes.stream import state_stream
from leverframe.servers.routes.uploaded import PICTURE_PATH, Uploaded

JSON = "application/json"
OLED_PATH = "/api/oled.png"
ACCOUNT_PATH = "/api/account"
START_PATH = "/api/start"
PANEL_PATH = "/api/panel"
#: `/?safe` leads to the built-in pages, whatever site has been uploaded.
SAFE = "safe"
BACKUP_PATHS = ("/dev_settings.bin", "/lk3_settings.bin")
#: What takes GET besides the status files and the API.
OTHER_PATHS = frozenset(
    {
        *BACKUP_PATHS,
        *HISTORY_PATHS,
        ACCOUNT_PATH,
        START_PATH,
        PANEL_PATH,
        OLED_PATH,
        PICTURE_PATH,
        STREAM_PATH,
        "/",
        PAGE_PATH,
    }
)

#: What of our own API may be read, by whom, and what makes it.
API: dict[str, tuple[str, Callable[[Controller], Any]]] = {
    "/api/settings": (ADMIN, lambda controller: api.masked_settings(controller.engine.settings)),
    "/api/state": (CONTROL, api.state),
    "/api/labels": (CONTROL, api.labels),
    "/api/modules": (ADMIN, api.module_readings),
    "/api/rules": (ADMIN, rule_reports),
    "/api/commands": (ADMIN, api.commands),
    "/api/openapi.json": (ADMIN, api.openapi_document),
    "/api/reading-codes": (ADMIN, api.reading_codes),
    "/api/log": (ADMIN, api.log_entries),
    "/api/audit": (ADMIN, api.audit_entries),
    "/api/outbox": (ADMIN, lambda controller: controller.outbox_report()),
    "/api/restore-report": (ADMIN, restore_report),
    "/api/firmware": (ADMIN, lambda controller: controller.firmware_report()),
    "/api/modem": (ADMIN, lambda controller: controller.modem_report()),
    "/api/sim": (ADMIN, bench_report),
    "/health": (ANYBODY, api.health),
    "/metrics": (ADMIN, metrics_text),
}
#: What never changes while the controller is of the same version.
FIXED = frozenset({"/api/commands", "/api/openapi.json"})

_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A status file and what it was made from."""

    engine: Engine
    version: int
    second: int
    reply: Reply


@dataclass(frozen=True, slots=True)
class Reach:
    """From where and how a controller can be asked."""

    names: OwnNames
    #: Sign-in is asked for whatever the settings say: strangers can reach the controller.
    must_sign_in: bool = False
    #: Requests come by TLS.
    secure: bool = False


THIS_MACHINE = Reach(OwnNames())


class Web:
    def __init__(
        self,
        controller: Controller,
        *,
        name: str,
        mac: str,
        lenient: bool = False,
        reach: Reach = THIS_MACHINE,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._controller = controller
        self._name = name
        self._mac = mac
        self._names = reach.names
        self._must_sign_in = reach.must_sign_in
        passwords = Passwords()
        sessions = Sessions(f"leverframe_{mac.replace(':', '')}", monotonic)
        self.access = Access(passwords, sessions, monotonic, self._sign_in_failed)
        self._commands = CommandEndpoint(controller, passwords, lenient=lenient)
        self._backups = BackupEndpoint(controller, self._commands)
        self._signing_in = SignInEndpoint(
            controller, self.access, self._commands, secure=reach.secure
        )
        self._bench = (
            Bench(controller, controller.board)
            if isinstance(controller.board, SimulatedBoard)
            else None
        )
        self._uploaded = Uploaded(controller.store, self._view)
        controller.upload_watchers.append(self._uploaded.changed)
        self._kept_files: dict[str, KeptFile] = {}
        self._fixed: dict[str, Packed] = {}
        controller.profile_watchers.append(self._fixed.clear)

    def handle(self, request: Request) -> AnyReply | Awaitable[AnyReply]:
        try:
            if self._controller.bootloader_until is not None and not self._is_bench(request):
                return self._in_bootloader(request)
            self._names.check_host(request)
            settings = self._controller.pending
            if not (settings.access.required or self._must_sign_in):
                return self._answer(request, UNRESTRICTED)
            account = self.access.recognise(request, settings)
            if account is None:
                return self._identified(request)
            return self._answer(request, account)
        except Refusal as refusal:
            return self._refused(request, refusal)

    def _admission(self, request: Request) -> Callable[[], bool]:
        """Tells whether the account of a request may still look; a session counts as in use."""
        begun = self._controller.pending.access

        def is_still_admitted() -> bool:
            settings = self._controller.pending
            if not (settings.access.required or self._must_sign_in):
                return True
            if "authorization" in request.headers:
                # Passwords are not checked over and over: with other accounts one asks again.
                return settings.access is begun
            return self.access.recognise(request, settings) is not ANONYMOUS

        return is_still_admitted

    async def _identified(self, request: Request) -> AnyReply:
        try:
            account = await self.access.who(request, self._controller.pending)
            answer = self._answer(request, account)
            return answer if isinstance(answer, Reply | StreamReply) else await answer
        except Refusal as refusal:
            return self._refused(request, refusal)

    def _refused(self, request: Request, refusal: Refusal) -> Reply:
        reply = reply_to_refusal(refusal)
        if not isinstance(refusal, SignInRequired) or is_script(request):
            return reply
        if is_browser(request):
            return redirect(PAGE_PATH) if "authorization" not in request.headers else reply
        challenge = ("WWW-Authenticate", 'Basic realm="Leverframe", charset="UTF-8"')
        return Reply(reply.status, reply.content_type, reply.body, (challenge,))

    def _sign_in_failed(self, name: str, source: str) -> None:
        # The name of an account that does not exist may be a password typed into the wrong field.
        whom = f"for {name!r}" if name else "for an account that does not exist"
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall, Cause("sign-in", source), f"wrong password {whom}"
        )

    def _answer(self, request: Request, account: Account) -> AnyReply | Awaitable[AnyReply]:
        path = request.path
        if request.query or request.method == "POST":
            self._names.check_page(request)
        if account is ANONYMOUS and not _is_for_everybody(request):
            # Before anything is looked at: a refusal that says more would tell the version.
            require(account, CONTROL)
        if path in COMMAND_PATHS:
            return self._command(request, account)
        if path in status_files.PATHS and request.method in _READING:
            require(account, ADMIN if path in status_files.ADMIN_FILES else CONTROL)
            return self._file(path)
        if path == "/sim.cgi" and self._bench is not None:
            require(account, ADMIN)
            return self._on_bench(self._bench, request)
        if path == TRY_PATH:
            require(account, ADMIN)
            if request.method != "POST":
                raise WrongMethodForPath(f"{TRY_PATH} takes POST.", allowed="POST")
            return rule_trial(self._controller, request)
        if request.method not in _READING:
            raise self._no_such(request)
        if (reply := self._from_api(request, account)) is not None:
            return reply
        return self._page(request, account)

    def _from_api(
        self, request: Request, account: Account
    ) -> AnyReply | Awaitable[AnyReply] | None:
        """What programs read; None where the path is none of theirs."""
        path = request.path
        if path in API:
            role, make = API[path]
            require(account, role)
            if path in FIXED:
                return self._fixed_document(path, make).answer(request)
            return self._made(make)
        if path == ACCOUNT_PATH:
            require(account, CONTROL)
            return self._made(lambda controller: api.account(controller, account))
        if path == START_PATH:
            require(account, CONTROL)
            status = msgspec.Raw(self._file("/json/status.json").body)
            return self._made(lambda controller: api.start(controller, account, status))
        if path == PANEL_PATH:
            require(account, CONTROL)
            return self._made(lambda _: {"picture": self._uploaded.picture_address()})
        if path in HISTORY_PATHS:
            require(account, CONTROL)
            return history_reply(self._controller, request)
        if path == STREAM_PATH:
            require(account, CONTROL)
            chunks = state_stream(self._controller, self._admission(request))
            return StreamReply(200, EVENT_STREAM, chunks, (NOT_KEPT,))
        if path == OLED_PATH:
            require(account, CONTROL)
            png = png_of(self._controller.engine.display.lines())
            return Reply(200, "image/png", png, (NOT_KEPT,))
        if path in BACKUP_PATHS:
            require(account, ADMIN)
            return self._backups.download(request)
        return None

    def _page(self, request: Request, account: Account) -> AnyReply:
        """What people look at: the built-in pages, what was uploaded, the way in."""
        path = request.path
        if path.startswith(PREFIX) and path in pages():
            return pages()[path].answer(request)
        if path == PICTURE_PATH:
            require(account, CONTROL)
            if (picture := self._uploaded.picture()) is None:
                raise NoSuchPath("No picture has been uploaded.")
            return picture
        if path == PAGE_PATH:
            return self._signing_in.page(request, signed_in=account is not ANONYMOUS)
        if request.query != SAFE and account is not ANONYMOUS:
            require(account, CONTROL)
            if (page := self._uploaded.page(path)) is not None:
                return page
        if path == "/":
            return redirect(PAGE_PATH) if account is ANONYMOUS else pages()[path].answer(request)
        raise self._no_such(request)

    def _command(self, request: Request, account: Account) -> AnyReply | Awaitable[AnyReply]:
        if account is UNRESTRICTED and (switched := self._commands.switch(request)) is not None:
            return switched
        calls = self._commands.calls(request)
        check_calls(account, calls, self._controller.pending)
        if not calls:
            require(account, CONTROL)
        elif calls[0].row.role in (ANYBODY, ACCOUNT):
            return self._signing_in.handle(request, calls, account)
        elif calls[0].row is RESTORE_ROW and len(calls) == 1:
            return self._backups.restore(request, calls[0], account)
        return self._commands.handle(request, calls, account)

    async def _on_bench(self, bench: Bench, request: Request) -> Reply:
        try:
            await bench.run(request.query or "")
        except Refusal as refusal:
            return reply_to_refusal(refusal)
        return self._commands.status_reply()

    def _file(self, path: str) -> Reply:
        """A status file, built again only when something it could show has changed."""
        engine = self._controller.engine
        version, second = engine.machine.version, int(self._controller.clock.wall())
        kept = self._kept_files.get(path)
        if (
            kept is not None
            and kept.engine is engine
            and kept.version == version
            and kept.second == second
        ):
            return kept.reply
        body = status_files.build(path, self._view())
        if body is None:
            raise NoSuchPath(f"{self._controller.profile} has no {path}.")
        reply = Reply(200, status_files.content_type(path), body)
        self._kept_files[path] = KeptFile(engine, version, second, reply)
        return reply

    def _view(self) -> status_files.View:
        engine, at = self._controller.engine, self._controller.clock.read()
        return status_files.View(engine, self._name, self._mac, at)

    def _made(self, make: Callable[[Controller], Any]) -> Reply:
        made = make(self._controller)
        if isinstance(made, bytes):
            return Reply(200, METRICS_TYPE, made)
        return Reply(200, JSON, msgspec.json.encode(made))

    def _fixed_document(self, path: str, make: Callable[[Controller], Any]) -> Packed:
        document = self._fixed.get(path)
        if document is None:
            made = msgspec.json.encode(make(self._controller))
            document = self._fixed[path] = Packed(JSON, made)
        return document

    def _is_bench(self, request: Request) -> bool:
        """Whether it goes to the test bench: virtual time must go on in the bootloader, too, and
        the pins be seen."""
        return self._bench is not None and request.path in ("/sim.cgi", "/api/sim")

    def _in_bootloader(self, request: Request) -> Reply:
        """The bootloader answers nothing but this."""
        assert self._controller.bootloader_until is not None
        seconds = ceil(self._controller.bootloader_until - self._controller.clock.read().now)
        if wants_page(request):
            return bootloader_page(seconds)
        reply = reply_to_refusal(InBootloader(f"The bootloader waits {seconds} s for firmware."))
        return Reply(reply.status, reply.content_type, reply.body, (("Retry-After", str(seconds)),))

    def _no_such(self, request: Request) -> Refusal:
        known = request.path in status_files.PATHS or request.path in API
        if known or request.path in OTHER_PATHS:
            return WrongMethodForPath(f"{request.path} takes GET.", allowed="GET, HEAD")
        return NoSuchPath(f"There is nothing at {request.path[:80]}.")


def _is_for_everybody(request: Request) -> bool:
    """All that is answered to somebody who has not signed in."""
    if request.path == "/":
        return wants_page(request)
    if request.path == "/post.cgi":
        return request.query in ("signin", "signout")
    return request.path in (PAGE_PATH, STYLE_PATH, "/health")


class InBootloader(Refusal):
    status = 503
    title = "The controller is in its bootloader"
