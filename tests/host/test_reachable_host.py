"""The host in the address that a controller prints at its start."""

import socket

from leverframe.host.reach import reachable_host
from leverframe.server.cross_site import is_any_address, is_loopback
from leverframe.server.discovery import own_addresses


def test_controller_on_all_addresses_prints_one_that_others_can_open() -> None:
    for host in ("0.0.0.0", "::"):
        printed = reachable_host(host)
        assert printed in (*own_addresses(), socket.gethostname())
        assert not is_any_address(printed)
        assert not is_loopback(printed)


def test_controller_on_one_address_prints_it() -> None:
    assert reachable_host("127.0.0.1") == "127.0.0.1"
