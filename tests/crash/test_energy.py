"""Energy that is remembered survives a killed process, but for what came since the last minute."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PATIENCE_S = 20


@contextmanager
def killed_at_the_end(data: Path) -> Iterator[int]:
    """The port of a controller on virtual time that ends by `kill -9`."""
    program = [sys.executable, "-m", "leverframe", "run", "--virtual-time", "--port", "0"]
    process = subprocess.Popen([*program, "--data", str(data)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        try:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/", process.stdout.readline())
            assert found is not None
            yield int(found[1])
        finally:
            process.kill()
            process.wait(PATIENCE_S)


def ask(port: int, target: str) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    connection.request("GET", target)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    assert answer.status == 200, body
    return body


def energy(port: int) -> float:
    state: dict[str, Any] = json.loads(ask(port, "/api/state"))
    return float(state["ENERGY1"])


def test_a_killed_controller_loses_at_most_a_minute_of_energy(tmp_path: Path) -> None:
    kilowatts = 3.6
    with killed_at_the_end(tmp_path) as port:
        ask(port, "/inpa.cgi?powsave=1&powsel=0*10")
        ask(port, f"/sim.cgi?m1={kilowatts}&advance=630")
        before = energy(port)
        # Virtual minutes pass faster than a disk writes; what precedes a confirmed change is there.
        ask(port, "/eeprom.cgi?dword0=1")
    with killed_at_the_end(tmp_path) as port:
        after = energy(port)
    assert before - kilowatts / 60 <= after <= before
    assert after > 0
