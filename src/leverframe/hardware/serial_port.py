"""The serial port: kept open for the chosen module, opened again when it was lost.

A module is a `SerialSession`: it gets a reader and a writer and talks until the port fails. A port
that is missing, taken or not permitted is tried again with growing pauses; until then it is shown
as a problem. Choosing another module closes the port and opens it for the new one.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, MutableMapping
from typing import Protocol

from msgspec import Struct

from leverframe.engine.settings import Settings
from leverframe.hardware.troubles import Troubles, describe_unexpected, os_error_text
from leverframe.shutdown import is_being_cancelled

log = logging.getLogger(__name__)

PART = "serial port"


class SerialReader(Protocol):
    async def read(self, n: int) -> bytes: ...


class SerialWriter(Protocol):
    def write(self, data: bytes) -> None: ...


class SerialSession(Protocol):
    """A conversation with the module on the other end."""

    @property
    def bitrate(self) -> int: ...

    async def run(self, reader: SerialReader, writer: SerialWriter) -> None:
        """Communicate until the port ends (return) or fails (OSError)."""

    def leave(self) -> None:
        """Forget what was measured: another module was chosen."""


class Pauses(Struct, frozen=True):
    """Seconds before a port that cannot be used is tried again, doubled each time."""

    first_s: float = 1.0
    max_s: float = 60.0


PAUSES = Pauses()


class SerialPortService:
    """The runner of the session of the module that `serial.module` names, if there is one."""

    def __init__(
        self,
        path: str,
        sessions: Mapping[str, Callable[[], SerialSession]],
        troubles: MutableMapping[str, str],
        *,
        unreadable: Mapping[str, str],
        pauses: Pauses = PAUSES,
    ) -> None:
        self._path = path
        self._sessions = sessions
        self._unreadable = unreadable
        self._troubles = Troubles(troubles)
        self._pauses = pauses
        self._wanted: str | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, settings: Settings) -> None:
        self._wanted = settings.serial.module
        self._task = asyncio.create_task(self._run())

    def choose(self, module: str | None) -> None:
        """Follow the choice of a module; None leaves the port alone."""
        if module != self._wanted:
            self._wanted = module
            self._changed.set()

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            serving = asyncio.create_task(self._serve(self._wanted or ""))
            try:
                await self._changed.wait()
            finally:
                serving.cancel()
                (fault,) = await asyncio.gather(serving, return_exceptions=True)
                if isinstance(fault, Exception):
                    log.error("the serial module stopped unexpectedly", exc_info=fault)

    async def _serve(self, module: str) -> None:
        self._troubles.note(PART, self._unreadable.get(module))
        make = self._sessions.get(module)
        if make is None:
            return
        session = make()
        try:
            await self._keep_open(session)
        finally:
            session.leave()

    async def _keep_open(self, session: SerialSession) -> None:
        pause_s = self._pauses.first_s
        while True:
            try:
                await self._talk(session)
                pause_s = self._pauses.first_s
                text = f"{self._path} was lost; it is reopened when it is back."
            except OSError as error:
                text = os_error_text(error, self._path)
            except Exception as error:
                # A mistake in one session must not end the port for good.
                log.exception("the serial module failed")
                text = describe_unexpected(error)
            if is_being_cancelled():
                return
            self._troubles.note(PART, text)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, self._pauses.max_s)

    async def _talk(self, session: SerialSession) -> None:
        # Imported when a port is really used: it takes a tenth of a second.
        import serialx

        reader, writer = await serialx.open_serial_connection(
            url=self._path, baudrate=session.bitrate
        )
        self._troubles.note(PART, None)
        try:
            await session.run(reader, writer)
        except OSError:
            # The port worked and then failed: that is a loss, not a reason why it cannot open.
            return
        finally:
            writer.transport.abort()
            await writer.transport.wait_closed()
