"""A controller for each test: `twin` runs on virtual time and a data folder of its own.

Copy this file. It needs the program `leverframe` in the same environment and nothing else.
"""

import json
import re
import subprocess
import sys
from urllib.request import urlopen

import pytest


class Twin:
    def __init__(self, address):
        self.address = address

    def get(self, target):
        """The answer to a request; one that is refused raises `HTTPError`."""
        with urlopen(self.address + target, timeout=30) as answer:
            return answer.read().decode()

    def state(self):
        """Every value by its label, in real units."""
        return json.loads(self.get("/api/state"))

    def set_readings(self, **readings):
        """Let the simulated board sense something: `twin.set_readings(DS1=21.5)`."""
        self.get("/sim.cgi?" + "&".join(f"{name}={value}" for name, value in readings.items()))

    def advance(self, seconds):
        """Let time pass; what is due in between happens before this returns."""
        self.get(f"/sim.cgi?advance={seconds}")


@pytest.fixture
def twin(tmp_path):
    command = ["run", "--port", "0", "--data", str(tmp_path / "data"), "--virtual-time"]
    process = subprocess.Popen(
        [sys.executable, "-m", "leverframe", *command], stdout=subprocess.PIPE, text=True
    )
    with process, process.stdout:
        # It says where it answers as soon as it does.
        address = re.search(r"http://\S+(?=/ )", process.stdout.readline())
        assert address, "the controller did not start"
        yield Twin(address[0])
        process.terminate()
