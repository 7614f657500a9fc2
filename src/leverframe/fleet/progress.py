"""The progress of a request to a node that concerns many controllers.

A client assigns an id to its request, and polls the progress over another connection. Controllers
are counted wherever they are processed: the count belongs to the context of the request.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from typing import Annotated
from weakref import WeakValueDictionary

from msgspec import Meta, Struct

from leverframe.core.runtime.event_loop import wait_for_turn
from leverframe.interface.table.refusals import Refusal

# Paths, headers and statuses that a node and its clients share.

#: The operations of a node are below this path.
PATHS = "/api/fleet"
#: Header that assigns an id to a request; its progress is polled by that id.
PROGRESS = "Leverframe-Progress"
#: Header that names the nodes whose part is missing in the answer.
SILENT_NODES = "Leverframe-Silent-Nodes"
#: Header of a starting node: how many of its controllers run.
STARTING = "Leverframe-Starting"
#: Header that marks an answer as possibly stale, as HTTP caches do.
STALE = ("Warning", '110 leverframe "Response is Stale"')
#: The status of a controller that would accept a command, but was held back because others refuse
#: it.
NOT_DONE = 424


#: Maximum length of the id by which a request is followed.
MAX_ID_LETTERS = 64
#: Maximum number of a tenant's requests that need much memory and run together; others wait.
MAX_LARGE = 4


class ProgressReport(Struct):
    """The number of controllers that were processed."""

    done: int = 0
    of: Annotated[int, Meta(description="Total number of controllers; 0 while it is unknown.")] = 0


class NothingUnderWay(Refusal):
    status = 404
    title = "There is no such request"


_COUNTED: ContextVar[ProgressReport | None] = ContextVar("progress", default=None)
#: The tenant and the id of the request.
_Key = tuple[str | None, str]


class RequestsUnderWay:
    """The requests whose progress clients may query."""

    def __init__(self) -> None:
        self._reports: dict[_Key, ProgressReport] = {}
        #: Places for requests that need much memory, by tenant, while such requests are running.
        self._large: WeakValueDictionary[str | None, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def large(self, tenant: str | None) -> AsyncIterator[None]:
        """Hold one of a tenant's places for requests that need much memory; wait until one is free.

        Hundreds of such requests together would fill the memory of the node and delay other
        requests.
        """
        async with self._large.setdefault(tenant, asyncio.Semaphore(MAX_LARGE)):
            await wait_for_turn()
            yield

    @contextmanager
    def follow(self, tenant: str | None, id: str | None) -> Iterator[None]:
        """Count the controllers processed within this context, if there is an id."""
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
            # Another request may have the same id.
            if self._reports.get(key) is report:
                del self._reports[key]

    def report(self, tenant: str | None, id: str) -> ProgressReport:
        report = self._reports.get((tenant, id))
        if report is None:
            raise NothingUnderWay("No request with this id is running.", field="id")
        return report


def expect(count: int) -> None:
    """Set the number of controllers that the current request concerns."""
    report = _COUNTED.get()
    if report is not None:
        report.of = max(report.of, count)


def count_done(count: int = 1) -> None:
    """Count processed controllers."""
    report = _COUNTED.get()
    if report is not None:
        report.done += count
