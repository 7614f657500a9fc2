"""Calls from node to node: proven on both sides, answered once, and told where they are not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from leverframe.commands.table.refusals import BadValue, Refusal
from leverframe.fleet.cluster.handshake import (
    CHALLENGE_BYTES,
    PROOF_BYTES,
    VERDICT_BYTES,
    Client,
    Handshake,
)
from leverframe.fleet.cluster.node_calls import (
    MAX_CALL_BYTES,
    PROTOCOL,
    CallAnswer,
    NodeCall,
    framed,
    refusal_fields,
    refusal_from,
)
from leverframe.fleet.other_nodes import CallUnanswered, SilentNode
from tests.fleet.cluster.joined_doors import HOME, KEY, JoinedNodes, joined_nodes, until
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
    async with joined_nodes() as nodes:
        yield nodes


def answering(nodes: JoinedNodes) -> Answering:
    answering = Answering()
    nodes["b"].fleet_door.inner.answer = answering.answer
    return answering


async def ask(nodes: JoinedNodes, seconds: float = 10.0) -> bytes:
    return await nodes["a"].fleet_door.caller.ask("b", CALL, seconds)


async def test_a_call_is_answered_and_a_refusal_comes_back_as_it_was(nodes: JoinedNodes) -> None:
    b = answering(nodes)
    assert await ask(nodes) == CALL.content
    assert b.calls == [CALL]
    b.error = BadValue("It is wrong.", field="to", value="x", allowed="y")
    with pytest.raises(Refusal) as raised:
        await ask(nodes)
    assert raised.value.as_problem() == b.error.as_problem()
    assert refusal_from(refusal_fields(b.error)).as_problem() == b.error.as_problem()
    await until(lambda: not nodes["b"].door.descriptors.clients.used)


async def test_who_is_not_reached_has_done_nothing_and_who_does_not_answer_may_have(
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
    with pytest.raises(SilentNode, match="The node b does not answer"):
        await ask(nodes)
    # One line a minute, besides that of the fault.
    assert sum("the node b cannot be asked" in one.message for one in caplog.records) == 1


def says_no_number(one: Any, **changed: Any) -> Any:
    """Stand in for a program of the first protocol, which tells no number in its answers."""
    return one if isinstance(one, CallAnswer) else replace(one, **changed)


@pytest.mark.parametrize(
    "sentence",
    [
        "This is no call: Expected `object`, got `array` - at `$.asking.account`.",
        "The node b does not know 'view.keys': is it older?",
        "There is no /api/fleet/list at this node: is it older?",
    ],
)
async def test_a_node_of_the_first_protocol_that_does_not_understand_counts_as_silent(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch, sentence: str
) -> None:
    b = answering(nodes)
    monkeypatch.setattr("leverframe.fleet.cluster.node_calls.replace", says_no_number)
    b.error = Refusal(sentence)
    with pytest.raises(SilentNode) as raised:
        await ask(nodes)
    assert raised.value.detail.startswith("The node b runs an older program")
    assert not raised.value.has_taken_it
    b.error = BadValue("It is wrong.")
    with pytest.raises(Refusal, match="It is wrong") as refused:
        await ask(nodes)
    assert not isinstance(refused.value, SilentNode)


async def said_to(
    nodes: JoinedNodes, *pieces: bytes | None, is_heard: Callable[[], object] = lambda: True
) -> bytes:
    """Shake hands for a call to b and send pieces, None for a right call; return what comes back.

    The next piece is sent as soon as the one before is heard.
    """
    reader, writer = await asyncio.open_connection(HOME, nodes["b"].place.port)
    handshake = Handshake(KEY)
    challenge = await reader.readexactly(CHALLENGE_BYTES)
    header = handshake.header(challenge, Client(HOME, 1, HOME, 2), "")
    writer.write(header)
    await reader.readexactly(VERDICT_BYTES)
    right = framed(handshake, header[-PROOF_BYTES:], msgspec.msgpack.encode(CALL))
    strange = framed(handshake, header[-PROOF_BYTES:], b"\xc1")
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


async def test_what_no_node_has_said_on_this_connection_is_not_done(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = answering(nodes)
    packed = msgspec.msgpack.encode(CALL)
    heard = framed(Handshake(KEY), bytes(PROOF_BYTES), packed)
    foreign = framed(Handshake(b"another"), bytes(PROOF_BYTES), packed)
    long = (MAX_CALL_BYTES + 1).to_bytes(4, "big") + bytes(PROOF_BYTES)
    for pieces in ((heard,), (foreign,), (long,), (heard[:10], heard[10:]), (heard + b"x",)):
        assert await said_to(nodes, *pieces) == b""
    assert b.calls == []
    assert b"This is no call" in await said_to(nodes, b"no call")
    b.may_answer.clear()
    assert await said_to(nodes, None, b"more", is_heard=lambda: b.calls) == b""
    assert len(b.calls) == 1
    b.may_answer.set()
    monkeypatch.setattr("leverframe.fleet.cluster.node_calls.ARRIVES_WITHIN_S", 0.05)
    assert await said_to(nodes) == b""


async def test_an_answer_that_is_none_of_this_fleet_is_not_believed(
    nodes: JoinedNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(nodes)
    module = "leverframe.fleet.cluster.node_calls"
    monkeypatch.setattr(f"{module}.MAX_CALL_BYTES", len(CALL.content) - 1)
    with pytest.raises(CallUnanswered):
        await ask(nodes)
    monkeypatch.undo()
    stamp = Handshake.stamp

    def wrong_in_answers(self: Handshake, proof: bytes, said: bytes) -> bytes:
        return stamp(self, proof, said if b"echo" in said else b"")

    inner = nodes["b"].fleet_door.inner.handshake
    monkeypatch.setattr(inner, "stamp", lambda *given: wrong_in_answers(inner, *given))
    with pytest.raises(CallUnanswered):
        await ask(nodes)
