"""What browsers are shown where a node has no page to show: plain words, and the way on."""

from leverframe.servers.http.messages import Headers, Reply, Request
from leverframe.servers.routes.sentence_page import PageSentence, sentence_page
from leverframe.servers.routes.sign_in import wants_page

#: Nothing is at this address of the node.
NOTHING = {
    "en": PageSentence(
        "There is nothing here",
        "This is a node with many controllers. The address is mistyped, or what stood here is"
        " gone.",
        "Show the controllers",
    ),
    "pl": PageSentence(
        "Tu niczego nie ma",
        "To węzeł z wieloma sterownikami. Adres jest błędny albo tego, co tu było, już nie ma.",
        "Pokaż sterowniki",
    ),
    "fr": PageSentence(
        "Il n’y a rien ici",
        "Ceci est un nœud avec beaucoup de contrôleurs. L’adresse est mal écrite, ou ce qui s’y"
        " trouvait n’existe plus.",
        "Montrer les contrôleurs",
    ),
    "hu": PageSentence(
        "Itt nincs semmi",
        "Ez egy sok vezérlős csomópont. A cím elgépelt, vagy ami itt volt, már nincs meg.",
        "A vezérlők mutatása",
    ),
    "cs": PageSentence(
        "Tady nic není",
        "Toto je uzel s mnoha řídicími jednotkami. Adresa je napsaná chybně, nebo to, co tu bylo,"
        " už není.",
        "Ukázat řídicí jednotky",
    ),
}
#: No controller has the name by which the node was asked.
NO_NAME = {
    "en": PageSentence(
        "No controller has this name",
        "The name is mistyped, or the controller was renamed or removed.",
        "Show the controllers",
    ),
    "pl": PageSentence(
        "Żaden sterownik nie ma tej nazwy",
        "Nazwa jest błędna albo sterownik przemianowano lub usunięto.",
        "Pokaż sterowniki",
    ),
    "fr": PageSentence(
        "Aucun contrôleur ne porte ce nom",
        "Le nom est mal écrit, ou le contrôleur a été renommé ou supprimé.",
        "Montrer les contrôleurs",
    ),
    "hu": PageSentence(
        "Egy vezérlőnek sincs ilyen neve",
        "A név elgépelt, vagy a vezérlőt átnevezték vagy törölték.",
        "A vezérlők mutatása",
    ),
    "cs": PageSentence(
        "Žádná řídicí jednotka nemá tento název",
        "Název je napsaný chybně, nebo byla jednotka přejmenována či odstraněna.",
        "Ukázat řídicí jednotky",
    ),
}
#: The controller was on its way to another node.
MOVED = {
    "en": PageSentence(
        "The controller has moved",
        "It went to another node while this page was on its way. Nothing was done.",
        "Try again",
    ),
    "pl": PageSentence(
        "Sterownik został przeniesiony",
        "Przeszedł na inny węzeł, gdy ta strona była w drodze. Nic nie zrobiono.",
        "Spróbuj ponownie",
    ),
    "fr": PageSentence(
        "Le contrôleur a été déplacé",
        "Il est passé à un autre nœud pendant que cette page était en route. Rien n’a été fait.",
        "Réessayer",
    ),
    "hu": PageSentence(
        "A vezérlő átköltözött",
        "Másik csomópontra került, míg ez az oldal úton volt. Semmi sem történt.",
        "Újra",
    ),
    "cs": PageSentence(
        "Řídicí jednotka se přesunula",
        "Přešla na jiný uzel, zatímco byla tato stránka na cestě. Nic se nestalo.",
        "Zkusit znovu",
    ),
}
#: No node has the controller at present.
NOBODY = {
    "en": PageSentence(
        "No node has this controller at present",
        "It is being moved, or its node has failed. Nothing was done. This page tries again by"
        " itself.",
        "Try again",
    ),
    "pl": PageSentence(
        "Obecnie żaden węzeł nie ma tego sterownika",
        "Jest przenoszony albo jego węzeł zawiódł. Nic nie zrobiono. Ta strona sama spróbuje"
        " ponownie.",
        "Spróbuj ponownie",
    ),
    "fr": PageSentence(
        "Aucun nœud n’a ce contrôleur pour l’instant",
        "Il est en cours de déplacement, ou son nœud est en panne. Rien n’a été fait. Cette page"
        " réessaie d’elle-même.",
        "Réessayer",
    ),
    "hu": PageSentence(
        "Jelenleg egyik csomópontnál sincs ez a vezérlő",
        "Éppen áthelyezik, vagy a csomópontja meghibásodott. Semmi sem történt. Az oldal magától"
        " újra próbálkozik.",
        "Újra",
    ),
    "cs": PageSentence(
        "Tuto řídicí jednotku teď nemá žádný uzel",
        "Právě se přesouvá, nebo její uzel selhal. Nic se nestalo. Tato stránka to zkusí znovu"
        " sama.",
        "Zkusit znovu",
    ),
}
#: The controller has not been started yet, if it is one.
NOT_YET = {
    "en": PageSentence(
        "This controller starts in a moment",
        "The node has just been started, and starts its controllers one after the other. This page"
        " tries again by itself.",
        "Try again",
    ),
    "pl": PageSentence(
        "Ten sterownik uruchomi się za chwilę",
        "Węzeł został właśnie uruchomiony i uruchamia sterowniki jeden po drugim. Ta strona sama"
        " spróbuje ponownie.",
        "Spróbuj ponownie",
    ),
    "fr": PageSentence(
        "Ce contrôleur démarre dans un instant",
        "Le nœud vient de démarrer et démarre ses contrôleurs l’un après l’autre. Cette page"
        " réessaie d’elle-même.",
        "Réessayer",
    ),
    "hu": PageSentence(
        "Ez a vezérlő hamarosan elindul",
        "A csomópont most indult el, és egymás után indítja a vezérlőit. Az oldal magától újra"
        " próbálkozik.",
        "Újra",
    ),
    "cs": PageSentence(
        "Tato řídicí jednotka se za okamžik spustí",
        "Uzel byl právě spuštěn a spouští své jednotky jednu po druhé. Tato stránka to zkusí"
        " znovu sama.",
        "Zkusit znovu",
    ),
}
#: The controller did not start, and nothing tries it again while the node runs.
NOT_STARTED = {
    "en": PageSentence(
        "This controller did not start",
        "Something was in its way when the node started it; the page of the node tells what. When"
        " that is put right, start the node again.",
        "Show the controllers",
    ),
    "pl": PageSentence(
        "Ten sterownik się nie uruchomił",
        "Coś mu przeszkodziło, gdy węzeł go uruchamiał; strona węzła mówi co. Po usunięciu"
        " przeszkody uruchom węzeł ponownie.",
        "Pokaż sterowniki",
    ),
    "fr": PageSentence(
        "Ce contrôleur n’a pas démarré",
        "Quelque chose l’en a empêché quand le nœud l’a démarré ; la page du nœud dit quoi. Une"
        " fois l’obstacle levé, redémarrez le nœud.",
        "Montrer les contrôleurs",
    ),
    "hu": PageSentence(
        "Ez a vezérlő nem indult el",
        "Valami az útjában állt, amikor a csomópont indította; a csomópont oldala megmondja, mi."
        " Ha elhárult, indítsa újra a csomópontot.",
        "A vezérlők mutatása",
    ),
    "cs": PageSentence(
        "Tato řídicí jednotka se nespustila",
        "Něco jí bránilo, když ji uzel spouštěl; stránka uzlu říká co. Až to odstraníte, spusťte"
        " uzel znovu.",
        "Ukázat řídicí jednotky",
    ),
}
#: Too many connections to one controller are open.
CROWDED = {
    "en": PageSentence(
        "Too many connections are open to this controller",
        "Close some of its pages elsewhere. This page tries again by itself.",
        "Try again",
    ),
    "pl": PageSentence(
        "Z tym sterownikiem jest zbyt wiele połączeń",
        "Zamknij gdzie indziej niektóre jego strony. Ta strona sama spróbuje ponownie.",
        "Spróbuj ponownie",
    ),
    "fr": PageSentence(
        "Trop de connexions à ce contrôleur sont ouvertes",
        "Fermez-en quelques pages ailleurs. Cette page réessaie d’elle-même.",
        "Réessayer",
    ),
    "hu": PageSentence(
        "Túl sok kapcsolat van nyitva ehhez a vezérlőhöz",
        "Zárja be máshol néhány oldalát. Ez az oldal magától újra próbálkozik.",
        "Újra",
    ),
    "cs": PageSentence(
        "K této řídicí jednotce je otevřeno příliš mnoho spojení",
        "Zavřete některé její stránky jinde. Tato stránka to zkusí znovu sama.",
        "Zkusit znovu",
    ),
}
#: Who asks has not signed in, or not rightly.
SIGN_IN = {
    "en": PageSentence(
        "Sign in to this fleet",
        "It needs the name of an account and its password; yours were missing or wrong.",
        "Sign in",
    ),
    "pl": PageSentence(
        "Zaloguj się do tej floty",
        "Potrzebna jest nazwa konta i jego hasło; brakowało ich albo były błędne.",
        "Zaloguj",
    ),
    "fr": PageSentence(
        "Connectez-vous à cette flotte",
        "Il faut le nom d’un compte et son mot de passe ; ils manquaient ou étaient faux.",
        "Se connecter",
    ),
    "hu": PageSentence(
        "Jelentkezzen be ehhez a flottához",
        "Egy fiók neve és jelszava kell hozzá; hiányoztak vagy hibásak voltak.",
        "Bejelentkezés",
    ),
    "cs": PageSentence(
        "Přihlaste se k této flotile",
        "Je třeba název účtu a jeho heslo; chyběly, nebo byly chybné.",
        "Přihlásit",
    ),
}
#: Too many wrong passwords came from one address.
TOO_MANY = {
    "en": PageSentence(
        "Too many wrong passwords",
        "They came from your address. This page tries again by itself after a while.",
        "Try again",
    ),
    "pl": PageSentence(
        "Zbyt wiele błędnych haseł",
        "Podano je z Twojego adresu. Ta strona po pewnym czasie sama spróbuje ponownie.",
        "Spróbuj ponownie",
    ),
    "fr": PageSentence(
        "Trop de mots de passe faux",
        "Ils venaient de votre adresse. Cette page réessaie d’elle-même après un moment.",
        "Réessayer",
    ),
    "hu": PageSentence(
        "Túl sok hibás jelszó",
        "Az Ön címéről érkeztek. Az oldal egy idő múlva magától újra próbálkozik.",
        "Újra",
    ),
    "cs": PageSentence(
        "Příliš mnoho chybných hesel",
        "Přišla z vaší adresy. Tato stránka to po chvíli zkusí znovu sama.",
        "Zkusit znovu",
    ),
}


def for_people(
    request: Request,
    reply: Reply,
    sentences: dict[str, PageSentence],
    link: str | None = "",
    cause: str = "",
) -> Reply:
    """Return a refusal as a page to a browser; to programs as it is.

    Without a link the way on is the same address again. A cause is told in the words of the node.
    What may be possible soon is tried again by the page itself, without a script.
    """
    if not wants_page(request):
        return reply
    wait = dict(reply.headers).get("Retry-After")
    again: Headers = () if wait is None or request.method != "GET" else (("Refresh", wait),)
    return sentence_page(request, reply.status, sentences, link, (*reply.headers, *again), cause)
