"""The replies of a controller whose bootloader waits for firmware."""

from leverframe.commands.table.refusals import Refusal
from leverframe.servers.http.messages import NOT_KEPT, Reply, Request
from leverframe.servers.problems import reply_to_refusal
from leverframe.servers.routes.page_headers import PAGE_HEADERS
from leverframe.servers.routes.sign_in import wants_page


class InBootloader(Refusal):
    status = 503
    title = "The controller is in its bootloader"

    def __init__(self, seconds: int) -> None:
        super().__init__(f"The bootloader waits {seconds} s for firmware.")
        self.seconds = seconds


def bootloader_reply(request: Request, refusal: InBootloader) -> Reply:
    """Refuse until the bootloader has waited: browsers get a page, programs a problem document."""
    if wants_page(request):
        return _page(refusal.seconds)
    reply = reply_to_refusal(refusal)
    reply.headers = (("Retry-After", str(refusal.seconds)),)
    return reply


def _page(seconds: int) -> Reply:
    """Show the countdown; the page reloads itself without a script."""
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
