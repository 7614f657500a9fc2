"""What is behind the front door of a node: a controller, those yet to start, or a refusal."""

from collections.abc import Callable
from typing import Protocol

from leverframe.fleet import refusal_pages
from leverframe.log_context import LoggedName
from leverframe.loop_shares import LoopShare
from leverframe.servers.http.listener import HttpListener
from leverframe.servers.http.messages import (
    Handler,
    Headers,
    Reply,
    Request,
    SentAnswer,
    problem_reply,
)
from leverframe.servers.http.parsing import RETRY
from leverframe.servers.routes.sentence_page import PageSentence

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
        """Complete the current answer, then close."""

    def reset(self) -> None:
        """Close immediately, without an orderly end."""

    def controller_left(self) -> None:
        """Close, or be assigned again: the controller has gone."""


def _no_tenant() -> str:
    return ""


class Entrance:
    """What the door reaches under one name; as an HTTP server does, it can be faulty."""

    def __init__(
        self,
        name: str | LoggedName,
        handler: Handler,
        admission: Handler,
        share: LoopShare | None = None,
        tenant: Callable[[], str] = _no_tenant,
    ) -> None:
        #: Its name, also in its log lines.
        self.logged = LoggedName(name) if isinstance(name, str) else name
        self.handler: Callable[[Request], SentAnswer] = handler
        self.admission = admission
        self.address: str | None = None
        #: Sockets of its own, if they were opened before it was there.
        self.port: int | None = None
        self.listener: HttpListener | None = None
        #: Connections that were last used for it.
        self.connections: set[EntranceConnection] = set()
        #: It is off: connections get a reset.
        self.is_closed = False
        self.share = share or LoopShare()
        #: Returns whose uploads are those to it; empty for the operator's.
        self.tenant = tenant

    @property
    def name(self) -> str:
        return self.logged.name

    @property
    def state(self) -> "Entrance":
        return self

    def pause(self) -> None:
        """Reset connections, as a unit does that is off."""
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
        return refusal_pages.for_people(request, reply, sentences)

    return refuse


def _refusing(
    status: int, detail: str, sentences: dict[str, PageSentence], headers: Headers = ()
) -> Entrance:
    refuse = _refusal(status, detail, sentences, headers)
    return Entrance("", refuse, refuse)


#: Refuses requests for controllers that may be yet to start.
not_yet = _refusal(503, NOT_YET, refusal_pages.NOT_YET, RETRY)
MISDIRECTED = _refusing(421, MOVED, refusal_pages.MOVED)
CROWDED_OUT = _refusing(503, CROWDED, refusal_pages.CROWDED, RETRY)
#: The entrance for controllers that none of several nodes has at present.
HELD_BY_NO_NODE = _refusing(503, NO_NODE_HAS_IT, refusal_pages.NO_NODE, RETRY)
