"""The machine under the tests: modules, a chip of simulated lines, and the controller's service."""

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

PATIENCE_S = 60.0
URL = "http://127.0.0.1:8080"
UNIT = "leverframe@test.service"
CONFIG = Path("/etc/leverframe/test.toml")
DROP_IN = Path("/etc/systemd/system/leverframe@test.service.d/rights.conf")


def until(condition: Callable[[], bool], what: str, limit_s: float = PATIENCE_S) -> float:
    """Wait for a condition; return how long it took."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + limit_s:
            raise AssertionError(f"not within {limit_s:g} s: {what}")
        time.sleep(0.01)
    return time.monotonic() - began


def run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def load(*modules: str) -> None:
    """Load modules of the kernel; skip the test where it has none."""
    for module in modules:
        done = subprocess.run(
            ["modprobe", module], capture_output=True, text=True, check=False, timeout=60
        )
        if done.returncode:
            pytest.skip(f"this kernel has no {module}: {done.stderr.strip()}")


class SimulatedChip:
    """A chip of the kernel's gpio-sim: what is driven can be read, and levels come from outside."""

    def __init__(self, name: str, lines: int) -> None:
        self._folder = Path("/sys/kernel/config/gpio-sim") / name
        bank = self._folder / "bank0"
        bank.mkdir(parents=True)
        (bank / "num_lines").write_text(str(lines))
        self.plug()

    def plug(self) -> None:
        (self._folder / "live").write_text("1")
        chip = (self._folder / "bank0" / "chip_name").read_text().strip()
        device = (self._folder / "dev_name").read_text().strip()
        self.path = f"/dev/{chip}"
        self.lines = Path("/sys/devices/platform") / device / chip

    def pull(self) -> None:
        (self._folder / "live").write_text("0")

    def level(self, line: int) -> int:
        return int((self.lines / f"sim_gpio{line}" / "value").read_text())

    def hold(self, line: int, level: int) -> None:
        (self.lines / f"sim_gpio{line}" / "pull").write_text("pull-up" if level else "pull-down")


class Service:
    """The controller as systemd runs it, with the unit that is shipped."""

    def configure(self, config: str, rights: str) -> None:
        CONFIG.parent.mkdir(exist_ok=True)
        CONFIG.write_text(config)
        DROP_IN.parent.mkdir(exist_ok=True)
        DROP_IN.write_text(f"[Service]\n{rights}\n")
        run("systemctl", "daemon-reload")

    def start(self) -> None:
        run("systemctl", "restart", UNIT)

    def stop(self) -> None:
        run("systemctl", "stop", UNIT)

    def pid(self) -> int:
        return int(run("systemctl", "show", UNIT, "--property=MainPID", "--value"))

    def is_up(self) -> bool:
        try:
            return bool(self.state())
        except OSError:
            return False

    def time_of_log_line(self, beginning: str) -> float:
        """Return when the log said this last, on the clock of `time.monotonic`."""
        options = ("--unit", UNIT, "--no-pager", "--output=short-monotonic")
        lines = run("journalctl", *options).splitlines()
        line_found = next(
            line for line in reversed(lines) if beginning in line and "is over" not in line
        )
        return float(line_found[1:].partition("]")[0])

    def get(self, path: str) -> str:
        with urlopen(f"{URL}{path}", timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())

    def state(self) -> dict[str, Any]:
        return dict(json.loads(self.get("/api/state")))

    def troubles(self) -> dict[str, str]:
        return dict(self.state()["troubles"])


def board_check() -> dict[str, str]:
    """Return the lines of `board check`, run by root, by their first word."""
    program = "/opt/leverframe/bin/leverframe"
    done = subprocess.run(
        [program, "board", "check", "--config", str(CONFIG)],
        env={**os.environ, "COLUMNS": "250"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode in (0, 1), done.stderr
    return {line.split()[0]: line for line in done.stdout.splitlines() if line.strip()}
