"""The state that all connections of an HTTP server share, and the sweep over them.

Requests have no timers: one sweep a second checks all connections, and no sweep runs while there
are none, so an idle listener costs nothing.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import msgspec

from leverframe.core.runtime.installation import explain_missing_extra, extra_of
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.server.fair_shares import FairShares, lacks_descriptors
from leverframe.server.http.limits import HttpLimits, NamedProxies
from leverframe.server.http.messages import (
    CONTINUE,
    Handler,
    Reply,
    Request,
    SentAnswer,
    problem_reply,
)
from leverframe.server.http.parser import RETRY, BadRequest, BodyBudget

logger = logging.getLogger(__name__)

SWEEP_S = 1.0
NO_FILES_LEFT = (
    "Too many files are open, so a file for this request cannot be opened. Retry in a few seconds."
)
DEFAULT_LIMITS = HttpLimits()
#: The unread replies of a single address may use half of the budget for all.
UNREAD_PER_FREE = 1.0


def admit_every_body(_request: Request) -> Reply:
    return CONTINUE


class SharingConnection(Protocol):
    """The methods of a connection that the shared state calls."""

    def flush(self) -> None:
        """Send the replies that are held back."""

    def is_overdue(self, now: float) -> bool:
        """Return whether the connection has exceeded one of its time-outs."""

    def stop(self) -> None:
        """Complete the answer in progress, then close."""

    def abort(self) -> None:
        """Close immediately."""

    def reset(self) -> None:
        """Close immediately with a reset."""


class AnsweringConnection(SharingConnection, Protocol):
    """A connection that reads requests."""

    def answer_pending(self) -> bool:
        """Answer the requests that have been read; return True if more may come."""


class ServerState:
    """The state shared by a server's connections: handler, clock, counters, list of connections."""

    def __init__(
        self,
        handler: Handler,
        limits: HttpLimits = DEFAULT_LIMITS,
        problem: Callable[[int, str], Reply] = problem_reply,
        admission: Handler = admit_every_body,
    ) -> None:
        self.handler: Callable[[Request], SentAnswer] = handler
        #: Called with the head of a request before its body is read; returns `CONTINUE`, or the
        #: reply that is sent instead of reading the body.
        self.admission = admission
        self.limits = limits
        self.problem = problem
        #: The proxies that are trusted to report the address of a client.
        self.proxies = NamedProxies()
        #: Seconds, updated by the sweep: accurate enough for time-outs, at no cost.
        self.now = 0.0
        self.bodies = BodyBudget(limits)
        #: Unread replies by source.
        self.unread_replies = FairShares(limits.unread_replies_bytes, UNREAD_PER_FREE)
        #: Every connection reads into this buffer; its bytes are copied before the next one reads.
        self.read_buffer = memoryview(bytearray(limits.read_bytes))
        #: The number of answers by status.
        self.answers: Counter[int] = Counter()
        #: The delay of the last sweep, and the longest delay.
        self.lag_s = 0.0
        self.longest_lag_s = 0.0
        #: None while no client is connected.
        self.next_sweep: asyncio.TimerHandle | None = None
        self.is_stopping = False
        self._warn = LogThrottle(logger).warning
        self.connections: set[SharingConnection] = set()
        self._empty = asyncio.Event()
        self._empty.set()
        #: Connections with answers or replies due in this round of the event loop.
        self._unanswered: list[AnsweringConnection] = []
        self._unsent: list[SharingConnection] = []
        self._is_end_planned = False
        self._tasks: set[asyncio.Task[None]] = set()

    def add(self, connection: SharingConnection) -> None:
        if not self.connections:
            self._empty.clear()
            self._sweep_every_second()
        self.connections.add(connection)

    def forget(self, connection: SharingConnection) -> None:
        self.connections.discard(connection)
        if not self.connections:
            self._empty.set()
            if self.next_sweep:
                self.next_sweep.cancel()
                self.next_sweep = None

    def warn_of_unread_replies(self, source: str) -> None:
        self._warn(source, "unread", "%s: reset a connection that reads no replies", source)

    def answer_later(self, connection: AnsweringConnection) -> None:
        """Schedule a connection's answers for after all bytes of this round have been read."""
        if not self._is_end_planned:
            self._plan_end_of_round()
        self._unanswered.append(connection)

    def flush_later(self, connection: SharingConnection) -> None:
        """Schedule the sending of held replies for when all requests of this round are answered."""
        if not self._is_end_planned:
            self._plan_end_of_round()
        self._unsent.append(connection)

    def _plan_end_of_round(self) -> None:
        self._is_end_planned = True
        asyncio.get_running_loop().call_soon(self._end_round)

    def _end_round(self) -> None:
        """Answer the requests of all connections in this round, then send all replies.

        Doing the same step many times in a row needs a tenth less time than parsing, answering and
        sending for each connection in turn.
        """
        try:
            self._answer_all()
            self._flush_all()
        finally:
            self._is_end_planned = False
            if self._unanswered or self._unsent:
                self._plan_end_of_round()

    def _answer_all(self) -> None:
        unanswered, self._unanswered = self._unanswered, []
        for connection in unanswered:
            try:
                connection.answer_pending()
            except Exception:
                logger.exception("A connection failed.")
                connection.abort()

    def _flush_all(self) -> None:
        unsent, self._unsent = self._unsent, []
        for connection in unsent:
            connection.flush()

    def run(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run an answer to completion even if its client leaves: some work may already be done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def refusal(self, bad: BadRequest) -> Reply:
        problem = self.problem(bad.status, bad.detail)
        return msgspec.structs.replace(problem, headers=problem.headers + bad.headers)

    def fault(self) -> Reply:
        return self.problem(500, "The request failed because of an internal error; see the log.")

    def reply_to_failure(self, request: Request, error: Exception) -> Reply:
        """Log why a request could not be answered; return the client's reply."""
        if lacks_descriptors(error):
            self._warn("", "descriptors", "%r cannot be answered: %s", request, error)
            reply = problem_reply(503, NO_FILES_LEFT)
            return msgspec.structs.replace(reply, headers=(*reply.headers, *RETRY))
        if isinstance(error, ModuleNotFoundError) and extra_of(error) is not None:
            return problem_reply(501, explain_missing_extra(error))
        logger.error("The handler failed for %r.", request, exc_info=error)
        return self.fault()

    def _sweep_every_second(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self.next_sweep:
            self.lag_s = max(0.0, now - self.next_sweep.when())
            self.longest_lag_s = max(self.longest_lag_s, self.lag_s)
        self.sweep(now)
        self.next_sweep = loop.call_later(SWEEP_S, self._sweep_every_second)

    def sweep(self, now: float) -> None:
        """Drop every connection that has exceeded one of its time-outs."""
        self.now = now
        for connection in tuple(self.connections):
            if connection.is_overdue(now):
                connection.abort()

    async def stop(self, grace_s: float) -> None:
        """Close idle connections, and the others after their answer."""
        self.is_stopping = True
        for connection in tuple(self.connections):
            connection.stop()
        try:
            async with asyncio.timeout(grace_s):
                while self._tasks:
                    await asyncio.wait(self._tasks)
                await self._empty.wait()
        except TimeoutError:
            for task in self._tasks:
                if not task.cancelling():
                    task.cancel()
            for connection in tuple(self.connections):
                connection.abort()
            await self._empty.wait()
            if self._tasks:
                await asyncio.wait(self._tasks)
