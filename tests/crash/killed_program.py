"""A program that serves until it is killed."""

import re
import subprocess
import sys

ADDRESS = re.compile(r"http://(?:127\.0\.0\.1|localhost):(\d+)/")


class KilledProgram:
    def __init__(self, *arguments: str, timeout_s: float) -> None:
        """Start `leverframe` with these arguments; continue when it has printed its address."""
        self.timeout_s = timeout_s
        self._program = subprocess.Popen(
            [sys.executable, "-m", "leverframe", *arguments], stdout=subprocess.PIPE, text=True
        )
        assert self._program.stdout is not None
        lines = iter(self._program.stdout.readline, "")
        found = next(filter(None, map(ADDRESS.search, lines)), None)
        if found is None:
            raise AssertionError(f"it failed to start: {arguments}")
        self.port = int(found[1])

    def kill(self) -> None:
        self._program.kill()
        self._program.wait(self.timeout_s)
        assert self._program.stdout is not None
        self._program.stdout.close()
