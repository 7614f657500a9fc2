"""What the parser makes of bytes, however they are cut, and of garbage."""

from dataclasses import dataclass

from hypothesis import example, given
from hypothesis import strategies as st

from leverframe.server.http.limits import HttpLimits
from leverframe.server.http.messages import Request
from leverframe.server.http.parser import (
    MAX_FEED_BYTES,
    BadRequest,
    BodyBudget,
    Reading,
    RequestParser,
)
from tests.cases import for_each


class Collector:
    """A parser, and what it has found so far."""

    def __init__(self) -> None:
        limits = HttpLimits()
        self.budget = BodyBudget(limits)
        self.parser = RequestParser(limits, self.budget)
        self.taken: list[tuple[object, ...]] = []
        self.refused: list[BadRequest] = []
        self.requests: list[Request] = []

    def feed(self, data: bytes) -> None:
        for start in range(0, len(data), MAX_FEED_BYTES):
            for found in self.parser.feed(data[start : start + MAX_FEED_BYTES]):
                assert not self.refused
                if isinstance(found, Request):
                    self.taken.append(fields(found))
                    self.requests.append(found)
                else:
                    self.refused.append(found)


def fields(request: Request) -> tuple[object, ...]:
    head = (request.method, request.path, request.query, request.headers)
    return (*head, request.body, request.is_http10)


def read(*pieces: bytes) -> Collector:
    reader = Collector()
    for piece in pieces:
        reader.feed(piece)
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

    def as_parsed(self) -> tuple[object, ...]:
        fields = (self.verb, self.path, self.query, self.all_headers(), self.body)
        return (*fields, False)


TARGET_CHARACTERS = "abz019%/&=+*;:@!$'(),-._~\"|<>{}^`\\[]"
header_values = st.text(st.characters(min_codepoint=0x21, max_codepoint=0xFF), max_size=20).filter(
    lambda text: "\x7f" not in text and text == text.strip()
)
hosts = st.builds(
    str.__add__,
    st.text(st.characters(codec="ascii", categories=["L", "N"], include_characters=".-_")),
    st.just("") | st.integers(0, 65535).map(":{}".format),
)
headers = st.fixed_dictionaries(
    {}, optional={"host": hosts, **dict.fromkeys(["x-a", "x-b", "cookie"], header_values)}
)
requests = st.builds(
    Sent,
    verb=st.sampled_from(["GET", "GET", "HEAD", "POST", "OPTIONS"]),
    path=st.text(TARGET_CHARACTERS, max_size=30).map(lambda text: "/" + text),
    query=st.none() | st.text(TARGET_CHARACTERS + "?", max_size=30),
    headers=headers | headers.map(lambda some: {"host": "h"} | some),
    body=st.binary(max_size=200),
    chunk_sizes=st.lists(st.integers(1, 50), max_size=5),
)
places = st.lists(st.integers(0, 10_000), max_size=20)


@for_each(
    "host",
    [
        "gh-1.localhost:",
        "gh-1.localhost:8080x",
        "gh-1.localhost:-1",
        "gh-1.localhost:65536",
        "gh-1.localhost:123456",
        "gh-1.localhost:80:80",
        "gh-1.localhost:" + "0" * 30_000,
        "g" * 256,
        "[::1",
        "::1",
        "[]",
        "[::1]80",
    ],
    ids=lambda host: host[:24],
)
def test_malformed_host_is_refused(host: str) -> None:
    by_header = b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()
    by_target = b"GET http://%b/ HTTP/1.1\r\nHost: h\r\n\r\n" % host.encode()
    for wire in (by_header, by_target)[: 1 if len(host) > 1000 else 2]:
        reader = read(wire)
        assert reader.taken == []
        assert [(one.status, one.detail[:28]) for one in reader.refused] == [
            (400, "The Host header is malformed")
        ]


@for_each(
    "host",
    ["", "h", "h.", "h:0", "h:65535", "g" * 255 + ":80", "127.0.0.1:8080", "[::1]", "[::1]:80"],
)
def test_well_formed_host_is_taken_as_it_is(host: str) -> None:
    (request,) = read(b"GET / HTTP/1.1\r\nHost: %b\r\n\r\n" % host.encode()).requests
    assert request.headers["host"] == host


@given(st.lists(requests, min_size=1, max_size=5), places)
def test_request_is_parsed_as_it_was_sent(sent: list[Sent], places: list[int]) -> None:
    reader = read(*cut(b"".join(request.wire() for request in sent), places))
    # A request without a Host is the last one.
    count = next((n for n, one in enumerate(sent, 1) if "host" not in one.headers), len(sent))
    assert reader.taken == [request.as_parsed() for request in sent[:count]]
    assert reader.refused == []


@st.composite
def corrupt_requests(draw: st.DrawFn) -> bytes:
    """Requests with a few bytes changed, put in or left out."""
    data = bytearray(b"".join(request.wire() for request in draw(st.lists(requests, max_size=4))))
    for _ in range(draw(st.integers(0, 4))):
        place = draw(st.integers(0, len(data)))
        data[place : place + draw(st.integers(0, 3))] = draw(
            st.sampled_from([b"\r\n", b"\r", b"\n", b"\x00", b" ", b":", b"\xe9", b"0", b""])
            | st.binary(max_size=3)
        )
    return bytes(data)


@given(st.binary(max_size=300) | corrupt_requests(), places)
def test_cuts_between_bytes_do_not_matter(data: bytes, places: list[int]) -> None:
    whole, in_pieces = read(data), read(*cut(data, places))
    assert in_pieces.taken == whole.taken
    # Of a head that is cut, it may be known a little earlier or later that it is no good.
    if not data.endswith(b"\n"):
        assert len(in_pieces.refused) == len(whole.refused)


POLL = b"GET /poll?a HTTP/1.1\r\nHost: here\r\n\r\n"
OTHER = POLL.replace(b"?a", b"?b")
POLL_HEAD = POLL.replace(b"GET", b"HEAD")
POLL_ADDRESS = POLL.replace(b" /", b" http://there/")
#: Makes the line that follows the value of a header.
UNFINISHED = b"GET /first HTTP/1.1\r\nHost: h\r\nX: "
fragments = st.sampled_from(
    [
        *[POLL, POLL, POLL, OTHER, POLL + OTHER, POLL + POLL, POLL[:7], POLL[7:], POLL + POLL[:7]],
        *[POLL[:-2], b"\r\n", POLL.replace(b"Host", b"X"), POLL_HEAD, POLL_ADDRESS, UNFINISHED],
        POLL.replace(b"GET", b"POST").replace(b"\r\n\r\n", b"\r\nContent-Length: 4\r\n\r\n"),
        *[POLL.replace(b"?a", odd) for odd in (b"", b"?", b"?\xe9", b'"|', b"#a", b" a", b"\x7f")],
        *[POLL.replace(b"1.1", odd) for odd in (b"1.0", b"1.2", b"1.1 ")],
        *[POLL[:-2] + b"X: 1\r\n\r\n", POLL + b"\r\n", POLL.replace(b" /", b" ")],
    ]
)


@given(st.lists(fragments, max_size=12))
@example([UNFINISHED, POLL, POLL])
@example([POLL, UNFINISHED, POLL, POLL])
@example([POLL, POLL[:7], POLL[7:], POLL])
@example([POLL_HEAD, POLL_HEAD, POLL])
@example([POLL_ADDRESS, POLL_ADDRESS])
def test_request_sent_again_means_the_same_only_where_it_is_a_request(
    pieces: list[bytes],
) -> None:
    whole, in_pieces = read(b"".join(pieces)), read(*pieces)
    assert in_pieces.taken == whole.taken
    assert len(in_pieces.refused) == len(whole.refused)


@given(corrupt_requests(), places)
def test_refusal_is_the_only_one_and_nothing_is_taken_after_it(
    data: bytes, places: list[int]
) -> None:
    reader = read(*cut(data, places))
    assert len(reader.refused) <= 1
    assert all(400 <= refused.status < 600 for refused in reader.refused)
    if reader.refused:
        assert reader.refused[0].status != 500
        taken = list(reader.taken)
        reader.feed(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        assert reader.taken == taken


def test_one_byte_at_a_time_is_the_slowest_way_and_works() -> None:
    head = b"POST /p?q HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = head + b"3\r\nabc\r\n0\r\n\r\n"
    reader = read(*(data[place : place + 1] for place in range(len(data))))
    headers = {"host": "here", "transfer-encoding": "chunked"}
    assert reader.taken == [("POST", "/p", "q", headers, b"abc", False)]


def test_bodies_are_counted_until_they_are_given_back() -> None:
    reader = read(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel")
    assert reader.budget.used == reader.parser.body_bytes == 3
    reader.feed(b"lo")
    assert (reader.budget.used, reader.parser.body_bytes) == (5, 0)
    reader.budget.give_back(reader.requests[0])
    assert reader.budget.used == 0
    unfinished = read(b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhel")
    unfinished.parser.end()
    assert unfinished.budget.used == 0


CHUNKED = b"POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
WHOLE = {
    "poll": POLL,
    "browser": POLL[:-2] + b"Accept: text/html, */*;q=0.8\r\nCookie: a=b; c\r\n\r\n",
    "head": POLL_HEAD,
    "address": POLL_ADDRESS,
    "options": b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "body": b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nGET ",
    "empty body": b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    "chunks and trailer": CHUNKED + b"3;x=y\r\nabc\r\n2\r\n\r\n\r\n0\r\nX-T: 1\r\n\r\n",
    "empty line before": b"\r\n" + POLL,
    "close": b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
    "HTTP/1.0": b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    "upgrade": b"GET /u HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n",
    "bad header": b"GET / HTTP/1.1\r\nHost: h\r\nbad header\r\n\r\n",
    "two hosts": POLL[:-2] + b"Host: there\r\n\r\n",
    "version": b"GET / HTTP/1.2\r\n\r\n",
    "known method": b"DELETE / HTTP/1.1\r\nHost: h\r\n\r\n",
    "unknown coding": b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n",
    "long query": b"GET /?" + b"a" * 8193 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
    "large body": b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9999999\r\n\r\n",
}


def outcome(reader: Collector) -> tuple[object, ...]:
    refusals = [(bad.status, bad.detail, bad.headers) for bad in reader.refused]
    return reader.taken, refusals, reader.parser.is_done or reader.parser.reading


@for_each("case", WHOLE)
@for_each("before", [b"", POLL, WHOLE["body"]], ids=["first", "after", "after body"])
def test_request_cut_anywhere_means_what_it_means_whole(case: str, before: bytes) -> None:
    data = before + WHOLE[case]
    whole = outcome(read(data))
    places = range(0, len(data), 1 + len(data) // 500)
    assert [place for place in places if outcome(read(data[:place], data[place:])) != whole] == []


@given(st.lists(st.sampled_from(sorted(WHOLE)), min_size=1, max_size=6), places)
def test_pipelined_requests_cut_at_random_mean_what_they_mean_whole(
    cases: list[str], places: list[int]
) -> None:
    data = b"".join(WHOLE[case] for case in cases)
    assert outcome(read(*cut(data, places))) == outcome(read(data))


def test_bytes_before_a_request_seen_before_make_it_another_one() -> None:
    reader = read(POLL, POLL, b"\nGE", POLL)
    assert [path for _, path, *_ in reader.taken] == ["/poll", "/poll"]
    assert [bad.status for bad in reader.refused] == [400]


def test_same_headers_in_an_older_version_mean_a_close() -> None:
    for headers in (b"", b"Connection: keep-alive\r\n"):
        kept = b"GET / HTTP/1.1\r\nHost: h\r\n" + headers + b"\r\n"
        reader = read(kept, kept.replace(b"1.1", b"1.0"), kept)
        assert [is_http10 for *_, is_http10 in reader.taken] == [False, True]
        for version in (b"0.9", b"1.2", b"2.0"):
            reader = read(kept, kept.replace(b"1.1", version))
            assert [bad.status for bad in reader.refused] == [400 if version == b"0.9" else 505]


def test_headers_are_those_of_the_request_also_where_they_change() -> None:
    more = POLL[:-2] + b"X: 1\r\n\r\n"
    sent = (POLL, OTHER, more, OTHER, OTHER, more, more, POLL)
    assert ["x" in request.headers for request in read(*sent).requests] == [
        b"X" in one for one in sent
    ]


def test_limits_hold_for_a_request_with_the_same_headers() -> None:
    for field, limit in ((b"/poll", 1024), (b"a", 8192)):
        longest = POLL.replace(field, field + b"a" * (limit - len(field)))
        reader = read(POLL, longest, longest.replace(field, field + b"a"))
        assert len(reader.taken) == 2
        assert [bad.status for bad in reader.refused] == [414]


def test_headers_are_not_shared_between_connections() -> None:
    first, second = read(POLL), read(POLL)
    assert first.taken == second.taken
    assert first.taken[0][3] is not second.taken[0][3]


def test_start_of_the_next_request_is_noticed_in_the_same_bytes() -> None:
    assert read(POLL).parser.reading is Reading.NOTHING
    assert read(POLL + POLL[:20]).parser.reading is Reading.HEAD
    assert read(POLL + WHOLE["body"][:-1]).parser.reading is Reading.BODY


def test_nothing_counts_after_the_end() -> None:
    reader = Collector()
    reader.parser.end()
    reader.feed(POLL)
    assert reader.taken == []
