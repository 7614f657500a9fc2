"""`leverframe fleet simulate`: what happens to a fleet, its mistakes, and the same result again."""

from pathlib import Path

import msgspec
import pytest

from leverframe.host.command_line.entry import carry_out

SCENARIO = """\
timezone = "Europe/Warsaw"
virtual_start = "2026-06-01T05:00"

[[controllers]]
name = "gh-{n}"
count = 3
tags = ["north"]
address = "127.0.0.31"

[[controllers]]
name = "old"
hw = "3.0"
sw = "1.18"

[[at]]
time = "06:00"
commands = ["/stm.cgi?eventname=1Frost"]

[[at]]
time = "+10s"
tag = ["north"]
sim = "DS1=4.5&INPD1=1"
commands = ["/outs.cgi?ortime=05", "/outs.cgi?out0=1"]

[[at]]
time = "+3d"
commands = ["/outs.cgi?out1=1"]
"""


def simulate(folder: Path, text: str, *more: str) -> int:
    (folder / "fleet.toml").write_text(text, encoding="utf-8")
    return carry_out(["fleet", "simulate", "--config", str(folder / "fleet.toml"), *more])


def test_scenario_prints_events_in_order_with_refusals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, SCENARIO, "--for", "2h") == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "10s: DS1=4.5&INPD1=1: done 3, refused 0"
    assert lines[2] == "10s: /outs.cgi?out0=1: done 3, refused 0"
    assert lines[3] == "1h: /stm.cgi?eventname=1Frost: done 3, refused 1"
    assert lines[4].startswith("  old: ")
    assert "HW 3.0 SW 1.18" in lines[4]
    assert lines[5].startswith("simulated 2h for 4 controllers; ")


def test_digest_identifies_a_scenario(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    digests = []
    for text in (SCENARIO, SCENARIO, SCENARIO.replace("out0=1", "out2=1")):
        simulate(tmp_path, text, "--json")
        *happened, last = capsys.readouterr().out.splitlines()
        assert msgspec.json.decode(happened[-1])["refused"].keys() == {"old"}
        digests.append(msgspec.json.decode(last)["digest"])
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('time = "06:00"', 'time = "dawn"', 15, "this is not a time of the run"),
        ('time = "+10s"', 'time = "2020-01-01T00:00"', 19, "this is not a time of the run"),
        ('tag = ["north"]\nsim', 'tag = ["nroth"]\nsim', 19, "No controller has the tag 'nroth'"),
        ('tag = ["north"]\nsim', 'tag = "north"\nsim', 19, "tag must be a list of strings"),
        ("DS1=4.5&INPD1=1", "DS99=1", 19, "The simulated board has no 'DS99'"),
        ("DS1=4.5&INPD1=1", "advance=5", 19, "advance and until are not allowed in scenarios"),
        ('sim = "DS1=4.5&INPD1=1"', "sim = 3", 19, "sim must be a string"),
        ('sim = "DS1', 'smi = "DS1', 22, "unknown key smi"),
        ("eventname", "eventnmae", 15, "has no command 'eventnmae'"),
        ("/outs.cgi?ortime=05", "/outs.cgi?ortime=x", 19, "'x' is not a whole number"),
        ("/outs.cgi?ortime=05", "/nothing.cgi?a=1", 19, "is not a command"),
        ("ortime=05", "ortime=05\\n/outs.cgi?out1=1", 19, "contains several commands"),
        ('name = "old"', 'name = "gh-1"', 11, "A controller named gh-1 exists already"),
    ],
)
def test_scenario_mistake_is_reported_with_its_line_and_nothing_runs(
    old: str, new: str, line: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, SCENARIO.replace(old, new, 1)) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert f"line {line}: " in output.err
    assert message in output.err


TWO_WRONG_CONTROLLERS_AND_MOMENTS = """\
[[controllers]]
name = "gh-1"
prot = 3

[[controllers]]
name = "GH"

[[at]]
time = "dawn"
smi = "DS1=4"

[[at]]
time = "+1s"
tag = "north"
"""
TWO_MOMENTS_WITHOUT_CONTROLLERS = """\
[[controllers]]
name = "gh-1"

[[at]]
time = "+1s"
sim = "DS99=1"
commands = ["/outs.cgi?nothing=1", "/nothing.cgi?a=1"]

[[at]]
time = "+2s"
tag = ["nroth"]
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (TWO_WRONG_CONTROLLERS_AND_MOMENTS, [3, 6, 10, 8, 12]),
        (TWO_MOMENTS_WITHOUT_CONTROLLERS, [4, 4, 4, 9]),
    ],
)
def test_scenario_mistakes_are_reported_together(
    text: str, lines: list[int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert simulate(tmp_path, text) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert [int(line.split("line ")[1].split(":")[0]) for line in output.err.splitlines()] == lines


def test_at_must_be_a_list_of_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert simulate(tmp_path, "at = 3\n") == 2
    assert "write at as [[at]] tables" in capsys.readouterr().err


def test_example_scenario_runs_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[2] / "examples" / "fleet" / "cold-day.toml"
    assert carry_out(["fleet", "simulate", "--config", str(example)]) == 0
    assert "17h: /outs.cgi?out0=0: done 25, refused 0" in capsys.readouterr().out
