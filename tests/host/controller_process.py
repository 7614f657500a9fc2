"""A controller as a process of its own, with its files, its output and its memory."""

import http.client
import os
import re
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.patience import PATIENCE_S

PROGRAM = [sys.executable, "-m", "leverframe"]


@dataclass(frozen=True)
class ControllerProcess:
    pid: int
    port: int
    folder: Path
    #: What it printed before it was ready.
    printed: str
    log: Path

    def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes | None = None,
        account: tuple[str, str] | None = None,
        **headers: str,
    ) -> tuple[int, bytes]:
        with self._answer(target, method, body, account, headers) as answer:
            return answer.status, answer.read()

    def begin(self, target: str, account: tuple[str, str]) -> bytes:
        """The first message of an answer without an end."""
        with self._answer(target, "GET", None, account, {}) as answer:
            return b"".join(iter(answer.readline, b"\n"))

    @contextmanager
    def _answer(
        self,
        target: str,
        method: str,
        body: bytes | None,
        account: tuple[str, str] | None,
        headers: dict[str, str],
    ) -> Iterator[http.client.HTTPResponse]:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if account:
            packed = b64encode(":".join(account).encode()).decode()
            named["Authorization"] = f"Basic {packed}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, target, body, named)
            yield connection.getresponse()
        finally:
            connection.close()

    def memory_bytes(self) -> int:
        fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")

    def visible_to_others(self) -> bytes:
        """What the machine's list of processes shows."""
        process = Path(f"/proc/{self.pid}")
        return (process / "cmdline").read_bytes() + (process / "environ").read_bytes()


@contextmanager
def controller_process(
    folder: Path, *arguments: str, within: Sequence[str] = ()
) -> Iterator[ControllerProcess]:
    """`within` is a program that becomes the controller, such as one that mounts a disk first."""
    log = folder / "log"
    data = folder / "data"
    command = [
        *within,
        *PROGRAM,
        "run",
        "--port",
        "0",
        "--data",
        str(data),
        "--verbose",
        *arguments,
    ]
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    assert process.stdout is not None
    printed = ""
    with process.stdout:
        try:
            while (found := re.search(r"https?://\S+:(\d+)/ ", printed)) is None:
                line = process.stdout.readline()
                assert line, log.read_text()
                printed += line
            yield ControllerProcess(process.pid, int(found[1]), data, printed, log)
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0


def contents_of(folder: Path) -> dict[str, bytes]:
    """Return what is in every file below a folder, by its name.

    If a running process renames a file during the search, the search is repeated.
    """
    found: dict[str, bytes] = {}
    files = [file for file in sorted(folder.rglob("*")) if file.is_file()]
    for file in files:
        try:
            found[file.name] = file.read_bytes()
        except FileNotFoundError:
            return contents_of(folder)
    return found
