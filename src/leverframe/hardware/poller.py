"""A poller: reads a device again and again, in a thread of the device's own.

A poll gives readings and troubles. One that takes longer than its limit makes what the device gave
so far absent, until the device answers; no second poll starts until then.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import NamedTuple, Protocol

from leverframe.hardware.device_thread import DeviceThread
from leverframe.hardware.sensing import Readings
from leverframe.hardware.troubles import Troubles, describe_unexpected

log = logging.getLogger(__name__)

HANGS = "does not answer in time; its readings are absent."


class PollResult(NamedTuple):
    readings: Readings
    #: What is wrong, by device; what is not named here works.
    troubles: Mapping[str, str]


class Device(Protocol):
    """A device to be polled; `poll` may block and never raises."""

    name: str
    period_s: float
    limit_s: float

    def poll(self) -> PollResult: ...


class Poller:
    """The periodic reader of a device; `report` gets the readings of each poll."""

    def __init__(
        self, device: Device, report: Callable[[Readings], None], troubles: Troubles
    ) -> None:
        self._device = device
        self._report = report
        self._troubles = troubles
        self._thread = DeviceThread(device.name, troubles.note)
        self._is_due = asyncio.Event()
        #: The readings of the last poll, and what was in trouble then.
        self._given: set[str] = set()
        self._in_trouble: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> "asyncio.Task[None]":
        """Poll from now on; the returned task ends after the first poll."""
        loop = asyncio.get_running_loop()
        self._is_due.clear()
        first = loop.create_task(self.poll())
        self._task = loop.create_task(self._run(first))
        return first

    def poll_soon(self) -> None:
        """Start the next poll immediately."""
        self._is_due.set()

    async def poll(self) -> None:
        """Read once; wait for the end of the read even when it exceeds its limit."""
        answer = self._thread.ask(self._poll_device)
        try:
            async with asyncio.timeout(self._device.limit_s):
                result = await asyncio.shield(answer)
        except TimeoutError:
            self._show(PollResult(dict.fromkeys(self._given), {self._device.name: HANGS}))
            result = await answer
        self._show(result)

    async def close(self) -> None:
        self._thread.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def _poll_device(self) -> PollResult:
        """Read the device in its thread; a fault in a driver must not end the polling."""
        try:
            return self._device.poll()
        except Exception as error:
            log.exception("polling %s failed", self._device.name)
            return PollResult(
                dict.fromkeys(self._given), {self._device.name: describe_unexpected(error)}
            )

    def _show(self, result: PollResult) -> None:
        for device in self._in_trouble - result.troubles.keys():
            self._troubles.note(device, None)
        for device, text in result.troubles.items():
            self._troubles.note(device, text)
        self._in_trouble = set(result.troubles)
        self._given = set(result.readings)
        self._report(result.readings)

    async def _run(self, polling: "asyncio.Task[None]") -> None:
        await self._see_through(polling)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._device.period_s):
                    await self._is_due.wait()
            self._is_due.clear()
            await self._see_through(self.poll())

    async def _see_through(self, polling: Awaitable[None]) -> None:
        """Await a poll; a fault of the receiver of its readings must not end the polling."""
        try:
            await polling
        except Exception:
            log.exception("readings of %s could not be passed on", self._device.name)
