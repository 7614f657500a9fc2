"""Calls from node to node: one question and one answer on a connection after its handshake.

Each message consists of its length, a stamp that proves its sender, and its content. Both stamps
are derived from the proof of this connection, and differ by direction. So recorded bytes of another
connection are of no use here, and a question cannot be reflected as its own answer.

A message with unknown fields is refused, because a call that is only partly understood would be
only partly carried out. So a new field has a default, which is omitted, and comes with a higher
protocol number. Every message contains the protocol number of its sender. A node refuses a call in
a newer protocol than its own, and answers an older call without newer fields.

While nodes are updated one by one, an older node refuses an unknown call before anything is done,
and says that it does not know the call. Only responses of the API may lack fields that an older
node does not know: these fields are shown to users, and no decision depends on them.
"""

import asyncio
import hmac
import logging
import re
import struct
from collections.abc import Callable, Collection, Coroutine
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.handshake import (
    PROOF_BYTES,
    Client,
    Handshake,
    HandshakeFailed,
    Stamps,
    Verdict,
)
from leverframe.fleet.cluster.lease import NodeLease, SeenNode
from leverframe.fleet.cluster.membership import Placed
from leverframe.fleet.cluster.registry import ClusterRegistry
from leverframe.fleet.cluster.tunnel import OwnerCall
from leverframe.fleet.node import FleetNode
from leverframe.fleet.other_nodes import (
    CallUnanswered,
    LocatedController,
    NotUnderstood,
    OlderProgram,
    OtherProgram,
    SilentNode,
)
from leverframe.fleet.owners import DEADLINES
from leverframe.fleet.records import MemberRecord, Moved, is_seen
from leverframe.interface.table.refusals import Refusal
from leverframe.server.fair_shares import Lease
from leverframe.server.problems import StoreFailed
from leverframe.storage.lanes.postgres_lane import Claim
from leverframe.storage.store import StoreUnavailable

log = logging.getLogger(__name__)

#: How long a call may take to arrive.
ARRIVES_WITHIN_S = 10.0
MAX_CALL_BYTES = 64 * 2**20
_START = struct.Struct(f"!I{PROOF_BYTES}s")
#: The protocol number, raised whenever an older version cannot read a message any more.
PROTOCOL = 3
#: Versions of the first protocol do not send its number, and refuse newer calls with these texts.
_FIRST_PROTOCOL = 1
_TOO_NEW_FOR_FIRST = re.compile(r"This is no call: |.*: is it older\?$", re.DOTALL)


class NodeCall(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A call from one node to another."""

    what: str
    #: The calling node, and its life.
    node: str
    epoch: int
    content: bytes
    protocol: int = _FIRST_PROTOCOL


class CallAnswer(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    content: bytes = b""
    refusal: dict[str, Any] | None = None
    protocol: int = _FIRST_PROTOCOL
    #: False if the version of the node does not know the call.
    is_understood: bool = True


def not_understood(node: str, asked_in: int) -> CallAnswer:
    """Return the answer of a node to a call that its version does not know."""
    program = OlderProgram if asked_in > PROTOCOL else OtherProgram
    return CallAnswer(refusal=refusal_fields(program(node)), is_understood=False)


def refusal_fields(refusal: Refusal) -> dict[str, Any]:
    names = ("status", "title", "detail", "command", "field", "value", "allowed")
    return {name: getattr(refusal, name) for name in names}


def refusal_from(content: dict[str, Any]) -> Refusal:
    status, title, detail = (content.pop(name) for name in ("status", "title", "detail"))
    refusal = Refusal(detail, **content)
    refusal.status, refusal.title = status, title
    return refusal


def frame_message(content: bytes, stamp: bytes) -> bytes:
    return _START.pack(len(content), stamp) + content


Answering = Callable[[NodeCall], Coroutine[Any, Any, CallAnswer]]


class NodeCaller:
    """Calls other nodes."""

    def __init__(self, directory: Directory, handshake: Handshake) -> None:
        self._directory = directory
        self._handshake = handshake
        self._warn = LogThrottle(log).warning

    async def ask(self, node: str, call: NodeCall, seconds: float) -> bytes:
        """Return the content of the answer; raise the node's refusal, or SilentNode."""
        place = self._directory.place_of_node(node)
        if place is None:
            raise SilentNode(node)
        owner = OwnerCall(place, "")
        try:
            stamps = await self._shake_hands(owner, place)
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._exchange(owner, stamps, call)
            except (OSError, TimeoutError, HandshakeFailed, msgspec.MsgspecError) as error:
                self._warn_of(place, error)
                raise CallUnanswered(node) from error
        finally:
            owner.abort()
        if answer.refusal is None:
            return answer.content
        if _is_too_new_for_first(answer):
            raise OlderProgram(node)
        refusal = refusal_from(answer.refusal)
        if not answer.is_understood:
            other = OtherProgram(node)
            other.detail = refusal.detail
            raise other
        raise refusal

    async def _shake_hands(self, owner: OwnerCall, place: Place) -> Stamps:
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(DEADLINES["connection"].answer_s):
                await loop.create_connection(lambda: owner, place.host, place.port)
                source = owner.transport.get_extra_info("sockname")
                target = owner.transport.get_extra_info("peername")
                client = Client(source[0], source[1], target[0], target[1])
                verdict, stamps = await owner.shake_hands(self._handshake, client, "")
                if verdict is not Verdict.ACCEPTED:
                    raise HandshakeFailed("it does not accept calls now")
        except (OSError, TimeoutError, HandshakeFailed, ValueError) as error:
            self._warn_of(place, error)
            raise SilentNode(place.node) from error
        return stamps

    async def _exchange(self, owner: OwnerCall, stamps: Stamps, call: NodeCall) -> CallAnswer:
        said = msgspec.msgpack.encode(replace(call, protocol=PROTOCOL))
        owner.transport.write(frame_message(said, stamps.of_question(said)))
        length, stamp = _START.unpack(await owner.receive(_START.size))
        if length > MAX_CALL_BYTES:
            raise HandshakeFailed("its answer is too long")
        content = await owner.receive(length)
        if not hmac.compare_digest(stamp, stamps.of_answer(content)):
            raise HandshakeFailed("its answer is not from this fleet")
        return msgspec.msgpack.decode(content, type=CallAnswer)

    def _warn_of(self, place: Place, error: Exception) -> None:
        why = getattr(error, "strerror", None) or str(error) or "it does not answer"
        self._warn(place.node, "call", "node %s cannot be called: %s", place.node, why)


def _is_too_new_for_first(answer: CallAnswer) -> bool:
    assert answer.refusal is not None
    is_first = answer.protocol == _FIRST_PROTOCOL
    return is_first and _TOO_NEW_FOR_FIRST.match(answer.refusal["detail"]) is not None


class IncomingCall(asyncio.Protocol):
    """A connection for one call of another node."""

    _transport: asyncio.Transport

    def __init__(self, stamps: Stamps, answer: Answering, lease: Lease) -> None:
        self._stamps = stamps
        self._answer = answer
        self._lease = lease
        self._said = bytearray()
        self._task: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(ARRIVES_WITHIN_S, self._transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lease.end()
        if self._timer is not None:
            self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        self._said += data
        if len(self._said) < _START.size:
            return
        length, stamp = _START.unpack_from(self._said)
        if length > MAX_CALL_BYTES or len(self._said) > _START.size + length:
            self._transport.abort()
            return
        if len(self._said) < _START.size + length:
            return
        content = bytes(self._said[_START.size :])
        expected = self._stamps.of_question(content)
        if self._task is not None or not hmac.compare_digest(stamp, expected):
            self._transport.abort()
            return
        if self._timer is not None:
            self._timer.cancel()
        # A call that was started is completed, even if the caller has left.
        self._task = asyncio.get_running_loop().create_task(self._carry_out(content))

    async def _carry_out(self, content: bytes) -> None:
        try:
            answer = await self._answer(msgspec.msgpack.decode(content, type=NodeCall))
        except msgspec.MsgspecError as error:
            refusal = Refusal(f"This is no call: {error}.")
            answer = CallAnswer(refusal=refusal_fields(refusal), is_understood=False)
        except Exception:
            log.exception("a call of another node failed")
            self._transport.abort()
            return
        if not self._transport.is_closing():
            said = msgspec.msgpack.encode(replace(answer, protocol=PROTOCOL))
            self._transport.write(frame_message(said, self._stamps.of_answer(said)))
            self._transport.close()


# What a node knows about the fleet from its last look, and the calls between nodes.


class NodeDeclaredDead(Refusal):
    status = Moved.status
    title = "The calling node was declared dead"


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
        #: Names and tenants of controllers, by number.
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
