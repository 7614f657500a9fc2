"""The sign-in page: plain forms in the language of the browser, with the reason of a refusal.

It works without a script and knows nothing of the controller but the name that people gave it:
whoever opens it is not signed in.
"""

from typing import NamedTuple

import msgspec

from leverframe.commands.table.accounts import MIN_PASSWORD_LETTERS
from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.page_headers import PAGE_HEADERS
from leverframe.status_files.writing import escaped


class Words(NamedTuple):
    sign_in: str
    sign_out: str
    change: str
    username: str
    password: str
    present: str
    new: str
    wrong: str
    too_many: str


WORDS = {
    "en": Words(
        "Sign in",
        "Sign out",
        "Change a password",
        "User name",
        "Password",
        "Present password",
        "New password, at least {least} characters",
        "The user name or password is wrong.",
        "Too many wrong passwords came from your address; try again in {seconds} s.",
    ),
    "pl": Words(
        "Zaloguj",
        "Wyloguj",
        "Zmień hasło",
        "Nazwa użytkownika",
        "Hasło",
        "Obecne hasło",
        "Nowe hasło, co najmniej {least} znaków",
        "Nazwa użytkownika lub hasło są błędne.",
        "Z tego adresu podano zbyt wiele błędnych haseł; spróbuj ponownie za {seconds} s.",
    ),
    "fr": Words(
        "Se connecter",
        "Se déconnecter",
        "Changer un mot de passe",
        "Nom d’utilisateur",
        "Mot de passe",
        "Mot de passe actuel",
        "Nouveau mot de passe, au moins {least} caractères",
        "Le nom d’utilisateur ou le mot de passe est faux.",
        "Trop de mots de passe faux depuis votre adresse ; réessayez dans {seconds} s.",
    ),
    "hu": Words(
        "Bejelentkezés",
        "Kijelentkezés",
        "Jelszó módosítása",
        "Felhasználónév",
        "Jelszó",
        "Jelenlegi jelszó",
        "Új jelszó, legalább {least} karakter",
        "A felhasználónév vagy a jelszó hibás.",
        "Túl sok hibás jelszó érkezett erről a címről; próbálja újra {seconds} s múlva.",
    ),
    "cs": Words(
        "Přihlásit",
        "Odhlásit",
        "Změnit heslo",
        "Uživatelské jméno",
        "Heslo",
        "Současné heslo",
        "Nové heslo, nejméně {least} znaků",
        "Uživatelské jméno nebo heslo je chybné.",
        "Z vaší adresy přišlo příliš mnoho chybných hesel; zkuste to znovu za {seconds} s.",
    ),
}
#: The form that a person comes for, and the one to change a password with.
SIGN_IN, CHANGE = "signin", "passwd"


class SignInMessage(NamedTuple):
    """The reason why a form was refused, and the name that was typed there."""

    form: str
    sentence: str
    username: str


NO_MESSAGE = SignInMessage("", "", "")
#: The page looks like the others: the style sheet is the one file that strangers may have.
STYLE_PATH = "/web/style.css"


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


def refused_page(accepted: str, device: str, problem: Reply, form: str, username: str) -> Reply:
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
    named = f"<span> · {escaped(device)}</span>" if device else ""
    return f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{words.sign_in} · {escaped(device) or "Leverframe"}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{STYLE_PATH}">
</head>
<body>
<header class="top"><p class="brand">Leverframe{named}</p></header>
<main>
<h1>{words.sign_in}</h1>
<div class="cards">
{_sign_in_form(words, message)}{_account_forms(words, message) if signed_in else ""}</div>
</main>
</body>
</html>
"""


def _sign_in_form(words: Words, message: SignInMessage) -> str:
    name = message.username if message.form == SIGN_IN else ""
    return f"""<form class="card" method="post" action="/post.cgi?signin">
{_reason(message, SIGN_IN)}<div class="fields">
{_field("username", words.username, "username", value=name, more=" autofocus")}
{_field("password", words.password, "current-password", secret=True)}
</div>
<footer><button class="primary">{words.sign_in}</button></footer>
</form>
"""


def _account_forms(words: Words, message: SignInMessage) -> str:
    name = message.username if message.form == CHANGE else ""
    label = words.new.format(least=MIN_PASSWORD_LETTERS)
    least = f' minlength="{MIN_PASSWORD_LETTERS}"'
    return f"""<form class="card" method="post" action="/post.cgi?passwd">
<h2>{words.change}</h2>
{_reason(message, CHANGE)}<div class="fields">
{_field("username", words.username, "username", "own-", value=name)}
{_field("password", words.present, "current-password", "own-", secret=True)}
{_field("new", label, "new-password", "own-", secret=True, more=least)}
</div>
<footer><button>{words.change}</button></footer>
</form>
<form class="card" method="post" action="/post.cgi?signout">
<h2>{words.sign_out}</h2>
<footer><button>{words.sign_out}</button></footer>
</form>
"""


def _reason(message: SignInMessage, form: str) -> str:
    if message.form != form:
        return ""
    return f'<p class="refusal" role="alert">{escaped(message.sentence)}</p>\n'


def _field(
    name: str,
    label: str,
    autocomplete: str,
    prefix: str = "",
    *,
    value: str = "",
    secret: bool = False,
    more: str = "",
) -> str:
    kind = ' type="password"' if secret else ""
    filled = f' value="{escaped(value)}"' if value else ""
    return (
        f'<div class="field"><label for="{prefix}{name}">{label}</label>'
        f'<input id="{prefix}{name}" name="{name}"{kind} autocomplete="{autocomplete}"'
        f" required{filled}{more}></div>"
    )
