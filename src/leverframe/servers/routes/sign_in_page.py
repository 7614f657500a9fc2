"""The sign-in page: plain forms in the language of the browser, with the reason of a refusal.

It shows nothing of the controller but its configured name, because its reader is not signed in. It
works without a script; `web/signin.js` reveals the typed password and keeps the requested address.
That is behind `#`, which no browser sends, and survives every redirect.
"""

import msgspec
from msgspec import Struct

from leverframe.commands.table.accounts import MIN_PASSWORD_LETTERS
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.page_headers import PAGE_HEADERS
from leverframe.servers.routes.page_words import words_beside
from leverframe.status_files.writing import escape_markup


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
    go_on: str
    show: str
    hide: str
    forgotten: str
    how: str


#: By language.
WORDS = words_beside(__file__, dict[str, Words])
#: The form to sign in, and the form to change a password.
SIGN_IN, CHANGE = "signin", "passwd"


class SignInMessage(Struct, frozen=True):
    """The reason why a form was refused, and the name that was typed there."""

    form: str
    sentence: str
    username: str


NO_MESSAGE = SignInMessage("", "", "")
#: The files that strangers may fetch: the style, and the names of the pages to continue to.
STYLE_PATH = "/web/style.css"
OWN_STYLE_PATH = "/web/styles/signin.css"
SCRIPT_PATH = "/web/signin.js"
WORDS_PATH = "/web/words/frame.json"
OPEN_FILES = (STYLE_PATH, OWN_STYLE_PATH, SCRIPT_PATH, WORDS_PATH)


def language_of(accepted: str) -> str:
    """Find the first of our languages in an Accept-Language header: it has the best one first."""
    for part in accepted.split(","):
        tag = part.strip()[:2].lower()
        if tag in WORDS:
            return tag
    return "en"


def sign_in_page(accepted: str, device: str, *, signed_in: bool) -> Reply:
    """Show the page; who is signed in can sign out there, and change a password."""
    language = language_of(accepted)
    return Reply(
        200, "text/html", _page(language, device, signed_in=signed_in).encode(), PAGE_HEADERS
    )


def page_with_reason(accepted: str, device: str, problem: Reply, form: str, username: str) -> Reply:
    """Show the page again with the reason above the form, and with the name that was typed."""
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
<p class="on-to" data-sentence="{words.go_on}" hidden></p>
{_sign_in_form(words, message)}{_account_forms(words, message) if signed_in else ""}</main>
{RAIL}
</body>
</html>
"""


def _sign_in_form(words: Words, message: SignInMessage) -> str:
    name = message.username if message.form == SIGN_IN else ""
    return f"""<form method="post" action="/post.cgi?signin">
{_field("username", words.username, "username", value=name, more="" if name else " autofocus")}
{
        _secret(
            words,
            "password",
            words.password,
            "current-password",
            reason=_reason(message, SIGN_IN),
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
    """Draw a field for a password with a button that shows it, which comes with the script."""
    wrong = f' aria-invalid="true" aria-describedby="{SIGN_IN}-wrong"' if reason else ""
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


#: The frame of levers at the foot of the page, the only ornament of the product.
RAIL = (
    f'<div class="rail"><svg viewBox="0 0 {_LEVERS * _LEVER_WIDTH} 96" height="96" '
    'preserveAspectRatio="xMidYMax slice" aria-hidden="true">'
    + "".join(_lever(index) for index in range(_LEVERS))
    + "</svg></div>"
)
