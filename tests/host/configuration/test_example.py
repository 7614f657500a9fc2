"""The printed example: complete, sound, and the same as the defaults."""

import re
import tomllib
from pathlib import Path

import msgspec

from leverframe.host.configuration import Config, read_config
from leverframe.host.configuration.keys import as_toml, example, keys, list_labelled


def test_example_says_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "example.toml"
    path.write_text(example())
    assert read_config(path, {}) == Config()


def test_every_key_is_in_the_example_also_those_without_a_default() -> None:
    everything = tomllib.loads(re.sub(r"^#(?! |$)", "", example(), flags=re.MULTILINE))
    for key in keys():
        table = everything
        for part in key.place:
            assert part in table, key.name
            table = table[part]
    for tables in list_labelled():
        assert everything["board"][tables.place[-1]] == tables.example


def test_commented_lines_of_the_example_are_valid(tmp_path: Path) -> None:
    text = re.sub(r"^#(?! |$)", "", example(), flags=re.MULTILINE)
    config = msgspec.convert(tomllib.loads(text), Config)
    assert config.board.i2c is not None
    assert config.serial_port == "/dev/ttyUSB0"


def test_values_are_written_as_toml_reads_them() -> None:
    value = {"a": [1, 2.5, 'x"y'], "b": {"c": True}}
    assert tomllib.loads(f"v = {as_toml(value)}")["v"] == value
