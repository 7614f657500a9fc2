"""The configuration of the serial port and of being found in the network."""

from pathlib import Path

import pytest

from leverframe.config import BadConfiguration, read_config


def config_file(folder: Path, text: str) -> Path:
    path = folder / "leverframe.toml"
    path.write_text(text)
    return path


def test_without_configuration_there_is_no_port_and_the_controller_can_be_found() -> None:
    config = read_config(None, {})
    assert config.serial_port is None
    assert (config.discovery, config.mdns, config.udp_bootloader) == (True, True, False)


def test_the_file_sets_the_port_and_the_switches(tmp_path: Path) -> None:
    text = 'serial_port = "/dev/ttyUSB0"\ndiscovery = false\nmdns = false\nudp_bootloader = true\n'
    config = read_config(config_file(tmp_path, text), {})
    assert config.serial_port == "/dev/ttyUSB0"
    assert (config.discovery, config.mdns, config.udp_bootloader) == (False, False, True)


def test_a_module_and_a_bus_cannot_share_a_port(tmp_path: Path) -> None:
    text = 'serial_port = "/dev/ttyUSB0"\nserial_modbus = "/dev/ttyUSB0"\n'
    with pytest.raises(BadConfiguration, match="the same port"):
        read_config(config_file(tmp_path, text), {})
