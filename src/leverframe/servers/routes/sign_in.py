"""Signing in and out, and changing one's own password.

Programs get the status reply, as from every command. A browser that sends the plain form of the
sign-in page is redirected to the front page.
"""

from leverframe.commands.table.accounts import CHANGE_PASSWORD, SIGN_IN
from leverframe.commands.table.refusals import BadValue, NotAllowed, Refusal
from leverframe.commands.table.rights import Account
from leverframe.commands.table.row import ADMIN
from leverframe.commands.table.user_interface import AUTO_SIGN_IN
from leverframe.controller import Controller
from leverframe.engine.facts import Fact
from leverframe.engine.http_address import url_host
from leverframe.engine.journal import Cause
from leverframe.profile import is_offered
from leverframe.servers.accounts.access import Access
from leverframe.servers.accounts.cross_site import OwnNames, without_port
from leverframe.servers.accounts.passwords import is_weak
from leverframe.servers.accounts.sessions import Proof
from leverframe.servers.http.messages import NOT_KEPT, Headers, Reply, Request, problem_reply
from leverframe.servers.problems import reply_to_refusal
from leverframe.servers.routes.commands import CommandEndpoint, Commands
from leverframe.servers.routes.sign_in_page import CHANGE, page_with_reason, sign_in_page
from leverframe.servers.routes.sign_in_page import SIGN_IN as SIGN_IN_FORM

SIGN_IN_PATH = "/signin"


def wants_page(request: Request) -> bool:
    """Return whether a browser asks on behalf of a person who will look at the answer."""
    return "text/html" in request.headers.get("accept", "")


def is_browser(request: Request) -> bool:
    """Return whether a browser opens an address; programs that take pages do not ask for XHTML.

    A browser is redirected to the sign-in page instead of being challenged for HTTP Basic. It would
    send those credentials with any request that a foreign page causes, and at a plain HTTP address
    nothing else may show where such a request comes from.
    """
    return "application/xhtml+xml" in request.headers.get("accept", "")


def is_script(request: Request) -> bool:
    """Return whether a script asks: the browser would show its dialog on top of the page.

    Browsers do not send the mode to plain HTTP addresses, but our own pages name their origin.
    Programs may send either, too, but not under the name that all browsers have.
    """
    headers = request.headers
    if "Mozilla/" not in headers.get("user-agent", ""):
        return False
    mode = headers.get("sec-fetch-mode")
    if mode is not None:
        return mode != "navigate"
    return "referer" in headers and "accept-language" in headers and not is_browser(request)


#: The default port of HTTPS.
HTTPS_PORT = 443


def redirect(target: str, headers: Headers = ()) -> Reply:
    return Reply(303, "", b"", (("Location", target), NOT_KEPT, *headers))


def redirect_to_https(names: OwnNames, request: Request, *, port: int | None = None) -> Reply:
    """Redirect a request that came without TLS to HTTPS, on the same port or on another one."""
    try:
        names.check_host(request)
    except Refusal as refusal:
        return reply_to_refusal(refusal)
    host = request.headers.get("host")
    if not host:
        return problem_reply(400, "This controller is available by HTTPS only.")
    if port is not None:
        host = url_host(without_port(host))
        host += "" if port == HTTPS_PORT else f":{port}"
    query = "" if request.query is None else f"?{request.query}"
    return Reply(308, "", b"", (("Location", f"https://{host}{request.path}{query}"),))


def _languages(request: Request) -> str:
    return request.headers.get("accept-language", "")


class SignInEndpoint:
    def __init__(
        self,
        controller: Controller,
        names: OwnNames,
        access: Access,
        commands: CommandEndpoint,
        public_name: str = "",
    ) -> None:
        """Show strangers only configured names: a generated one contains the MAC address."""
        self._controller = controller
        self._names = names
        self._access = access
        self._commands = commands
        self._public_name = public_name

    def _display_name(self) -> str:
        controller = self._controller
        return controller.pending.name or controller.new_name or self._public_name

    def page(self, request: Request, *, signed_in: bool) -> Reply:
        """Show the sign-in page, or sign in the administrator's machine where that is allowed."""
        settings, profile = self._controller.pending, self._controller.profile
        auto = settings.ui.auto_sign_in and is_offered(AUTO_SIGN_IN, profile)
        admin = settings.access.admin
        if not (auto and admin.password and self._names.is_at_this_machine(request)):
            return sign_in_page(_languages(request), self._display_name(), signed_in=signed_in)
        token = self._open(self._access.proof_without_password(admin.name))
        return redirect("/", self._cookie(token))

    async def handle(self, request: Request, commands: Commands, account: Account) -> Reply:
        row = commands.calls[0].row
        try:
            if row is SIGN_IN:
                reply, cookie = await self._sign_in(request)
            elif row is CHANGE_PASSWORD:
                reply, cookie = await self._change_password(request, commands, account), ""
            else:
                reply, cookie = Reply(204, "", b""), ""
                self._access.sessions.close(request.headers.get("cookie", ""))
                # Streams of the session end immediately instead of with their next message.
                for watcher in self._controller.watchers:
                    watcher()
        except Refusal as refusal:
            reply, cookie = reply_to_refusal(refusal), ""
        if reply.status >= 300:
            return self._refuse(request, reply, SIGN_IN_FORM if row is SIGN_IN else CHANGE)
        has_one = self._access.sessions.is_in(request.headers.get("cookie", ""))
        headers = self._cookie(cookie) if cookie or has_one else ()
        if wants_page(request):
            return redirect("/", headers)
        return Reply(reply.status, reply.content_type, reply.body, (NOT_KEPT, *headers))

    def _refuse(self, request: Request, reply: Reply, form: str) -> Reply:
        """Show the reason on the page to browsers; return the problem document to programs."""
        if not wants_page(request):
            return reply
        try:
            username = self._commands.form(request).get("username", "")
        except Refusal:
            username = ""
        return page_with_reason(_languages(request), self._display_name(), reply, form, username)

    async def _sign_in(self, request: Request) -> tuple[Reply, str]:
        fields = self._commands.form(request)
        proof = await self._access.check(
            fields.get("username", ""), fields.get("password", ""), request.peer
        )
        # A session that an attacker may have planted is never continued.
        self._access.sessions.close(request.headers.get("cookie", ""))
        return self._commands.status_reply(), self._open(proof)

    async def _change_password(
        self, request: Request, commands: Commands, account: Account
    ) -> Reply:
        fields = self._commands.form(request)
        name = fields["username"]
        if account.role != ADMIN and name != account.name:
            raise NotAllowed("Only the administrator may change the password of another account.")
        await self._access.check(name, fields["password"], request.peer)
        if is_weak(fields["new"]):
            raise BadValue(
                "This password is easy to guess.",
                field="new",
                allowed="one that is not among the common ones, of at least 3 different characters",
            )
        answer = self._commands.handle(request, commands, account)
        return answer if isinstance(answer, Reply) else await answer

    def _open(self, proof: Proof) -> str:
        token, account = self._access.sessions.open(proof), proof.account
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall,
            Cause("sign-in", account.name, account=account.name),
            Fact("signed_in"),
        )
        return token

    def _cookie(self, token: str) -> Headers:
        return (("Set-Cookie", self._access.sessions.set_cookie(token, secure=self._names.secure)),)
