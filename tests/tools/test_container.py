"""The container image: its health check, and that its instructions name what exists."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leverframe.host.configuration.fields import Config
from tests.host.controller_process import controller_process
from tests.ports import free_port

PROJECT = Path(__file__).parents[2]
HEALTH = PROJECT / "packaging" / "container" / "health"
INSTRUCTIONS = (PROJECT / "Containerfile").read_text(encoding="utf-8")
#: Sent by the maker's tools to this port; it is not a setting.
DISCOVERY_PORT = 30403


def check_health(port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, HEALTH],
        env={**os.environ, "LEVERFRAME_PORT": str(port)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("options", [["--no-tls"], ["--tls"]])
def test_health_check_passes_while_the_controller_answers(
    options: list[str], tmp_path: Path
) -> None:
    with controller_process(tmp_path, "--virtual-time", *options) as controller:
        done = check_health(controller.port)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"status":"ok"' in done.stdout


def test_health_check_fails_without_a_controller() -> None:
    port = free_port()
    done = check_health(port)
    assert done.returncode == 1
    assert done.stderr.startswith(f"http://127.0.0.1:{port}/health does not answer: ")


def test_image_exposes_every_port_of_a_controller() -> None:
    (line,) = re.findall(r"^EXPOSE (.*)", INSTRUCTIONS, re.MULTILINE)
    config = Config()
    assert set(line.split()) == {
        f"{config.port}/tcp",
        f"{config.modbus_port}/tcp",
        f"{config.snmp_port}/udp",
        f"{config.tftp_port}/udp",
        f"{DISCOVERY_PORT}/udp",
    }


def test_image_runs_without_the_rights_of_root() -> None:
    (user,) = re.findall(r"^USER (\d+):", INSTRUCTIONS, re.MULTILINE)
    assert int(user) > 0


def test_everything_that_is_copied_is_in_the_build_context() -> None:
    context = (PROJECT / ".containerignore").read_text(encoding="utf-8")
    for sources in re.findall(r"^COPY (?!--from)(.*) \S+$", INSTRUCTIONS, re.MULTILINE):
        for source in sources.split():
            assert (PROJECT / source).exists(), source
            assert any(
                source.rstrip("/").startswith(line[1:]) or line[1:].startswith(source.rstrip("/"))
                for line in context.splitlines()
                if line.startswith("!")
            ), source
