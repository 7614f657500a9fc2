"""What the reading half makes of bytes, however they are cut, and of garbage."""

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.servers.http.limits import HttpLimits
from leverframe.servers.http.messages import Request
from leverframe.servers.http.reader import Refused, RequestReader, ServerState


class Collector(RequestReader):
    """Keeps what was read, instead of answering it."""

    def __init__(self) -> None:
        super().__init__(HttpLimits(), ServerState())
        self.taken: list[tuple[object, ...]] = []
        self.refused: list[Refused] = []
        self.has_held = False

    def take(self, request: Request, head_only: bool, ending: int) -> None:
        fields = (request.method, request.path, request.query, request.headers, request.body)
        self.taken.append((*fields, head_only, ending))

    def refuse(self, refused: Refused) -> None:
        self.refused.append(refused)

    def invite_body(self) -> None:
        self.wants_continue = False

    def yield_to_loop(self) -> None:
        self.has_held = True


def read(*pieces: bytes) -> Collector:
    reader = Collector()
    for piece in pieces:
        reader.data_received(piece)
        while reader.has_held:
            reader.has_held = False
            reader.read_held()
    return reader


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]


@dataclass(frozen=True)
class Sent:
    """A request as a client means it, and a way to put it into bytes."""

    verb: str
    path: str
    query: str | None
    headers: dict[str, str]
    body: bytes
    chunk_sizes: list[int]

    def wire(self) -> bytes:
        target = self.path if self.query is None else f"{self.path}?{self.query}"
        lines = [f"{self.verb} {target} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in self.all_headers().items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + self.wire_body()

    def all_headers(self) -> dict[str, str]:
        if self.chunk_sizes:
            return self.headers | {"transfer-encoding": "chunked"}
        if self.body:
            return self.headers | {"content-length": str(len(self.body))}
        return self.headers

    def wire_body(self) -> bytes:
        if not self.chunk_sizes:
            return self.body
        rest, wire = self.body, b""
        for size in [*self.chunk_sizes, len(rest)]:
            chunk, rest = rest[:size], rest[size:]
            if chunk:
                wire += b"%x\r\n%b\r\n" % (len(chunk), chunk)
        return wire + b"0\r\n\r\n"

    def expected(self) -> tuple[object, ...]:
        fields = (self.verb, self.path, self.query, self.all_headers(), self.body)
        return (*fields, self.verb == "HEAD", 0)


TARGET_CHARACTERS = "abz019%/&=+*;:@!$'(),-._~\"|<>{}^`\\[]"
header_values = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF), max_size=20).filter(
    lambda text: "\x7f" not in text and text == text.strip()
)
requests = st.builds(
    Sent,
    verb=st.sampled_from(["GET", "GET", "HEAD", "POST", "OPTIONS"]),
    path=st.text(TARGET_CHARACTERS, max_size=30).map(lambda text: "/" + text),
    query=st.none() | st.text(TARGET_CHARACTERS + "?", max_size=30),
    headers=st.dictionaries(st.sampled_from(["host", "x-a", "x-b", "cookie"]), header_values),
    body=st.binary(max_size=200),
    chunk_sizes=st.lists(st.integers(1, 50), max_size=5),
)
places = st.lists(st.integers(0, 10_000), max_size=20)


@given(st.lists(requests, min_size=1, max_size=5), places)
def test_what_was_sent_is_what_is_taken(sent: list[Sent], places: list[int]) -> None:
    reader = read(*cut(b"".join(request.wire() for request in sent), places))
    assert reader.taken == [request.expected() for request in sent]
    assert reader.refused == []


@st.composite
def damaged_requests(draw: st.DrawFn) -> bytes:
    """Requests with a few bytes changed, put in or left out."""
    data = bytearray(b"".join(request.wire() for request in draw(st.lists(requests, max_size=4))))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 3))] = draw(
            st.sampled_from([b"\r\n", b"\r", b"\n", b"\x00", b" ", b":", b"\xe9", b"0", b""])
            | st.binary(max_size=3)
        )
    return bytes(data)


@given(st.binary(max_size=300) | damaged_requests(), places)
def test_it_does_not_matter_how_bytes_are_cut(data: bytes, places: list[int]) -> None:
    whole, in_pieces = read(data), read(*cut(data, places))
    assert in_pieces.taken == whole.taken
    # Of a head that is cut, it may be known a little earlier or later that it is no good.
    if not data.endswith(b"\n"):
        assert len(in_pieces.refused) == len(whole.refused)


class Holder(Collector):
    """Wants no more once it has a request."""

    def take(self, request: Request, head_only: bool, ending: int) -> None:
        super().take(request, head_only, ending)
        self.holding = True


def test_a_burst_is_held_when_enough_requests_wait_and_read_on_later() -> None:
    sent = [b"GET /%d HTTP/1.1\r\nX: %s\r\n\r\n" % (n, b"a" * 1000) for n in range(200)]
    reader = Holder()
    reader.data_received(b"".join(sent))
    seen = 0
    while reader.holding:
        # No more than fits into the 16 KiB that are parsed at a time.
        assert 0 < len(reader.taken) - seen <= 17
        seen = len(reader.taken)
        reader.read_held()
    assert [path for _, path, *_ in reader.taken] == [f"/{n}" for n in range(200)]


POLL = b"GET /poll?a HTTP/1.1\r\nHost: here\r\n\r\n"
OTHER = POLL.replace(b"?a", b"?b")
POLL_HEAD = POLL.replace(b"GET", b"HEAD")
POLL_ADDRESS = POLL.replace(b" /", b" http://there/")
#: Makes the line that follows the value of a header.
UNFINISHED = b"GET /first HTTP/1.1\r\nX: "
fragments = st.sampled_from(
    [
        *[POLL, POLL, POLL, OTHER, POLL + OTHER, POLL + POLL, POLL[:7], POLL[7:], POLL + POLL[:7]],
        *[POLL[:-2], b"\r\n", POLL.replace(b"Host", b"X"), POLL_HEAD, POLL_ADDRESS, UNFINISHED],
        POLL.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 4\r\n\r\n"),
    ]
)


@given(st.lists(fragments, max_size=12))
@example([UNFINISHED, POLL, POLL])
@example([POLL, UNFINISHED, POLL, POLL])
@example([POLL, POLL[:7], POLL[7:], POLL])
@example([POLL_HEAD, POLL_HEAD, POLL])
@example([POLL_ADDRESS, POLL_ADDRESS])
def test_a_request_sent_again_means_the_same_only_where_it_is_a_request(
    pieces: list[bytes],
) -> None:
    whole, in_pieces = read(b"".join(pieces)), read(*pieces)
    assert in_pieces.taken == whole.taken
    assert len(in_pieces.refused) == len(whole.refused)


@given(damaged_requests(), places)
def test_there_is_at_most_one_refusal_and_nothing_is_taken_after_it(
    data: bytes, places: list[int]
) -> None:
    reader = read(*cut(data, places))
    assert len(reader.refused) <= 1
    assert all(400 <= refused.status < 600 for refused in reader.refused)
    if reader.refused:
        assert reader.refused[0].status != 500
        taken = list(reader.taken)
        reader.data_received(b"GET / HTTP/1.1\r\n\r\n")
        assert reader.taken == taken


def test_one_byte_at_a_time_is_the_slowest_way_and_works() -> None:
    head = b"POST /p?q HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"3\r\nabc\r\n0\r\n\r\n"
    reader = read(*(data[place : place + 1] for place in range(len(data))))
    headers = {"host": "here", "transfer-encoding": "chunked"}
    assert reader.taken == [("POST", "/p", "q", headers, b"abc", False, 0)]


def test_bodies_are_counted_until_they_are_released() -> None:
    reader = read(b"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhel")
    assert reader._tally.bodies_bytes == reader.body_bytes == 3
    reader.data_received(b"lo")
    assert (reader._tally.bodies_bytes, reader.body_bytes) == (5, 0)
    reader.release(Request("POST", "/", body=b"hello"))
    assert reader._tally.bodies_bytes == 0
