"""Which addresses the channels of a controller reach, and which only when that is allowed."""

import resource
import socket
from ipaddress import ip_address

import ifaddr
import pytest

from leverframe.core.runtime.outgoing import (
    CHANNELS,
    Extent,
    ForbiddenTarget,
    Targets,
    forbidden,
    is_own_address,
)
from tests.cases import for_each

METADATA = ["169.254.169.254", "100.100.100.200", "168.63.129.16", "fd00:ec2::254", "fd20:ce::254"]
NOT_ONE_SERVER = ["224.0.0.1", "ff02::1", "255.255.255.255"]
THIS_MACHINE = ["127.0.0.1", "127.9.8.7", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"]
LINK_LOCAL = ["169.254.1.1", "fe80::1"]
#: Channels with which a controller alone on its machine reaches that machine.
TO_NEIGHBOURS = {"mqtt", "email", "trap", "modbus", "ping"}


def own_network_addresses() -> list[str]:
    """The addresses of this machine in networks."""
    addresses = (ip for adapter in ifaddr.get_adapters() for ip in adapter.ips)
    texts = [ip.ip if isinstance(ip.ip, str) else ip.ip[0] for ip in addresses]
    return [x for x in texts if not (ip_address(x).is_loopback or ip_address(x).is_link_local)]


@for_each(
    "address",
    [
        *(*THIS_MACHINE, *LINK_LOCAL, *METADATA, *NOT_ONE_SERVER),
        *("64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:169.254.169.254"),
    ],
)
def test_this_machine_its_link_and_metadata_are_forbidden(address: str) -> None:
    assert forbidden(ip_address(address)) is not None


@for_each(
    "address",
    ["192.168.1.2", "10.0.0.1", "172.16.0.9", "93.184.216.34", "fd12:3456::1", "2606:2800::1"],
)
def test_local_network_and_the_rest_of_the_world_are_not(address: str) -> None:
    assert forbidden(ip_address(address)) is None


def test_addresses_of_this_machine_in_the_network_are_forbidden() -> None:
    addresses = own_network_addresses()
    if not addresses:
        pytest.skip("this machine has no address but loopback")
    for address in addresses:
        assert forbidden(ip_address(address)) == "an address of this machine"


def test_addresses_of_other_machines_are_not_taken_for_our_own() -> None:
    for address in ("192.0.2.1", "203.0.113.7", "2001:db8::1"):
        assert not is_own_address(ip_address(address))


@for_each("channel", list(CHANNELS))
def test_channels_of_a_node_reach_other_machines_only(channel: str) -> None:
    way_out = Targets(in_node=True).channel(channel)
    for address in (*THIS_MACHINE, *LINK_LOCAL, *METADATA, *NOT_ONE_SERVER):
        with pytest.raises(ForbiddenTarget, match="--allow-local-targets"):
            way_out.check("somewhere", address)
    way_out.check("somewhere", "192.168.1.2")


@for_each("channel", list(CHANNELS))
def test_controller_alone_reaches_services_beside_it_but_not_by_http(channel: str) -> None:
    way_out = Targets().channel(channel)
    for address in (*THIS_MACHINE, *LINK_LOCAL):
        if channel in TO_NEIGHBOURS:
            way_out.check("somewhere", address)
        else:
            with pytest.raises(ForbiddenTarget):
                way_out.check("somewhere", address)
    for address in (*METADATA, *NOT_ONE_SERVER):
        with pytest.raises(ForbiddenTarget):
            way_out.check("somewhere", address)


@for_each("channel", list(CHANNELS))
def test_operator_can_allow_every_target(channel: str) -> None:
    for targets in (Targets(allow_local=True), Targets(allow_local=True, in_node=True)):
        assert targets.channel(channel).extent is Extent.ANYWHERE


async def test_name_is_refused_for_the_address_that_it_leads_to() -> None:
    way_out = Targets(in_node=True).channel("modbus")
    for name in ("localhost", "127.1", "0x7f.1", "2130706433"):
        with pytest.raises(ForbiddenTarget, match=f"{name} is an address of this machine"):
            await way_out.connect(name, 502)


async def test_name_that_cannot_be_one_is_not_found() -> None:
    for name in ("no..name", "x" * 70 + ".example"):
        with pytest.raises(socket.gaierror, match="not a valid host name"):
            await Targets().channel("modbus").connect(name, 502)


def test_address_is_not_taken_for_foreign_while_no_socket_can_be_opened() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, limits[1]))
    try:
        with pytest.raises(OSError, match="open files"):
            is_own_address(ip_address("192.0.2.1"))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
