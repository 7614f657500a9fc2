"""The sensors on the serial port: ask, listen, decode, and notice when nothing comes any more.

A sensor is a row in `SENSORS`. Its readings are absent as soon as they are stale; then the start
command is sent again, because a sensor that lost its power has stopped.
"""

import asyncio
from collections.abc import Callable, MutableMapping

from msgspec import Struct

from leverframe.hardware.sensing import Sense
from leverframe.hardware.serial_port import SerialReader, SerialWriter
from leverframe.hardware.troubles import Troubles
from leverframe.wire import mhz19, scanner, sds011, sps30, ultrasonic
from leverframe.wire.serial_decoder import Decoder

PART = "serial module"
_READ_AT_ONCE = 4096


class Sensor(Struct, frozen=True):
    bitrate: int
    labels: tuple[str, ...]
    decoder: Callable[[], Decoder]
    #: Sent at the beginning, and whenever readings are missing.
    begin: bytes = b""
    #: Sent every `period_s`.
    request: bytes = b""
    period_s: float = 1.0
    #: Readings older than that are absent; None for what is not measured but happens.
    stale_s: float | None = 10.0


#: By the name of the serial module.
SENSORS = {
    "PM sensor SDS011": Sensor(sds011.BITRATE, sds011.LABELS, sds011.decoder, begin=sds011.WAKE),
    "CO2 sensor MH-Z16/19": Sensor(
        # The sensors measure every two to five seconds.
        mhz19.BITRATE,
        mhz19.LABELS,
        mhz19.decoder,
        request=mhz19.REQUEST,
        period_s=5.0,
        stale_s=20.0,
    ),
    "PM sensor SPS30": Sensor(
        sps30.BITRATE,
        sps30.LABELS,
        sps30.Sps30Decoder,
        begin=sps30.START,
        request=sps30.REQUEST,
    ),
    "bar/QR code scanner": Sensor(
        scanner.BITRATE, scanner.LABELS, scanner.ScannerDecoder, stale_s=None
    ),
    "ultrasonic distance sensor": Sensor(
        ultrasonic.BITRATE, ultrasonic.LABELS, ultrasonic.decoder, request=ultrasonic.REQUEST
    ),
}

_NOT_PUBLIC = (
    "the protocol of the {} is not published, so its readings stay absent on a real port; a "
    "simulated board can provide them."
)
#: Modules that can be chosen, but whose protocol only their makers know.
UNREADABLE = {
    name: _NOT_PUBLIC.format(name) for name in ("lighting module", "82comfort module", "GMQ125")
}


class SensorSession:
    """One sensor on an open port."""

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
                    data = await reader.read(_READ_AT_ONCE)
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
        """Forget what was measured: it is too old, or the port is gone."""
        if self._sensor.stale_s is not None:
            self._sense(dict.fromkeys(self._sensor.labels))
