"""History survives a killed process, but for what came in the last seconds."""

import csv
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from leverframe.__main__ import main
from tests.crash.ended_process import ask, end_by_signal


def values(port: int, label: str) -> list[float | None]:
    found: dict[str, Any] = json.loads(ask(port, f"/api/history?labels={label}"))
    series: list[float | None] = found["series"][label]["values"]
    return series


@pytest.mark.thorough
def test_history_survives_a_kill_and_shows_the_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with end_by_signal(signal.SIGKILL, tmp_path) as port:
        ask(port, "/sim.cgi?DS1=21.5")
        assert values(port, "DS1") == [21.5]
        ask(port, "/sim.cgi?DS1=22.5")
    with end_by_signal(signal.SIGTERM, tmp_path) as port:
        assert values(port, "DS1") == [21.5, None]
        ask(port, "/sim.cgi?DS1=23.5")
        assert values(port, "DS1") == [21.5, None, 23.5]
    assert main(["data", "check", "--data", str(tmp_path)]) == 0
    assert "history.db is not damaged" in capsys.readouterr().out
    output = tmp_path / "all.csv"
    arguments = ["--labels", "DS1,OUT0", "-o", str(output)]
    assert main(["data", "export", "--data", str(tmp_path), *arguments]) == 0
    lines = list(csv.reader(output.read_text().splitlines()))
    assert lines[0] == ["time", "DS1", "OUT0"]
    assert [line[1] for line in lines[1:]][-1] == ""
    assert {"21.5", "23.5", ""} == {line[1] for line in lines[1:]}
