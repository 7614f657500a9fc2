"""Connections to the database server, and a connection that several threads share."""

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from socket import SHUT_RDWR, socket
from threading import Lock
from typing import Any, TypeVar

import psycopg

from leverframe.storage.store import StoreUnavailable

Connection = psycopg.Connection[Any]
Result = TypeVar("Result")

#: How many seconds a request waits for an unreachable database before it is rejected.
PATIENCE_S = 3.0
#: Seconds between two attempts to reach the database.
PAUSE_S = 0.1
AWAY = "The database cannot be reached. Nothing was changed; try again when it is back."
_AWAY_TO_READ = (
    "The database cannot be reached; the requested data cannot be read until the database is back."
)
#: SQLSTATE classes of errors that affect the complete database: out of space, read only, shutting
#: down.
_OF_DATABASE = ("53", "25006", "57P")
_CONNECT: dict[str, Any] = {
    "connect_timeout": 2,
    # Detect an unreachable peer within seconds, not after hours as by TCP's defaults.
    "keepalives_idle": 2,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 3000,
    # A frozen node must not block the node that takes over.
    "options": "-c idle_in_transaction_session_timeout=2000",
    "application_name": "leverframe",
}


class DatabaseAway(StoreUnavailable):
    """The database cannot be reached; the message is one sentence."""

    for_reader = _AWAY_TO_READ

    def __init__(self) -> None:
        super().__init__(AWAY)


def connect(address: str) -> Connection:
    """Connect to the database; statements commit automatically unless they are in a block."""
    return psycopg.connect(address, autocommit=True, **_CONNECT)


#: The form in which libpq reports each address that it has tried, with the reason of the failure.
_TRIED = re.compile(r"connection to server (?:at|on) (.+) failed: (?:FATAL: +)?(.+)")
#: Parts of an error message that may be parts of a password in an invalid connection address.
_MAY_BE_SECRET = re.compile(r"""(?<=after )"[^"]*"|(?<=')[^']*@""")


def why_not_connected(error: Exception) -> str:
    """Return in one line why each address could not be reached, without secrets."""
    if isinstance(error, UnicodeError):
        return "its address does not contain a valid host name"
    tried = dict.fromkeys(_TRIED.findall(str(error)))
    if tried:
        return "; ".join(f"{why} (at {where})" for where, why in tried)
    return _MAY_BE_SECRET.sub("...", first_line(error))


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]


def why_refused_for_all(error: psycopg.Error) -> str | None:
    """Return why the database rejects all writes now; None if only this statement failed."""
    if not (error.sqlstate or "").startswith(_OF_DATABASE):
        return None
    if isinstance(error, psycopg.errors.DiskFull):
        return "The disk of the database is full. Nothing was changed; try again when it has room."
    return f"The database rejected the change: {first_line(error)}. Nothing was changed."


class SharedConnection:
    """A connection that several threads use in turn; a broken connection is replaced."""

    def __init__(self, address: str, first: str = "") -> None:
        """Connect on first use, and execute the first statement, if any, on each connection."""
        self._address = address
        self._first = first
        self._lock = Lock()
        self._connection: Connection | None = None
        self._is_closed = False

    def use(self, work: Callable[[Connection], Result]) -> Result:
        """Run idempotent work; raise StoreUnavailable if the database is not available now.

        An error that concerns only this work is raised unchanged.
        """
        # If the database hangs during a statement, only one thread may wait for it.
        if not self._lock.acquire(timeout=PATIENCE_S):
            raise DatabaseAway
        try:
            return self._use(work)
        except psycopg.Error as error:
            why = why_refused_for_all(error)
            if why is None:
                raise
            raise StoreUnavailable(why) from error
        finally:
            self._lock.release()

    def _use(self, work: Callable[[Connection], Result]) -> Result:
        connection = self._connection
        if connection is not None:
            try:
                return work(connection)
            except psycopg.Error:
                if not is_broken(connection):
                    raise
                self._drop()
        connection = self._connect()
        try:
            return work(connection)
        except psycopg.Error as error:
            if not is_broken(connection):
                raise
            self._drop()
            raise DatabaseAway from error

    def _connect(self) -> Connection:
        try:
            connection = self._connection = connect(self._address)
            if self._first:
                connection.execute(self._first)
        except psycopg.Error as error:
            self._drop()
            raise DatabaseAway from error
        if self._is_closed:
            # Another thread has closed this object without waiting for this thread.
            self._drop()
            raise DatabaseAway
        return connection

    def close(self) -> None:
        """Close the connection permanently; other threads cannot open a new one."""
        self._is_closed = True
        self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def is_broken(connection: Connection) -> bool:
    return connection.broken or connection.closed


def hang_up(connection: Connection) -> None:
    """Shut a connection down, which wakes the thread that waits for an answer on it."""
    with suppress(OSError, psycopg.Error), socket(fileno=os.dup(connection.fileno())) as line:
        line.shutdown(SHUT_RDWR)


def connect_until(address: str, until: float) -> Connection:
    """Try to connect until a monotonic time, but at least once."""
    while True:
        try:
            return connect(address)
        except psycopg.Error as error:
            if time.monotonic() >= until:
                raise DatabaseAway from error
            time.sleep(PAUSE_S)
