"""What a node knows of others that share its database, and what it can be asked to do with them.

Nodes ask each other for what concerns the controllers of each. A node that does not answer is told
by an exception: whether it has taken the call is known by its class.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.records import MemberRecord
from leverframe.wire.prometheus import Family

#: What a node does when another one asks it: the content of the call, and that of the answer.
CallHandler = Callable[[bytes], Coroutine[Any, Any, bytes]]


class PeerReport(Struct, frozen=True):
    """A node as this one sees it."""

    name: str
    is_alive: bool
    inner: Annotated[str, Meta(description="Where the other nodes reach it.")]
    capacity: Annotated[
        int,
        Meta(description="What it carries in proportion to the others; 0 while it is emptied."),
    ]
    controllers: Annotated[int, Meta(description="How many controllers it has.")]
    epoch: Annotated[int, Meta(description="How many lives of this name there were.")]
    is_this: Annotated[bool, Meta(description="Is it the node that answers?")]
    is_drained: Annotated[
        bool, Meta(description="Does it stay empty, also when it is started anew?")
    ]
    silent_s: Annotated[
        int, Meta(description="Whole seconds since its last beat, by the clock of this node.")
    ] = 0
    batch: Annotated[int, Meta(description="The last batch of changes in its lane.")] = 0
    version: Annotated[str, Meta(description="Of its program; empty where that is not known.")] = ""
    has_resigned: Annotated[
        bool,
        Meta(description="Has it ended in order? One that does not live and has not is dead."),
    ] = False


class DatabaseReport(Struct, frozen=True):
    """The database that the nodes share, as this one sees it."""

    is_reachable: bool = True
    server: Annotated[str, Meta(description="The version of PostgreSQL.")] = ""
    schema: Annotated[int, Meta(description="The version of the tables.")] = 0
    standby: Annotated[
        str, Meta(description="Its `synchronous_standby_names`; empty where none are asked for.")
    ] = ""
    standbys: Annotated[
        int | None,
        Meta(
            description="Standbys that confirm what is written; null where this user may not see."
        ),
    ] = None
    batches_s: Annotated[float, Meta(description="Batches a second of all nodes, lately.")] = 0.0
    last_doubt: Annotated[
        float | None,
        Meta(
            description="When this node last did not know whether a change is stored, in seconds"
            " since 1970."
        ),
    ] = None


class ClusterReport(Struct, frozen=True):
    """All nodes, and how this one stands with the database."""

    nodes: list[PeerReport]
    free: Annotated[int, Meta(description="Controllers that no node has at present.")]
    lease_s: Annotated[
        float, Meta(description="How long this node may act without hearing from the database.")
    ]
    is_in_doubt: Annotated[
        bool,
        Meta(description="Does this node refuse commands, since others may have its part?"),
    ]
    batch: Annotated[int, Meta(description="The last batch of changes that this node has written.")]
    database: DatabaseReport = DatabaseReport()


class LocatedController(Struct, frozen=True):
    """A controller of the fleet, and the node that has it; None for none at present."""

    number: int
    node: str | None
    record: MemberRecord

    @property
    def name(self) -> str:
        return self.record.name


class SilentNode(Refusal):
    """A node that another one has asked in vain."""

    status = 503
    title = "A node does not answer"
    sentence = "The node {node} does not answer. Nothing was done there."
    #: It may have done what it was asked for.
    has_taken_it = False

    def __init__(self, node: str = "") -> None:
        super().__init__(self.sentence.format(node=node))
        self.node = node


class CallUnanswered(SilentNode):
    """A node that has taken a call and does not answer it."""

    status = 504
    sentence = "The node {node} has not answered in time: look whether it was done there."
    has_taken_it = True


class NotUnderstood(Exception):
    """A call that this program does not know: the one that asks is of another version."""


class OtherProgram(SilentNode):
    """A node whose program is of another version, and does not understand a call."""

    title = "A node runs another version of the program"
    sentence = (
        "The node {node} runs another version of the program, which does not understand this."
        " Nothing was done there: ask again when all nodes run the same."
    )


class OlderProgram(OtherProgram):
    sentence = (
        "The node {node} runs an older program, which does not understand this. Nothing was done"
        " there: ask again when all nodes run the same."
    )


class AnswerNotUnderstood(CallUnanswered):
    """A node whose answer is that of another version of the program."""

    title = OtherProgram.title
    sentence = (
        "The node {node} runs another version of the program, and its answer is not understood:"
        " look whether it was done there."
    )


def read_answer(node: str, content: bytes, kind: Any) -> Any:
    """Read what a node has answered; one that is not understood counts as silent."""
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise AnswerNotUnderstood(node) from error


def answering(kind: Any, do: Callable[[Any], Coroutine[Any, Any, Any]]) -> CallHandler:
    """Return what does something for another node, by the content of its call."""

    async def answer(content: bytes) -> bytes:
        return msgspec.msgpack.encode(await do(msgspec.msgpack.decode(content, type=kind)))

    return answer


class OtherNodes(Protocol):
    #: The name of this one.
    name: str

    def living(self) -> list[str]:
        """Return the names of all nodes that live, this one among them."""

    def why_not(self) -> str | None:
        """Return why this node must not act for the fleet now."""

    def name_of(self, number: int, tenant: str) -> str | None:
        """Return what a controller was called for a tenant when this node looked last."""

    def last_known(self) -> list[LocatedController]:
        """Return where controllers were at the last look; records have name and tenant alone."""

    async def locate(self, numbers: Collection[int] | None = None) -> list[LocatedController]:
        """Find where controllers are, all or some, in the order in which they were made."""

    async def holder_of(self, job: str) -> str | None:
        """Find which node runs a job; "" for none at present, None for no such job."""

    async def ask(self, node: str, what: str, content: bytes, seconds: float) -> bytes:
        """Ask a node to do something; raise its refusal, or SilentNode."""

    async def news(self, seconds: float) -> None:
        """Wait until something may have changed about who has what."""

    async def move(self, names: Sequence[str], to: str | None) -> None:
        """Assign controllers to a node as long as it lives; None to any."""

    async def start_now(self, numbers: Collection[int]) -> dict[int, str]:
        """Try at once what did not start here; return why one cannot be."""

    async def drain(self, name: str, *, undo: bool) -> None:
        """Empty a node, or let it have its share again; it stays so when it is started anew."""

    async def forget(self, name: str) -> None:
        """Take a node that does not live off the list; started again it is a new one."""

    def report(self) -> ClusterReport:
        """Report on all nodes and the database."""

    def families(self) -> Iterable[Family]:
        """Return the figures of this node among the others, for `/metrics`."""


async def ask_node(
    others: OtherNodes,
    own: Mapping[str, CallHandler],
    node: str,
    what: str,
    content: Any,
    kind: Any,
    seconds: float,
) -> Any:
    """Ask a node, this one or another, to do something; raise its refusal, or SilentNode."""
    packed = msgspec.msgpack.encode(content)
    if node == others.name:
        return read_answer(node, await own[what](packed), kind)
    return read_answer(node, await others.ask(node, what, packed, seconds), kind)
