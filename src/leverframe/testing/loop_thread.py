"""The event loop that all twins of a process share, in a thread of its own.

It is started with the first twin and ends with the process. The code under test, which may block or
run a loop of its own, does not hold the twins up.
"""

import asyncio
import atexit
import os
import threading
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")
Awaiting = Coroutine[Any, Any, _Result]
#: How long the end of the process waits for the loop.
END_S = 5.0


class LoopThread:
    """The thread with the loop, started when it is first asked to run something."""

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = 0

    def run(self, work: Coroutine[Any, Any, _Result]) -> _Result:
        """Run work on the loop; wait for its result, or raise what it raises."""
        return asyncio.run_coroutine_threadsafe(work, self._running()).result()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._starting:
            # A process that was forked has the loop of its parent, but not the thread.
            if self._loop is None or self._process != os.getpid():
                self._loop, self._process = _new_loop(), os.getpid()
                thread = threading.Thread(
                    target=self._loop.run_forever, name="leverframe twins", daemon=True
                )
                thread.start()
                atexit.register(_end, self._loop, thread)
            return self._loop


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop
    except ImportError:
        # Not the usual one of Windows, which watches no sockets: the HTTP server does.
        return asyncio.SelectorEventLoop()
    return uvloop.new_event_loop()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    if thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
        thread.join(END_S)


LOOP_THREAD = LoopThread()


def beside_loop(method: Callable[_Given, _Result]) -> Callable[_Given, Awaiting[_Result]]:
    """Return the form of a method that waits beside the event loop of a test."""
    name = method.__name__

    @wraps(method)
    async def beside(*args: _Given.args, **given: _Given.kwargs) -> _Result:
        twin, *others = args
        # By its name: another kind of twin may do it otherwise.
        result: _Result = await asyncio.to_thread(getattr(twin, name), *others, **given)
        return result

    beside.__name__ = f"a{name}"
    beside.__doc__ = f"Do the same as `{name}`, beside the event loop of the test."
    return beside


def on_loop(work: Callable[_Given, Awaiting[_Result]]) -> Callable[_Given, _Result]:
    """Return the form of work that runs on the loop of the twins, and is waited for."""

    @wraps(work)
    def run(*args: _Given.args, **given: _Given.kwargs) -> _Result:
        return LOOP_THREAD.run(work(*args, **given))

    return run
