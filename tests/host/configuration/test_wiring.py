"""The `[board]` table of the configuration."""

from pathlib import Path

import pytest

from leverframe.host.configuration import BadConfiguration, read_config
from tests.devices.linux_bench import SENSOR

EXAMPLE = Path(__file__).parents[3] / "examples" / "boards" / "linux.toml"


def config_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "leverframe.toml"
    path.write_text(text)
    return path


def test_example_is_a_good_configuration() -> None:
    wiring = read_config(EXAMPLE, {}).board
    assert wiring.kind == "linux"
    assert wiring.outputs["OUT0"].active_low
    assert wiring.i2c is not None


def test_without_a_table_the_board_is_simulated() -> None:
    assert read_config(None, {}).board.kind == "simulated"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('kind = "arduino"', "line 2: board.kind must be one of simulated, linux, not"),
        (
            "[board.outputs]\nOUT6 = {chip = '/dev/gpiochip0', line = 1}",
            "has no OUT6; the labels are",
        ),
        ("[board.digital_inputs]\nINPD0 = {chip = 'x', line = 1}", "has no INPD0"),
        ("[board.pwm]\nPWM4 = {chip = 0, channel = 0}", "has no PWM4"),
        ("[board.analog]\nDS1 = {device = 'a', channel = 'voltage0'}", "has no DS1"),
        (
            "[board.outputs]\nOUT0 = {chip = 'x', line = -1}",
            "line 4: board.outputs.OUT0.line must be",
        ),
        (
            "[board.outputs]\nOUT0 = {chip = 'x', line = 1, pull = 'up'}",
            "OUT0.pull; known keys: chip",
        ),
        ("[board.outputs]\nOUT0 = {chip = 'x'}", "OUT0; it must be a whole number"),
        (
            "[board.outputs]\nOUT0 = {chip = 'x', line = 1}\n"
            "[board.digital_inputs]\nINPD1 = {chip = 'x', line = 1}",
            "OUT0 and INPD1 use the same GPIO line",
        ),
        (
            "[board.pwm]\nPWM0 = {chip = 0, channel = 0}\nPWM1 = {chip = 0, channel = 0}",
            "PWM0 and PWM1 use the same PWM channel",
        ),
        ("[board.onewire]\nextra = ['28-0317611d64ff']", "is not an ID; write eight bytes"),
        (f"[board.onewire]\nextra = {[SENSOR] * 4}", "there are 3 slots"),
    ],
)
def test_wrong_entry_is_reported(tmp_path: Path, text: str, complaint: str) -> None:
    kind = "" if text.startswith("kind") else 'kind = "linux"\n'
    with pytest.raises(BadConfiguration) as failure:
        read_config(config_file(tmp_path, f"[board]\n{kind}{text}\n"), {})
    assert complaint in str(failure.value)


def test_wired_devices_of_a_simulated_board_are_reported(tmp_path: Path) -> None:
    path = config_file(tmp_path, "[board.i2c]\nbus = 1\n")
    with pytest.raises(BadConfiguration, match='set kind = "linux"'):
        read_config(path, {})


def test_virtual_time_needs_the_simulated_board(tmp_path: Path) -> None:
    path = config_file(tmp_path, '[board]\nkind = "linux"\n')
    with pytest.raises(BadConfiguration, match="Virtual time requires the simulated board"):
        read_config(path, {"virtual_time": True})
