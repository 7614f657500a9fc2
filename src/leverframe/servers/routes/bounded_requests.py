"""Requests whose work is long: bounded, and one of a controller at a time.

Their rows in the table of endpoints say that they end with their client. Computing runs in a
process of its own, with a budget. Long answers are read in slices, at the pace of the client: they
hold no process, which a slow client would keep from others. What goes beyond the budget, or finds
no place, is refused with a sentence.
"""

import asyncio
import sys
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Callable,
    Hashable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager, suppress
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
from leverframe.servers.http.messages import StreamCut
from leverframe.servers.problems import TooBusy

USUAL_BUDGET = WorkBudget()


class TooMuchWork(Refusal):
    status = 422
    title = "Too much work for one request"


def no_tenant() -> None:
    """Return the tenant of a controller that has none."""


class ControllerWork(Struct, frozen=True):
    """The bounded work of one controller."""

    #: Of processes, and of long answers.
    places: WorkPlaces
    streams: WorkPlaces
    owner: Hashable
    #: Asked each time: a controller may get another tenant.
    tenant: Callable[[], Hashable] = no_tenant
    #: Of each piece of work.
    budget: WorkBudget = USUAL_BUDGET

    async def run(
        self,
        function: Callable[..., bytes],
        *values: Any,
        fed: AsyncIterator[Any] | None = None,
        instead: str,
    ) -> bytes:
        """Return what a function makes of values in its process; `instead` says what to do else.

        What is `fed` is read while the function runs.
        """
        with refusing_long_work(instead):
            async with self.places.place(self.owner, self.tenant()):
                return await run_bounded(function, *values, budget=self.budget, fed=fed)

    async def hold(self, pieces: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
        """Return the pieces of a long answer when the controller sends no other one.

        The first one is there already: what goes wrong until then is a refusal.
        """
        with refusing_long_work("fewer points"):
            await self.streams.take(self.owner, self.tenant())
            try:
                first = await _next_of(pieces)
            except BaseException:
                self.streams.give_back(self.owner)
                raise
        ends: list[Callable[[], Any]] = []
        held = _hold_place(first, pieces, ends)
        # Also where no piece is ever asked for, because the client has left: such a generator ends
        # without a word, maybe on another thread.
        loop = asyncio.get_running_loop()
        end = weakref.finalize(held, _call, loop, self.streams.give_back, self.owner)
        end.atexit = False
        ends.append(end)
        return held


async def _next_of(pieces: AsyncGenerator[bytes, None]) -> bytes:
    """Return the next piece that is not empty; an empty one at the end."""
    async for piece in pieces:
        if piece:
            return piece
    return b""


async def _hold_place(
    first: bytes, pieces: AsyncGenerator[bytes, None], ends: Sequence[Callable[[], Any]]
) -> AsyncGenerator[bytes, None]:
    piece = first
    try:
        while piece:
            yield piece
            piece = await _next_of(pieces)
    except Refusal as refusal:
        raise StreamCut(refusal.detail) from refusal
    finally:
        for end in ends:
            end()
        await pieces.aclose()


def _call(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *values: Any) -> None:
    # A closed loop needs no place.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *values)


def streams_of_all() -> WorkPlaces:
    """Return the places of long answers: each controller has one, however many there are."""
    return WorkPlaces(sys.maxsize)


def work_alone() -> ControllerWork:
    """Return the work of a controller that shares its process with no other."""
    return ControllerWork(WorkPlaces(), streams_of_all(), None)


@contextmanager
def refusing_long_work(instead: str) -> Iterator[None]:
    """Turn what can happen to long work into refusals; `instead` says what is allowed."""
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
