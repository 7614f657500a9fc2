"""Clients behind reverse proxies: whose address counts, and who is believed about it."""

from ipaddress import ip_network

import pytest

from leverframe.server.http.limits import HttpLimits, NamedProxies
from leverframe.server.http.messages import Request
from leverframe.server.http.parser import BodyBudget, RequestParser

PROXY = "10.0.0.5"
PROXIES = NamedProxies([ip_network(PROXY), ip_network("10.1.0.0/16"), ip_network("fd00::/64")])


@pytest.mark.parametrize(
    ("header", "client"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("192.0.2.7:50123", "192.0.2.7"),
        ("[2001:db8::7]:50123", "2001:db8::7"),
        ("2001:db8::7", "2001:db8::7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        # What the client has made up stands before what a proxy has seen.
        ("10.9.9.9, 192.0.2.7", "192.0.2.7"),
        ("127.0.0.1,192.0.2.7 , 10.1.2.3", "192.0.2.7"),
        ("192.0.2.7, fd00::1", "192.0.2.7"),
        # Only proxies: the farthest of them.
        ("10.1.0.1, 10.1.0.2", "10.1.0.1"),
        # What is no address says nothing; who has passed it on is known.
        ("unknown", PROXY),
        ("", PROXY),
        ("192.0.2.7, _hidden, 10.1.2.3", "10.1.2.3"),
    ],
)
def test_client_is_the_last_address_that_is_no_proxy(header: str, client: str) -> None:
    assert PROXIES.client_of(PROXY, header) == client


@pytest.mark.parametrize(
    ("peer", "is_one"),
    [(PROXY, True), ("10.1.200.1", True), ("::ffff:10.0.0.5", True), ("fd00::9", True),
     ("10.0.0.6", False), ("fd01::9", False), ("", False), ("192.0.2.7", False)],
)  # fmt: skip
def test_only_those_that_the_configuration_names_are_proxies(peer: str, is_one: bool) -> None:
    assert PROXIES.contain(peer) is is_one
    assert not NamedProxies().contain(peer)


def test_requests_of_one_connection_have_the_addresses_of_their_clients() -> None:
    budget = BodyBudget(HttpLimits())
    parser = RequestParser(HttpLimits(), budget, PROXY, PROXIES)
    peers = []
    for header in ("X-Forwarded-For: 192.0.2.1", "X-Forwarded-For: 192.0.2.2", "X-None: 1"):
        head = f"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n{header}\r\n\r\nab"
        (request,) = parser.feed(head.encode())
        assert isinstance(request, Request)
        peers.append(request.peer)
        budget.give_back(request)
    assert peers == ["192.0.2.1", "192.0.2.2", PROXY]
    assert budget.used == 0


def test_request_without_a_body_has_the_address_that_its_headers_say() -> None:
    parser = RequestParser(HttpLimits(), BodyBudget(HttpLimits()), PROXY, PROXIES)
    sent = ["192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.1"]
    heads = [f"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {one}\r\n\r\n" for one in sent]
    found = [parser.feed(head.encode())[0] for head in heads]
    assert [request.peer for request in found if isinstance(request, Request)] == sent


def test_forwarded_address_from_a_stranger_is_ignored() -> None:
    parser = RequestParser(HttpLimits(), BodyBudget(HttpLimits()), "192.0.2.66")
    (request,) = parser.feed(b"GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 127.0.0.1\r\n\r\n")
    assert isinstance(request, Request)
    assert request.peer == "192.0.2.66"
