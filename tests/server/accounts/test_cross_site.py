"""Requests that foreign pages cause, names that are none of ours, and what pages may do."""

import pytest

from leverframe.host.configuration import BadConfiguration, read_config
from leverframe.server.cross_site import OwnNames, is_loopback
from leverframe.server.http.messages import Reply, Request, StreamReply
from leverframe.server.problems import ForeignPage
from leverframe.server.routes.headers import PAGE_HEADERS, open_to
from leverframe.server.routes.pages import pages
from leverframe.server.routes.router import Reach
from leverframe.testing import LoopTwin
from tests.cases import for_each
from tests.server.signing_up import ADMINISTRATOR, basic, cookie_of, sign_in, start_with_accounts

OWN = "127.0.0.1:8080"


async def switch(**headers: str) -> tuple[int, str]:
    """Status of a request that would switch OUT0, and the outputs after it."""
    twin = await LoopTwin.start()
    reply = await twin.ask("/outs.cgi?out0=1", **headers)
    return reply.status, await twin.outputs()


@for_each(
    "headers",
    [
        {},
        {"host": OWN},
        {"host": OWN, "origin": f"http://{OWN}"},
        {"host": OWN, "referer": f"http://{OWN}/status"},
        {"host": OWN, "referer": f"http://admin:secret@{OWN}/status"},
        {"host": OWN, "sec_fetch_site": "same-origin"},
        {"host": OWN, "sec_fetch_site": "none"},
        {"host": "localhost", "origin": "http://localhost:80"},
        {"host": "[::1]:8080", "referer": "http://[::1]:8080/"},
        {"host": "LOCALHOST:8080", "origin": "https://localhost:8080"},
        {"referer": f"http://{OWN}/"},
    ],
)
async def test_our_own_page_and_programs_switch(headers: dict[str, str]) -> None:
    assert await switch(**headers) == (200, "100000")


@for_each(
    "headers",
    [
        {"host": OWN, "origin": "http://evil.example"},
        {"host": OWN, "origin": "null"},
        {"host": OWN, "origin": "http://127.0.0.1:9090"},
        {"host": OWN, "origin": f"http://{OWN}.evil.example"},
        {"host": OWN, "origin": f"http://evil.example/{OWN}"},
        {"host": OWN, "origin": f"http://evil@{OWN}"},
        {"host": OWN, "origin": f"ftp://{OWN}"},
        {"host": OWN, "referer": "https://evil.example/page"},
        {"host": OWN, "referer": f"http://{OWN}@evil.example/"},
        {"host": OWN, "referer": f"http://evil.example/@{OWN}/"},
        {"host": OWN, "sec_fetch_site": "cross-site"},
        {"host": OWN, "sec_fetch_site": "same-site"},
        {"host": OWN, "origin": f"http://{OWN}", "sec_fetch_site": "cross-site"},
        {"referer": "http://evil.example/"},
        {"origin": "http://evil.example"},
        {"host": "evil.example"},
        {"host": "evil.example:8080", "origin": "http://evil.example:8080"},
        {"host": "127.0.0.1.evil.example"},
        {"host": "[::1].evil.example"},
        {"host": "127.0.0.1@evil.example"},
        {"host": "192.168.1.5"},
        {"host": ""},
    ],
)
async def test_foreign_page_and_a_foreign_host_switch_nothing(headers: dict[str, str]) -> None:
    assert await switch(**headers) == (403, "000000")


TLS, PROXIED = OwnNames("0.0.0.0", secure=True), OwnNames(names=["cellar.example"])


@for_each(
    ("names", "host", "origin", "more", "is_own"),
    [
        (OwnNames(), "localhost", "http://localhost", {}, True),
        (OwnNames(), "localhost", "https://localhost", {}, False),
        (TLS, "10.0.0.5", "https://10.0.0.5", {}, True),
        (TLS, "10.0.0.5", "http://10.0.0.5", {}, False),
        (TLS, "10.0.0.5", "http://10.0.0.5", {"x_forwarded_proto": "http"}, False),
        (PROXIED, "cellar.example", "http://cellar.example", {}, True),
        (PROXIED, "cellar.example", "https://cellar.example", {}, True),
        (PROXIED, "localhost", "https://localhost", {}, False),
        *(
            (PROXIED, "cellar.example", f"{page}://cellar.example", forwarded, is_own)
            for forwarded in ({"x_forwarded_proto": "HTTPS"},)
            for page, is_own in (("https", True), ("http", False))
        ),
    ],
)
async def test_same_name_with_and_without_tls_are_two_sites(
    names: OwnNames, host: str, origin: str, more: dict[str, str], is_own: bool
) -> None:
    twin = await LoopTwin.start(reach=Reach(names))
    reply = await twin.ask("/outs.cgi?out0=1", host=host, origin=origin, **more)
    assert reply.status == (200 if is_own else 403)


async def test_session_changes_something_only_from_a_page_of_ours() -> None:
    twin = await start_with_accounts()
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))

    async def status(target: str, method: str = "GET", **headers: str) -> int:
        return (await twin.ask(target, method, host=OWN, **headers)).status

    for method in ("GET", "POST"):
        for target in ("/outs.cgi?out0=1", "/stm.cgi?oname=0x", "/sim.cgi?DS1=20"):
            assert await status(target, method, cookie=cookie) == 403, target
            here = f"http://{OWN}"
            assert await status(target, method, cookie=cookie, origin=here) == 200, target
            assert await status(target, method, cookie=cookie, referer=f"{here}/x") == 200, target
            assert await status(target, method, authorization=basic(*ADMINISTRATOR)) == 200, target
    for target in ("/post.cgi?signout", "/post.cgi?signin", "/api/rules/try"):
        assert await status(target, "POST", cookie=cookie) == 403, target
    for target in ("/?safe", "/api/history?points=2", "/outs.cgi", "/api/settings"):
        assert await status(target, cookie=cookie) == 200, target


@pytest.mark.parametrize("target", ["/post.cgi?signin", "/post.cgi?signout", "/sim.cgi?DS1=1"])
async def test_foreign_page_can_send_nothing_else_either(target: str) -> None:
    twin = await LoopTwin.start()
    reply = await twin.ask(target, "POST", b"username=a&password=b", origin="http://evil.example")
    assert reply.status == 403


async def test_reading_with_a_foreign_host_is_refused() -> None:
    twin = await LoopTwin.start()
    for target in ("/json/status.json", "/api/settings", "/", "/health", "/dev_settings.bin"):
        assert (await twin.ask(target, host="evil.example")).status == 403, target


def accepts(names: OwnNames, host: str) -> bool:
    try:
        names.check_host(Request("GET", "/", None, {"host": host}))
    except ForeignPage:
        return False
    return True


@for_each(
    ("listening_on", "names", "accepted", "refused"),
    [
        ("127.0.0.1", (), ("127.0.0.1", "localhost.", "127.0.0.9:1"), ("10.0.0.1", "box")),
        ("192.168.1.5", (), ("192.168.1.5:80", "localhost"), ("192.168.1.6", "box")),
        ("0.0.0.0", ("box",), ("10.1.2.3", "[fe80::1]:80", "BOX:8080"), ("box.evil", "boxx")),
        ("::", ("box.lan",), ("box.lan", "[2001:db8::1]"), ("evil.example", "a b")),
    ],
)
def test_host_is_known(
    listening_on: str, names: tuple[str, ...], accepted: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    own = OwnNames(listening_on, names)
    assert all(accepts(own, host) for host in accepted)
    assert not any(accepts(own, host) for host in refused)


@for_each("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_is_this_machine(host: str) -> None:
    assert is_loopback(host)


@for_each("host", ["0.0.0.0", "::", "192.168.1.5", "", "box", "localhost.example"])
def test_everything_else_is_not(host: str) -> None:
    assert not is_loopback(host)


@pytest.mark.parametrize("path", ["/", "/signin"])
async def test_pages_run_no_script_of_others_and_stand_in_no_frame(path: str) -> None:
    twin = await LoopTwin.start()
    reply = await twin.ok(path)
    headers = dict(reply.headers)
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert b"<script>" not in reply.body
    assert b"style=" not in reply.body


def test_every_file_of_the_pages_that_a_browser_shows_as_a_document_obeys_the_same() -> None:
    for path, kept in pages().items():
        reply = kept.reply_to(Request("GET", path))
        headers = dict(reply.headers)
        assert headers["X-Content-Type-Options"] == "nosniff", path
        if reply.content_type.partition(";")[0] not in ("text/javascript", "text/css"):
            assert headers.items() >= dict(PAGE_HEADERS).items(), path


async def test_no_answer_opens_itself_to_other_sites() -> None:
    twin = await LoopTwin.start()
    for target in ("/json/status.json", "/outs.cgi", "/api/state", "/"):
        reply = await twin.ask(target, origin="http://evil.example")
        assert not [name for name, _ in reply.headers if name.startswith("Access-Control")]


PANEL = "https://panel.example"


async def ask_from(origin: str, **more: str) -> tuple[Reply, str]:
    """What a page of some origin gets that switches OUT0; one origin is configured."""
    names = OwnNames(origins=[PANEL])
    twin = await LoopTwin.start(reach=Reach(names))
    handle = open_to(names.origins, twin.web.handle)
    method, headers = more.pop("method", "GET"), {"host": OWN, "origin": origin}
    headers |= {name.replace("_", "-"): value for name, value in more.items()}
    answer = handle(Request(method, "/outs.cgi", "out0=1", headers, b"", "127.0.0.1"))
    reply = answer if isinstance(answer, Reply) else await answer
    assert isinstance(reply, Reply)
    return reply, await twin.outputs()


async def test_configured_origin_switches_and_reads_the_answer_without_cookies() -> None:
    reply, outputs = await ask_from(PANEL, sec_fetch_site="cross-site")
    assert (reply.status, outputs) == (200, "100000")
    headers = dict(reply.headers)
    assert headers["Access-Control-Allow-Origin"] == PANEL
    assert headers["Vary"] == "Origin"
    assert "Access-Control-Allow-Credentials" not in headers


async def test_browser_of_a_configured_origin_gets_the_allowed_headers() -> None:
    reply, outputs = await ask_from(PANEL, method="OPTIONS", access_control_request_method="POST")
    assert (reply.status, outputs) == (204, "000000")
    headers = dict(reply.headers)
    assert headers["Access-Control-Allow-Origin"] == PANEL
    assert "Authorization" in headers["Access-Control-Allow-Headers"]


@for_each(
    "origin",
    [
        "http://panel.example",
        "https://panel.example:8443",
        "https://panel.example.evil.example",
        "https://evil.example",
        "null",
        "",
    ],
)
@for_each("method", ["GET", "OPTIONS"])
async def test_origin_that_only_resembles_it_gets_nothing(origin: str, method: str) -> None:
    more = {"access_control_request_method": "GET", "sec_fetch_site": "cross-site"}
    reply, outputs = await ask_from(origin, method=method, **more)
    assert (reply.status, outputs) == (403, "000000")
    assert not [name for name, _ in reply.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_session_is_of_no_use_to_a_configured_origin(method: str) -> None:
    names = OwnNames(origins=[PANEL])
    twin = await start_with_accounts(names=names)
    handle = open_to(names.origins, twin.web.handle)
    cookie = cookie_of(await sign_in(twin, ADMINISTRATOR))

    async def status(target: str, **credentials: str) -> int:
        path, _, query = target.partition("?")
        headers = {"host": OWN, "origin": PANEL, **credentials}
        answer = handle(Request(method, path, query or None, headers, b"", "127.0.0.1"))
        return (answer if isinstance(answer, Reply | StreamReply) else await answer).status

    for target in ("/outs.cgi?out0=1", "/stm.cgi?oname=0x", "/outs.cgi"):
        assert await status(target, cookie=cookie) == 401, target
    assert twin.controller.engine.values["OUT0"] == 0
    assert await status("/outs.cgi?out0=1", authorization=basic(*ADMINISTRATOR)) == 200


async def test_stream_is_opened_to_a_configured_origin_too() -> None:
    names = OwnNames(origins=[PANEL])
    twin = await LoopTwin.start(reach=Reach(names))
    handle = open_to(names.origins, twin.web.handle)
    reply = handle(Request("GET", "/api/stream", None, {"origin": PANEL}))
    assert isinstance(reply, StreamReply)
    assert ("Access-Control-Allow-Origin", PANEL) in reply.headers


def test_without_configured_origins_nothing_stands_in_the_way() -> None:
    def answer(request: Request) -> Reply:
        return Reply(200, "", b"")

    assert open_to(frozenset(), answer) is answer


@for_each("origin", ["*", "null", "panel.example", "https://panel.example/", "HTTPS://X"])
def test_impossible_origin_is_refused_in_the_configuration(origin: str) -> None:
    with pytest.raises(BadConfiguration, match="is not an origin; write it as"):
        read_config(None, {"cors_origins": origin})
    allowed = "http://192.168.1.5:3000,http://[fe80::1]"
    assert len(read_config(None, {"cors_origins": allowed}).cors_origins) == 2


async def test_405_names_only_what_is_taken() -> None:
    twin = await LoopTwin.start()
    for target in ("/outs.cgi", "/json/status.json"):
        reply = await twin.ask(target, "OPTIONS")
        assert reply.status == 405
        for method in dict(reply.headers)["Allow"].split(", "):
            assert (await twin.ask(target, method)).status == 200
