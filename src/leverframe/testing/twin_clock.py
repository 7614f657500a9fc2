"""The time of twins for the code under test: its clock follows, and its event loop can use it."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any


class TwinClock:
    """The time of one twin, or of all twins of a fleet."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._followers: list[Callable[[], None]] = []

    @property
    def now(self) -> datetime:
        """The present wall time."""
        return self._now()

    @contextmanager
    def moving_with(self, mover: Any) -> Iterator[None]:
        """Let the time of the code under test stand where the twins' stands, and follow it.

        `mover` is the module `time_machine` or `freezegun`, or what they give to move the time by:
        the fixture `time_machine`, a traveller, a frozen time, the fixture `freezer`.
        """
        with ExitStack() as stack:
            if hasattr(mover, "travel"):
                mover = stack.enter_context(mover.travel(self.now, tick=False))
            elif hasattr(mover, "freeze_time"):
                mover = stack.enter_context(mover.freeze_time(self.now))
            if not hasattr(mover, "move_to"):
                raise TypeError(
                    f"{mover!r} cannot move the time; give time_machine, freezegun, or one of"
                    " their fixtures."
                )

            def follow() -> None:
                mover.move_to(self.now)

            follow()
            self._followers.append(follow)
            stack.callback(self._followers.remove, follow)
            yield

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return an event loop whose timers are due by this clock, for asyncio code under test.

        `asyncio.Runner(loop_factory=twin.clock.new_event_loop)`: `asyncio.sleep(3600)` is over when
        the twins have come an hour further.
        """
        loop = _TwinTimeLoop(lambda: self.now.timestamp())
        self._followers.append(loop.wake)
        loop.when_closed = lambda: self._followers.remove(loop.wake)
        return loop

    def was_moved(self) -> None:
        """Let everything follow that goes by this clock."""
        for follow in tuple(self._followers):
            follow()


class _TwinTimeLoop(asyncio.SelectorEventLoop):
    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__()
        self._read = now
        self._seen = now()
        self._elapsed_s = 0.0
        self.when_closed: Callable[[], None] | None = None

    def time(self) -> float:
        return self._elapsed_s

    def wake(self) -> None:
        """Look at the clock, and at what is due."""
        # A restore sets the twins back; this clock continues from where it is.
        seen, self._seen = self._seen, self._read()
        self._elapsed_s += max(self._seen - seen, 0.0)
        self.call_soon_threadsafe(lambda: None)

    def close(self) -> None:
        forget, self.when_closed = self.when_closed, None
        if forget is not None:
            forget()
        super().close()
