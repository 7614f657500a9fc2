"""Sign in and out, and change one's own password.

Programs get the status reply, as for every command. A browser that submits the plain form of the
sign-in page is redirected to the front page.
"""

from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.secret_servers import url_host
from leverframe.core.profile import is_offered
from leverframe.host.controller import Controller
from leverframe.interface.status_files.keys import escape_markup
from leverframe.interface.table.accounts import CHANGE_PASSWORD, MIN_PASSWORD_LETTERS, SIGN_IN
from leverframe.interface.table.lookup import Account
from leverframe.interface.table.refusals import BadValue, NotAllowed, Refusal
from leverframe.interface.table.row import ADMIN
from leverframe.interface.table.user_interface import AUTO_SIGN_IN
from leverframe.server.cross_site import OwnNames, without_port
from leverframe.server.http.messages import NOT_KEPT, Headers, Reply, Request, problem_reply
from leverframe.server.passwords import is_weak
from leverframe.server.problems import reply_to_refusal
from leverframe.server.routes.commands import CommandEndpoint, Commands
from leverframe.server.routes.headers import PAGE_HEADERS
from leverframe.server.sessions import Access, Proof

# The texts of pages that the program generates, in a JSON file beside the page's module.

Kind = TypeVar("Kind")


def words_beside(module: str, kind: type[Kind]) -> Kind:
    """Load the texts from the JSON file beside a module, by its `__file__`."""
    return msgspec.json.decode(Path(module).with_suffix(".json").read_bytes(), type=kind)


# The sign-in page: plain forms in the language of the browser, with the reason of a refusal.
#
# It shows nothing of the controller but its configured name, because the visitor is not signed in.
# It works without a script; `web/signin.js` reveals the typed password and keeps the requested
# address. The address is after `#`: browsers do not send that part, and it survives every redirect.


class Words(Struct, frozen=True):
    sign_in: str
    sign_out: str
    change: str
    username: str
    password: str
    present: str
    new: str
    wrong: str
    too_many: str
    continue_to: str
    show: str
    hide: str
    forgotten: str
    how: str


#: The texts by language.
WORDS = words_beside(__file__, dict[str, Words])
#: The form to sign in, and the form to change a password.
SIGN_IN_FORM, CHANGE = "signin", "passwd"


class SignInMessage(Struct, frozen=True):
    """Why a form was refused, and the user name that was typed there."""

    form: str
    sentence: str
    username: str


NO_MESSAGE = SignInMessage("", "", "")
#: Files that need no sign-in: the styles, the typeface, and the texts of the pages to continue to.
STYLE_PATH = "/web/style.css"
OWN_STYLE_PATH = "/web/styles/signin.css"
FACE_PATH = "/web/vendor/inter.woff2"
SCRIPT_PATH = "/web/signin.js"
WORDS_PATH = "/web/words/frame.json"
OPEN_FILES = (STYLE_PATH, OWN_STYLE_PATH, FACE_PATH, SCRIPT_PATH, WORDS_PATH)


def language_of(accepted: str) -> str:
    """Return the first supported language in an Accept-Language header: the best comes first."""
    for part in accepted.split(","):
        tag = part.strip()[:2].lower()
        if tag in WORDS:
            return tag
    return "en"


def sign_in_page(accepted: str, device: str, *, signed_in: bool) -> Reply:
    """Show the page; a user who is signed in can sign out there or change a password."""
    language = language_of(accepted)
    return Reply(
        200, "text/html", _page(language, device, signed_in=signed_in).encode(), PAGE_HEADERS
    )


def page_with_reason(accepted: str, device: str, problem: Reply, form: str, username: str) -> Reply:
    """Show the page again, with the reason above the form and the user name that was typed."""
    language = language_of(accepted)
    message = SignInMessage(form, _sentence(WORDS[language], problem), username)
    page = _page(language, device, signed_in=form == CHANGE, message=message)
    headers = (*PAGE_HEADERS, *problem.headers, NOT_KEPT)
    return Reply(problem.status, "text/html", page.encode(), headers)


def _sentence(words: Words, problem: Reply) -> str:
    if problem.status == 401:
        return words.wrong
    if problem.status == 429:
        return words.too_many.format(seconds=dict(problem.headers)["Retry-After"])
    return str(msgspec.json.decode(problem.body)["detail"])


def _page(
    language: str, device: str, *, signed_in: bool, message: SignInMessage = NO_MESSAGE
) -> str:
    words = WORDS[language]
    name = escape_markup(device) or "Leverframe"
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{words.sign_in} · {name}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{STYLE_PATH}">
<link rel="stylesheet" href="{OWN_STYLE_PATH}">
<script type="module" src="{SCRIPT_PATH}"></script>
</head>
<body class="sign">
<main data-words="{WORDS_PATH}">
<p class="product">{MARK}Leverframe</p>
<h1>{escape_markup(device) or words.sign_in}</h1>
<p class="on-to" data-sentence="{words.continue_to}" hidden></p>
{_sign_in_form(words, message)}{_account_forms(words, message) if signed_in else ""}</main>
{RAIL}
</body>
</html>
"""


def _sign_in_form(words: Words, message: SignInMessage) -> str:
    name = message.username if message.form == SIGN_IN_FORM else ""
    return f"""<form method="post" action="/post.cgi?signin">
{_field("username", words.username, "username", value=name, more="" if name else " autofocus")}
{
        _secret(
            words,
            "password",
            words.password,
            "current-password",
            reason=_reason(message, SIGN_IN_FORM),
            more=" autofocus" if name else "",
        )
    }
<button class="primary">{words.sign_in}</button>
<details><summary>{words.forgotten} <span>{words.how}</span></summary>
<pre tabindex="0">leverframe passwd</pre></details>
</form>
"""


def _account_forms(words: Words, message: SignInMessage) -> str:
    name = message.username if message.form == CHANGE else ""
    label = words.new.format(least=MIN_PASSWORD_LETTERS)
    least = f' minlength="{MIN_PASSWORD_LETTERS}"'
    return f"""<form method="post" action="/post.cgi?passwd">
<h2>{words.change}</h2>
{_field("username", words.username, "username", "own-", value=name)}
{_secret(words, "password", words.present, "current-password", "own-")}
{_reason(message, CHANGE)}{_secret(words, "new", label, "new-password", "own-", more=least)}
<button>{words.change}</button>
</form>
<form method="post" action="/post.cgi?signout">
<button>{words.sign_out}</button>
</form>
"""


def _reason(message: SignInMessage, form: str) -> str:
    if message.form != form:
        return ""
    return (
        f'<p class="wrong" id="{form}-wrong" role="alert">{escape_markup(message.sentence)}</p>\n'
    )


def _secret(
    words: Words,
    name: str,
    label: str,
    autocomplete: str,
    prefix: str = "",
    *,
    reason: str = "",
    more: str = "",
) -> str:
    """Render a password field with a button that reveals it; the button needs the script."""
    wrong = f' aria-invalid="true" aria-describedby="{SIGN_IN_FORM}-wrong"' if reason else ""
    return (
        f'<div class="field"><label for="{prefix}{name}">{label}</label><span class="secret">'
        f'<input id="{prefix}{name}" name="{name}" type="password" autocomplete="{autocomplete}"'
        f" required{wrong}{more}>"
        f'<button type="button" hidden data-shows="{prefix}{name}" data-hide="{words.hide}">'
        f"{words.show}</button></span>{reason}</div>"
    )


def _field(
    name: str, label: str, autocomplete: str, prefix: str = "", *, value: str = "", more: str = ""
) -> str:
    filled = f' value="{escape_markup(value)}"' if value else ""
    return (
        f'<div class="field"><label for="{prefix}{name}">{label}</label>'
        f'<input id="{prefix}{name}" name="{name}" autocomplete="{autocomplete}"'
        f" required{filled}{more}></div>"
    )


#: Three levers on a rail, one of them pulled.
MARK = (
    '<svg class="mark" viewBox="0 0 32 32" aria-hidden="true"><path class="rail" d="M2 27h28"/>'
    + "".join(
        f'<g transform="rotate({lean} {x} 26)"><path d="M{x} 26V10"/>'
        f'<rect x="{x - 1.9:.1f}" y="2.5" width="3.8" height="10.5" rx="1.5"/></g>'
        for x, lean in ((9.5, -14), (16.5, -14), (22.0, 16))
    )
    + "</svg>"
)
_LEVERS, _PULLED, _LEVER_WIDTH = 15, 8, 96


def _lever(index: int) -> str:
    lean, kind = (19, "pulled") if index == _PULLED else (-19, "")
    return (
        f'<g class="{kind}" transform="translate({10 + index * _LEVER_WIDTH} 8)">'
        '<path class="sector" d="M17 61a34 34 0 0 1 42 0L51 88H25zM26 56l-1.5-4.5M50 56l1.5-4.5"/>'
        f'<g transform="rotate({lean} 38 88)"><path class="shaft" d="M35 88l1.2-54h3.6L41 88z"/>'
        '<path class="catch" d="M45.5 13v16q0 5-5 9"/>'
        '<rect class="grip" x="34" y="7" width="8" height="30" rx="4"/></g>'
        '<path class="foot" d="M29 88a9 9 0 0 1 18 0z"/></g>'
    )


#: The row of levers at the foot of the page, the only ornament of the product.
RAIL = (
    f'<div class="rail"><svg viewBox="0 0 {_LEVERS * _LEVER_WIDTH} 96" height="96" '
    'preserveAspectRatio="xMidYMax slice" aria-hidden="true">'
    + "".join(_lever(index) for index in range(_LEVERS))
    + "</svg></div>"
)


SIGN_IN_PATH = "/signin"


def wants_page(request: Request) -> bool:
    """Return whether a browser sends the request for a person who will look at the answer."""
    return "text/html" in request.headers.get("accept", "")


def is_browser(request: Request) -> bool:
    """Return whether a browser opens an address; programs that fetch pages do not accept XHTML.

    A browser is redirected to the sign-in page instead of being challenged for HTTP Basic. A
    browser sends Basic credentials even with requests that foreign pages cause, and at a plain HTTP
    address there may be nothing that shows which page caused a request.
    """
    return "application/xhtml+xml" in request.headers.get("accept", "")


def is_script(request: Request) -> bool:
    """Return whether a page's script sends the request: a challenge would open a browser dialog.

    Browsers do not send `Sec-Fetch-Mode` to plain HTTP addresses, but our own pages send a
    `Referer`. Programs may send either header, too, but not the user agent that all browsers send.
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
    """Redirect a request without TLS to HTTPS, on the same port or on another one."""
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
        """Show strangers only configured names: a generated name contains the MAC address."""
        self._controller = controller
        self._names = names
        self._access = access
        self._commands = commands
        self._public_name = public_name

    def _display_name(self) -> str:
        controller = self._controller
        return controller.pending.name or controller.new_name or self._public_name

    def page(self, request: Request, *, signed_in: bool) -> Reply:
        """Show the sign-in page, or sign in automatically if this machine's administrator may."""
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
                # Streams of the session then end immediately instead of at their next message.
                for watcher in self._controller.watchers:
                    watcher()
        except Refusal as refusal:
            reply, cookie = reply_to_refusal(refusal), ""
        if reply.status >= 300:
            return self._refuse(request, reply, SIGN_IN_FORM if row is SIGN_IN else CHANGE)
        has_one = self._access.sessions.is_in(request.headers.get("cookie", ""))
        # The session that changed a password continues.
        is_over = has_one and row is not CHANGE_PASSWORD
        headers = self._cookie(cookie) if cookie or is_over else ()
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
        # The old session is never continued: an attacker may have planted it.
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
                allowed="a password that is not on lists of common passwords, with at least 3"
                " different characters",
            )
        cookies, accounts = request.headers.get("cookie", ""), self._access.accounts
        sessions = self._access.sessions
        with sessions.changing_password(cookies, name, accounts()):
            answer = self._commands.handle(request, commands, account)
            reply = answer if isinstance(answer, Reply) else await answer
            # Look up the session now, so that it adopts the new password before a check finds it
            # outdated.
            sessions.account(cookies, accounts())
        return reply

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
