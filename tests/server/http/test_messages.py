"""Replies as bytes: read back by a foreign parser, they say what was meant."""

from collections.abc import AsyncIterator

import httptools
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leverframe.server.http.messages import NOT_GUESSED, Reply, Request, StreamReply, problem_reply
from tests.cases import for_each


class ReadBack:
    def __init__(self, data: bytes) -> None:
        self.headers: list[tuple[str, str]] = []
        self.body = b""
        self.complete = False
        self.keeps_alive = False
        self.parser = httptools.HttpResponseParser(self)
        self.parser.feed_data(data)
        self.status = self.parser.get_status_code()

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.decode(), value.decode("latin-1")))

    def on_body(self, part: bytes) -> None:
        self.body += part

    def on_message_complete(self) -> None:
        self.complete = True
        self.keeps_alive = self.parser.should_keep_alive()


names = st.text("ABCabc-019", min_size=1, max_size=12).map(lambda text: "X-" + text)
values = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=30)
replies = st.builds(
    Reply,
    status=st.sampled_from([200, 201, 400, 404, 405, 413, 423, 429, 500, 503, 507]),
    content_type=st.sampled_from(["", "text/xml", "application/json", "text/css"]),
    body=st.binary(max_size=200),
    headers=st.lists(st.tuples(names, values), max_size=4).map(tuple),
)


@given(replies)
def test_reply_is_read_back_as_it_was_meant(reply: Reply) -> None:
    read = ReadBack(reply.encode())
    content_type = [("Content-Type", reply.content_type), NOT_GUESSED] if reply.content_type else []
    length = [("Content-Length", str(len(reply.body)))]
    assert read.status == reply.status
    assert read.headers == content_type + list(reply.headers) + length
    assert read.body == reply.body
    assert read.complete
    assert read.keeps_alive


@given(replies)
def test_last_reply_of_a_connection_says_so(reply: Reply) -> None:
    read = ReadBack(reply.encode(close=True))
    assert ("Connection", "close") in read.headers
    assert read.body == reply.body
    assert not read.keeps_alive


@given(replies, st.booleans())
def test_answer_to_head_is_the_reply_up_to_its_body(reply: Reply, close: bool) -> None:
    head = reply.encode(close=close, head_only=True)
    assert head + reply.body == reply.encode(close=close)


@pytest.mark.parametrize("status", [204, 304])
def test_reply_that_has_no_body_has_no_length_either(status: int) -> None:
    read = ReadBack(Reply(status, "", b"").encode())
    assert (read.headers, read.body) == ([], b"")
    with pytest.raises(ValueError, match="cannot have a body"):
        Reply(status, "", b"x").encode()


@for_each("text", ["a\r\nX-B: c", "a\nb", "a\x00b", "a\x7f"])
def test_header_cannot_smuggle_a_line(text: str) -> None:
    for reply in (
        Reply(200, "", b"", (("X-A", text),)),
        Reply(200, "", b"", ((text, "a"),)),
        Reply(200, text, b""),
    ):
        with pytest.raises(ValueError, match="line break or control character"):
            reply.encode()


async def no_chunks() -> AsyncIterator[bytes]:
    return
    yield


@pytest.mark.parametrize(
    ("chunked", "close", "framing"),
    [
        (True, False, [("Transfer-Encoding", "chunked")]),
        (True, True, [("Transfer-Encoding", "chunked"), ("Connection", "close")]),
        (False, True, [("Connection", "close")]),
    ],
)
def test_stream_says_how_its_end_is_known(
    chunked: bool, close: bool, framing: list[tuple[str, str]]
) -> None:
    stream = StreamReply(200, "text/event-stream", no_chunks(), (("Cache-Control", "no-store"),))
    read = ReadBack(stream.encode_head(chunked=chunked, close=close))
    own = [("Content-Type", "text/event-stream"), NOT_GUESSED, ("Cache-Control", "no-store")]
    assert read.headers == own + framing


def test_problem_names_its_status_and_reason() -> None:
    reply = problem_reply(413, "Too much.")
    assert (reply.status, reply.content_type) == (413, "application/problem+json")
    assert msgspec.json.decode(reply.body) == {
        "type": "about:blank",
        "title": "Content Too Large",
        "status": 413,
        "detail": "Too much.",
    }


def test_request_does_not_show_its_secrets_when_it_is_printed() -> None:
    request = Request("GET", "/post.cgi", "password=a1", {"authorization": "Basic b2"}, b"c3")
    assert repr(request) == "<Request GET /post.cgi from >"
