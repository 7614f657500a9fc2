"""Requests whose work has a budget: in a process of its own, one of a controller at a time.

The work ends with its client. What goes beyond the budget, or finds no place, is refused with a
sentence.
"""

from collections.abc import AsyncIterator, Callable, Hashable, Iterator
from contextlib import contextmanager
from typing import Any

from msgspec import Struct

from leverframe.bounded_work.places import NoPlace, WorkPlaces
from leverframe.bounded_work.process import (
    NoProcess,
    OverBudget,
    WorkBudget,
    WorkRefused,
    run_bounded,
)
from leverframe.commands.table.refusals import BadValue, Refusal
from leverframe.servers.http.client_presence import ends_with_client
from leverframe.servers.problems import TooBusy

USUAL_BUDGET = WorkBudget()


class TooMuchWork(Refusal):
    status = 422
    title = "This is too much work for one request"


def no_tenant() -> None:
    """Return the tenant of a controller that has none."""


class ControllerWork(Struct, frozen=True):
    """The bounded work of one controller."""

    places: WorkPlaces
    owner: Hashable
    #: Asked each time: a controller may get another tenant.
    tenant: Callable[[], Hashable] = no_tenant

    async def run(
        self,
        function: Callable[..., bytes],
        *values: Any,
        fed: AsyncIterator[Any] | None = None,
        budget: WorkBudget = USUAL_BUDGET,
        instead: str,
    ) -> bytes:
        """Return what a function makes of values in its process; `instead` says what to do else.

        What is `fed` is read while the function runs.
        """
        with _refusals(instead), ends_with_client():
            async with self.places.place(self.owner, self.tenant()):
                return await run_bounded(function, *values, budget=budget, fed=fed)


def work_alone() -> ControllerWork:
    """Return the work of a controller that shares its process with no other."""
    return ControllerWork(WorkPlaces(), None)


@contextmanager
def _refusals(instead: str) -> Iterator[None]:
    """Turn what can happen to bounded work into refusals."""
    try:
        yield
    except NoPlace as error:
        raise TooBusy(str(error), error.retry_after_s) from None
    except NoProcess as error:
        raise TooBusy(str(error), NoPlace.retry_after_s) from None
    except OverBudget as error:
        raise TooMuchWork(str(error), allowed=instead) from None
    except WorkRefused as error:
        raise BadValue(str(error)) from None
