"""Which controller a log line is about, in a process that runs several.

Whatever a controller does later (timers, tasks) is started in its context and so logged under its
name; what comes from outside enters it by `within`.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import ParamSpec, TypeVar

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

#: Empty in a process with a single controller.
CONTROLLER: ContextVar[str] = ContextVar("controller", default="")


def within(
    controller: str, function: Callable[_Parameters, _Result]
) -> Callable[_Parameters, _Result]:
    """Return a function that does the same, and what it logs names the controller."""

    def named(*arguments: _Parameters.args, **options: _Parameters.kwargs) -> _Result:
        before = CONTROLLER.set(controller)
        try:
            return function(*arguments, **options)
        finally:
            CONTROLLER.reset(before)

    return named
