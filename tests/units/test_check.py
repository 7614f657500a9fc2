"""`leverframe unit check` and `unit schema`."""

import json
import tomllib
from functools import lru_cache
from pathlib import Path
from random import Random

import pytest
from jsonschema import Draft202012Validator

from leverframe.__main__ import main
from leverframe.core.errors import DONE, NO, NOT_DONE
from leverframe.core.profile import Profile
from leverframe.core.tree import defaults, leaves, pattern_of
from leverframe.testing import Twin
from leverframe.units.file_schema import file_schema
from leverframe.units.unit_file import JsonSchema, schema_at, words_of
from leverframe.units.unit_text import unit_text
from tests.cases import for_each
from tests.docs.blocks import PROJECT
from tests.random_settings import random_settings
from tests.units.unit_files import write_unit_file


def test_sound_files_are_said_to_be_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = write_unit_file(tmp_path, '[email]\npassword = { env = "NOT_SET_HERE" }\n', "north.toml")
    units = write_unit_file(
        tmp_path,
        '[units.a]\naddress = "http://a"\nfile = "north.toml"\npassword = { env = "NOT_SET" }\n',
        "units.toml",
    )
    assert main(["unit", "check", str(unit), str(units)]) == DONE
    assert capsys.readouterr().out == "2 checked, no mistakes found.\n"


def test_every_mistake_is_printed_with_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = write_unit_file(tmp_path, "[pwm.PWM0]\nduty = 200\n", "north.toml")
    units = write_unit_file(
        tmp_path, '[units.a]\naddress = "http://a"\nfile = "north.toml"\n', "u.toml"
    )
    broken = write_unit_file(tmp_path, "[units.a\n", "broken.toml")
    assert main(["unit", "check", str(unit), str(units), str(broken)]) == NO
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{unit}, line 2: pwm.PWM0.duty must be")
    assert lines[1].startswith(f"a: {unit}, line 2: pwm.PWM0.duty must be")
    assert lines[2].startswith(f"{broken}, line 1 is not valid TOML")


@for_each(
    ("content", "sentence"),
    [
        (
            b"[outputs.OUT0]\nnmae = 'a'\n",
            ", line 2: Unknown key `outputs.OUT0.nmae`. Did you mean `name`?",
        ),
        (b"[outputs.OUT0]\nname = 5\n", ", line 2: outputs.OUT0.name must be a text."),
        (b"[outputs.OUT0]\nname = 'a\n", ", line 2 is not valid TOML: "),
        (b"[outputs.OUT0]\nname = 'a\x1b'\n", ", line 2 is not valid TOML: "),
        (
            b'[outputs.OUT0]\nname = "a\\u001b"\n',
            ", line 2: outputs.OUT0.name must be a text: 0 to",
        ),
        (b"\n'K\xfcche' = 1\n", ", line 2 is not text in UTF-8"),
        (b"a = " + b"[" * 9000, " is not valid TOML: brackets are nested"),
        (b"include = ['missing.toml']\n", ", line 1: "),
        (b"secrets = 'missing.toml'\n", ", line 1: "),
        (b'secrets = "a\\u0000b"\n', ", line 1: "),
        (None, " cannot be read: Is a directory."),
    ],
)
def test_each_mistake_in_a_file_is_one_sentence(
    content: bytes | None, sentence: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unit = tmp_path / ("folder.toml" if content is None else "north.toml")
    unit.mkdir() if content is None else unit.write_bytes(content)
    table = f'[units.a]\naddress = "http://a"\nfile = "{unit.name}"\n'
    for file in (unit, write_unit_file(tmp_path, table, "units.toml")):
        assert main(["unit", "check", str(file)]) == NO
        (line,) = list_lines(capfd, unit)
        assert sentence in line.partition(str(unit))[2]


@for_each("content", [b"[outputs.OUT0]\nnmae = 'a'\n", b"a = [", b"\xff"])
def test_file_with_a_mistake_changes_no_unit(
    content: bytes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unit = tmp_path / "north.toml"
    unit.write_bytes(content)
    with Twin() as twin:
        table = f'[units.a]\naddress = "{twin.url}"\nfile = "north.toml"\n'
        units = write_unit_file(tmp_path, table, "units.toml")
        for words in (
            f"plan {unit} {twin.url}",
            f"apply {units} --yes",
            f"watch {units} --once",
        ):
            assert main(["unit", *words.split()]) != DONE, words
            assert len(list_lines(capfd, unit)) == 1
        assert {request.method for request in twin.requests()} <= {"GET"}
        assert not [one for one in twin.requests() if ".cgi" in one.path]


def list_lines(capfd: pytest.CaptureFixture[str], file: Path) -> list[str]:
    """Return the lines that name a file, of an output in which nothing is raw."""
    output = "".join(capfd.readouterr())
    assert "Traceback" not in output
    assert output.replace("\n", "").isprintable()
    return [line for line in output.splitlines() if str(file) in line]


def test_mistake_in_a_shared_file_is_printed_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = write_unit_file(tmp_path, "[pwm.PWM0]\nduty = 200\n", "north.toml")
    tables = (
        f'[units.{name}]\naddress = "http://{name}"\nfile = "north.toml"\n' for name in "abcde"
    )
    units = write_unit_file(tmp_path, "".join(tables), "units.toml")
    assert main(["unit", "check", str(units)]) == NO
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith(f"a, b, c and 2 more: {unit}, line 2: ")


def test_schema_of_a_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["unit", "schema", "--hw", "3.0"]) == DONE
    schema = json.loads(capsys.readouterr().out)
    assert schema["title"] == "Leverframe unit file, HW 3.0 SW 1.58a"
    assert main(["unit", "schema", "--hw", "3.0", "--sw", "1.75"]) == NOT_DONE


@pytest.mark.parametrize("profile", [Profile(), Profile("3.0", "1.44")], ids=str)
def test_written_file_fits_the_schema(profile: Profile) -> None:
    schema = file_schema(profile)
    Draft202012Validator.check_schema(schema)
    text = unit_text(random_settings(profile, Random(4), 20), profile).text
    validator = Draft202012Validator(schema)
    assert [error.message for error in validator.iter_errors(tomllib.loads(text))] == []


@lru_cache(maxsize=1)
def newest_schema() -> JsonSchema:
    return file_schema(Profile())


def test_allowed_values_are_described_for_every_setting() -> None:
    descriptions = {
        pattern_of(path): words_of(schema)
        for path, _ in leaves(defaults(Profile()))
        if (schema := schema_at(path, Profile())) is not None
    }
    assert descriptions["outputs.*.name"] == "a text: 0 to 15 characters"
    assert descriptions["impulse_time"] == "a list of up to 2 items, each true or false"
    assert descriptions["pwm_frequency"] == "a list of items, each a whole number from 1 to 1000000"
    assert descriptions["ui.refresh"] == "a whole number from 30 to 327670 in steps of 10"
    assert descriptions["onewire.*.offset"] == "a number from -3276.8 to 3276.7"
    assert len(descriptions) > 130


@for_each(
    "text",
    [
        "nmae = 'x'",
        "[outputs.OUT7]\nname = 'x'",
        "[pwm.PWM0]\nduty = 200",
        "[outputs.OUT0]\nreturn_time = 'soon'",
        "[analog_inputs.INPA1]\nsensor = 'PT100'",
        "[ui]\nauto_sign_in = true",
        "complete = 1",
    ],
)
def test_schema_refuses_values_that_the_version_refuses(text: str) -> None:
    validator = Draft202012Validator(newest_schema())
    assert next(validator.iter_errors(tomllib.loads(text)), None)


def test_examples_are_sound(capsys: pytest.CaptureFixture[str]) -> None:
    inventory = PROJECT / "examples" / "units" / "units.toml"
    assert main(["unit", "check", str(inventory)]) == DONE, capsys.readouterr().out
