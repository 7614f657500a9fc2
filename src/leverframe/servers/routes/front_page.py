"""What a person sees who opens the controller in a browser, and what pages are allowed to do.

Pages carry no script of their own in the text, may be shown in no frame, and load nothing from
elsewhere; the browser is told so.
"""

from leverframe.servers.http.messages import Headers, Reply

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


def bootloader_page(seconds: int) -> Reply:
    """The count-down while the bootloader waits; it looks again by itself, without a script."""
    page = f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Leverframe</title></head>
<body>
<h1>Leverframe</h1>
<h2>Bootloader</h2>
<p>The controller waits for new firmware by TFTP. All outputs are off.</p>
<p><progress max="60" value="{min(seconds, 60)}"></progress> {seconds} s left, unless an image is
on its way; then the controller starts again.</p>
</body>
</html>
"""
    headers = (("Retry-After", str(seconds)), ("Refresh", "2"), ("Cache-Control", "no-store"))
    return Reply(503, "text/html", page.encode(), (*PAGE_HEADERS, *headers))
