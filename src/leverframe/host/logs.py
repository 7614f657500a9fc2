"""Logs of the process, including the journals of controllers, and notifications to systemd."""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.errors import ErrorForPeople, printable, printable_json
from leverframe.core.runtime.log_lines import CONTROLLER
from leverframe.host.controller import Controller
from leverframe.host.controller.findings import is_of_trouble

# Logs of the process: as readable text or as JSON, and optionally to syslog.
#
# Each record is a single line without control characters, whatever its message contains. A JSON
# line has `time`, `level`, `logger`, `message`, the extra fields of the record, `controller` if a
# process runs several, and `exception` if there was one.

SYSLOG_PORT = 514
#: Fields that records get from the `extra` of their call.
FIELDS = ("cause", "detail", "at")
_TEXT = "%(asctime)s %(levelname)s %(name)s: %(whose)s%(message)s"


class SyslogUnusable(ErrorForPeople):
    """The syslog address is not usable; the message is one sentence."""


class OneLine(logging.Formatter):
    """Formats text in which a line break cannot begin another record."""

    def format(self, record: logging.LogRecord) -> str:
        controller = CONTROLLER.get().name
        record.whose = f"[{controller}] " if controller else ""
        first, *rest = map(printable, super().format(record).split("\n"))
        return "\n".join([first, *(f"    {line}" for line in rest)])


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        said: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        said |= {name: value for name, value in vars(record).items() if name in FIELDS}
        if controller := CONTROLLER.get().name:
            said["controller"] = controller
        if record.exc_info:
            said["exception"] = self.formatException(record.exc_info)
        return printable_json(msgspec.json.encode(said).decode())


def set_up(level: str, form: str, syslog: str | None) -> None:
    """Start logging to standard error and, if configured, to syslog."""
    formatter = JsonLines() if form == "json" else OneLine(_TEXT)
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if syslog is not None:
        handlers.append(_syslog_handler(syslog))
    root = logging.getLogger()
    root.setLevel(level.upper())
    if level == "warning":
        # Starts, stops and the version are always logged, because they are few and the first
        # entries to look for.
        logging.getLogger("leverframe.host.serve").setLevel(logging.INFO)
    for handler in handlers:
        handler.setFormatter(formatter)
        root.addHandler(handler)


def make_unconfigured_logs_printable() -> None:
    """Make log lines printable also for commands that do not configure logging."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(OneLine("%(message)s"))


def _syslog_handler(address: str) -> logging.Handler:
    """Create a handler that logs to a local socket (/dev/log), or by UDP to HOST or HOST:PORT."""
    # Imported here: it is slow to import, and few processes log to syslog.
    import logging.handlers

    try:
        if address.startswith("/"):
            if not Path(address).exists():
                raise SyslogUnusable(
                    f"There is no syslog socket {address}; use /dev/log, HOST or HOST:PORT."
                )
            handler = logging.handlers.SysLogHandler(address)
        else:
            host, _, port = address.rpartition(":")
            at = (host, int(port)) if host else (address, SYSLOG_PORT)
            handler = logging.handlers.SysLogHandler(at)
    except (OSError, ValueError) as error:
        raise SyslogUnusable(
            f"syslog at {address!r} cannot be used: {error}. Write /dev/log, HOST or HOST:PORT."
        ) from error
    handler.ident = "leverframe: "
    return handler


# The journal of a controller as records of the process's log (level info).

log = logging.getLogger("leverframe.journal")


class JournalLog:
    """Writes journal entries to the log; attached only if level info is logged."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller
        self._number = 0
        controller.watchers.add(self._log_new)
        self._log_new()

    def _log_new(self) -> None:
        for entry in self._controller.engine.machine.journal.since(self._number):
            self._number = entry.number
            if is_of_trouble(entry.cause):
                # The part itself has logged it.
                continue
            fields = {"cause": entry.cause.kind, "detail": entry.cause.detail, "at": entry.wall}
            log.info("%s: %s", entry.cause, entry.text, extra=fields)

    async def close(self) -> None:
        self._controller.watchers.discard(self._log_new)
        self._log_new()


def is_wanted() -> bool:
    return log.isEnabledFor(logging.INFO)


# Notifies systemd that the service is ready, alive, or stopping.
#
# The messages go to the socket that systemd names in the environment; without a socket nothing is
# sent. The event loop itself sends the heartbeat, so systemd restarts a controller that hangs.

#: Interval between checks of the progress of a start or stop, and the extension requested.
LOOK_EVERY_S = 5.0
MORE_TIME_S = 30.0


class Supervisor:
    def __init__(self, environment: dict[str, str] | None = None) -> None:
        known = os.environ if environment is None else environment
        self._address = known.get("NOTIFY_SOCKET", "")
        # The watchdog is meant for this process, not for processes that inherit its environment.
        is_ours = known.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_us = int(known.get("WATCHDOG_USEC", "0") or 0) if is_ours else 0
        #: Seconds between two heartbeats; None if none is expected.
        self.interval_s = limit_us / 2e6 if self._address and limit_us else None

    def ready(self) -> None:
        self._send("READY=1")

    def alive(self) -> None:
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        self._send("STOPPING=1")

    @asynccontextmanager
    async def extend_time(self, progress: Callable[[], int]) -> AsyncIterator[None]:
        """Extend the time-out of systemd for as long as a start or stop makes progress."""
        asking = asyncio.create_task(self._ask_for_time(progress)) if self._address else None
        try:
            yield
        finally:
            if asking is not None:
                asking.cancel()

    async def _ask_for_time(self, progress: Callable[[], int]) -> None:
        last = -1
        while True:
            if (now := progress()) != last:
                self._send(f"EXTEND_TIMEOUT_USEC={MORE_TIME_S * 1e6:.0f}")
                last = now
            await asyncio.sleep(LOOK_EVERY_S)

    def _send(self, message: str) -> None:
        if not self._address:
            return
        address = self._address
        if address.startswith("@"):
            address = f"\0{address[1:]}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as notice:
            try:
                notice.connect(address)
                notice.send(message.encode())
            except OSError:
                # The supervisor's socket does not accept heartbeats: stop sending them.
                return
