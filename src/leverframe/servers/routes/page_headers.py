"""Headers of every page: what the browser lets it do.

Pages carry no script of their own in the text, may be shown in no frame, and load nothing from
elsewhere. Those of an uploaded site have no origin besides: to the browser they are strangers to
the built-in pages, to their cookies and to everything that these may do.
"""

from leverframe.servers.http.messages import Headers

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'"
)
_ANY_PAGE: Headers = (("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"))

#: Every built-in page goes out with these.
PAGE_HEADERS: Headers = (
    ("Content-Security-Policy", _POLICY),
    *_ANY_PAGE,
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)


def headers_with_style(digest: str) -> Headers:
    """Return the headers of a page that carries its style in its text, named by its digest."""
    policy = _POLICY.replace("style-src 'self'", f"style-src 'sha256-{digest}'")
    return (("Content-Security-Policy", policy), *PAGE_HEADERS[1:])


#: Scripts and styles go out with these: opened directly, a script is plain text to a browser and
#: does not run. All that a browser shows as a document goes out as a page does.
PART_HEADERS: Headers = _ANY_PAGE
#: Everything that was uploaded goes out with these.
UPLOADED_HEADERS: Headers = (
    (
        "Content-Security-Policy",
        f"{_POLICY}; font-src 'self'; media-src 'self'; "
        "sandbox allow-scripts allow-forms allow-modals allow-popups allow-downloads",
    ),
    *_ANY_PAGE,
    # Its address may hold the key to a session.
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-cache"),
)
