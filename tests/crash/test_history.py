"""History survives a killed process, but for what came in the last seconds."""

import csv
import http.client
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from leverframe.__main__ import main

PATIENCE_S = 20.0


@contextmanager
def ended_by(number: int, data: Path) -> Iterator[int]:
    """The port of a controller on real time that ends by a signal."""
    program = [sys.executable, "-m", "leverframe", "run", "--port", "0", "--data", str(data)]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.send_signal(number)
            process.wait(PATIENCE_S)


def ask(port: int, target: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, body
    return body


def values(port: int, label: str) -> list[float | None]:
    found: dict[str, Any] = json.loads(ask(port, f"/api/history?labels={label}"))
    series: list[float | None] = found["series"][label]["values"]
    return series


def test_history_survives_a_kill_and_shows_the_gap(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ended_by(signal.SIGKILL, tmp_path) as port:
        ask(port, "/sim.cgi?DS1=21.5")
        assert values(port, "DS1") == [21.5]
        ask(port, "/sim.cgi?DS1=22.5")
    with ended_by(signal.SIGTERM, tmp_path) as port:
        assert values(port, "DS1") == [21.5, None]
        ask(port, "/sim.cgi?DS1=23.5")
        assert values(port, "DS1") == [21.5, None, 23.5]
    assert main(["data", "check", "--data", str(tmp_path)]) == 0
    assert "history.db is sound" in capsys.readouterr().out
    output = tmp_path / "all.csv"
    arguments = ["--labels", "DS1,OUT0", "-o", str(output)]
    assert main(["data", "export", "--data", str(tmp_path), *arguments]) == 0
    lines = list(csv.reader(output.read_text().splitlines()))
    assert lines[0] == ["time", "DS1", "OUT0"]
    assert [line[1] for line in lines[1:]][-1] == ""
    assert {"21.5", "23.5", ""} == {line[1] for line in lines[1:]}
