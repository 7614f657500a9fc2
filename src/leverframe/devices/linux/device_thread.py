"""Threads for devices whose calls may block, a poller, and a watch over adapters."""

import asyncio
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeVar

from leverframe.devices.readings import Readings, Troubles, Unusable, describe_unexpected

# A thread for one device, in which calls that may block run one after another.
#
# A hanging device blocks only its own thread and does not even prevent the process from ending. If
# a device is slow, only the newest call for each output is performed. A failed call is repeated
# until it succeeds or is replaced by a newer call for the same output.

log = logging.getLogger(__name__)

#: The pause before a failed call is repeated.
RETRY_S = 5.0

Result = TypeVar("Result")


class DeviceThread:
    """The thread of a device; `note` is called with each driven part and its problem, or None."""

    def __init__(
        self,
        name: str,
        note: Callable[[str, str | None], None],
        retry_s: float = RETRY_S,
    ) -> None:
        self._note = note
        self._retry_s = retry_s
        self._loop = asyncio.get_running_loop()
        self._changed = threading.Condition()
        self._waiting: dict[Any, Callable[[], None]] = {}
        self._failed: dict[str, Callable[[], None]] = {}
        self._retry_at = 0.0
        self._closed = False
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def drive(self, part: str, call: Callable[[], None]) -> None:
        """Queue a call; it replaces an older waiting call for the same part."""
        with self._changed:
            self._failed.pop(part, None)
            self._waiting.pop(part, None)
            self._waiting[part] = lambda: self._try(part, call)
            self._changed.notify()

    def ask(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Queue a call and return its result."""
        answer: asyncio.Future[Result] = self._loop.create_future()

        def run_and_settle() -> None:
            try:
                result = call()
            except Exception as error:
                self.in_loop(_settle, answer, None, error)
            else:
                self.in_loop(_settle, answer, result, None)

        with self._changed:
            self._waiting[answer] = run_and_settle
            self._changed.notify()
        return answer

    def close(self) -> None:
        """End after the call that is running; drop waiting calls."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (call := self._next()) is not None:
            call()

    def _next(self) -> Callable[[], None] | None:
        with self._changed:
            while not self._closed:
                wait_s = self._retry_at - time.monotonic() if self._failed else None
                if wait_s is not None and wait_s <= 0:
                    self._waiting.update(self._failed)
                    self._failed.clear()
                if self._waiting:
                    return self._waiting.pop(next(iter(self._waiting)))
                self._changed.wait(wait_s)
            return None

    def _try(self, part: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Unusable as fault:
            self._try_again(part, call)
            self.in_loop(self._note, part, str(fault))
        except Exception as error:
            # A bug in a driver must not end the thread that other devices need.
            log.exception("driving %s failed", part)
            self.in_loop(self._note, part, describe_unexpected(error))
        else:
            self.in_loop(self._note, part, None)

    def _try_again(self, part: str, call: Callable[[], None]) -> None:
        with self._changed:
            if not self._failed:
                self._retry_at = time.monotonic() + self._retry_s
            if part not in self._waiting:
                self._failed[part] = lambda: self._try(part, call)

    def in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        """Run a function on the event loop, called from the device's thread."""
        # The loop may have ended while the device was busy, and then no one needs the result.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)


def _settle(answer: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)


# A poller, which reads a device periodically in the device's own thread.
#
# A poll returns readings and problems. If a poll exceeds its time limit, the readings become absent
# until it ends; no other poll starts before that.

HANGS = "does not answer in time; its readings are absent."


class PollResult(NamedTuple):
    readings: Readings
    #: Problems by device; a device without an entry works.
    troubles: Mapping[str, str]


class Device(Protocol):
    """A device to be polled; `poll` may block but never raises."""

    name: str
    period_s: float
    limit_s: float

    def poll(self) -> PollResult: ...


class Poller:
    """The periodic reader of a device; `report` receives the readings of each poll."""

    def __init__(
        self, device: Device, report: Callable[[Readings], None], troubles: Troubles
    ) -> None:
        self._device = device
        self._report = report
        self._troubles = troubles
        self._thread = DeviceThread(device.name, troubles.note)
        self._is_due = asyncio.Event()
        #: The labels of the last poll's readings, and the devices that had problems then.
        self._given: set[str] = set()
        self._in_trouble: set[str] = set()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> "asyncio.Task[None]":
        """Start polling; the returned task ends after the first poll."""
        loop = asyncio.get_running_loop()
        self._is_due.clear()
        first = loop.create_task(self.poll())
        self._task = loop.create_task(self._run(first))
        return first

    def poll_soon(self) -> None:
        """Start the next poll immediately."""
        self._is_due.set()

    async def poll(self) -> None:
        """Poll once; wait until the poll ends, even if it exceeds its limit."""
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
        """Read the device in its thread; a bug in a driver must not end the polling."""
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
        """Await a poll; a bug in the receiver of its readings must not end the polling."""
        try:
            await polling
        except Exception:
            log.exception("readings of %s could not be passed on", self._device.name)


# A watch over adapters, which detects within a second that an adapter was pulled or plugged in.
#
# The kernel removes the files of a pulled adapter, but not every kernel notifies the processes that
# have one of them open. Without the watch, the loss of an output that is rarely switched could go
# unnoticed for hours.

WATCH_S = 1.0


class Watched(NamedTuple):
    #: A function whose result changes when the adapter is pulled or plugged in; it must not block.
    identity: Callable[[], object]
    changed: Callable[[], None]


class AdapterWatch:
    def __init__(self, watched: Iterable[Watched]) -> None:
        self._seen = [(adapter, adapter.identity()) for adapter in watched]
        self._task = asyncio.get_running_loop().create_task(self._run()) if self._seen else None

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(WATCH_S)
            self._compare()

    def _compare(self) -> None:
        for at, (adapter, before) in enumerate(self._seen):
            now = adapter.identity()
            if now != before:
                self._seen[at] = adapter, now
                adapter.changed()


def file_identity(path: Path) -> int | None:
    """Return a number that changes when the file is replaced; None if the file is missing.

    Device files are in memory, so this takes only microseconds and may run on the event loop.
    """
    try:
        return os.stat(path).st_ino
    except OSError:
        return None
