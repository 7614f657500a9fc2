"""The demo of several nodes by the guide: started, one node killed, ended."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS, PROJECT, blocks
from tests.docs.shell_page import exchange_ports
from tests.ports import free_ports
from tools import fleet_demo

GUIDE = DOCS / "how-to" / "several-machines.md"
PATIENCE_S = 60


def neighbouring_ports() -> tuple[int, int]:
    found = sorted(free_ports(20))
    return next((a, b) for a, b in pairwise(found) if b == a + 1)


class Demo:
    def __init__(self, process: subprocess.Popen[str], output: Path) -> None:
        self.process = process
        self._output = output

    def output(self) -> str:
        return self._output.read_text(encoding="utf-8")

    def wait_for(self, pattern: str) -> re.Match[str]:
        until = time.monotonic() + PATIENCE_S
        while (found := re.search(pattern, self.output())) is None:
            assert time.monotonic() < until, self.output()
            assert self.process.poll() is None, self.output()
            time.sleep(0.05)
        return found


@contextmanager
def run_demo(command: str, port: int, folder: Path) -> Iterator[Demo]:
    """Start the demo as the guide does; `make` runs its recipe with this Python."""
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(rf"^{command.split()[-1]}:.*\n\t@(.*)$", makefile, re.MULTILINE)
    assert recipe is not None
    words = recipe[1].replace("$(BIN)/python", sys.executable).replace("$(ARGS)", f"--port {port}")
    said = folder / "said"
    with (
        said.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            words.split(),
            cwd=PROJECT,
            stdout=out,
            stderr=out,
            text=True,
            env={**os.environ, "TMPDIR": "/tmp", "PYTHONUNBUFFERED": "1"},
        ) as process,
    ):
        try:
            yield Demo(process, said)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait(PATIENCE_S)


def answer(line: str, ports: dict[int, int]) -> str:
    """Type one line of the guide; return what it printed."""
    done = subprocess.run(
        ["timeout", str(PATIENCE_S), "bash", "-c", exchange_ports(line, ports)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, (line, done.stdout, done.stderr)
    return done.stdout


@pytest.mark.thorough
@pytest.mark.needs_program("curl")
def test_first_try_of_the_guide_goes_as_it_says(tmp_path: Path) -> None:
    if not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        pytest.skip("PostgreSQL is not installed")
    start, then = [one for one in blocks(GUIDE) if one.language == "sh"][:2]
    port, next_port = neighbouring_ports()
    ports = {8081: port, 8082: next_port}
    with run_demo(start.text.strip(), port, tmp_path) as demo:
        pid = demo.wait_for(r"north  http://127\.0\.0\.1:\d+/  process (\d+)  10 controllers")[1]
        folder = demo.wait_for(r"gh-7\.localhost") and _folder_of(int(pid))
        switch, nodes, kill, look = then.text.strip().splitlines()
        assert "<response>" in answer(f"{switch} --silent", ports)
        assert answer(f"{nodes} --silent", ports).count('"is_alive":true') == 2
        answer(kill.replace("PID", pid), ports)
        # Sent immediately: held until the other node has it.
        assert '"sname"' in answer(f"{look} --silent --retry 5", ports)
        demo.wait_for(r"south has all 20 controllers after \d+\.\d s\.")
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(PATIENCE_S) == 0
        assert "Everything is stopped and removed." in demo.output()
    assert not folder.exists()


def _folder_of(pid: int) -> Path:
    """Return the folder of the demo, from the command line of a node."""
    words = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
    return Path(words[words.index("--data") + 1]).parent


def test_missing_postgresql_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(fleet_demo, "INSTALLED", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["fleet_demo"])
    assert fleet_demo.main() == 1
    assert capsys.readouterr().err.strip() == (
        "PostgreSQL is not here; install it with: sudo apt install postgresql"
    )
