"""Log lines: the controller of each line, and a limit on repeated warnings."""

import logging
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

# Warnings about other systems, at most one per minute for each source and kind.
#
# A client that sends invalid data must not fill the log. Omitted lines are counted, and the next
# line of the same source and kind states their number. Clients can forge sources, so there is also
# a limit for all sources of one kind together.

INTERVAL_S = 60.0
#: The maximum number of lines of one kind per interval, from all sources.
MAX_LINES = 20
#: The number of stored pairs of source and kind; pairs without a line for the longest time are
#: removed first.
MAX_REMEMBERED = 1024


class LogThrottle:
    """A logger that passes on only some of the warnings of one part of the program."""

    __slots__ = ("_lines", "_logger", "_now", "_sources")

    def __init__(
        self, logger: logging.Logger, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._logger = logger
        self._now = monotonic
        #: By source and kind: when the next line is due, and the number of lines omitted since. The
        #: newest is the last.
        self._sources: dict[tuple[str, str], tuple[float, int]] = {}
        self._lines: dict[str, deque[float]] = {}

    def warning(self, source: str, kind: str, text: str, *values: object) -> None:
        """Log the text, which must name the source, or only count it if the limit is reached."""
        self._log(self._logger.warning, source, kind, text, *values)

    def exception(self, source: str, kind: str, text: str, *values: object) -> None:
        """Log an exception with its traceback in the same way."""
        self._log(self._logger.exception, source, kind, text, *values)

    def _log(
        self, pass_on: Callable[..., None], source: str, kind: str, text: str, *values: object
    ) -> None:
        key, now = (source, kind), self._now()
        due, left_out = self._sources.get(key, (now, 0))
        if now < due or not self._has_room(kind, now):
            self._remember(key, due, left_out + 1)
            return
        self._remember(key, now + INTERVAL_S, 0)
        more = f" ({left_out} more since the last such line)" if left_out else ""
        pass_on(text + more, *values)

    def _has_room(self, kind: str, now: float) -> bool:
        lines = self._lines.setdefault(kind, deque(maxlen=MAX_LINES))
        if len(lines) == MAX_LINES and now < lines[0] + INTERVAL_S:
            return False
        lines.append(now)
        return True

    def _remember(self, key: tuple[str, str], due: float, left_out: int) -> None:
        self._sources.pop(key, None)
        self._sources[key] = due, left_out
        if len(self._sources) > MAX_REMEMBERED:
            del self._sources[next(iter(self._sources))]


# The controller that a log line is about, in a process with several controllers.
#
# Timers and tasks that a controller starts inherit its context, so their log lines have its name;
# calls from outside the controller enter the context by `within`.

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class LoggedName:
    """The name of a controller in log lines, which may change while it runs."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


#: Empty in a process with a single controller.
_UNNAMED = LoggedName()
CONTROLLER: ContextVar[LoggedName] = ContextVar("controller", default=_UNNAMED)


def within(
    controller: LoggedName, function: Callable[_Parameters, _Result]
) -> Callable[_Parameters, _Result]:
    """Return a function that does the same, but logs under the controller's name."""

    def wrapper(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        before = CONTROLLER.set(controller)
        try:
            return function(*arguments, **options)
        finally:
            CONTROLLER.reset(before)

    return wrapper


async def finish_within(controller: LoggedName, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Await later work of a controller, and log under its name."""
    before = CONTROLLER.set(controller)
    try:
        return await work
    finally:
        CONTROLLER.reset(before)
