"""The other nodes that share the database, and the calls to them.

Nodes call each other for operations on each other's controllers. If a node does not answer, an
exception is raised; its class says whether the node has received the call.
"""

from collections.abc import Callable, Collection, Coroutine, Iterable, Mapping, Sequence
from typing import Annotated, Any, Protocol

import msgspec
from msgspec import Meta, Struct

from leverframe.devices.wire.prometheus import Family
from leverframe.fleet.records import MemberRecord
from leverframe.interface.table.refusals import Refusal

#: Handles a call from another node: returns the encoded answer to the encoded content.
CallHandler = Callable[[bytes], Coroutine[Any, Any, bytes]]


class PeerReport(Struct, frozen=True):
    """A node as this node sees it."""

    name: str
    is_alive: bool
    inner: Annotated[str, Meta(description="The address for requests from other nodes.")]
    capacity: Annotated[
        int,
        Meta(description="The capacity relative to other nodes; 0 while the node is drained."),
    ]
    controllers: Annotated[int, Meta(description="Number of controllers on the node.")]
    epoch: Annotated[int, Meta(description="Number of times that a node joined under this name.")]
    is_this: Annotated[bool, Meta(description="True for the node that answers.")]
    is_drained: Annotated[
        bool, Meta(description="True while the node is drained; this state survives restarts.")
    ]
    silent_s: Annotated[
        int,
        Meta(
            description="Whole seconds since the last heartbeat, by the clock of the node"
            " that answers."
        ),
    ] = 0
    batch: Annotated[
        int, Meta(description="Number of the last batch of changes in the lane of the node.")
    ] = 0
    version: Annotated[str, Meta(description="The program version; empty if unknown.")] = ""
    has_resigned: Annotated[
        bool,
        Meta(
            description=(
                "True after an orderly stop; a node that is neither alive nor stopped is dead."
            )
        ),
    ] = False


class DatabaseReport(Struct, frozen=True):
    """The database that the nodes share, as this node sees it."""

    is_reachable: bool = True
    server: Annotated[str, Meta(description="The version of PostgreSQL.")] = ""
    schema: Annotated[int, Meta(description="The version of the tables.")] = 0
    standby: Annotated[
        str,
        Meta(
            description="The setting `synchronous_standby_names`; empty if no standbys are"
            " configured."
        ),
    ] = ""
    standbys: Annotated[
        int | None,
        Meta(
            description="Standbys that confirm writes; null if the database user may not see them."
        ),
    ] = None
    batches_s: Annotated[float, Meta(description="Recent batches per second of all nodes.")] = 0.0
    last_doubt: Annotated[
        float | None,
        Meta(
            description="When this node last could not confirm that a change is stored, in"
            " seconds since 1970."
        ),
    ] = None


class ClusterReport(Struct, frozen=True):
    """All nodes, and this node's state in the cluster and the database."""

    nodes: list[PeerReport]
    free: Annotated[int, Meta(description="Controllers that no node has at present.")]
    lease_s: Annotated[
        float, Meta(description="How long this node may act without an answer from the database.")
    ]
    is_in_doubt: Annotated[
        bool,
        Meta(
            description=(
                "True while this node refuses commands because other nodes may have taken its"
                " controllers."
            )
        ),
    ]
    batch: Annotated[int, Meta(description="The last batch of changes that this node has written.")]
    database: DatabaseReport = DatabaseReport()


class LocatedController(Struct, frozen=True):
    """A controller of the fleet, and the node that has it, or None if no node has it at present."""

    number: int
    node: str | None
    record: MemberRecord

    @property
    def name(self) -> str:
        return self.record.name


class SilentNode(Refusal):
    """A node that could not be called; it has done nothing."""

    status = 503
    title = "A node does not answer"
    sentence = "Node {node} does not answer. Nothing was done there."
    #: Whether the node may have carried out the call.
    has_taken_it = False

    def __init__(self, node: str = "") -> None:
        super().__init__(self.sentence.format(node=node))
        self.node = node


class CallUnanswered(SilentNode):
    """A node that has received a call but does not answer it."""

    status = 504
    sentence = (
        "Node {node} has not answered in time. Check there whether the request was carried out."
    )
    has_taken_it = True


class NotUnderstood(Exception):
    """A call that this version does not know, from a node of another version."""


class OtherProgram(SilentNode):
    """A node of another version that does not understand a call."""

    title = "A node runs another version of the program"
    sentence = (
        "Node {node} runs another version, which does not understand this request. Nothing was"
        " done there. Try again when all nodes run the same version."
    )


class OlderProgram(OtherProgram):
    sentence = (
        "Node {node} runs an older version, which does not understand this request. Nothing was"
        " done there. Try again when all nodes run the same version."
    )


class AnswerNotUnderstood(CallUnanswered):
    """A node of another version whose answer cannot be decoded."""

    title = OtherProgram.title
    sentence = (
        "Node {node} runs another version, and its answer cannot be read. Check there whether the"
        " request was carried out."
    )


def read_answer(node: str, content: bytes, kind: Any) -> Any:
    """Decode a node's answer; if it cannot be decoded, the node counts as silent."""
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise AnswerNotUnderstood(node) from error


def answering(kind: Any, do: Callable[[Any], Coroutine[Any, Any, Any]]) -> CallHandler:
    """Return a handler that decodes calls of another node, runs `do`, and encodes the answer."""

    async def answer(content: bytes) -> bytes:
        return msgspec.msgpack.encode(await do(msgspec.msgpack.decode(content, type=kind)))

    return answer


class OtherNodes(Protocol):
    #: The name of this node.
    name: str

    def living(self) -> list[str]:
        """Return the names of all living nodes, including this one."""

    def why_not(self) -> str | None:
        """Return why this node must not act for the fleet now."""

    def name_of(self, number: int, tenant: str) -> str | None:
        """Return a controller's name as of the last look, if the tenant may see the controller."""

    def last_known(self) -> list[LocatedController]:
        """Return where controllers were at the last look.

        The records in the result contain only the name and the tenant.
        """

    async def locate(self, numbers: Collection[int] | None = None) -> list[LocatedController]:
        """Find where all or some controllers are, in the order in which they were created."""

    async def holder_of(self, job: str) -> str | None:
        """Find which node runs a job: "" if none does at present, None if there is no such job."""

    async def ask(self, node: str, what: str, content: bytes, seconds: float) -> bytes:
        """Call a node; raise its refusal, or SilentNode."""

    async def news(self, seconds: float) -> None:
        """Wait until the assignment of controllers may have changed."""

    async def move(self, names: Sequence[str], to: str | None) -> None:
        """Pin controllers to a node while it is alive; None unpins them."""

    async def start_now(self, numbers: Collection[int]) -> dict[int, str]:
        """Retry failed controllers of this node immediately; return the reason for each failure."""

    async def drain(self, name: str, *, undo: bool) -> None:
        """Drain a node, also across restarts, or let it accept controllers again."""

    async def forget(self, name: str) -> None:
        """Remove a stopped node from the list; a later start registers it as new."""

    def report(self) -> ClusterReport:
        """Report on all nodes and the database."""

    def families(self) -> Iterable[Family]:
        """Return the metrics of this node in the cluster, for `/metrics`."""


async def ask_node(
    others: OtherNodes,
    own: Mapping[str, CallHandler],
    node: str,
    what: str,
    content: Any,
    kind: Any,
    seconds: float,
) -> Any:
    """Call a node, this one or another; raise its refusal, or SilentNode."""
    packed = msgspec.msgpack.encode(content)
    if node == others.name:
        return read_answer(node, await own[what](packed), kind)
    return read_answer(node, await others.ask(node, what, packed, seconds), kind)
