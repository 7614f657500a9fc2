"""The answers to commands by MQTT: in the order of the commands, and not more than fit in memory.

Answers have no number, so clients rely on their order: an answer waits for what its command has to
store, and for the answers before it. While the disk hangs, or the broker accepts nothing, a limited
number waits; further commands are refused. Refusals have their turn, too; consecutive ones are
counted, so that any number of them takes no more room than one.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from msgspec import Struct

from leverframe.controller import Outstanding
from leverframe.storage.store import StoreUnavailable

#: Answers that wait, of which each takes a kilobyte or two with what its command has to store. What
#: comes on top is refused; brokers keep fewer messages for a client that does not read.
MAX_WAITING = 5000
FAULT = "The command failed because of an internal error; see the log."


class WaitingAnswer(Struct):
    #: What has to be stored first.
    outstanding: Outstanding | None
    answer: str
    #: The number of consecutive commands with this reply.
    count: int = 1


class CommandAnswers:
    def __init__(self, publish: "Callable[[str], asyncio.Future[bool] | None]") -> None:
        """Give answers by a function that returns when the broker has one; None without a link."""
        self._publish = publish
        self._waiting: deque[WaitingAnswer] = deque()
        #: Answers that the broker has not acknowledged.
        self._under_way: deque[asyncio.Future[bool]] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def are_too_many(self) -> bool:
        return len(self._waiting) >= MAX_WAITING

    def add(self, outstanding: Outstanding | None, answer: str) -> None:
        """Give the answer to the next command, in its turn."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.outstanding is outstanding is None and last.answer == answer:
            last.count += 1
        else:
            self._waiting.append(WaitingAnswer(outstanding, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._give())

    async def _give(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            answer = await _final(first)
            while first.count:
                first.count -= 1
                await self._give_one(answer)
            self._waiting.popleft()

    async def _give_one(self, answer: str) -> None:
        published = self._publish(answer)
        if published is None:
            return
        self._under_way.append(published)
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft()
        if len(self._under_way) >= MAX_WAITING:
            await asyncio.wait([self._under_way.popleft()])


async def _final(waiting: WaitingAnswer) -> str:
    """Wait until the result of a command is known."""
    if waiting.outstanding is None:
        return waiting.answer
    try:
        await waiting.outstanding.finish()
    except StoreUnavailable as error:
        return str(error)
    except Exception:
        # Logged by the controller.
        return FAULT
    return waiting.answer
