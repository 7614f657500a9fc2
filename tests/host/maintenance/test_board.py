"""`leverframe board check`: what of the wired hardware is there, and what is missing."""

from pathlib import Path

import pytest

from leverframe.__main__ import main
from tests.devices.linux_bench import OTHER_SENSOR, SENSOR
from tests.devices.sysfs_tree import SysfsTree, w1_text


@pytest.fixture
def tree(tmp_path: Path) -> SysfsTree:
    tree = SysfsTree(tmp_path / "sys")
    tree.add_pwm(0, 2)
    tree.set_voltage("iio:device0", 0, 1.1)
    tree.open_onewire()
    tree.set_onewire(SENSOR, w1_text(21.5))
    return tree


def describe_wiring(tree: SysfsTree, *lines: str) -> str:
    board = f'[board]\nkind = "linux"\nsysfs = "{tree.root}"'
    return "\n".join(
        [
            board,
            "[board.pwm]\nPWM1 = {chip = 0, channel = 1}",
            "[board.analog]\nVCC = {device = 'iio:device0', channel = 'voltage0', factor = 11.0}",
            f"[board.onewire]\nextra = ['{SENSOR}']",
            *lines,
        ]
    )


def check(tmp_path: Path, text: str) -> int:
    path = tmp_path / "leverframe.toml"
    path.write_text(text)
    return main(["board", "check", "--config", str(path)])


def test_check_says_that_all_is_there(
    tmp_path: Path, tree: SysfsTree, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, describe_wiring(tree)) == 0
    output = capsys.readouterr().out
    assert "12.1 V" in output
    assert "21.5 °C" in output
    assert "slot 4" in output
    assert "All 4 devices work." in output


def test_check_says_what_is_missing_and_what_to_do(
    tmp_path: Path,
    tree: SysfsTree,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    tree.remove_onewire(SENSOR)
    tree.set_onewire(OTHER_SENSOR, w1_text(20.0, "NO"))
    text = describe_wiring(
        tree,
        "[board.outputs]\nOUT0 = {chip = '/dev/no-chip', line = 3}",
        "[board.i2c]\nbus = 4711",
    ).replace("channel = 1}", "channel = 2}")
    assert check(tmp_path, text) == 1
    output = capsys.readouterr().out
    assert "12.1 V" in output
    assert "pwmchip0 has no channel 2; its channels are 0 to 1." in output
    assert "answers with wrong checksums; the line is disturbed" in output
    assert "not on the bus; check its wires." in output
    assert "5 of 7 devices do not work." in output


def test_check_drives_nothing(tmp_path: Path, tree: SysfsTree) -> None:
    before = {file: file.read_text() for file in tree.root.rglob("*") if file.is_file()}
    check(tmp_path, describe_wiring(tree))
    assert {file: file.read_text() for file in before} == before


def test_check_of_a_simulated_board_has_nothing_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, "port = 0\n") == 0
    assert "The board is simulated" in capsys.readouterr().out


def test_check_looks_for_the_display(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    assert check(tmp_path, '[board]\nkind = "linux"\n[board.oled]\nbus = 4711\n') == 1
    output = capsys.readouterr().out
    assert "/dev/i2c-4711 address 0x3C" in output
    assert "/dev/i2c-4711 is missing" in output


def test_linux_board_without_devices_is_a_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path, '[board]\nkind = "linux"\n') == 1
    assert "No device is wired" in capsys.readouterr().out


def test_configuration_that_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["board", "check", "--config", str(tmp_path / "missing.toml")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
