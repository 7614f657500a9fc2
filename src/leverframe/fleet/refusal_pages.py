"""Pages that browsers get if a node has no page to show: plain words, and a link."""

from leverframe.servers.http.messages import Headers, Reply, Request
from leverframe.servers.routes.page_words import words_beside
from leverframe.servers.routes.sentence_page import PageSentence, sentence_page
from leverframe.servers.routes.sign_in import wants_page

SENTENCES = words_beside(__file__, dict[str, dict[str, PageSentence]])
#: Nothing is at this address of the node.
NOTHING = SENTENCES["nothing"]
#: No controller has the name in the request.
NO_NAME = SENTENCES["no_name"]
#: The controller was on its way to another node.
MOVED = SENTENCES["moved"]
#: No node has the controller at present.
NO_NODE = SENTENCES["no_node"]
#: The controller has not been started yet, if it exists.
NOT_YET = SENTENCES["not_yet"]
#: The controller failed to start, and nothing retries it while the node runs.
NOT_STARTED = SENTENCES["not_started"]
#: Too many connections to one controller are open.
CROWDED = SENTENCES["crowded"]
#: The client has not signed in, or with a wrong password.
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

    Without a link the page points to the same address again. A cause is quoted as the node reports
    it. If waiting may help, the page reloads automatically, without a script.
    """
    if not wants_page(request):
        return reply
    wait = dict(reply.headers).get("Retry-After")
    again: Headers = () if wait is None or request.method != "GET" else (("Refresh", wait),)
    return sentence_page(request, reply.status, sentences, link, (*reply.headers, *again), cause)
