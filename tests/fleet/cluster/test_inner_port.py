"""The inner port: it accepts nodes of the fleet, and rejects strangers with recorded bytes."""

import asyncio
import hmac
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.fleet.cluster.handshake import (
    CHALLENGE_BYTES,
    MAX_HEADER_BYTES,
    PROOF_BYTES,
    SIGNATURE,
    VERDICT_BYTES,
    Client,
    Handshake,
    HandshakeFailed,
    Stamps,
    Verdict,
    length_of,
)
from tests.cases import for_each
from tests.fleet.cluster.joined_doors import HOME, KEY, JoinedNodes, join_nodes, until
from tests.patience import PATIENCE_S

OF_CLIENT = Client("192.0.2.7", 50_000, "192.0.2.1", 80)
CHALLENGE = bytes(CHALLENGE_BYTES)


@pytest.mark.parametrize(
    "client", [OF_CLIENT, Client("2001:db8::7", 1, "2001:db8::1", 443)], ids=["IPv4", "IPv6"]
)
def test_header_carries_addresses_name_and_proof(client: Client) -> None:
    handshake = Handshake(KEY, "b")
    header = handshake.header(CHALLENGE, client, "gh-1", "b")
    assert length_of(header) == len(header) <= MAX_HEADER_BYTES
    read = handshake.read(CHALLENGE, header)
    assert (read.client, read.name) == (client, "gh-1")
    reply = handshake.verdict(Verdict.ACCEPTED, read)
    assert handshake.read_verdict(reply, header)[0] is Verdict.ACCEPTED


def test_header_omits_the_interface_of_a_link_local_address() -> None:
    handshake = Handshake(KEY, "b")
    client = Client("fe80::7%eth0", 1, "fe80::1%eth0", 2)
    header = handshake.header(CHALLENGE, client, "gh-1", "b")
    assert handshake.read(CHALLENGE, header).client.host == "fe80::7"


def is_taken(handshake: Handshake, header: bytes) -> bool:
    try:
        if length_of(header) == len(header):
            handshake.read(CHALLENGE, header)
            return True
    except HandshakeFailed:
        pass
    return False


def test_changed_header_or_verdict_is_refused() -> None:
    handshake, stranger = Handshake(KEY, "b"), Handshake(b"another", "b")
    header = handshake.header(CHALLENGE, OF_CLIENT, "gh-1", "b")
    for place, byte in enumerate(header):
        changed = header[:place] + bytes((byte ^ 1,)) + header[place + 1 :]
        assert not is_taken(handshake, changed)
    hello = handshake.read(CHALLENGE, header)
    with pytest.raises(HandshakeFailed):
        handshake.read(bytes(range(CHALLENGE_BYTES)), header)
    with pytest.raises(HandshakeFailed):
        stranger.read_verdict(handshake.verdict(Verdict.ACCEPTED, hello), header)
    refused = handshake.verdict(Verdict.NOT_HERE, hello)
    with pytest.raises(HandshakeFailed):
        handshake.read_verdict(bytes((Verdict.ACCEPTED,)) + refused[1:], header)


def derive_key() -> bytes:
    return hmac.digest(KEY, b"leverframe: connections between nodes", "sha256")


def header_of(*fields: tuple[int, bytes]) -> bytes:
    """Return a header with any fields, proven as nodes do it."""
    packed = b"".join(struct.pack("!BH", kind, len(value)) + value for kind, value in fields)
    addresses = struct.pack("!4s4sHH", bytes(4), bytes(4), 1, 2)
    length = len(addresses) + len(packed) + 3 + PROOF_BYTES
    proven = SIGNATURE + struct.pack("!BBH", 0x21, 0x11, length) + addresses + packed
    proof = hmac.digest(derive_key(), CHALLENGE + proven, "sha256")
    return proven + struct.pack("!BH", 0xE0, PROOF_BYTES) + proof


NAMED, RANDOM, FOR_B = (0x02, b"gh-1"), (0x05, bytes(16)), (0xE1, b"b")


def test_header_for_another_node_is_refused() -> None:
    header = header_of(NAMED, RANDOM, FOR_B)
    assert Handshake(KEY, "b").read(CHALLENGE, header).name == "gh-1"
    with pytest.raises(HandshakeFailed, match="it is addressed to another node"):
        Handshake(KEY, "a").read(CHALLENGE, header)


@for_each(
    "fields",
    [(NAMED, RANDOM, FOR_B, (0xE2, b"x")), (NAMED, RANDOM, (0xE2, b"x")), (NAMED,), (FOR_B, NAMED)],
)
def test_header_with_unknown_fields_is_refused(
    fields: tuple[tuple[int, bytes], ...],
) -> None:
    with pytest.raises(HandshakeFailed, match="fields that this version does not know"):
        Handshake(KEY, "b").read(CHALLENGE, header_of(*fields))


def test_header_without_directions_gets_an_answer_without_directions() -> None:
    header = header_of(NAMED, RANDOM)
    handshake, key = Handshake(KEY, "b"), derive_key()
    hello = handshake.read(CHALLENGE, header)
    reply = handshake.verdict(Verdict.ACCEPTED, hello)
    assert reply[1:] == hmac.digest(key, header[-PROOF_BYTES:] + reply[:1], "sha256")
    # A newer program requests a verdict with a direction, and gets it.
    directed = handshake.verdict(
        Verdict.ACCEPTED, handshake.read(CHALLENGE, header_of(NAMED, RANDOM, FOR_B))
    )
    assert directed != handshake.verdict(
        Verdict.ACCEPTED, handshake.read(CHALLENGE, header_of(NAMED, RANDOM))
    )


@given(st.binary(max_size=200))
def test_kinds_of_messages_have_different_stamps(content: bytes) -> None:
    stamps = Stamps(derive_key(), bytes(PROOF_BYTES), has_direction=True)
    kinds = {stamps.of_verdict(content), stamps.of_question(content), stamps.of_answer(content)}
    assert len(kinds) == 3


async def exchange_with_b(nodes: JoinedNodes, *pieces: bytes | None) -> bytes:
    """Send pieces to the inner port of b, None for a right header; return what follows on it."""
    reader, writer = await asyncio.open_connection(HOME, nodes["b"].place.port)
    challenge = await reader.readexactly(CHALLENGE_BYTES)
    for piece in pieces:
        writer.write(piece or Handshake(KEY, "b").header(challenge, OF_CLIENT, "gh-1", "b"))
        await asyncio.sleep(0.005)
    try:
        return await asyncio.wait_for(reader.read(VERDICT_BYTES), PATIENCE_S)
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


async def test_stranger_at_the_inner_port_reaches_no_controller_and_learns_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with join_nodes() as nodes:
        standing = await nodes.put("gh-1", "b")
        request = b"GET / HTTP/1.1\r\nHost: gh-1.localhost\r\n\r\n"
        foreign = Handshake(b"another", "b").header(CHALLENGE, OF_CLIENT, "gh-1", "b")
        # A header recorded on the way to the same node: its challenge is outdated.
        heard = Handshake(KEY, "b").header(CHALLENGE, OF_CLIENT, "gh-1", "b")
        local = SIGNATURE + b"\x20\0\0\0"
        long = SIGNATURE + b"\x21\x11\xff\xff"
        for pieces in (
            *((request,), (SIGNATURE, request), (foreign,), (heard,), (heard, request)),
            *((heard + request,), (local,), (long,), (foreign[:20], foreign[20:])),
        ):
            assert await exchange_with_b(nodes, *pieces) == b""
        assert standing.requests == []
        # One line a minute for all of them, without the bytes that were sent.
        lines = [record.message for record in caplog.records]
        assert len(lines) == 1
        assert "rejected a connection from 127.0.0.1 to the inner port" in lines[0]
        assert len(await exchange_with_b(nodes, None)) == VERDICT_BYTES
        await until(lambda: not nodes["b"].door.descriptors.clients.used)


async def test_bytes_after_the_header_are_refused_before_the_verdict() -> None:
    async with join_nodes("ab", hold_s=60.0) as nodes:
        nodes.owners["gh-1"] = "b"
        nodes.publish()
        # The controller is still being started: the node is to wait, and does not.
        assert await exchange_with_b(nodes, None, b"GET / HTTP/1.1\r\n\r\n") == b""
        await until(lambda: not nodes["b"].directory.awaited)


async def test_silent_peer_is_dropped_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leverframe.fleet.cluster.inner_port.HANDSHAKE_WITHIN_S", 0.05)
    async with join_nodes() as nodes:
        assert await exchange_with_b(nodes) == b""


async def test_stopping_node_drops_unfinished_handshakes() -> None:
    async with join_nodes() as nodes:
        reader, writer = await asyncio.open_connection(HOME, nodes["b"].place.port)
        await reader.readexactly(CHALLENGE_BYTES)
        await nodes["b"].stop()
        with pytest.raises((ConnectionResetError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(reader.readexactly(1), PATIENCE_S)
        writer.close()


async def test_missing_controller_gets_the_verdict_not_here() -> None:
    async with join_nodes() as nodes:
        reply = await exchange_with_b(nodes, None)
        assert reply[0] == Verdict.NOT_HERE
