"""`leverframe run`, and what the start of a controller complains about."""

import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leverframe import __version__
from leverframe.__main__ import main
from tests.patience import PATIENCE_S

PROGRAM = [sys.executable, "-m", "leverframe"]


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The address of a controller that runs as a process of its own."""
    process = subprocess.Popen(
        [*PROGRAM, "run", "--port", "0", *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        line = process.stdout.readline()
        try:
            found = re.search(r"http://\S+?(?=/ )", line)
            assert found is not None, line
            yield found[0]
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0


def fetch(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:
        body: bytes = answer.read()
    return body


def complaint(*arguments: str) -> str:
    """The one line that a failing start prints, and nothing else."""
    done = subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.thorough
def test_printed_ipv6_address_can_be_opened(tmp_path: Path) -> None:
    with running("--data", str(tmp_path), "--host", "::1") as address:
        assert address.startswith("http://[::1]:")
        assert b'"status"' in fetch(f"{address}/health")


def test_controller_runs_and_remembers(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    with running("--data", data, "--hw", "3.5", "--sw", "1.49") as address:
        fetch(f"{address}/stm.cgi?oname=0Lamp")
        identity = re.search(rb'"mac":"([^"]+)"', fetch(f"{address}/json/all.json"))
    with running("--data", data) as address:
        status = fetch(f"{address}/json/all.json")
        assert b'"Lamp"' in fetch(f"{address}/api/settings")
    assert identity is not None
    assert identity[1] in status
    assert b'"hw":"3.5","sw":"1.49"' in status


def test_second_process_on_a_folder_is_refused_with_the_first_one(tmp_path: Path) -> None:
    with running("--data", str(tmp_path)):
        text = complaint("run", "--port", "0", "--data", str(tmp_path))
    assert "in use" in text
    assert "--data" in text


def test_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        text = complaint("run", "--port", port, "--data", str(tmp_path))
    assert port in text
    assert "--port" in text


def test_no_password_is_made_for_an_address_that_cannot_be_used(tmp_path: Path) -> None:
    # An address for documents, which no machine has.
    text = complaint("run", "--host", "192.0.2.1", "--data", str(tmp_path))
    assert "192.0.2.1 is not an address of this machine; choose one with --host" in text
    assert not (tmp_path / "store.db").exists()


def test_store_of_a_newer_program_is_left_alone(tmp_path: Path) -> None:
    with running("--data", str(tmp_path)):
        pass
    with sqlite3.connect(tmp_path / "store.db") as connection:
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert "999" in complaint("run", "--port", "0", "--data", str(tmp_path))


@pytest.mark.thorough
def test_damaged_store_gives_way_to_the_last_snapshot(tmp_path: Path) -> None:
    with running("--data", str(tmp_path)) as address:
        fetch(f"{address}/stm.cgi?oname=0Lamp")
    with running("--data", str(tmp_path)):
        pass
    store = tmp_path / "store.db"
    store.write_bytes(store.read_bytes()[:3000])
    with running("--data", str(tmp_path)) as address:
        assert b'"degraded"' in fetch(f"{address}/health")
        assert b'"Lamp"' in fetch(f"{address}/api/settings")
        assert b"damaged-1" in fetch(f"{address}/api/state")
        fetch(f"{address}/outs.cgi?out0=1")
    for aside in tmp_path.glob("damaged-*"):
        shutil.rmtree(aside)
    with running("--data", str(tmp_path)) as address:
        assert b'"ok"' in fetch(f"{address}/health")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--hw", "4.0"), "3.0, 3.5"),
        (("--sw", "2"), "1.36"),
        (("--port", "70000"), "65535"),
        (("--timezone", "Mars/Base"), "Europe/Warsaw"),
        (("--config", "missing.toml"), "missing.toml"),
    ],
)
def test_wrong_option_says_what_is_allowed(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "--data", str(tmp_path), *arguments]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prot = 1", "prot"),
        ("port = 'x'", "port"),
        ("port =\nhw = 1", "line 1"),
        ("hw = '9'", "3.0"),
    ],
)
def test_wrong_configuration_file_says_what_is_allowed(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "leverframe.toml"
    file.write_text(text)
    assert main(["run", "--config", str(file)]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.thorough
def test_command_line_wins_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "leverframe.toml"
    file.write_text(f'data = "{tmp_path / "data"}"\nhw = "3.0"\nsw = "1.58a"\n')
    with running("--config", str(file), "--sw", "1.30") as address:
        assert b'"hw":"3.0","sw":"1.30"' in fetch(f"{address}/json/all.json")


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, words in (
        (["--version"], __version__),
        (["--help"], "run a controller"),
        (["run", "--help"], "--virtual-time"),
    ):
        with pytest.raises(SystemExit) as left:
            main(arguments)
        assert left.value.code == 0
        assert words in capsys.readouterr().out


def test_commands_of_a_version_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["commands", "--hw", "3.0", "--sw", "1.58a", "diffzsel"]) == 0
    assert "diffzsel" in capsys.readouterr().out
    assert main(["commands", "--hw", "9"]) == 2
    assert "3.0" in capsys.readouterr().err
