"""The queue of one channel and the task that delivers its messages in order, one at a time.

The first message is retried until it is sent, permanently refused or expired. Only then is the next
message sent. The task exists only while messages wait, so an idle queue costs nothing. A message is
sent only after it is on disk, or after the disk has refused it, because then sending is the only
option.

If the channel permits, a message whose attempt takes long leaves the queue: a separate task
continues to retry it, and the queue continues with the next message.

Attempts are counted in memory only. After a restart, waiting messages are retried; if the delivery
of a message was not yet recorded on disk, it is delivered twice, but never lost.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterable
from itertools import islice
from random import Random, SystemRandom
from typing import Protocol

from msgspec import Struct, field

from leverframe.core.durations import text_from_seconds
from leverframe.core.engine.journal import Fact
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import is_being_cancelled
from leverframe.notify.channel import (
    FAILED,
    SENT,
    WAITING,
    CannotSend,
    Channel,
    Channels,
    Message,
    message_fact,
)

log = logging.getLogger(__name__)

#: The pause after the first failure.
FIRST_PAUSE_S = 1.0
#: The source of random numbers has no state, so all queues share it.
CHANCE = SystemRandom()


class QueueContext(Struct, frozen=True):
    """The clock, settings and pauses that all queues of an outbox share."""

    clock: Clock
    channels: Callable[[], Channels]
    first_pause_s: float
    chance: Random
    #: The simulated failures: by channel, the reason why its messages cannot be sent.
    down: dict[str, str]
    #: Returns why no message of any channel may be sent now, or None.
    why_held: Callable[[], str | None] = lambda: None


class QueuedMessage(Struct):
    message: Message
    #: A future that is done when the message is on disk or the disk has refused it.
    stored: asyncio.Future[None]
    #: A time on the controller's monotonic clock, so that setting the wall clock expires no
    #: message.
    expires_at: float
    #: Set to end the pause after a failure.
    again: asyncio.Event = field(default_factory=asyncio.Event)
    #: The end of the pause after a failure, on the loop's clock.
    pause_until: float | None = None


class QueueReports(Protocol):
    """The receiver of the reports of a queue."""

    def note_end(self, message: Message) -> None:
        """Record that a message was sent or has failed for good."""

    def keep_attempt(self, message: Message) -> None:
        """Record the result of an attempt to send a message that still waits."""

    def note_fact(self, channel: str, fact: Fact, message: Message | None = None) -> None:
        """Report a fact for the journal."""

    def note_problem(self, channel: str, problem: str | None) -> None:
        """Record what prevents delivery; None if nothing does."""


def pause_after(failures: int, first_s: float, longest_s: float, chance: Random) -> float:
    """Return the pause after a number of failures: it doubles each time, up to `longest_s`.

    A random part of up to half the pause is subtracted, so that a thousand controllers do not
    contact a recovered server in the same second. The caller passes the source of random numbers,
    so that a run can be repeated.
    """
    # More doublings would not lengthen the pause, but would eventually overflow the float.
    doublings = min(failures - 1, 60)
    return min(first_s * 2.0**doublings, longest_s) * chance.uniform(0.5, 1.0)


class AttemptPace:
    """A token bucket that fills by `per_s` up to `burst`; every attempt uses one token."""

    __slots__ = ("_burst", "_filled_at", "_full", "_per_s")

    def __init__(self, per_s: float, burst: int) -> None:
        self._per_s = per_s
        self._burst = float(burst)
        self._full = float(burst)
        self._filled_at: float | None = None

    async def turn(self) -> None:
        """Wait until an attempt may be made."""
        pause_s = self.take(asyncio.get_running_loop().time())
        if pause_s > 0:
            await asyncio.sleep(pause_s)

    def take(self, now: float) -> float:
        """Use one token and return how long to wait for it."""
        if self._filled_at is not None:
            self._full = min(self._burst, self._full + (now - self._filled_at) * self._per_s)
        self._filled_at = now
        self._full -= 1.0
        return max(0.0, -self._full / self._per_s)


class ChannelQueue:
    def __init__(
        self, name: str, channel: Channel, context: QueueContext, reports: QueueReports
    ) -> None:
        self.name = name
        self.channel = channel
        #: Number of attempts since startup.
        self.attempts = 0
        self.dropped = 0
        #: Why a message could not be delivered so far.
        self.problem: str | None = None
        self._context = context
        self._reports = reports
        self._messages: deque[QueuedMessage] = deque()
        self._pace = AttemptPace(channel.limits.per_s, channel.limits.burst)
        self._failures = 0
        self._busy = False
        self._has_power = True
        self._task: asyncio.Task[None] | None = None
        #: Messages that have left the queue before they were finished, and the tasks that retry
        #: them.
        self._aside: dict[int, QueuedMessage] = {}
        self._aside_tasks: set[asyncio.Task[None]] = set()

    def waiting(self) -> Iterable[Message]:
        return (waiting.message for waiting in (*self._aside.values(), *self._messages))

    @property
    def waiting_count(self) -> int:
        return len(self._aside) + len(self._messages)

    def _having_their_turn(self) -> list[QueuedMessage]:
        return [*self._aside.values(), *islice(self._messages, 1)]

    def next_attempt_in(self) -> float | None:
        """Return the seconds until a failed attempt is repeated."""
        ends = [one.pause_until for one in self._having_their_turn() if one.pause_until is not None]
        return max(0.0, min(ends) - asyncio.get_running_loop().time()) if ends else None

    def put(self, waiting: QueuedMessage) -> Message | None:
        """Queue a message; if the queue was full, return the message that was dropped."""
        dropped = self._make_room()
        self._messages.append(waiting)
        if self._task is None and self._has_power:
            self._task = asyncio.get_running_loop().create_task(self._work(()))
        return dropped

    def _make_room(self) -> Message | None:
        # The first message may be in transmission; it is neither counted nor dropped.
        on_its_way = int(self._busy)
        if len(self._messages) - on_its_way < self.channel.limits.max_waiting:
            return None
        oldest = self._messages[on_its_way]
        del self._messages[on_its_way]
        self.dropped += 1
        if self.dropped.bit_count() == 1:
            figures = {
                "count": self.dropped,
                "waiting": self.channel.limits.max_waiting,
                "problem": self.problem or "",
            }
            self._reports.note_fact(self.name, Fact("messages_dropped", figures=figures))
        return oldest.message

    def try_again(self) -> None:
        """End the pause, because something has changed."""
        self._failures = 0
        for one in self._having_their_turn():
            one.again.set()

    async def close(self) -> None:
        """Stop sending; waiting messages stay on disk."""
        if tasks := self._cancel_tasks():
            await asyncio.wait(tasks)
        await self.channel.close()

    def _cancel_tasks(self) -> "list[asyncio.Task[None]]":
        tasks = [*self._aside_tasks, *([self._task] if self._task is not None else [])]
        for task in tasks:
            task.cancel()
        return tasks

    def set_power(self, on: bool) -> None:
        """Cancel attempts when the power goes off; retry all waiting messages when it is back."""
        self._has_power = on
        before = self._cancel_tasks()
        self._task = None
        self._messages.extendleft(reversed(self._aside.values()))
        self._aside.clear()
        self._failures = 0
        if before or (on and self._messages):
            self._task = asyncio.get_running_loop().create_task(self._work(before))

    async def _work(self, before: "Iterable[asyncio.Task[None]]") -> None:
        try:
            if before:
                await asyncio.wait(before)
                await self.channel.close()
            if self._has_power:
                await self._work_off()
        except Exception:
            log.exception("%s: stopped unexpectedly; continuing with the next message", self.name)
        finally:
            if self._task is asyncio.current_task():
                self._task = None

    async def _work_off(self) -> None:
        while self._messages:
            while self._messages:
                await self._try_first()
                if is_being_cancelled():
                    return
            await self._let_go()

    async def _let_go(self) -> None:
        """Release the connections of the channel if no message waits."""
        if not (self._messages or self._aside):
            await self.channel.close()
            self._refresh_problem()

    async def _try_first(self) -> None:
        first = self._messages[0]
        self._busy = True
        try:
            if not await self._may_be_tried(first):
                return
            if self.channel.limits.max_aside:
                problem = await self._attempt_with_patience(first)
            else:
                problem = await self._attempt(first.message)
        finally:
            self._busy = False
        if problem is not None and not is_being_cancelled():
            await self._pause(first, self._failures)

    async def _may_be_tried(self, waiting: QueuedMessage) -> bool:
        """Wait until the message is stored and may be sent; give it up if it is too old."""
        # Settings that change after this line end the next pause.
        waiting.again.clear()
        if self._context.clock.read().now >= waiting.expires_at:
            self._expire(waiting.message)
            return False
        with contextlib.suppress(Exception):
            await asyncio.shield(waiting.stored)
        await self._pace.turn()
        return True

    async def _attempt_with_patience(self, first: QueuedMessage) -> str | None:
        """Make one attempt; also return None if the message takes too long and leaves the queue."""
        limits = self.channel.limits
        attempt = asyncio.get_running_loop().create_task(self._attempt(first.message))
        try:
            while not attempt.done():
                await asyncio.wait([attempt], timeout=limits.patience_s)
                if not attempt.done() and len(self._aside) < limits.max_aside:
                    self._step_aside(first, attempt)
                    return None
            return attempt.result()
        except asyncio.CancelledError:
            attempt.cancel()
            await asyncio.wait([attempt])
            raise

    def _step_aside(self, first: QueuedMessage, attempt: "asyncio.Task[str | None]") -> None:
        self._messages.popleft()
        self._aside[first.message.number] = first
        task = asyncio.get_running_loop().create_task(self._retry_aside(first, attempt))
        self._aside_tasks.add(task)
        task.add_done_callback(self._aside_tasks.discard)

    async def _retry_aside(
        self, waiting: QueuedMessage, attempt: "asyncio.Task[str | None]"
    ) -> None:
        # This task awaits the attempt, so cancelling the task cancels the attempt.
        problem = await attempt
        while problem is not None and not is_being_cancelled():
            await self._pause(waiting, waiting.message.attempts)
            if not await self._may_be_tried(waiting):
                break
            problem = await self._attempt(waiting.message)
        if not is_being_cancelled():
            await self._let_go()

    async def _attempt(self, message: Message) -> str | None:
        """Make one attempt; return None when the message is finished, otherwise why it is not."""
        message.attempts += 1
        self.attempts += 1
        was_uncertain = message.uncertain
        try:
            return await self._one_attempt(message)
        finally:
            if message.state == WAITING and message.uncertain and not was_uncertain:
                # Record the attempt even if the program ends during it.
                self._reports.keep_attempt(message)

    async def _one_attempt(self, message: Message) -> str | None:
        timeout_s = self.channel.limits.timeout_s
        try:
            held = self._context.down.get(self.name) or self._context.why_held()
            if held is not None:
                raise CannotSend(held)
            async with asyncio.timeout(timeout_s):
                message.answer = await self.channel.deliver(message, self._context.channels())
        except CannotSend as refusal:
            return self._note_failure(message, str(refusal), final=refusal.final)
        except TimeoutError:
            return self._note_failure(message, f"There was no answer within {timeout_s:g} s.")
        except Exception as error:
            # A bug must neither end the queue nor lose the message.
            log.exception("%s: an attempt failed unexpectedly", self.name)
            kind = type(error).__name__
            return self._note_failure(
                message, f"The attempt failed unexpectedly ({kind}); see the log."
            )
        self._note_success(message)
        return None

    def _note_success(self, message: Message) -> None:
        had_problem = self.problem is not None
        self._failures = 0
        message.problem = None
        self._end(message, SENT)
        if had_problem and self.problem is None:
            self._reports.note_fact(self.name, Fact("messages_again"))

    def _note_failure(self, message: Message, problem: str, *, final: bool = False) -> str | None:
        message.problem = problem
        if final:
            self._reports.note_fact(self.name, message_fact(message, "message_given_up"), message)
            self._end(message, FAILED)
            return None
        if problem != self.problem:
            self._reports.note_fact(self.name, message_fact(message, "message_delayed"), message)
        self._refresh_problem()
        self._failures += 1
        return problem

    def _refresh_problem(self) -> None:
        turns = self._having_their_turn()
        problem = next((one.message.problem for one in turns if one.message.problem), None)
        if problem != self.problem:
            self.problem = problem
            self._reports.note_problem(self.name, problem)

    def _expire(self, message: Message) -> None:
        age = text_from_seconds(self.channel.limits.expires_s)
        message.problem = f"Not delivered within {age}. {message.problem or ''}".rstrip()
        self._reports.note_fact(self.name, message_fact(message, "message_given_up"), message)
        self._end(message, FAILED)

    def _end(self, message: Message, state: str) -> None:
        if self._aside.pop(message.number, None) is None:
            self._messages.popleft()
        message.state = state
        message.ended = self._context.clock.read().wall
        self._reports.note_end(message)
        self._refresh_problem()

    async def _pause(self, waiting: QueuedMessage, failures: int) -> None:
        context = self._context
        longest_s = self.channel.limits.longest_pause_s
        pause_s = pause_after(failures, context.first_pause_s, longest_s, context.chance)
        left_s = waiting.expires_at - context.clock.read().now
        waiting.pause_until = asyncio.get_running_loop().time() + pause_s
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(min(pause_s, max(left_s, 0.0))):
                await waiting.again.wait()
        waiting.pause_until = None
