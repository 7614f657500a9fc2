"""Logs of the process: as readable text or as JSON, and optionally to syslog.

Each record is one line whatever its message contains, without control characters. A JSON line has
`time`, `level`, `logger`, `message`, the extra fields of the record, `controller` if a process runs
several, and `exception` if there was one.
"""

import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from leverframe.errors import ErrorForPeople
from leverframe.log_context import CONTROLLER
from leverframe.plain_text import printable, printable_json

SYSLOG_PORT = 514
#: Fields that records get from the `extra` of their call.
FIELDS = ("cause", "detail", "at")
_TEXT = "%(asctime)s %(levelname)s %(name)s: %(whose)s%(message)s"


class SyslogUnusable(ErrorForPeople):
    """The syslog address is not usable: one sentence."""


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
        # Few lines in years, and the first to look for: starts, stops and the version.
        logging.getLogger("leverframe.process.serve").setLevel(logging.INFO)
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
