"""`leverframe config check` and `leverframe config example`."""

import subprocess
from pathlib import Path

import pytest

from leverframe.__main__ import main
from tests.host.command_line.test_run import PROGRAM, fetch, running


def test_controller_runs_by_the_printed_example(tmp_path: Path) -> None:
    path = tmp_path / "cellar.toml"
    with path.open("wb") as output:
        subprocess.run([*PROGRAM, "config", "example"], stdout=output, check=True)
    subprocess.run([*PROGRAM, "config", "check", "--config", str(path)], check=True)
    with running("--config", str(path), "--data", str(tmp_path / "data")) as address:
        assert b'"ok"' in fetch(f"{address}/health")


def test_check_says_where_every_value_comes_from(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "cellar.toml"
    path.write_text(
        'host = "::1"\nport = 1\ntls = true\n[board]\nkind = "linux"\n'
        '[board.outputs]\nOUT0 = {chip = "x", line = 3}\n'
    )
    monkeypatch.setenv("LEVERFRAME_PORT", "2")
    monkeypatch.setenv("LEVERFRAME_TLS", "false")
    assert main(["config", "check", "--config", str(path), "--port", "3"]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert lines["host"] == ["host", '"::1"', f"{path},", "line", "1"]
    assert lines["port"] == ["port", "3", "--port"]
    assert lines["tls"] == ["tls", "false", "LEVERFRAME_TLS"]
    assert lines["timezone"] == ["timezone", '"UTC"', "default"]
    assert lines["board.outputs.OUT0"][-3:] == [f"{path},", "line", "7"]


def test_check_of_a_wrong_file_ends_with_a_line_for_each_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cellar.toml"
    path.write_text("prot = 1\ntls = 2\n")
    assert main(["config", "check", "--config", str(path)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.splitlines() == [
        f"leverframe: {path}, line 1: Unknown key prot. Did you mean port?",
        f"leverframe: {path}, line 2: tls must be true or false, not 2.",
    ]


def test_other_variables_are_not_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMTP_PASSWORD", "hunter2")
    monkeypatch.setenv("LEVERFRAME_SECRET", "hunter2")
    assert main(["config", "check"]) == 2
    output = capsys.readouterr()
    assert "LEVERFRAME_SECRET" in output.err
    assert "hunter2" not in output.out + output.err
