"""A page with one sentence and a link, in the language of the browser.

Its style is inline, because no other file may be available where it is shown.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

import leverframe
from leverframe.interface.status_files.keys import escape_markup
from leverframe.interface.table.refusals import Refusal
from leverframe.server.http.messages import NOT_KEPT, Headers, Reply, Request
from leverframe.server.problems import reply_to_refusal
from leverframe.server.routes.headers import PAGE_HEADERS, headers_with_style
from leverframe.server.routes.sign_in import (
    MARK,
    OWN_STYLE_PATH,
    RAIL,
    STYLE_PATH,
    language_of,
    wants_page,
    words_beside,
)

#: The style of the page, and its digest for the content security policy.
_STYLE = "".join(
    (Path(leverframe.__file__).parent / path.lstrip("/")).read_text(encoding="utf-8")
    for path in (STYLE_PATH, OWN_STYLE_PATH)
)
_STYLE_DIGEST = b64encode(sha256(_STYLE.encode()).digest()).decode()


class PageSentence(Struct, frozen=True):
    title: str
    advice: str
    #: The text of the link.
    way: str


def sentence_page(
    request: Request,
    status: int,
    sentences: dict[str, PageSentence],
    link: str | None,
    headers: Headers = (),
    cause: str = "",
) -> Reply:
    """Show a sentence in the language of the browser; `link` may be None.

    `cause` is available only in English.
    """
    language = language_of(request.headers.get("accept-language", ""))
    words = sentences[language]
    way = "" if link is None else f'<p><a href="{escape_markup(link)}">{words.way}</a></p>\n'
    why = f'<p lang="en">{escape_markup(cause)}</p>\n' if cause else ""
    page = f"""<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{words.title} · Leverframe</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body class="sign">
<main>
<p class="product">{MARK}Leverframe</p>
<h1>{words.title}</h1>
<p>{words.advice}</p>
{why}{way}</main>
{RAIL}
</body>
</html>
"""
    return Reply(
        status, "text/html", page.encode(), (*headers_with_style(_STYLE_DIGEST), NOT_KEPT, *headers)
    )


# The page for an unknown address.

MISSING_WORDS = words_beside(__file__, dict[str, PageSentence])


def missing_page(request: Request) -> Reply:
    """Answer without naming the path: a query that was encoded by mistake is part of it."""
    return sentence_page(request, 404, MISSING_WORDS, "/")


# Replies of a controller whose bootloader waits for firmware.


class InBootloader(Refusal):
    status = 503
    title = "The controller is in its bootloader"

    def __init__(self, seconds: int) -> None:
        super().__init__(f"The bootloader waits {seconds} s for firmware.")
        self.seconds = seconds


def bootloader_reply(request: Request, refusal: InBootloader) -> Reply:
    """Refuse a request while the bootloader waits, with a page or a problem document."""
    if wants_page(request):
        return _page(refusal.seconds)
    reply = reply_to_refusal(refusal)
    reply.headers = (("Retry-After", str(refusal.seconds)),)
    return reply


def _page(seconds: int) -> Reply:
    """Show a countdown; the page reloads itself without a script."""
    page = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Leverframe</title></head>
<body>
<h1>Leverframe</h1>
<h2>Bootloader</h2>
<p>The controller is waiting for new firmware by TFTP. All outputs are off.</p>
<p><progress max="60" value="{min(seconds, 60)}"></progress> {seconds} s left.
A transfer that has begun is completed first; then the controller restarts.</p>
</body>
</html>
"""
    headers = (("Retry-After", str(seconds)), ("Refresh", "2"), NOT_KEPT)
    return Reply(503, "text/html", page.encode(), (*PAGE_HEADERS, *headers))
