"""What browsers are shown where a node has no page to show: plain words, and the way on."""

from leverframe.servers.http.messages import Headers, Reply, Request
from leverframe.servers.routes.page_words import words_beside
from leverframe.servers.routes.sentence_page import PageSentence, sentence_page
from leverframe.servers.routes.sign_in import wants_page

SENTENCES = words_beside(__file__, dict[str, dict[str, PageSentence]])
#: Nothing is at this address of the node.
NOTHING = SENTENCES["nothing"]
#: No controller has the name by which the node was asked.
NO_NAME = SENTENCES["no_name"]
#: The controller was on its way to another node.
MOVED = SENTENCES["moved"]
#: No node has the controller at present.
NOBODY = SENTENCES["nobody"]
#: The controller has not been started yet, if it is one.
NOT_YET = SENTENCES["not_yet"]
#: The controller did not start, and nothing tries it again while the node runs.
NOT_STARTED = SENTENCES["not_started"]
#: Too many connections to one controller are open.
CROWDED = SENTENCES["crowded"]
#: Who asks has not signed in, or not rightly.
SIGN_IN = SENTENCES["sign_in"]
#: Too many wrong passwords came from one address.
TOO_MANY = SENTENCES["too_many"]


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
