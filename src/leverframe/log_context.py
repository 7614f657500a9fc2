"""Which controller a log line is about, in a process that runs several.

Whatever a controller does later (timers, tasks) is started in its context and so logged under its
name; what comes from outside enters it by `within`.
"""

from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


class LoggedName:
    """The name of a controller in log lines, which may change while it runs."""

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name


#: In a process with a single controller.
_NOBODY = LoggedName()
CONTROLLER: ContextVar[LoggedName] = ContextVar("controller", default=_NOBODY)


def within(
    controller: LoggedName, function: Callable[_Parameters, _Result]
) -> Callable[_Parameters, _Result]:
    """Return a function that does the same, and what it logs names the controller."""

    def wrapper(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        before = CONTROLLER.set(controller)
        try:
            return function(*arguments, **options)
        finally:
            CONTROLLER.reset(before)

    return wrapper


async def finish_within(controller: LoggedName, work: Coroutine[Any, Any, _Result]) -> _Result:
    """Await what a controller does later, and what it logs names the controller."""
    before = CONTROLLER.set(controller)
    try:
        return await work
    finally:
        CONTROLLER.reset(before)
