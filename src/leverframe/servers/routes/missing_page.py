"""The page at an address where there is nothing."""

from leverframe.servers.http.messages import Reply, Request
from leverframe.servers.routes.sentence_page import PageSentence, sentence_page

MISSING_WORDS = {
    "en": PageSentence(
        "There is nothing here",
        "The address is mistyped, or what stood here is gone.",
        "Go to Status",
    ),
    "pl": PageSentence(
        "Tu niczego nie ma",
        "Adres jest błędny albo tego, co tu było, już nie ma.",
        "Przejdź do strony Stan",
    ),
    "fr": PageSentence(
        "Il n’y a rien ici",
        "L’adresse est mal écrite, ou ce qui s’y trouvait n’existe plus.",
        "Aller à la page État",
    ),
    "hu": PageSentence(
        "Itt nincs semmi",
        "A cím elgépelt, vagy ami itt volt, már nincs meg.",
        "Ugrás az Állapot oldalra",
    ),
    "cs": PageSentence(
        "Tady nic není",
        "Adresa je napsaná chybně, nebo to, co tu bylo, už není.",
        "Přejít na stránku Stav",
    ),
}


def missing_page(request: Request) -> Reply:
    """Answer without the path: a query that was encoded by mistake is a part of it."""
    return sentence_page(request, 404, MISSING_WORDS, "/")
