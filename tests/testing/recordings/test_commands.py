"""`leverframe record` and `leverframe replay` as they are typed."""

import http.client
import io
import json
import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leverframe.__main__ import main
from leverframe.core.settings import CONFIDENTIAL
from tests.host.controller_process import PROGRAM, ControllerProcess, controller_process
from tests.host.test_secrets_stay_inside import (
    ADMIN,
    MISTAKES,
    base64,
    canary,
    plant,
    read_everything,
)
from tests.patience import PATIENCE_S
from tests.testing.recordings.recorded_twin import read_exchanges


@contextmanager
def recording(unit: int, out: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A recorder as a process of its own; ends by itself if the tests are killed."""
    command = [*PROGRAM, "record", f"http://127.0.0.1:{unit}", "--out", str(out), *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=PATIENCE_S)


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def port_in(line: str) -> int:
    found = re.search(r"Use http://127\.0\.0\.1:(\d+)/ in your client", line)
    assert found is not None, line
    return int(found[1])


def get(port: int, target: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", target)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


Typed = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Run a command line in this process."""

    def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(text))
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as end:
            code = int(str(end.code))
        output = capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, output.out, output.err)

    return run


def lines_of(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def against(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def test_session_is_recorded_and_replayed(tmp_path: Path, run_command: Typed) -> None:
    path = tmp_path / "session.jsonl"
    with controller_process(tmp_path, "--virtual-time") as unit:
        with recording(unit.port, path, "--json") as recorder:
            ready = json.loads(first_line(recorder))
            assert (ready["event"], ready["out"]) == ("ready", str(path))
            port = int(ready["url"].rstrip("/").rpartition(":")[2])
            for target in ("/outs.cgi?out0=1", "/json/all.json", "/stm.cgi?em4=geheim12"):
                assert get(port, target) == 200
            recorder.send_signal(signal.SIGTERM)
            output, _ = recorder.communicate(timeout=PATIENCE_S)
            assert recorder.returncode == 0
            assert json.loads(output) == {"event": "stopped", "exchanges": 3, "masked": 1}
        done = run_command("replay", str(path), "--against", against(unit.port))
        assert done.returncode == 0, done
        assert "Not sent: 1, because the secret or file was not recorded." in done.stdout
        assert done.stdout.endswith("All 2 requests got the recorded answers.\n")
        assert unit.ask("/outs.cgi?out0=0&out5=1")[0] == 200
        done = run_command("replay", str(path), "--against", against(unit.port))
        assert done.returncode == 1
        assert "1. GET /outs.cgi?out0=1: out was 100000, is 100001\n" in done.stdout
        assert done.stdout.endswith("2 of 2 requests got different answers.\n")
        done = run_command("replay", str(path), "--against", against(unit.port), "--json")
        assert done.returncode == 1
        *found, sums = lines_of(done.stdout)
        assert sums == {"event": "done", "sent": 2, "differing": 2, "not_sent": 1}
        assert found[0] == {
            **{"event": "difference", "number": 1, "request": "GET /outs.cgi?out0=1"},
            **{"key": "out", "recorded": "100000", "now": "100001", "counted": True},
        }
        assert found[-1]["event"] == "not sent"
        excluded = ["--exclude", "out,OUT5", "--tolerance", "2%"]
        done = run_command("replay", str(path), "--against", against(unit.port), *excluded)
        assert done.returncode == 0, done


@pytest.mark.thorough
def test_varying_values_are_named_and_count_only_in_strict_mode(
    tmp_path: Path, run_command: Typed
) -> None:
    path = tmp_path / "session.jsonl"
    with controller_process(tmp_path, "--virtual-time") as unit:
        with recording(unit.port, path) as recorder:
            port = port_in(first_line(recorder))
            assert [get(port, "/json/all.json") for _ in range(3)] == [200] * 3
            recorder.send_signal(signal.SIGINT)
            output, _ = recorder.communicate(timeout=PATIENCE_S)
            assert recorder.returncode == 0
            assert output == f"Exchanges in {path}: 3; with secrets masked: 0.\n"
        assert unit.ask("/sim.cgi?advance=60")[0] == 200
        done = run_command("replay", str(path), "--against", against(unit.port))
        assert done.returncode == 0
        assert "Not counted because they always differ: time.\n" in done.stdout
        done = run_command("replay", str(path), "--against", against(unit.port), "--strict")
        assert done.returncode == 1
        assert re.search(r"/all\.json: time was .* \(first of 3\)", done.stdout)


@pytest.mark.thorough
def test_recorder_that_was_killed_leaves_a_recording_that_can_be_read(
    tmp_path: Path, run_command: Typed
) -> None:
    path = tmp_path / "session.jsonl"
    with controller_process(tmp_path) as unit:
        with recording(unit.port, path) as recorder:
            port = port_in(first_line(recorder))
            for number in range(5):
                assert get(port, f"/outs.cgi?out0={number % 2}") == 200
            recorder.kill()
            recorder.wait(PATIENCE_S)
        assert [one.query for one in read_exchanges(path)] == [f"out0={n % 2}" for n in range(5)]
        with path.open("ab") as file:
            file.write(path.read_bytes().splitlines()[-1][:40])
        assert run_command("replay", str(path), "--against", against(unit.port)).returncode == 0


@pytest.mark.thorough
def test_client_that_had_signed_in_is_replayed_with_a_login(
    tmp_path: Path, run_command: Typed
) -> None:
    path = tmp_path / "session.jsonl"
    with controller_process(tmp_path) as unit:
        plant(unit)
        with recording(unit.port, path) as recorder:
            proxy = replace(unit, port=port_in(first_line(recorder)))
            assert proxy.ask("/json/all.json", account=ADMIN)[0] == 200
            recorder.send_signal(signal.SIGTERM)
            recorder.wait(PATIENCE_S)
        done = run_command("replay", str(path), "--against", against(unit.port))
        assert done.returncode == 1
        assert "status was 200, is 401" in done.stdout
        assert "sign in with --user NAME" in done.stderr
        user = ["--user", ADMIN[0]]
        done = run_command(
            "replay", str(path), "--against", against(unit.port), *user, text=ADMIN[1]
        )
        assert done.returncode == 0, done


@pytest.mark.thorough
def test_no_secret_that_passes_is_in_the_recording(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with (
        controller_process(tmp_path, "--virtual-time") as unit,
        recording(unit.port, path) as recorder,
    ):
        proxy = replace(unit, port=port_in(first_line(recorder)))
        assert isinstance(proxy, ControllerProcess)
        plant(proxy)
        read_everything(proxy)
        assert proxy.ask(
            "/post.cgi?signin", "POST", f"username={ADMIN[0]}&password={ADMIN[1]}".encode()
        )[0] in (200, 302, 303)
        assert proxy.ask("/dev_settings.bin", account=ADMIN)[0] == 200
        recorder.send_signal(signal.SIGTERM)
        recorder.wait(PATIENCE_S)
    written = path.read_bytes()
    assert len(read_exchanges(path)) > 50 + len(MISTAKES)
    for setting in CONFIDENTIAL:
        secret = canary(setting)
        for spelling in (secret, base64(secret), base64(f"{ADMIN[0]}:{secret}")):
            assert spelling.encode() not in written, setting


def test_mistakes_are_reported_in_one_line(tmp_path: Path, run_command: Typed) -> None:
    there = tmp_path / "there.jsonl"
    there.write_text("{}\n")
    unit, new = "http://127.0.0.1:9", str(tmp_path / "new.jsonl")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        mistakes = {
            ("record", unit, "--out", str(there)): "File exists; choose another name",
            ("record", "unit", "--out", new): "write it like http://",
            ("record", unit, "--out", str(tmp_path / "no" / "x")): "No such file",
            ("record", unit, "--out", new, "--port", port): "is in use by another program; choose",
            ("record", unit, "--out", f"{new}2", "--port", "-1"): "Port -1 is out of range",
            ("record", unit, "--out", f"{new}3", "--port", "70000"): "Port 70000 is out of range",
            ("record", unit, "--out", f"{new}4", "--port", "x"): "'x' is not a whole number",
            ("replay", str(there), "--against", unit): "is not a recording",
            ("replay", f"{new}5", "--against", unit): "check the name",
            ("replay", str(there), "--against", unit, "--tolerance", "much"): "such as 0.5 or",
        }
        for arguments, why in mistakes.items():
            done = run_command(*arguments)
            assert (done.returncode, done.stdout) == (2, ""), arguments
            assert done.stderr.count("\n") == 1, done.stderr
            assert why in done.stderr
        assert [file.name for file in tmp_path.iterdir()] == ["there.jsonl"]
    assert there.read_text() == "{}\n"


@pytest.mark.thorough
def test_full_disk_ends_the_recording_and_says_so(tmp_path: Path) -> None:
    with controller_process(tmp_path) as unit:
        out = tmp_path / "session.jsonl"
        command = [*PROGRAM, "record", against(unit.port), "--out", str(out)]
        # Files of this process may have 20 KiB; more is refused as by a full disk.
        limited = ["bash", "-c", 'trap "" XFSZ; ulimit -f 20; exec "$@"', "-", *command]
        process = subprocess.Popen(
            limited, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            port = port_in(first_line(process))
            # Its client is not concerned.
            assert get(port, "/api/commands") == 200
            _, output = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
            process.wait(PATIENCE_S)
        assert process.returncode == 2
        assert "cannot be written: File too large" in output
        assert output.count("\n") == 1
    assert read_exchanges(out) == []
