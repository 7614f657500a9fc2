"""`leverframe record`: a proxy on a loopback port that writes down what passes through it."""

import asyncio
import errno
from pathlib import Path

from leverframe.errors import ErrorForPeople
from leverframe.exchanges.exchange import Exchange
from leverframe.process.json_lines import print_json
from leverframe.recording.proxy import Proxy
from leverframe.recording.unit_client import unit_client
from leverframe.shutdown import stop_by_signal
from leverframe.storage.recording_file import RecordingFile

MAX_PORT = 65_535


class CannotRecord(ErrorForPeople):
    """The recording cannot go on, or begin: one sentence."""


async def record(unit: str, out: Path, port: int, ca_file: str | None, as_json: bool) -> None:
    """Record what clients exchange with a unit, until SIGTERM or SIGINT."""
    async with unit_client(unit, ca_file) as client:
        stop = stop_by_signal()
        recording = Recording(out, stop)
        proxy = Proxy(client, recording.add)
        await _listen(proxy, port)
        try:
            # After the port is there, so that a start that fails leaves no file behind; and before
            # anything else has a turn, so that no exchange comes earlier.
            recording.file = RecordingFile(out, client.origin)
            _say_where(proxy, client.origin, out, as_json=as_json)
            await stop.wait()
        finally:
            await proxy.stop()
            recording.close()
    _say_how_much(recording.file, out, as_json=as_json)


class Recording:
    """The file, and what keeps it from being written; then the recording ends."""

    file: RecordingFile | None = None

    def __init__(self, path: Path, stop: asyncio.Event) -> None:
        self._path = path
        self._stop = stop
        self._failure: OSError | None = None

    def add(self, exchange: Exchange) -> None:
        if self._failure is not None or self.file is None:
            return
        try:
            self.file.add(exchange)
        except OSError as error:
            self._failure = error
            self._stop.set()

    def close(self) -> None:
        """Close the file; raise what kept it from being written."""
        if self.file is not None:
            self.file.close()
        if self.file is not None and self._failure is not None:
            raise CannotRecord(
                f"{self._path} cannot be written any more: {self._failure.strerror}; the recording"
                f" has ended after {self.file.exchanges} exchanges."
            )


async def _listen(proxy: Proxy, port: int) -> None:
    if not 0 <= port <= MAX_PORT:
        raise CannotRecord(f"There is no port {port}; ports are 1 to {MAX_PORT}.")
    try:
        await proxy.start(port)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            why = f"Port {port} is taken by another program"
        else:
            why = f"Port {port} cannot be used: {error.strerror}"
        raise CannotRecord(f"{why}; choose another with --port, or none.") from error


def _say_where(proxy: Proxy, unit: str, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "ready", "url": proxy.url, "unit": unit, "out": str(out)})
    else:
        print(
            f"Recording {unit} to {out}: let your client use {proxy.url} instead - stop with "
            "Ctrl+C",
            flush=True,
        )


def _say_how_much(file: RecordingFile, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "stopped", "exchanges": file.exchanges, "masked": file.masked})
    else:
        print(f"Exchanges in {out}: {file.exchanges}; with secrets masked: {file.masked}.")
