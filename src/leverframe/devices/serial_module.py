"""The sensors on the serial port: sends requests, decodes answers, and detects missing answers.

A sensor is a row in `SENSORS`. Outdated readings become absent. Then the start command is sent
again, because a sensor stops measuring when it loses its power.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, MutableMapping
from typing import Protocol

from msgspec import Struct

from leverframe.core.runtime.event_loop import is_being_cancelled
from leverframe.core.settings import Settings
from leverframe.devices.readings import Sense, Troubles, describe_unexpected, os_error_text
from leverframe.devices.wire import serial_sensors
from leverframe.devices.wire.serial_sensors import Decoder

# The serial port, which is open for the selected module and reopened after a loss.
#
# A module is a `SerialSession`: it gets a reader and a writer and communicates until the port
# fails. A port that is missing, in use or not permitted is retried with growing pauses; until it
# opens, it is shown as a problem. If the user chooses another module, the port is closed and opened
# for that module.

log = logging.getLogger(__name__)

PORT_PART = "serial port"


class SerialReader(Protocol):
    async def read(self, n: int) -> bytes: ...


class SerialWriter(Protocol):
    def write(self, data: bytes) -> None: ...


class SerialSession(Protocol):
    """The communication with a module."""

    @property
    def bitrate(self) -> int: ...

    async def run(self, reader: SerialReader, writer: SerialWriter) -> None:
        """Communicate until the port ends (return) or fails (raise OSError)."""

    def leave(self) -> None:
        """Clear the measured values, because another module was selected."""


class Pauses(Struct, frozen=True):
    """Seconds before a port that cannot be used is retried; the pause doubles each time."""

    first_s: float = 1.0
    max_s: float = 60.0


PAUSES = Pauses()


class SerialPortService:
    """The service that runs the session of the module that `serial.module` names, if any."""

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
        """Switch to another module; None closes the port."""
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
        self._troubles.note(PORT_PART, self._unreadable.get(module))
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
                text = f"The device {self._path} disappeared; it is reopened when it returns."
            except OSError as error:
                text = os_error_text(error, self._path)
            except Exception as error:
                # A bug in one session must not close the port for good.
                log.exception("the serial module failed")
                text = describe_unexpected(error)
            if is_being_cancelled():
                return
            self._troubles.note(PORT_PART, text)
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, self._pauses.max_s)

    async def _talk(self, session: SerialSession) -> None:
        # Imported only when a port is used: the import takes a tenth of a second.
        import serialx

        reader, writer = await serialx.open_serial_connection(
            url=self._path, baudrate=session.bitrate
        )
        self._troubles.note(PORT_PART, None)
        try:
            await session.run(reader, writer)
        except OSError:
            # The port worked before it failed: report the loss, not a failure to open it.
            return
        finally:
            writer.transport.abort()
            await writer.transport.wait_closed()


PART = "serial module"
_READ_BYTES = 4096


class Sensor(Struct, frozen=True):
    bitrate: int
    labels: tuple[str, ...]
    decoder: Callable[[], Decoder]
    #: Sent at the start, and whenever readings are missing.
    begin: bytes = b""
    #: Sent every `period_s`.
    request: bytes = b""
    period_s: float = 1.0
    #: Readings older than this are absent; None for events, which never become outdated.
    stale_s: float | None = 10.0


#: By the name of the serial module.
SENSORS = {
    "PM sensor SDS011": Sensor(
        serial_sensors.SDS011_BITRATE,
        serial_sensors.SDS011_LABELS,
        serial_sensors.sds011_decoder,
        begin=serial_sensors.SDS011_WAKE,
    ),
    "CO2 sensor MH-Z16/19": Sensor(
        # These sensors measure every two to five seconds.
        serial_sensors.MHZ19_BITRATE,
        serial_sensors.MHZ19_LABELS,
        serial_sensors.mhz19_decoder,
        request=serial_sensors.MHZ19_REQUEST,
        period_s=5.0,
        stale_s=20.0,
    ),
    "PM sensor SPS30": Sensor(
        serial_sensors.SPS30_BITRATE,
        serial_sensors.SPS30_LABELS,
        serial_sensors.Sps30Decoder,
        begin=serial_sensors.SPS30_START,
        request=serial_sensors.SPS30_REQUEST,
    ),
    "bar/QR code scanner": Sensor(
        serial_sensors.SCANNER_BITRATE,
        serial_sensors.SCANNER_LABELS,
        serial_sensors.ScannerDecoder,
        stale_s=None,
    ),
    "ultrasonic distance sensor": Sensor(
        serial_sensors.ULTRASONIC_BITRATE,
        serial_sensors.ULTRASONIC_LABELS,
        serial_sensors.ultrasonic_decoder,
        request=serial_sensors.ULTRASONIC_REQUEST,
    ),
}

_NOT_PUBLIC = (
    "the protocol of the {} is not published, so its readings stay absent on a real port; a "
    "simulated board can provide them."
)
#: Modules that can be selected, but whose protocol is not public.
UNREADABLE = {
    name: _NOT_PUBLIC.format(name) for name in ("lighting module", "82comfort module", "GMQ125")
}


class SensorSession:
    """The session of one sensor on an open port."""

    def __init__(
        self, name: str, sensor: Sensor, sense: Sense, troubles: MutableMapping[str, str]
    ) -> None:
        self._name = name
        self._sensor = sensor
        self._sense = sense
        self._troubles = Troubles(troubles)

    @property
    def bitrate(self) -> int:
        return self._sensor.bitrate

    async def run(self, reader: SerialReader, writer: SerialWriter) -> None:
        asking = asyncio.create_task(self._ask(writer))
        try:
            await self._listen(reader, writer)
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            self._forget()

    def leave(self) -> None:
        self._troubles.note(PART, None)
        self._sense(dict.fromkeys(self._sensor.labels))

    async def _ask(self, writer: SerialWriter) -> None:
        while self._sensor.request:
            writer.write(self._sensor.request)
            await asyncio.sleep(self._sensor.period_s)

    async def _listen(self, reader: SerialReader, writer: SerialWriter) -> None:
        decoder = self._sensor.decoder()
        loop = asyncio.get_running_loop()
        writer.write(self._sensor.begin)
        stale_s = self._sensor.stale_s
        stale_at = None if stale_s is None else loop.time() + stale_s
        while True:
            try:
                async with asyncio.timeout_at(stale_at):
                    data = await reader.read(_READ_BYTES)
            except TimeoutError:
                self._forget()
                self._troubles.note(
                    PART, f"the {self._name} sends nothing; check its power and wires."
                )
                writer.write(self._sensor.begin)
                assert stale_s is not None
                stale_at = loop.time() + stale_s
                continue
            if not data:
                return
            found = decoder.feed(data)
            for readings in found:
                self._sense(readings)
            if found and stale_s is not None:
                self._troubles.note(PART, None)
                stale_at = loop.time() + stale_s

    def _forget(self) -> None:
        """Clear the measured values, which are too old or whose port was lost."""
        if self._sensor.stale_s is not None:
            self._sense(dict.fromkeys(self._sensor.labels))
