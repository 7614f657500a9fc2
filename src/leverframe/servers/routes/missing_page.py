"""The page at an address where there is nothing, in the language of the browser."""

from msgspec import Struct

from leverframe.servers.http.messages import NOT_KEPT, Reply, Request
from leverframe.servers.routes.page_headers import PAGE_HEADERS
from leverframe.servers.routes.sign_in_page import (
    MARK,
    OWN_STYLE_PATH,
    RAIL,
    STYLE_PATH,
    language_of,
)


class MissingWords(Struct, frozen=True):
    title: str
    advice: str
    way: str


MISSING_WORDS = {
    "en": MissingWords(
        "There is nothing here",
        "The address is mistyped, or what stood here is gone.",
        "Go to Status",
    ),
    "pl": MissingWords(
        "Tu niczego nie ma",
        "Adres jest błędny albo tego, co tu było, już nie ma.",
        "Przejdź do strony Stan",
    ),
    "fr": MissingWords(
        "Il n’y a rien ici",
        "L’adresse est mal écrite, ou ce qui s’y trouvait n’existe plus.",
        "Aller à la page État",
    ),
    "hu": MissingWords(
        "Itt nincs semmi",
        "A cím elgépelt, vagy ami itt volt, már nincs meg.",
        "Ugrás az Állapot oldalra",
    ),
    "cs": MissingWords(
        "Tady nic není",
        "Adresa je napsaná chybně, nebo to, co tu bylo, už není.",
        "Přejít na stránku Stav",
    ),
}


def missing_page(request: Request) -> Reply:
    """Say so without the path: a query that was encoded by mistake is a part of it."""
    language = language_of(request.headers.get("accept-language", ""))
    words = MISSING_WORDS[language]
    page = f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{words.title} · Leverframe</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{STYLE_PATH}">
<link rel="stylesheet" href="{OWN_STYLE_PATH}">
</head>
<body class="sign">
<main>
<p class="product">{MARK}Leverframe</p>
<h1>{words.title}</h1>
<p>{words.advice}</p>
<p><a href="/">{words.way}</a></p>
</main>
{RAIL}
</body>
</html>
"""
    return Reply(404, "text/html", page.encode(), (*PAGE_HEADERS, NOT_KEPT))
