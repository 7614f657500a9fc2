"""The live state as server-sent events."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from leverframe.servers.http.messages import Request, StreamReply
from tests.servers.signing_up import (
    ADMINISTRATOR,
    OWN_PAGE,
    USER,
    base64,
    basic,
    cookie_of,
    sign_in,
    signed_up,
)
from tests.twin import Twin


async def opened(twin: Twin) -> AsyncIterator[bytes]:
    reply = twin.web.handle(Request("GET", "/api/stream"))
    assert isinstance(reply, StreamReply)
    assert reply.content_type == "text/event-stream"
    return reply.chunks


def content(message: bytes, kind: str) -> dict[str, Any]:
    head, data, end = message.split(b"\n", 2)
    assert (head, end) == (f"event: {kind}".encode(), b"\n")
    decoded: dict[str, Any] = msgspec.json.decode(data.removeprefix(b"data: "))
    return decoded


async def test_a_stream_begins_with_the_full_state() -> None:
    twin = await Twin.start()
    stream = await opened(twin)
    assert content(await anext(stream), "state") == await twin.state()


async def test_a_stream_then_tells_what_changed() -> None:
    twin = await Twin.start()
    stream = await opened(twin)
    await anext(stream)
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/sim.cgi?DS1=21.5&advance=3")
    change = content(await anext(stream), "change")
    assert (change["OUT0"], change["DS1"]) == (1, 21.5)
    assert "OUT1" not in change


async def test_a_stream_tells_that_settings_have_changed_and_not_which() -> None:
    twin = await Twin.start()
    stream = await opened(twin)
    await anext(stream)
    await twin.ok("/stm.cgi?gsmcode=1234")
    assert content(await anext(stream), "settings") == {}


async def test_a_stream_that_ends_leaves_no_watcher() -> None:
    twin = await Twin.start()
    others = set(twin.controller.watchers)
    stream = await opened(twin)
    await anext(stream)
    assert len(twin.controller.watchers) == len(others) + 1
    await stream.aclose()  # type: ignore[attr-defined]
    assert twin.controller.watchers == others


async def test_a_stream_tells_that_virtual_time_was_moved_though_nothing_was_due() -> None:
    twin = await Twin.start()
    stream = await opened(twin)
    began = content(await anext(stream), "state")["time"]
    await twin.ok("/sim.cgi?advance=5")
    assert content(await anext(stream), "change")["time"] == began + 5


async def followed(twin: Twin, **headers: str) -> AsyncIterator[bytes]:
    answer = twin.web.handle(Request("GET", "/api/stream", None, headers, b"", "127.0.0.1"))
    reply = answer if isinstance(answer, StreamReply) else await answer  # type: ignore[misc]
    assert isinstance(reply, StreamReply)
    await anext(reply.chunks)
    return reply.chunks


async def test_a_stream_ends_when_its_session_does() -> None:
    twin = await signed_up()
    cookie, other = [cookie_of(await sign_in(twin, USER)) for _ in range(2)]
    stream, others = await followed(twin, cookie=cookie), await followed(twin, cookie=other)
    await twin.ask("/post.cgi?signout", "POST", b"", cookie=cookie, origin=OWN_PAGE)
    assert [message async for message in stream] == []
    await twin.ask("/outs.cgi?out0=1", authorization=basic(*ADMINISTRATOR))
    assert content(await anext(others), "change")["OUT0"] == 1


async def test_a_stream_ends_when_its_password_is_no_longer_right() -> None:
    twin = await signed_up()
    stream = await followed(twin, authorization=basic(*USER))
    fields = "*".join(base64(text) for text in (*ADMINISTRATOR, USER[0], "another long secret"))
    await twin.ask(f"/stm.cgi?auth=11{fields}&oname=0Lamp", authorization=basic(*ADMINISTRATOR))
    assert content(await anext(stream), "settings") == {}
    await twin.ask("/outs.cgi?out0=1", authorization=basic(*ADMINISTRATOR))
    assert [message async for message in stream] == []
