"""What a node knows of the fleet by its last look, and the calls between nodes."""

from collections.abc import Collection

import msgspec

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.cluster.directory import Directory
from leverframe.fleet.cluster.lease import NodeLease
from leverframe.fleet.cluster.membership import Placed
from leverframe.fleet.cluster.node_calls import (
    PROTOCOL,
    CallAnswer,
    NodeCall,
    NodeCaller,
    not_understood,
    refusal_fields,
)
from leverframe.fleet.cluster.peer_watch import SeenNode
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import LocatedController, NotUnderstood
from leverframe.fleet.records import MemberRecord, Moved
from leverframe.fleet.tenants import is_seen
from leverframe.servers.problems import StoreFailed
from leverframe.storage.fleet.postgres_lane import Claim
from leverframe.storage.store import StoreUnavailable


class NodeDeclaredDead(Refusal):
    status = Moved.status
    title = "The node that asks was declared dead"


class AskingNode:
    """A node that exchanges calls with other nodes; the membership updates it from the database."""

    _claim: Claim

    def __init__(
        self,
        node: FleetNode,
        registry: ClusterRegistry,
        directory: Directory,
        lease: NodeLease,
        caller: NodeCaller,
    ) -> None:
        self.name = directory.node
        self.nodes: list[SeenNode] = []
        self.lease = lease
        self._node = node
        self._registry = registry
        self._directory = directory
        self._caller = caller
        self._placed: list[Placed] = []
        #: Names and tenants of controllers.
        self._names: dict[int, tuple[str, str]] = {}

    def living(self) -> list[str]:
        return [one.name for one in self.nodes if one.is_alive]

    def why_not(self) -> str | None:
        return self.lease.why_not()

    def name_of(self, number: int, tenant: str) -> str | None:
        name, owner = self._names.get(number, (None, ""))
        return name if is_seen(tenant or None, owner) else None

    def last_known(self) -> list[LocatedController]:
        return [
            LocatedController(one.number, one.node, MemberRecord(one.name, tenant=one.tenant))
            for one in self._placed
        ]

    async def locate(self, numbers: Collection[int] | None = None) -> list[LocatedController]:
        return await self._registry.locate(numbers)

    async def holder_of(self, job: str) -> str | None:
        return await self._registry.holder_of(job)

    async def news(self, seconds: float) -> None:
        await self._directory.wait_for_news(seconds)

    async def ask(self, node: str, what: str, content: bytes, seconds: float) -> bytes:
        call = NodeCall(what, self.name, self._claim.epoch, content)
        return await self._caller.ask(node, call, seconds)

    async def answer(self, call: NodeCall) -> CallAnswer:
        """Carry out a call of another node, unless the life of this node is over."""
        requester = next((one for one in self.nodes if one.name == call.node), None)
        try:
            if requester is not None and call.epoch < requester.epoch:
                raise NodeDeclaredDead(f"The node {call.node} was declared dead.")
            do = self._node.calls.get(call.what)
            if do is None or call.protocol > PROTOCOL:
                raise NotUnderstood
            return CallAnswer(await do(call.content))
        except (NotUnderstood, msgspec.MsgspecError):
            return not_understood(self.name, call.protocol)
        except Refusal as refusal:
            return CallAnswer(refusal=refusal_fields(refusal))
        except StoreUnavailable as error:
            return CallAnswer(refusal=refusal_fields(StoreFailed.because(error)))
