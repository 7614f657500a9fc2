"""Calls from node to node: proven on both sides, answered once, and reported if they are not."""

import asyncio
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from leverframe.fleet.cluster.directory import Place
from leverframe.fleet.cluster.handshake import (
    CHALLENGE_BYTES,
    MAX_HEADER_BYTES,
    PROOF_BYTES,
    VERDICT_BYTES,
    Client,
    Handshake,
    Stamps,
)
from leverframe.fleet.cluster.node_calls import (
    MAX_CALL_BYTES,
    PROTOCOL,
    CallAnswer,
    NodeCall,
    frame_message,
    refusal_fields,
    refusal_from,
)
from leverframe.fleet.other_nodes import CallUnanswered, SilentNode
from leverframe.interface.table.refusals import BadValue, Refusal
from tests.fleet.cluster.joined_doors import HOME, KEY, JoinedNodes, join_nodes, until
from tests.patience import PATIENCE_S

CALL = NodeCall("echo", "a", 1, b"x" * 300_000, PROTOCOL)


class Answering:
    def __init__(self) -> None:
        self.calls: list[NodeCall] = []
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.error: Exception | None = None

    async def answer(self, call: NodeCall) -> CallAnswer:
        self.calls.append(call)
        await self.may_answer.wait()
        if isinstance(self.error, Refusal):
            return CallAnswer(refusal=refusal_fields(self.error))
        if self.error is not None:
            raise self.error
        return CallAnswer(call.content)


@pytest.fixture
async def nodes() -> AsyncIterator[JoinedNodes]:
    async with join_nodes() as nodes:
        yield nodes


def answering(nodes: JoinedNodes) -> Answering:
    answering = Answering()
    nodes["b"].fleet_door.inner.answer = answering.answer
    return answering


async def ask(nodes: JoinedNodes, seconds: float = 10.0) -> bytes:
    return await nodes["a"].fleet_door.caller.ask("b", CALL, seconds)


async def test_call_returns_the_answer_or_the_refusal(nodes: JoinedNodes) -> None:
    b = answering(nodes)
    assert await ask(nodes) == CALL.content
    assert b.calls == [CALL]
    b.error = BadValue("It is wrong.", field="to", value="x", allowed="y")
    with pytest.raises(Refusal) as raised:
        await ask(nodes)
    assert raised.value.as_problem() == b.error.as_problem()
    assert refusal_from(refusal_fields(b.error)).as_problem() == b.error.as_problem()
    await until(lambda: not nodes["b"].door.descriptors.clients.used)


async def test_unreached_node_did_nothing_and_silent_node_may_have(
    nodes: JoinedNodes, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SilentNode) as raised:
        await ask(nodes)  # it still starts
    assert not raised.value.has_taken_it
    b = answering(nodes)
    b.may_answer.clear()
    with pytest.raises(CallUnanswered) as late:
        await ask(nodes, 0.05)
    assert late.value.has_taken_it
    b.may_answer.set()
    b.error = RuntimeError("a fault of the program")
    with pytest.raises(CallUnanswered):
        await ask(nodes)
    nodes["a"].directory.replace({}, {})
    with pytest.raises(SilentNode, match="Node b does not answer"):
        await ask(nodes)
    # One line a minute, besides that of the fault.
    assert sum("node b cannot be called" in one.message for one in caplog.records) == 1


def says_no_number(one: Any, **changed: Any) -> Any:
    """Stand in for a program of the first protocol, which sends no number in its answers."""
    return one if isinstance(one, CallAnswer) else replace(one, **changed)


@pytest.mark.parametrize(
    "sentence",
    [
        "This is no call: Expected `object`, got `array` - at `$.asking.account`.",
        "The node b does not know 'view.keys': is it older?",
        "There is no /api/fleet/list at this node: is it older?",
    ],
)
async def test_first_protocol_node_that_does_not_understand_counts_as_silent(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch, sentence: str
) -> None:
    b = answering(nodes)
    monkeypatch.setattr("leverframe.fleet.cluster.node_calls.replace", says_no_number)
    b.error = Refusal(sentence)
    with pytest.raises(SilentNode) as raised:
        await ask(nodes)
    assert raised.value.detail.startswith("Node b runs an older version")
    assert not raised.value.has_taken_it
    b.error = BadValue("It is wrong.")
    with pytest.raises(Refusal, match="It is wrong") as refused:
        await ask(nodes)
    assert not isinstance(refused.value, SilentNode)


async def exchange_with_b(
    nodes: JoinedNodes, *pieces: bytes | None, is_heard: Callable[[], object] = lambda: True
) -> bytes:
    """Shake hands for a call to b and send pieces, None for a right call; return what comes back.

    The next piece is sent as soon as the one before is heard.
    """
    reader, writer = await asyncio.open_connection(HOME, nodes["b"].place.port)
    handshake = Handshake(KEY, "b")
    challenge = await reader.readexactly(CHALLENGE_BYTES)
    header = handshake.header(challenge, Client(HOME, 1, HOME, 2), "", "b")
    writer.write(header)
    _, stamps = handshake.read_verdict(await reader.readexactly(VERDICT_BYTES), header)
    packed = msgspec.msgpack.encode(CALL)
    right = frame_message(packed, stamps.of_question(packed))
    strange = frame_message(b"\xc1", stamps.of_question(b"\xc1"))
    for piece in pieces:
        writer.write(strange if piece == b"no call" else piece or right)
        await asyncio.sleep(0.005)
        await until(is_heard)
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE_S)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_call_not_proven_on_its_connection_is_not_done(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = answering(nodes)
    packed = msgspec.msgpack.encode(CALL)
    heard = frame_message(packed, bytes(PROOF_BYTES))
    stranger = Stamps(b"another", bytes(PROOF_BYTES), has_direction=True)
    foreign = frame_message(packed, stranger.of_question(packed))
    long = (MAX_CALL_BYTES + 1).to_bytes(4, "big") + bytes(PROOF_BYTES)
    for pieces in ((heard,), (foreign,), (long,), (heard[:10], heard[10:]), (heard + b"x",)):
        assert await exchange_with_b(nodes, *pieces) == b""
    assert b.calls == []
    assert b"This is no call" in await exchange_with_b(nodes, b"no call")
    b.may_answer.clear()
    assert await exchange_with_b(nodes, None, b"more", is_heard=lambda: b.calls) == b""
    assert len(b.calls) == 1
    b.may_answer.set()
    monkeypatch.setattr("leverframe.fleet.cluster.node_calls.ARRIVES_WITHIN_S", 0.05)
    assert await exchange_with_b(nodes) == b""


async def test_answer_from_outside_the_fleet_is_rejected(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(nodes)
    module = "leverframe.fleet.cluster.node_calls"
    monkeypatch.setattr(f"{module}.MAX_CALL_BYTES", len(CALL.content) - 1)
    with pytest.raises(CallUnanswered):
        await ask(nodes)
    monkeypatch.undo()
    async with relay_calls(nodes, "b", answer=lambda data: data[:-1] + b"?"):
        with pytest.raises(CallUnanswered):
            await ask(nodes)


@asynccontextmanager
async def relay_calls(
    nodes: JoinedNodes,
    to: str,
    question: Callable[[bytes], bytes | None] = lambda data: data,
    answer: Callable[[bytes], bytes] = lambda data: data,
) -> AsyncIterator[None]:
    """Stand between node a and what it takes for b; connections go to a node by our choice.

    A question of which None is made goes back to the node that asks.
    """

    async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = nodes[to].place.port
        from_node, to_node = await asyncio.open_connection(HOME, port)
        try:
            writer.write(await from_node.readexactly(CHALLENGE_BYTES))
            to_node.write(await reader.read(MAX_HEADER_BYTES))
            writer.write(await from_node.readexactly(VERDICT_BYTES))
            start = await reader.readexactly(4 + PROOF_BYTES)
            asked = start + await reader.readexactly(int.from_bytes(start[:4], "big"))
            passed_on = question(asked)
            if passed_on is None:
                writer.write(asked)
            else:
                to_node.write(passed_on)
                writer.write(answer(await from_node.read()))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            to_node.close()
            writer.close()

    server = await asyncio.start_server(relay, HOME, 0)
    places = {name: nodes[name].place for name in "ab"}
    port = server.sockets[0].getsockname()[1]
    nodes["a"].directory.replace({}, places | {"b": Place("b", HOME, port)})
    try:
        yield
    finally:
        server.close()
        await server.wait_closed()


async def test_call_reflected_to_its_sender_is_not_answered(
    nodes: JoinedNodes,
) -> None:
    a, b = Answering(), answering(nodes)
    nodes["a"].fleet_door.inner.answer = a.answer
    async with relay_calls(nodes, "b"):
        assert await ask(nodes) == CALL.content
    assert len(b.calls) == 1
    async with relay_calls(nodes, "a"):
        with pytest.raises(SilentNode):
            await ask(nodes)
    assert a.calls == []


async def test_call_is_not_accepted_as_its_own_answer(nodes: JoinedNodes) -> None:
    b = answering(nodes)
    async with relay_calls(nodes, "b", question=lambda data: None):
        with pytest.raises(CallUnanswered):
            await ask(nodes)
    assert b.calls == []


async def test_unknown_fields_of_a_call_and_of_an_answer_are_refused(nodes: JoinedNodes) -> None:
    fields = {"what": "echo", "node": "a", "epoch": 1, "content": b"", "protocol": PROTOCOL}
    msgspec.msgpack.decode(msgspec.msgpack.encode(fields), type=NodeCall)
    for kind, said in ((NodeCall, fields), (CallAnswer, {"content": b""})):
        with pytest.raises(msgspec.ValidationError, match="unknown field `more`"):
            msgspec.msgpack.decode(msgspec.msgpack.encode({**said, "more": 1}), type=kind)


async def answer_as_before_directions(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Answer a call as programs did whose stamps had no direction, and skipped unknown fields."""
    key = hmac.digest(KEY, b"leverframe: connections between nodes", "sha256")
    challenge = bytes(CHALLENGE_BYTES)
    writer.write(challenge)
    header = await reader.read(MAX_HEADER_BYTES)
    proof = header[-PROOF_BYTES:]
    assert proof == hmac.digest(key, challenge + header[: -PROOF_BYTES - 3], "sha256")
    writer.write(b"\x01" + hmac.digest(key, proof + b"\x01", "sha256"))
    start = await reader.readexactly(4 + PROOF_BYTES)
    asked = await reader.readexactly(int.from_bytes(start[:4], "big"))
    assert start[4:] == hmac.digest(key, proof + b"call" + asked, "sha256")
    said = msgspec.msgpack.encode(CallAnswer(b"as before"))
    writer.write(frame_message(said, hmac.digest(key, proof + b"call" + said, "sha256")))
    await writer.drain()
    writer.close()


async def test_older_node_is_called_in_its_protocol(nodes: JoinedNodes) -> None:
    server = await asyncio.start_server(answer_as_before_directions, HOME, 0)
    port = server.sockets[0].getsockname()[1]
    nodes["a"].directory.replace({}, {"b": Place("b", HOME, port)})
    assert await ask(nodes) == b"as before"
    server.close()
    await server.wait_closed()
