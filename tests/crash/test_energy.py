"""Energy that is remembered survives a killed process, but for what came since the last minute."""

import json
import signal
from pathlib import Path
from typing import Any

from tests.crash.ended_process import ask, end_by_signal


def energy(port: int) -> float:
    state: dict[str, Any] = json.loads(ask(port, "/api/state"))
    return float(state["ENERGY1"])


def test_killed_controller_loses_at_most_a_minute_of_energy(tmp_path: Path) -> None:
    kilowatts = 3.6
    with end_by_signal(signal.SIGKILL, tmp_path, "--virtual-time") as port:
        ask(port, "/inpa.cgi?powsave=1&powsel=0*10")
        ask(port, f"/sim.cgi?m1={kilowatts}&advance=630")
        before = energy(port)
        # Virtual minutes pass faster than a disk writes; what precedes a confirmed change is there.
        ask(port, "/eeprom.cgi?dword0=1")
    with end_by_signal(signal.SIGKILL, tmp_path, "--virtual-time") as port:
        after = energy(port)
    assert before - kilowatts / 60 <= after <= before
    assert after > 0
