"""Which addresses are requested only when that is allowed."""

from ipaddress import ip_address

from leverframe.notify.targets import forbidden
from tests.cases import for_each


@for_each(
    "address",
    [
        *("127.0.0.1", "127.9.8.7", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "64:ff9b::7f00:1"),
        *("2002:7f00:1::", "::ffff:169.254.169.254"),
        *("169.254.169.254", "169.254.1.1", "fe80::1", "100.100.100.200", "168.63.129.16"),
        *("fd00:ec2::254", "fd20:ce::254", "224.0.0.1", "ff02::1", "255.255.255.255"),
    ],
)
def test_this_machine_its_link_and_metadata_are_forbidden(address: str) -> None:
    assert forbidden(ip_address(address)) is not None


@for_each(
    "address",
    ["192.168.1.2", "10.0.0.1", "172.16.0.9", "93.184.216.34", "fd12:3456::1", "2606:2800::1"],
)
def test_the_local_network_and_the_rest_of_the_world_are_not(address: str) -> None:
    assert forbidden(ip_address(address)) is None
