"""A thread for one device: calls that may block run there, one after another.

A device that hangs holds up its own thread and nothing else, not even the end of the process.
Calls that drive something are kept by what they drive: while the device is slow only the newest of
each is worth carrying out, and one that failed is tried again until it works or a newer one comes.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from leverframe.hardware.troubles import Unusable

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
        self._closed = False
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def drive(self, what: str, call: Callable[[], None]) -> None:
        """Carry a call out soon; an older one for the same thing that still waits is dropped."""
        with self._changed:
            self._failed.pop(what, None)
            self._waiting.pop(what, None)
            self._waiting[what] = lambda: self._try(what, call)
            self._changed.notify()

    def ask(self, call: Callable[[], Result]) -> "asyncio.Future[Result]":
        """The result of a call, when its turn has come."""
        answer: asyncio.Future[Result] = self._loop.create_future()

        def answered() -> None:
            try:
                result = call()
            except Exception as error:
                self._in_loop(_settle, answer, None, error)
            else:
                self._in_loop(_settle, answer, result, None)

        with self._changed:
            self._waiting[answer] = answered
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
            while not self._waiting and not self._closed:
                in_time = self._changed.wait(self._retry_s if self._failed else None)
                if not in_time:
                    self._waiting.update(self._failed)
                    self._failed.clear()
            if self._closed:
                return None
            return self._waiting.pop(next(iter(self._waiting)))

    def _try(self, what: str, call: Callable[[], None]) -> None:
        try:
            call()
        except Unusable as fault:
            with self._changed:
                if what not in self._waiting:
                    self._failed[what] = lambda: self._try(what, call)
            self._in_loop(self._note, what, str(fault))
        else:
            self._in_loop(self._note, what, None)

    def _in_loop(self, call: Callable[..., None], *arguments: Any) -> None:
        # The loop may have ended while the device was busy; then nobody wants to know any more.
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(call, *arguments)


def _settle(answer: "asyncio.Future[Any]", result: Any, error: Exception | None) -> None:
    if answer.done():
        return
    if error is None:
        answer.set_result(result)
    else:
        answer.set_exception(error)
