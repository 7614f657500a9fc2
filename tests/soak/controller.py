"""The controller under test: a process that is started, killed, held up and asked."""

import asyncio
import contextlib
import json
import os
import re
import signal
import ssl
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.ports import free_port
from tests.soak.ledger import Ledger

PATIENCE_S = 60.0
DISK, HELD_UP = "disk", "process held up"


class Gone(Exception):
    """The connection ended before the answer; the request may have been carried out or not."""


@dataclass(frozen=True)
class Answer:
    status: int
    body: bytes


class SoakedController:
    """One controller through all its lives."""

    def __init__(self, folder: Path, ledger: Ledger, *options: str) -> None:
        self.data = folder / "data"
        self.port = free_port()
        self.ledger = ledger
        #: Counts the starts: what was true of one life need not be of the next.
        self.life = 0
        self.up = asyncio.Event()
        self.log = folder / "log"
        self._command = [sys.executable, "-m", "leverframe", "run", "--port", str(self.port)]
        self._command += ["--data", str(self.data), "--no-mdns", "--no-discovery", *options]
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *self._command, stdout=subprocess.PIPE, stderr=log
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        if not re.search(rb"https?://\S+:\d+/", line):
            raise AssertionError(f"it failed to start: {line!r} {self.log.read_text()[-2000:]}")
        self.life += 1
        self.up.set()

    async def kill(self) -> None:
        """Also one that is just being started; nothing if it has ended."""
        self.up.clear()
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()

    async def stop(self) -> int:
        """A clean end; gives the exit status."""
        self.up.clear()
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()

    async def hold_up(self, seconds: float) -> None:
        with self.ledger.fault(HELD_UP):
            os.kill(self.pid, signal.SIGSTOP)
            await asyncio.sleep(seconds)
            os.kill(self.pid, signal.SIGCONT)

    def seconds_waited(self) -> float:
        """How long its event loop could have run but was not let, since the start."""
        own = Path(f"/proc/{self.pid}/task/{self.pid}/schedstat")
        return int(own.read_text().split()[1]) / 1e9 if own.exists() else 0.0

    def note_figures(self) -> None:
        """Memory and open files, as the kernel counts them."""
        process = Path(f"/proc/{self.pid}")
        try:
            pages = int((process / "statm").read_text().split()[1])
            files = len(os.listdir(process / "fd"))
        except (FileNotFoundError, ProcessLookupError):
            return
        self.ledger.note("MB", pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        self.ledger.note("open files", files)


class Client:
    """One connection, made again when it is lost."""

    def __init__(
        self,
        controller: SoakedController,
        *,
        tls: ssl.SSLContext | None = None,
        headers: str = "",
    ) -> None:
        self._controller = controller
        self._tls = tls
        self._headers = headers
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, target: str) -> Answer:
        """Waits for a controller that is down; raises Gone if it dies while waiting."""
        await self._controller.up.wait()
        ledger = self._controller.ledger
        try:
            async with asyncio.timeout(PATIENCE_S):
                answer = await self._exchange(target)
        except TimeoutError:
            self.close()
            ledger.violation(f"{target} was not answered within {PATIENCE_S:g} s")
            raise Gone from None
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            # Nothing is asked in a tight circle while the process ends.
            await asyncio.sleep(0.02)
            raise Gone from None
        ledger.counts["requests"] += 1
        if answer.status >= 500:
            self._judge_refusal(target, answer)
        return answer

    def _judge_refusal(self, target: str, answer: Answer) -> None:
        ledger = self._controller.ledger
        ledger.counts[f"answered {answer.status}"] += 1
        allowed = answer.status == 503 or (answer.status == 507 and ledger.is_troubled(DISK))
        if not allowed:
            ledger.violation(f"{target} was answered {answer.status}: {answer.body[:200]!r}")

    async def json(self, target: str) -> Any:
        answer = await self.get(target)
        if answer.status != 200:
            raise Gone
        return json.loads(answer.body)

    async def _exchange(self, target: str) -> Answer:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                "127.0.0.1", self._controller.port, ssl=self._tls
            )
        reader, writer = self._streams
        host = f"127.0.0.1:{self._controller.port}"
        writer.write(f"GET {target} HTTP/1.1\r\nHost: {host}\r\n{self._headers}\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = re.search(r"\r\ncontent-length: (\d+)", head)
        body = await reader.readexactly(int(length[1]) if length else 0)
        if "\r\nconnection: close" in head:
            self.close()
        return Answer(int(head.split(" ", 2)[1]), body)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
