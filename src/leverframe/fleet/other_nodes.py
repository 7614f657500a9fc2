"""What a node knows of others that share its database, and what it can be asked to do with them."""

from typing import Annotated, Protocol

from msgspec import Meta, Struct


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


class OtherNodes(Protocol):
    async def move(self, name: str, to: str | None) -> None:
        """Let a node have a controller as long as it lives; None lets any."""

    async def drain(self, name: str) -> None:
        """Empty a node; it has controllers again when it is started anew."""

    def report(self) -> ClusterReport:
        """Tell of all nodes, and of the database."""
