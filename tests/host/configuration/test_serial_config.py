"""The configuration of the serial port and of being found in the network."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from leverframe.__main__ import main
from leverframe.host.configuration import BadConfiguration, read_config


def config_file(folder: Path, text: str) -> Path:
    path = folder / "leverframe.toml"
    path.write_text(text)
    return path


def test_without_configuration_there_is_no_port_and_the_controller_can_be_found() -> None:
    config = read_config(None, {})
    assert config.serial_port is None
    assert (config.discovery, config.mdns, config.udp_bootloader) == (True, True, False)


def test_file_sets_the_port_and_the_switches(tmp_path: Path) -> None:
    text = 'serial_port = "/dev/ttyUSB0"\ndiscovery = false\nmdns = false\nudp_bootloader = true\n'
    config = read_config(config_file(tmp_path, text), {})
    assert config.serial_port == "/dev/ttyUSB0"
    assert (config.discovery, config.mdns, config.udp_bootloader) == (False, False, True)


def test_module_and_a_bus_cannot_share_a_port(tmp_path: Path) -> None:
    text = 'serial_port = "/dev/ttyUSB0"\nserial_modbus = "/dev/ttyUSB0"\n'
    with pytest.raises(BadConfiguration, match="the same device"):
        read_config(config_file(tmp_path, text), {})


@pytest.fixture
def terminal() -> Iterator[str]:
    master, slave = os.openpty()
    yield os.ttyname(slave)
    os.close(master)
    os.close(slave)


def test_check_finds_a_port_that_is_there(
    tmp_path: Path, terminal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    config = config_file(tmp_path, f'serial_port = "{terminal}"\n')
    assert main(["board", "check", "--config", str(config)]) == 0
    output = capsys.readouterr().out
    assert 'simulated; set [board] kind = "linux"' in output
    assert "All 1 devices work" in output


def test_check_reports_missing_and_wrong_ports(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    text = f'serial_port = "/dev/ttyUSB99"\nserial_modbus = "{tmp_path}"\n'
    assert main(["board", "check", "--config", str(config_file(tmp_path, text))]) == 1
    output = capsys.readouterr().out
    assert "/dev/ttyUSB99 is missing" in output
    assert "is not connected to a serial port" in output
    assert "2 of 2 devices do not work" in output
