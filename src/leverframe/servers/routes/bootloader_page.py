"""What a person sees who opens a controller while its bootloader waits for firmware."""

from leverframe.servers.http.messages import NOT_KEPT, Reply
from leverframe.servers.routes.page_headers import PAGE_HEADERS


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
    headers = (("Retry-After", str(seconds)), ("Refresh", "2"), NOT_KEPT)
    return Reply(503, "text/html", page.encode(), (*PAGE_HEADERS, *headers))
