"""A poller: reads a device again and again, in a thread of the device's own.

A look gives readings and troubles. One that takes longer than its limit makes what the device gave
so far absent, until the device answers; no second look starts meanwhile.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from leverframe.hardware.device_thread import DeviceThread
from leverframe.hardware.sensing import Readings
from leverframe.hardware.troubles import Troubles, unexpected

log = logging.getLogger(__name__)

HANGS = "does not answer in time; what it read is absent."


class Look(NamedTuple):
    readings: Readings
    #: What is wrong, by device; what is not named here works.
    troubles: Mapping[str, str]


class Device(Protocol):
    """A device to be polled; `look` may block and never raises."""

    name: str
    period_s: float
    limit_s: float

    def look(self) -> Look: ...


class Poller:
    """The periodic reader of a device; `report` gets the readings of each look."""

    def __init__(
        self, device: Device, report: Callable[[Readings], None], troubles: Troubles
    ) -> None:
        self._device = device
        self._report = report
        self._troubles = troubles
        self._thread = DeviceThread(device.name, troubles.note)
        self._hurry = asyncio.Event()
        #: The readings of the last look, and what was in trouble then.
        self._given: set[str] = set()
        self._in_trouble: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> "asyncio.Task[None]":
        """Poll from now on; the returned task ends after the first look."""
        loop = asyncio.get_running_loop()
        self._hurry.clear()
        first = loop.create_task(self.look())
        self._task = loop.create_task(self._run(first))
        return first

    def hurry(self) -> None:
        """Start the next look at once."""
        self._hurry.set()

    async def look(self) -> None:
        """Read once; wait for the end of the read even when it exceeds its limit."""
        answer = self._thread.ask(self._look)
        try:
            async with asyncio.timeout(self._device.limit_s):
                look = await asyncio.shield(answer)
        except TimeoutError:
            self._show(Look(dict.fromkeys(self._given), {self._device.name: HANGS}))
            look = await answer
        self._show(look)

    async def close(self) -> None:
        self._thread.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _look(self) -> Look:
        """Read the device in its thread; a fault in a driver must not end the polling."""
        try:
            return self._device.look()
        except Exception as error:
            log.exception("looking at %s failed", self._device.name)
            return Look(dict.fromkeys(self._given), {self._device.name: unexpected(error)})

    def _show(self, look: Look) -> None:
        for device in self._in_trouble - look.troubles.keys():
            self._troubles.note(device, None)
        for device, text in look.troubles.items():
            self._troubles.note(device, text)
        self._in_trouble = set(look.troubles)
        self._given = set(look.readings)
        self._report(look.readings)

    async def _run(self, look: "asyncio.Task[None]") -> None:
        await self._see_through(look)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._device.period_s):
                    await self._hurry.wait()
            self._hurry.clear()
            await self._see_through(self.look())

    async def _see_through(self, look: Awaitable[None]) -> None:
        """Await a look; a fault of the receiver of its readings must not end the polling."""
        try:
            await look
        except Exception:
            log.exception("what %s read could not be passed on", self._device.name)
