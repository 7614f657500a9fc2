"""Headers of every page: what the browser lets it do.

Pages carry no script of their own in the text, may be shown in no frame, and load nothing from
elsewhere.
"""

from leverframe.servers.http.messages import Headers

#: Every page goes out with these.
PAGE_HEADERS: Headers = (
    (
        "Content-Security-Policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
