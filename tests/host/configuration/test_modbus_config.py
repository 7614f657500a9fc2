"""The configuration of Modbus: what is wrong is said before anything starts."""

from ipaddress import ip_network

import pytest

from leverframe.host.configuration import BadConfiguration, read_config
from tests.cases import for_each


def test_only_this_machine_may_write_by_default() -> None:
    networks = read_config(None, {}).writing_networks()
    assert networks == (ip_network("127.0.0.0/8"), ip_network("::1/128"))


def test_addresses_and_networks_may_be_listed() -> None:
    config = read_config(None, {"modbus_writers": ["192.168.1.7", "10.0.0.0/8"]})
    assert config.writing_networks() == (ip_network("192.168.1.7/32"), ip_network("10.0.0.0/8"))


@for_each("writer", ["192.168.1.7/24", "my-plc", "", "300.1.1.1"])
def test_invalid_address_is_refused(writer: str) -> None:
    with pytest.raises(BadConfiguration, match=r"--modbus-writers: .*192\.168\.1\.0/24"):
        read_config(None, {"modbus_writers": [writer]})


@pytest.mark.parametrize("port", [-1, 65536])
def test_port_outside_the_range_is_refused(port: int) -> None:
    with pytest.raises(BadConfiguration, match="from 0 to 65535, not"):
        read_config(None, {"modbus_port": port})
