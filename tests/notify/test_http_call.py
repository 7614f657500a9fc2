"""HTTP1-HTTP4 against a server on loopback that fails, stalls, asks for a login and recovers."""

import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from leverframe.core.runtime.outgoing import Targets
from leverframe.notify.channel import Trust, WhyHeld
from leverframe.notify.http import HttpCalls
from tests.patience import PATIENCE_S
from tests.ports import free_port

from .conftest import Certificates
from .email_server import mail_peer
from .http_server import HttpPeer, Taken, http_peer
from .post_office import Bell, PostOffice


@pytest.fixture
def bell() -> Bell:
    return Bell()


@pytest.fixture
async def peer(bell: Bell) -> AsyncIterator[HttpPeer]:
    async with http_peer(bell) as peer:
        yield peer


@asynccontextmanager
async def calling(
    bell: Bell,
    *,
    allow_local: bool = True,
    trust: Trust | None = None,
    answer_s: float = PATIENCE_S,
    why_held: WhyHeld = lambda: None,
) -> AsyncIterator[PostOffice]:
    way_out = Targets(allow_local).channel("http")
    channel = HttpCalls(1, trust or Trust(), way_out, answer_s=answer_s, why_held=why_held)
    office = PostOffice(bell=bell, http1=channel)
    try:
        yield office
    finally:
        await office.outbox.close()


@pytest.fixture
async def office(bell: Bell) -> AsyncIterator[PostOffice]:
    async with calling(bell) as office:
        yield office


def request(office: PostOffice, url: str, body: str = "") -> None:
    office.set(http__0__url=url)
    office.notify(url, "http", 1, body=body)


async def test_request_goes_out_with_host_path_and_query(
    office: PostOffice, peer: HttpPeer
) -> None:
    request(office, f"localhost:{peer.port}/set?t=21.5&x=a%20b")
    (sent,) = await office.until_ended()
    assert peer.taken[0].line == "GET /set?t=21.5&x=a%20b HTTP/1.1"
    assert peer.taken[0].headers["host"] == f"localhost:{peer.port}"
    assert sent["answer"] == "200 OK"
    assert sent["target"] == f"http://localhost:{peer.port}"


async def test_address_without_a_path_asks_for_the_root(office: PostOffice, peer: HttpPeer) -> None:
    request(office, f"http://127.0.0.1:{peer.port}")
    await office.until_ended()
    assert peer.paths == ["/"]


@pytest.mark.parametrize(
    ("body", "kind"),
    [('{"t": 21.5}', "application/json"), ("t=21.5 °C", "text/plain; charset=utf-8"), ("", None)],
)
async def test_post_carries_its_body(
    office: PostOffice, peer: HttpPeer, body: str, kind: str | None
) -> None:
    office.set(http__0__post=True)
    request(office, f"127.0.0.1:{peer.port}/in", body)
    await office.until_ended()
    taken = peer.taken[0]
    assert taken.line == "POST /in HTTP/1.1"
    assert taken.body == body.encode()
    if kind is not None:
        assert taken.headers["content-type"] == kind


async def test_server_that_fails_is_asked_again_until_it_recovers(
    office: PostOffice, peer: HttpPeer
) -> None:
    statuses = iter([500, 503, 429, 204])
    peer.answer = lambda taken: (next(statuses), {})
    request(office, f"127.0.0.1:{peer.port}/a")
    (sent,) = await office.until_ended()
    assert (sent["answer"], sent["attempts"]) == ("204 No Content", 4)
    assert f"127.0.0.1:{peer.port} answered 500 Internal Server Error." in office.reports[0]


async def test_request_is_not_sent_when_the_node_lost_the_controller_since_it_was_begun(
    bell: Bell, peer: HttpPeer
) -> None:
    reasons = iter(["Another node may have it.", "Another node may have it."])
    async with calling(bell, why_held=lambda: next(reasons, None)) as office:
        request(office, f"127.0.0.1:{peer.port}/a")
        (sent,) = await office.until_ended()
        assert sent["attempts"] == 3
    assert peer.paths == ["/a"]
    assert "Another node may have it." in office.reports[0]


async def test_server_that_stalls_is_asked_again(bell: Bell, peer: HttpPeer) -> None:
    peer.answer = lambda taken: None if len(peer.taken) == 1 else (200, {})
    async with calling(bell, answer_s=0.1) as office:
        request(office, f"127.0.0.1:{peer.port}/a")
        (sent,) = await office.until_ended()
    # A busy machine may be late with the second answer, too.
    assert sent["attempts"] == len(peer.taken) >= 2
    assert "accepted the request but does not answer" in office.reports[0]


async def test_server_that_hangs_up_is_asked_again(office: PostOffice, peer: HttpPeer) -> None:
    def hang_up_at_first(taken: Taken) -> tuple[int, dict[str, str]]:
        if len(peer.taken) == 1:
            raise ConnectionResetError
        return 200, {}

    peer.answer = hang_up_at_first
    request(office, f"127.0.0.1:{peer.port}/a")
    (sent,) = await office.until_ended()
    assert sent["attempts"] == 2
    assert "did not send an HTTP response" in office.reports[0]


@pytest.mark.parametrize("url", ["127.0.0.1:99999/a", "gopher://127.0.0.1/a"])
async def test_invalid_address_is_reported(office: PostOffice, url: str) -> None:
    request(office, url)
    (failed,) = await office.until_ended()
    assert failed["problem"] == "HTTP1 has no usable address; set one with http1=..."


@pytest.mark.parametrize("status", [400, 404, 410])
async def test_permanently_refused_call_is_given_up(
    office: PostOffice, peer: HttpPeer, status: int
) -> None:
    peer.answer = lambda taken: (status, {})
    request(office, f"127.0.0.1:{peer.port}/a")
    (failed,) = await office.until_ended()
    assert failed["state"] == "failed"
    assert f"answered {status} " in failed["problem"]


async def test_redirects_are_not_followed(office: PostOffice, peer: HttpPeer) -> None:
    peer.answer = lambda taken: (302, {"Location": "/elsewhere?key=s3cret"})
    request(office, f"127.0.0.1:{peer.port}/a")
    (failed,) = await office.until_ended()
    assert "302 Found: this is a redirect. Redirects are not followed" in failed["problem"]
    assert "s3cret" not in failed["problem"]
    assert peer.paths == ["/a"]


async def test_login_is_shown_only_to_a_server_that_asks_for_it(
    office: PostOffice, peer: HttpPeer
) -> None:
    office.set(http__0__username="anna", http__0__password="s3cret")
    request(office, f"127.0.0.1:{peer.port}/a")
    await office.until_ended()
    assert "authorization" not in peer.taken[0].headers


async def test_basic(office: PostOffice, peer: HttpPeer) -> None:
    expected = "Basic " + base64.b64encode(b"anna:s3cret").decode()

    def answer(taken: Taken) -> tuple[int, dict[str, str]]:
        known = taken.headers.get("authorization") == expected
        return (200, {}) if known else (401, {"WWW-Authenticate": 'Basic realm="x"'})

    peer.answer = answer
    office.set(http__0__username="anna", http__0__password="s3cret")
    request(office, f"127.0.0.1:{peer.port}/a")
    (sent,) = await office.until_ended()
    assert (sent["attempts"], len(peer.taken)) == (1, 2)


async def test_digest_is_taken_where_the_server_offers_it(
    office: PostOffice, peer: HttpPeer
) -> None:
    challenge = 'Digest realm="x", nonce="abc", qop="auth", algorithm=SHA-256'

    def answer(taken: Taken) -> tuple[int, dict[str, str]]:
        shown = taken.headers.get("authorization", "")
        return (200, {}) if shown.startswith("Digest") else (401, {"WWW-Authenticate": challenge})

    peer.answer = answer
    office.set(http__0__username="anna", http__0__password="s3cret")
    request(office, f"127.0.0.1:{peer.port}/a?b=c")
    await office.until_ended()
    shown = peer.taken[1].headers["authorization"]
    assert 'username="anna"' in shown
    assert 'uri="/a?b=c"' in shown
    assert "s3cret" not in shown


async def test_refused_login_waits_and_goes_out_when_it_is_corrected(
    office: PostOffice, peer: HttpPeer
) -> None:
    right = "Basic " + base64.b64encode(b"anna:right").decode()

    def answer(taken: Taken) -> tuple[int, dict[str, str]]:
        known = taken.headers.get("authorization") == right
        return (200, {}) if known else (401, {"WWW-Authenticate": 'Basic realm="x"'})

    peer.answer = answer
    office.set(http__0__username="anna", http__0__password="wr0ng")
    request(office, f"127.0.0.1:{peer.port}/a")
    problem = await office.until_problem("user name or password is wrong", "http1")
    assert "wr0ng" not in problem + str(office.reports) + str(office.outbox.report())
    office.set(http__0__password="right")
    (sent,) = await office.until_ended()
    assert sent["state"] == "sent"


async def test_new_server_does_not_receive_calls_queued_for_the_old_one(
    office: PostOffice, peer: HttpPeer
) -> None:
    request(office, f"127.0.0.1:{free_port()}/then?token=canary")
    await office.until_problem(
        "refuses connections; check that the server runs on this port.", "http1"
    )
    office.set(http__0__url=f"127.0.0.1:{peer.port}/now")
    (given_up,) = await office.until_ended()
    assert given_up["state"] == "failed"
    assert "HTTP1 has a new server" in given_up["problem"]
    assert "canary" not in str(given_up)
    assert peer.paths == []


async def test_another_path_at_the_same_server_changes_nothing_for_what_waits(
    office: PostOffice, peer: HttpPeer
) -> None:
    peer.answer = lambda _: (503, {})
    request(office, f"127.0.0.1:{peer.port}/then")
    await office.until_problem("503", "http1")
    peer.answer = lambda _: (200, {})
    office.set(http__0__url=f"http://127.0.0.1:{peer.port}/now")
    await office.until_ended()
    assert set(peer.paths) == {"/then"}


async def test_unresolvable_name_is_reported(office: PostOffice) -> None:
    request(office, "no-such-host.invalid/a")
    problem = await office.until_problem("cannot be resolved", "http1")
    assert problem == (
        "The name no-such-host.invalid cannot be resolved; check its spelling and the DNS."
    )


async def test_https_with_an_authority_that_is_trusted(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        http_peer(bell, certificates.server) as peer,
        calling(bell, trust=Trust(certificates.ca_file)) as office,
    ):
        request(office, f"https://localhost:{peer.port}/a")
        await office.until_ended()
        assert peer.paths == ["/a"]


async def test_untrusted_certificate_is_reported(bell: Bell, certificates: Certificates) -> None:
    async with http_peer(bell, certificates.server) as peer, calling(bell) as office:
        request(office, f"https://localhost:{peer.port}/a")
        problem = await office.until_problem("is not trusted", "http1")
        assert problem.startswith(f"The certificate of localhost:{peer.port} is not trusted (")
        assert "--ca-file" in problem
        assert peer.taken == []


async def test_certificate_for_another_name_is_reported(
    bell: Bell, certificates: Certificates
) -> None:
    async with (
        http_peer(bell, certificates.of_another) as peer,
        calling(bell, trust=Trust(certificates.ca_file)) as office,
    ):
        request(office, f"https://localhost:{peer.port}/a")
        await office.until_problem("is not trusted (Hostname mismatch", "http1")
        assert peer.taken == []


async def test_https_to_a_server_without_tls_is_reported(office: PostOffice, bell: Bell) -> None:
    async with mail_peer(bell) as peer:
        request(office, f"https://127.0.0.1:{peer.port}/a")
        await office.until_problem(f"TLS with 127.0.0.1:{peer.port} failed", "http1")


async def test_this_machine_is_not_requested_unless_it_is_allowed(
    bell: Bell, peer: HttpPeer
) -> None:
    async with calling(bell, allow_local=False) as office:
        for number, host in enumerate(("localhost", "127.0.0.1", "0"), start=1):
            request(office, f"{host}:{peer.port}/a")
            await office.until_ended(number)
    assert peer.taken == []
    problems = [failed["problem"] for failed in office.report("failed")]
    assert len(problems) == 3
    assert all("--allow-local-targets" in problem for problem in problems)


async def test_slot_without_an_address_says_so(office: PostOffice) -> None:
    office.notify("", "http", 1)
    (failed,) = office.report("failed")
    assert failed["problem"] == "HTTP1 has no address; set one with http1=..."


async def test_address_that_is_removed_ends_what_waits(office: PostOffice) -> None:
    request(office, f"127.0.0.1:{free_port()}/a")
    await office.until_problem("refuses", "http1")
    office.set(http__0__url="")
    (failed,) = await office.until_ended()
    assert failed["problem"] == "HTTP1 no longer has an address."


async def test_paths_queries_and_bodies_are_in_no_log(
    office: PostOffice, peer: HttpPeer, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    office.set(http__0__post=True, http__0__username="anna", http__0__password="s3cret")
    peer.answer = lambda taken: (404 if len(peer.taken) > 1 else 503, {})
    request(office, f"127.0.0.1:{peer.port}/hook/s3cret?key=s3cret", "s3cret")
    await office.until_ended()
    assert "gave up on a message" in caplog.text
    assert "s3cret" not in caplog.text + str(office.reports) + str(office.outbox.report())
