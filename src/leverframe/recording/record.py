"""`leverframe record`: a proxy on a loopback port that records all exchanges."""

import asyncio
from pathlib import Path

from leverframe.errors import ErrorForPeople
from leverframe.exchanges.exchange import Exchange
from leverframe.plain_text import print_line
from leverframe.process.json_lines import print_json
from leverframe.process.listening import bind_errors_for_people, check_port
from leverframe.recording.proxy import HOST, Proxy
from leverframe.recording.unit_client import unit_client
from leverframe.shutdown import stop_by_signal
from leverframe.storage.recording_file import RecordingFile


class CannotRecord(ErrorForPeople):
    """The recording cannot start or continue: one sentence."""


async def record(unit: str, out: Path, port: int, ca_file: str | None, as_json: bool) -> None:
    """Record what clients exchange with a unit, until SIGTERM or SIGINT."""
    check_port(port)
    async with unit_client(unit, ca_file) as client:
        stop = stop_by_signal()
        recording = Recording(out, stop)
        proxy = Proxy(client, recording.add)
        with bind_errors_for_people(HOST, port):
            await proxy.start(port)
        try:
            # After the port is open, so that a failed start leaves no file behind; and before any
            # other task runs, so that no exchange is missed.
            recording.file = RecordingFile(out, client.origin)
            _print_address(proxy, client.origin, out, as_json=as_json)
            await stop.wait()
        finally:
            await proxy.stop()
            recording.close()
    _print_progress(recording.file, out, as_json=as_json)


class Recording:
    """The file, and the error that stops its writing; the recording then ends."""

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
        """Close the file; raise the error that stopped its writing."""
        if self.file is not None:
            self.file.close()
        if self.file is not None and self._failure is not None:
            raise CannotRecord(
                f"{self._path} cannot be written: {self._failure.strerror}; the recording ended"
                f" after {self.file.exchanges} exchanges."
            )


def _print_address(proxy: Proxy, unit: str, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "ready", "url": proxy.url, "unit": unit, "out": str(out)})
    else:
        print_line(
            f"Recording {unit} to {out}. Use {proxy.url} in your client; stop with Ctrl+C",
            flush=True,
        )


def _print_progress(file: RecordingFile, out: Path, *, as_json: bool) -> None:
    if as_json:
        print_json({"event": "stopped", "exchanges": file.exchanges, "masked": file.masked})
    else:
        print_line(f"Exchanges in {out}: {file.exchanges}; with secrets masked: {file.masked}.")
