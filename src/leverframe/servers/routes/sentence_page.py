"""A page with one sentence and a link, in the language of the browser.

It includes its style, because no other file may be available where it is shown.
"""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

import leverframe
from leverframe.servers.http.messages import NOT_KEPT, Headers, Reply, Request
from leverframe.servers.routes.page_headers import headers_with_style
from leverframe.servers.routes.sign_in_page import (
    MARK,
    OWN_STYLE_PATH,
    RAIL,
    STYLE_PATH,
    language_of,
)
from leverframe.status_files.writing import escape_markup

#: The style of the page, and its digest as browsers know it.
_STYLE = "".join(
    (Path(leverframe.__file__).parent / path.lstrip("/")).read_text(encoding="utf-8")
    for path in (STYLE_PATH, OWN_STYLE_PATH)
)
_STYLE_DIGEST = b64encode(sha256(_STYLE.encode()).digest()).decode()


class PageSentence(Struct, frozen=True):
    title: str
    advice: str
    #: The words of the link.
    way: str


def sentence_page(
    request: Request,
    status: int,
    sentences: dict[str, PageSentence],
    link: str | None,
    headers: Headers = (),
    cause: str = "",
) -> Reply:
    """Show a sentence in the language of the browser; without `link` it has no link.

    What caused it is known in English only.
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
