"""A thread for one device: calls that may block run there, one after another.

A device that hangs holds up its own thread and nothing else, not even the end of the process.
Calls that drive something are kept by what they drive: while the device is slow only the newest of
each is worth carrying out, and one that failed is tried again until it works or a newer one comes.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from leverframe.hardware.troubles import Unusable, describe_unexpected

log = logging.getLogger(__name__)

#: How long to wait before something that failed is tried again.
RETRY_S = 5.0

Result = TypeVar("Result")


class DeviceThread:
    """`note` gets what was driven and the trouble with it, None if there is none (any more)."""

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
        """Carry a call out soon; an older one for the same thing that still waits is dropped."""
        with self._changed:
            self._failed.pop(part, None)
            self._waiting.pop(part, None)
            self._waiting[part] = lambda: self._try(part, call)
            self._changed.notify()

    def ask(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """Run a call when its turn has come and return its result."""
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
        """End after the call that is running; what waits is dropped."""
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
            # A mistake in a driver must not end the thread that the other devices here need.
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
        # The loop may have ended while the device was busy; then the result is not needed.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(call, *arguments)


def _settle(answer: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
