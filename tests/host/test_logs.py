"""Logs: one line per record, as text or JSON, and to syslog."""

import json
import logging
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from leverframe import __version__
from leverframe.core.runtime.log_lines import LoggedName, within
from leverframe.host.logs import _TEXT, JournalLog, JsonLines, OneLine, SyslogUnusable, set_up
from leverframe.testing import LoopTwin
from tests.patience import PATIENCE_S


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, afterwards as it was."""
    logger = logging.getLogger()
    handlers, level = list(logger.handlers), logger.level
    yield logger
    for handler in [one for one in logger.handlers if one not in handlers]:
        logger.removeHandler(handler)
        handler.close()
    logger.setLevel(level)


def record(message: str, **fields: object) -> logging.LogRecord:
    made = logging.LogRecord("leverframe.x", logging.WARNING, "", 0, message, None, None)
    vars(made).update(fields)
    return made


def test_json_line_is_one_object_whatever_the_message_holds() -> None:
    line = JsonLines().format(record('two\nlines and "quotes"', cause="rule", secret="x"))
    assert "\n" not in line
    said = json.loads(line)
    assert said["message"] == 'two\nlines and "quotes"'
    assert (said["level"], said["logger"], said["cause"]) == ("warning", "leverframe.x", "rule")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", said["time"])
    assert "secret" not in said


def test_line_names_the_controller_where_there_are_several() -> None:
    def lines() -> tuple[str, str]:
        return OneLine(_TEXT).format(record("hot")), JsonLines().format(record("hot"))

    text, in_json = within(LoggedName("gh-7"), lines)()
    assert text.endswith("leverframe.x: [gh-7] hot")
    assert json.loads(in_json)["controller"] == "gh-7"
    text, in_json = lines()
    assert text.endswith("leverframe.x: hot")
    assert "controller" not in json.loads(in_json)


def test_exception_stays_within_its_json_line() -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        made = record("it failed")
        made.exc_info = sys.exc_info()
    line = JsonLines().format(made)
    assert "\n" not in line
    assert "ValueError: broken" in json.loads(line)["exception"]


def test_line_break_cannot_forge_a_record_of_text() -> None:
    text = OneLine("%(levelname)s %(message)s").format(record("a\nERROR forged"))
    assert text.splitlines() == ["WARNING a", "    ERROR forged"]


def test_syslog_gets_what_is_logged(root: logging.Logger) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as syslog:
        syslog.bind(("127.0.0.1", 0))
        syslog.settimeout(PATIENCE_S)
        set_up("warning", "text", f"127.0.0.1:{syslog.getsockname()[1]}")
        logging.getLogger("leverframe.test").warning("the tank is full")
        said = syslog.recv(4096).decode()
    assert said.startswith("<12>leverframe: ")
    assert "the tank is full" in said


@pytest.mark.parametrize("where", ["/nowhere/log", "localhost:none"])
def test_syslog_that_is_not_there_is_said_in_a_sentence(root: logging.Logger, where: str) -> None:
    with pytest.raises(SyslogUnusable, match="syslog"):
        set_up("info", "text", where)


async def test_events_are_logged_with_their_cause(caplog: pytest.LogCaptureFixture) -> None:
    twin = await LoopTwin.start()
    with caplog.at_level(logging.INFO, "leverframe.journal"):
        log = JournalLog(twin.controller)
        await twin.ok("/outs.cgi?out0=1")
        await log.close()
    said = caplog.records[-1]
    assert "OUT0" in said.getMessage()
    assert vars(said)["cause"] == "command"


@pytest.mark.thorough
def test_command_line_chooses_level_and_format(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "leverframe", "run", "--data", str(tmp_path), "--port", "0"]
    process = subprocess.Popen(
        [*run, "--log-level", "info", "--log-format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    (address,) = re.findall(r"http://\S+", process.stdout.readline())
    requests.get(f"{address}outs.cgi?out3=1", timeout=PATIENCE_S).raise_for_status()
    process.terminate()
    _, logged = process.communicate(timeout=PATIENCE_S)
    said = [json.loads(line) for line in logged.splitlines()]
    (switched,) = [one for one in said if "OUT3" in one["message"]]
    assert (switched["level"], switched["cause"]) == ("info", "command")


def test_starts_and_stops_are_logged_with_the_version(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "leverframe", "run", "--port", "0", "--data", str(tmp_path)]
    process = subprocess.Popen(
        [*command, "--no-mdns", "--no-discovery"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.terminate()
    _, logged = process.communicate(timeout=PATIENCE_S)
    first, *_, last = logged.splitlines()
    assert f"leverframe {__version__} started: " in first
    assert f"data in {tmp_path}" in first
    assert last.endswith(f"leverframe {__version__} stopped")
