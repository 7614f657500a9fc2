"""`--json`: every line of standard output is an object, and nothing is lost."""

import json
from pathlib import Path
from typing import Any

import pytest

from leverframe.__main__ import main

LAMP = """\
start = 2026-06-01T00:00:00
record = ["DS1"]

[[at]]
time = "06:00"
sim = "DS1=12.5"
commands = ["/outs.cgi?out0=1"]
"""


def objects(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> list[Any]:
    assert main([*words, "--json"]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_simulated_run_prints_its_timeline_and_the_figures_of_each_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario = tmp_path / "lamp.toml"
    scenario.write_text(LAMP)
    lines = objects(capsys, "simulate", str(scenario), "--for", "7h")
    (switched,) = (line for line in lines if line.get("what") == "OUT0 on")
    assert switched["at"].startswith("2026-06-01T06:00:00")
    figures = {line["label"]: line for line in lines if "label" in line}
    assert (figures["OUT0"]["changes"], figures["OUT0"]["on_s"]) == (1, 3600)
    assert figures["DS1"]["at_end"] == 12.5


def test_commands_are_those_of_the_version_and_contain_the_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = objects(capsys, "commands", "oname", "--hw", "3.0")
    assert [row["path"] for row in rows] == ["/stm.cgi"]
    assert objects(capsys, "commands", "no such command", status=1) == []


def test_configuration_check_names_the_source_of_every_value(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "cellar.toml"
    file.write_text("port = 8181\n")
    settings = {one["key"]: one for one in objects(capsys, "config", "check", f"--config={file}")}
    assert settings["port"] == {"key": "port", "value": "8181", "source": f"{file}, line 1"}
    assert settings["host"]["source"] == "default"


def test_board_check_reports_every_device(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, chip = tmp_path / "board.toml", tmp_path / "gpiochip9"
    file.write_text(
        f'[board]\nkind = "linux"\n[board.outputs]\nOUT0 = {{ chip = "{chip}", line = 17 }}\n'
    )
    (device,) = objects(capsys, "board", "check", f"--config={file}", status=1)
    assert (device["label"], device["state"]) == ("OUT0", "fails")
    assert f"{chip} is missing" in device["found"]


def test_backup_commands_report_files_differences_and_restored_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, plain, named = tmp_path / "data", tmp_path / "plain.toml", tmp_path / "named.toml"
    data.mkdir()
    plain.write_text('format = 1\nhw = "3.9"\nsw = "1.75"\n[settings]\n')
    named.write_text('format = 1\nhw = "3.9"\nsw = "1.75"\n[settings]\n"outputs.0.name" = "Fan"\n')
    assert objects(capsys, "backup", "diff", str(plain), str(named), status=1) == [
        {"path": "outputs.0.name", "old": "", "new": "Fan"}
    ]
    restored = objects(capsys, "backup", "restore", str(named), f"--data={data}")
    assert restored == [{"data": str(data), "changed": 1}]
    new = tmp_path / "new.toml"
    created = objects(capsys, "backup", "create", str(new), f"--data={data}")
    assert created == [{"file": str(new), "left_out": []}]
    assert "Fan" in new.read_text()
