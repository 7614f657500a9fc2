"""The entrances behind a node's front door: controllers, started or not, and refusals."""

from collections.abc import Callable
from typing import Protocol

from leverframe.core.runtime.event_loop import LoopShare
from leverframe.core.runtime.log_lines import LoggedName
from leverframe.server.http.messages import (
    Handler,
    Headers,
    Reply,
    Request,
    SentAnswer,
    problem_reply,
)
from leverframe.server.http.parser import RETRY
from leverframe.server.http.server import HttpListener
from leverframe.server.routes.sentence_page import PageSentence, sentence_page
from leverframe.server.routes.sign_in import wants_page, words_beside

# Pages for browsers if the node has no page to show: a sentence and a link.

SENTENCES = words_beside(__file__, dict[str, dict[str, PageSentence]])
#: Nothing is at this address of the node.
NOTHING = SENTENCES["nothing"]
#: No controller has the name in the request.
NO_NAME = SENTENCES["no_name"]
#: The controller was on its way to another node.
MOVED_PAGE = SENTENCES["moved"]
#: No node has the controller at present.
NO_NODE = SENTENCES["no_node"]
#: The controller, if it exists, has not been started yet.
NOT_YET_PAGE = SENTENCES["not_yet"]
#: The controller failed to start, and nothing retries it while the node runs.
NOT_STARTED_PAGE = SENTENCES["not_started"]
#: Too many connections to one controller are open.
CROWDED_PAGE = SENTENCES["crowded"]
#: The client has not signed in, or sent a wrong password.
SIGN_IN_PAGE = SENTENCES["sign_in"]
#: Too many wrong passwords came from one address.
TOO_MANY = SENTENCES["too_many"]


def for_people(
    request: Request,
    reply: Reply,
    sentences: dict[str, PageSentence],
    link: str | None = "",
    cause: str = "",
) -> Reply:
    """Return a refusal as a page for browsers; for programs return it unchanged.

    If `link` is empty, the page links to its own address. `cause` is shown in English. If waiting
    may help, the page reloads automatically, without a script.
    """
    if not wants_page(request):
        return reply
    wait = dict(reply.headers).get("Retry-After")
    again: Headers = () if wait is None or request.method != "GET" else (("Refresh", wait),)
    return sentence_page(request, reply.status, sentences, link, (*reply.headers, *again), cause)


MOVED = (
    "The controller moved to another node while the request was on its way. Nothing was done;"
    " send it again."
)
CROWDED = "Too many connections are open to this controller. Close some, or try again later."
NOT_YET = "The node is starting its controllers. Nothing was done; try again in a few seconds."
NO_NODE_HAS_IT = (
    "No node has this controller at present: it is being moved, or its node has failed. Nothing"
    " was done; try again in a few seconds."
)


class EntranceConnection(Protocol):
    """A connection that the door has assigned to an entrance."""

    def stop(self) -> None:
        """Complete the current response, then close."""

    def reset(self) -> None:
        """Close immediately with a reset."""

    def controller_left(self) -> None:
        """Close, or find another entrance: the controller has left."""


def _no_tenant() -> str:
    return ""


class Entrance:
    """The destination of requests under one name; faults can affect it like an HTTP server."""

    __slots__ = (
        "address",
        "admission",
        "connections",
        "handler",
        "is_closed",
        "listener",
        "logged",
        "port",
        "share",
        "tenant",
    )

    def __init__(
        self,
        name: str | LoggedName,
        handler: Handler,
        admission: Handler,
        share: LoopShare | None = None,
        tenant: Callable[[], str] = _no_tenant,
    ) -> None:
        #: The name that log lines show.
        self.logged = LoggedName(name) if isinstance(name, str) else name
        self.handler: Callable[[Request], SentAnswer] = handler
        self.admission = admission
        self.address: str | None = None
        #: Its own port, if that was opened before the controller started, and its own listener, if
        #: any.
        self.port: int | None = None
        self.listener: HttpListener | None = None
        #: Connections whose last request was for this entrance.
        self.connections: set[EntranceConnection] = set()
        #: Whether the controller is off, so that connections are reset.
        self.is_closed = False
        self.share = share or LoopShare()
        #: Returns the tenant to which uploads are charged; empty for the operator.
        self.tenant = tenant

    @property
    def name(self) -> str:
        return self.logged.name

    @property
    def state(self) -> "Entrance":
        return self

    def pause(self) -> None:
        """Reset connections, like a unit that is switched off."""
        self.is_closed = True
        for connection in tuple(self.connections):
            connection.reset()

    def resume(self) -> None:
        self.is_closed = False


def _refusal(
    status: int, detail: str, sentences: dict[str, PageSentence], headers: Headers = ()
) -> Callable[[Request], Reply]:
    def refuse(request: Request) -> Reply:
        reply = problem_reply(status, detail)
        reply = Reply(reply.status, reply.content_type, reply.body, headers)
        return for_people(request, reply, sentences)

    return refuse


def _refusing(
    status: int, detail: str, sentences: dict[str, PageSentence], headers: Headers = ()
) -> Entrance:
    refuse = _refusal(status, detail, sentences, headers)
    return Entrance("", refuse, refuse)


#: Refuses requests to controllers that may not have started yet.
not_yet = _refusal(503, NOT_YET, NOT_YET_PAGE, RETRY)
MISDIRECTED = _refusing(421, MOVED, MOVED_PAGE)
CROWDED_OUT = _refusing(503, CROWDED, CROWDED_PAGE, RETRY)
#: The entrance for controllers that no node has at present.
HELD_BY_NO_NODE = _refusing(503, NO_NODE_HAS_IT, NO_NODE, RETRY)
