"""Calls from node to node: one question and one answer on a connection after its handshake.

Each of the two is its length, a stamp that proves who has said it, and the content. Both stamps
hang on the proof of this very connection, and differ by direction: what was heard on another one is
of no use here, and a question cannot come back as its own answer.

Fields that a program does not know are refused: a call that was understood by half would be done by
half. So a field is added with a default, which is left out, and with a higher number of the
protocol. A node says its number with everything, asks in no newer one than its own, and answers an
older question without what is newer. While nodes are updated one by one, a call that an older one
does not know is refused by it before anything is done, and named as such. Only what the API answers
is read without what an older node does not know of it: that is shown to people, and nothing is done
by it.
"""

import asyncio
import hmac
import logging
import re
import struct
from collections.abc import Callable, Coroutine
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.commands.table.refusals import Refusal
from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.handshake import (
    PROOF_BYTES,
    Client,
    Handshake,
    HandshakeFailed,
    Stamps,
    Verdict,
)
from leverframe.fleet.cluster.tunnel import OwnerCall
from leverframe.fleet.other_nodes import CallUnanswered, OlderProgram, OtherProgram, SilentNode
from leverframe.fleet.owners import DEADLINES
from leverframe.log_throttle import LogThrottle
from leverframe.servers.descriptors import Lease

log = logging.getLogger(__name__)

#: How long a call may be on its way.
ARRIVES_WITHIN_S = 10.0
MAX_CALL_BYTES = 64 * 2**20
_START = struct.Struct(f"!I{PROOF_BYTES}s")
#: What nodes say to each other, raised whenever an older program cannot read it any more.
PROTOCOL = 2
#: Programs of the first protocol do not tell its number, and refuse in these words what is newer.
_FIRST_PROTOCOL = 1
_TOO_NEW_FOR_FIRST = re.compile(r"This is no call: |.*: is it older\?$", re.DOTALL)


class NodeCall(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a node asks of another one."""

    what: str
    #: Who asks, in which of its lives.
    node: str
    epoch: int
    content: bytes
    protocol: int = _FIRST_PROTOCOL


class CallAnswer(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    content: bytes = b""
    refusal: dict[str, Any] | None = None
    protocol: int = _FIRST_PROTOCOL
    #: False where the program of the node does not know what it was asked.
    is_understood: bool = True


def not_understood(node: str, asked_in: int) -> CallAnswer:
    """Return the answer of a node to what its program does not know."""
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


def framed(content: bytes, stamp: bytes) -> bytes:
    return _START.pack(len(content), stamp) + content


Answering = Callable[[NodeCall], Coroutine[Any, Any, CallAnswer]]


class NodeCaller:
    """Asks other nodes."""

    def __init__(self, directory: Directory, handshake: Handshake) -> None:
        self._directory = directory
        self._handshake = handshake
        self._warn = LogThrottle(log).warning

    async def ask(self, node: str, call: NodeCall, seconds: float) -> bytes:
        """Return the content of the answer; raise the refusal of the node, or SilentNode."""
        place = self._directory.place_of_node(node)
        if place is None:
            raise SilentNode(node)
        owner = OwnerCall(place, "")
        try:
            stamps = await self._shake_hands(owner, place)
            try:
                async with asyncio.timeout(seconds):
                    answer = await self._answered(owner, stamps, call)
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
                    raise HandshakeFailed("it does not take calls now")
        except (OSError, TimeoutError, HandshakeFailed, ValueError) as error:
            self._warn_of(place, error)
            raise SilentNode(place.node) from error
        return stamps

    async def _answered(self, owner: OwnerCall, stamps: Stamps, call: NodeCall) -> CallAnswer:
        said = msgspec.msgpack.encode(replace(call, protocol=PROTOCOL))
        owner.transport.write(framed(said, stamps.of_question(said)))
        length, stamp = _START.unpack(await owner.receive(_START.size))
        if length > MAX_CALL_BYTES:
            raise HandshakeFailed("its answer is too long")
        content = await owner.receive(length)
        if not hmac.compare_digest(stamp, stamps.of_answer(content)):
            raise HandshakeFailed("its answer is none of this fleet")
        return msgspec.msgpack.decode(content, type=CallAnswer)

    def _warn_of(self, place: Place, error: Exception) -> None:
        why = getattr(error, "strerror", None) or str(error) or "it does not answer"
        self._warn(place.node, "call", "the node %s cannot be asked: %s", place.node, why)


def _is_too_new_for_first(answer: CallAnswer) -> bool:
    assert answer.refusal is not None
    is_first = answer.protocol == _FIRST_PROTOCOL
    return is_first and _TOO_NEW_FOR_FIRST.match(answer.refusal["detail"]) is not None


class IncomingCall(asyncio.Protocol):
    """A connection by which another node asks this one, once."""

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
        # What was begun is completed, even if the other node has left.
        self._task = asyncio.get_running_loop().create_task(self._answered(content))

    async def _answered(self, content: bytes) -> None:
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
            self._transport.write(framed(said, self._stamps.of_answer(said)))
            self._transport.close()
