"""How far a request to a node has come that concerns many controllers, for whoever waits for it.

Whoever asks gives the request an id, and asks for that by another connection. It is counted where
controllers have their turn, wherever that is: the count goes with the context of the request.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Annotated
from weakref import WeakValueDictionary

from msgspec import Meta, Struct

from leverframe.commands.table.refusals import Refusal
from leverframe.loop_shares import wait_for_turn

#: Of the id by which a request is followed.
MAX_ID_LETTERS = 64
#: Requests of a tenant that hold much and run at the same time; the others wait in line.
MAX_LARGE = 4


class ProgressReport(Struct):
    """How many controllers had their turn."""

    done: int = 0
    of: Annotated[int, Meta(description="How many there are; 0 as long as that is unknown.")] = 0


class NothingUnderWay(Refusal):
    status = 404
    title = "Nothing is under way"


_COUNTED: ContextVar[ProgressReport | None] = ContextVar("progress", default=None)
#: Whose request it is, and its id.
_Key = tuple[str | None, str]


class RequestsUnderWay:
    """The requests that somebody wants to follow."""

    def __init__(self) -> None:
        self._reports: dict[_Key, ProgressReport] = {}
        #: By tenant, as long as such requests are under way.
        self._large: WeakValueDictionary[str | None, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def large(self, tenant: str | None) -> AsyncIterator[None]:
        """Hold one of a tenant's places for requests that hold much, from a turn of the loop on.

        Hundreds of them would fill the memory of the node, and delay the requests of others.
        """
        async with self._large.setdefault(tenant, asyncio.Semaphore(MAX_LARGE)):
            await wait_for_turn()
            yield

    @contextmanager
    def followed(self, tenant: str | None, id: str | None) -> Iterator[None]:
        """Count what is done within this, where an id is given."""
        if id is None:
            yield
            return
        key, report = (tenant, id), ProgressReport()
        self._reports[key] = report
        token = _COUNTED.set(report)
        try:
            yield
        finally:
            _COUNTED.reset(token)
            # Another one may have the same id.
            if self._reports.get(key) is report:
                del self._reports[key]

    def report(self, tenant: str | None, id: str) -> ProgressReport:
        report = self._reports.get((tenant, id))
        if report is None:
            raise NothingUnderWay("No request with this id is under way.", field="id")
        return report


def expect(count: int) -> None:
    """Set how many controllers the request that is being answered is about."""
    report = _COUNTED.get()
    if report is not None:
        report.of = max(report.of, count)


def count_done(count: int = 1) -> None:
    """Count controllers that had their turn."""
    report = _COUNTED.get()
    if report is not None:
        report.done += count
