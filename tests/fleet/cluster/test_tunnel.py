"""The two ends of a joined connection, by what each receives and when."""

import asyncio
import socket
import struct
from typing import Any

import pytest

from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.tunnel import ClientEnd, OwnerCall, OwnerEnd, Tunnel
from leverframe.fleet.door import Door
from tests.fleet.cluster.joined_doors import LIMITS

OWNER = Place("b", "127.0.0.1", 1)


class NotedTransport(asyncio.Transport):
    """Notes what is asked of it; it has no other end."""

    def __init__(self) -> None:
        super().__init__()
        self.noted: list[Any] = []
        self.protocol: Any = None
        self.is_closed = False
        self.socket: socket.socket | None = None

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default

    def set_protocol(self, protocol: Any) -> None:
        self.protocol = protocol

    def get_protocol(self) -> Any:
        return self.protocol

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.high = high

    def get_write_buffer_size(self) -> int:
        return 0

    def write(self, data: Any) -> None:
        self.noted.append(data)

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.noted.append("end")

    def pause_reading(self) -> None:
        self.noted.append("pause")

    def resume_reading(self) -> None:
        self.noted.append("resume")

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.noted.append("close")
        self.is_closed = True

    def abort(self) -> None:
        self.noted.append("abort")
        self.is_closed = True


class Pair:
    """A client and an owner, joined."""

    def __init__(self) -> None:
        self.client, self.owner = NotedTransport(), NotedTransport()
        self.door = Door(LIMITS, ("fleet.example",))
        self.directory = Directory("a")
        self.directory.replace({"gh-1": "b"}, {"b": OWNER})
        self.call = OwnerCall(OWNER, "gh-1")
        self.call.transport = self.owner
        self.tunnel = Tunnel(self.door.state, self.client, self.call, self.directory)
        self.ended: list[str] = []
        self.tunnel.on_end.append(lambda: self.ended.append("given back"))
        self.door.state.add(self.tunnel)

    def begin(self, *, client_is_behind: bool = False) -> None:
        self.tunnel.begin(b"GET /", client_is_behind=client_is_behind)


@pytest.fixture
async def pair() -> Pair:
    return Pair()


async def test_owner_gets_earlier_and_later_bytes(pair: Pair) -> None:
    pair.begin()
    assert (pair.owner.noted, pair.client.noted) == ([b"GET /"], ["resume"])
    pair.client.protocol.data_received(b" HTTP/1.1")
    pair.owner.protocol.data_received(b"answer")
    assert (pair.owner.noted[-1], pair.client.noted[-1]) == (b" HTTP/1.1", b"answer")


async def test_owner_that_leaves_first_ends_the_client(
    pair: Pair,
) -> None:
    pair.call.is_lost = True
    pair.begin()
    assert pair.owner.noted == ["close"]
    assert pair.client.noted == ["close"]
    pair.client.protocol.connection_lost(None)
    assert pair.ended == ["given back"]
    assert not pair.door.state.connections


async def test_full_receiver_is_sent_no_more(pair: Pair) -> None:
    pair.begin(client_is_behind=True)
    assert pair.owner.noted == ["pause", b"GET /"]
    now = pair.door.state.now
    assert not pair.tunnel.is_overdue(now)
    # A client that never takes it is let go.
    assert pair.tunnel.is_overdue(now + LIMITS.write_timeout_s)
    pair.client.protocol.resume_writing()
    assert pair.owner.noted[-1] == "resume"
    assert not pair.tunnel.is_overdue(now + LIMITS.write_timeout_s)
    pair.owner.protocol.pause_writing()
    pair.owner.protocol.resume_writing()
    assert pair.client.noted[-2:] == ["pause", "resume"]


async def test_closing_end_is_asked_for_nothing(pair: Pair) -> None:
    pair.begin()
    ends: list[ClientEnd | OwnerEnd] = [pair.client.protocol, pair.owner.protocol]
    pair.client.close()
    pair.owner.close()
    noted = len(pair.client.noted), len(pair.owner.noted)
    for end in ends:
        end.pause_writing()
        end.resume_writing()
    pair.tunnel.stop()
    assert (len(pair.client.noted), len(pair.owner.noted)) == noted


async def test_end_of_a_side_is_forwarded_once_and_the_second_closes_both(
    pair: Pair,
) -> None:
    pair.begin()
    assert pair.client.protocol.eof_received() is True
    assert pair.owner.noted[-1] == "end"
    # Nothing of the client goes out after its end.
    pair.client.protocol.data_received(b"too late")
    assert pair.owner.noted[-1] == "end"
    assert pair.owner.protocol.eof_received() is False
    assert (pair.client.noted[-1], pair.owner.noted[-1]) == ("close", "close")


async def test_client_may_still_send_after_the_owner_has_ended(pair: Pair) -> None:
    pair.begin()
    assert pair.owner.protocol.eof_received() is True
    assert pair.client.noted[-1] == "end"
    assert pair.client.protocol.eof_received() is False
    assert (pair.client.noted[-1], pair.owner.noted[-1]) == ("close", "close")


async def test_stopping_door_notifies_the_owner_of_the_end(pair: Pair) -> None:
    pair.door.state.is_stopping = True
    pair.begin()
    assert pair.owner.noted == [b"GET /", "end"]
    pair.tunnel.stop()
    assert pair.owner.noted.count("end") == 1


async def test_reset_of_one_end_resets_the_other(pair: Pair) -> None:
    pair.begin()
    with socket.socket() as connected:
        pair.client.socket = connected
        pair.owner.protocol.connection_lost(ConnectionResetError())
        # No orderly end: the client learns that the answer is not complete.
        lingers = connected.getsockopt(socket.SOL_SOCKET, socket.SO_LINGER, 8)
    assert struct.unpack("ii", lingers) == (1, 0)
    assert (pair.client.noted[-1], pair.owner.noted[-1]) == ("abort", "abort")
    assert pair.ended == []
    pair.client.protocol.connection_lost(None)
    assert pair.ended == ["given back"]


async def test_answer_of_an_owner_is_read_piece_by_piece_to_its_end() -> None:
    call = OwnerCall(OWNER, "gh-1")
    call.abort()  # not connected yet: nothing to end
    said = asyncio.create_task(call.receive(4))
    await asyncio.sleep(0)
    for piece in (b"ab", b"cde"):
        call.data_received(piece)
        await asyncio.sleep(0)
    assert await said == b"abcd"
    more = asyncio.create_task(call.receive(4))
    await asyncio.sleep(0)
    call.connection_lost(None)
    with pytest.raises(ConnectionResetError):
        await more
