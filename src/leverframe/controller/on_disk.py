"""Futures of what is on its way, to the disk or into effect: who waits for whom, who hears of a
failure. Whoever waited may have given up and cancelled a future; then it is left alone."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from functools import partial

log = logging.getLogger(__name__)


def refuse(done: asyncio.Future[None], error: Exception) -> None:
    """What was asked for is not done. Whoever asked may have left, so the log says it too."""
    settle(done, error)
    log.error("a change is not on disk: %s", error)


def when_over(messages: asyncio.Future[None] | None) -> asyncio.Future[None] | None:
    """Done when messages are on disk, or cannot be: then they are sent from memory, and that is no
    reason to refuse what has been carried out."""
    if messages is None or messages.done():
        return None
    over: asyncio.Future[None] = messages.get_loop().create_future()

    def tell(_: asyncio.Future[None]) -> None:
        if not over.done():
            over.set_result(None)

    messages.add_done_callback(tell)
    return over


def when_all(tasks: Iterable[asyncio.Task[None]], then: Callable[[], None]) -> None:
    """Go on when all of them are over, whatever became of them: the settings hold."""

    def go_on(over: asyncio.Future[list[BaseException | None]]) -> None:
        for fault in over.result():
            if fault is not None:
                log.error("a part could not follow the settings", exc_info=fault)
        then()

    asyncio.gather(*tasks, return_exceptions=True).add_done_callback(go_on)


def pass_on(done: asyncio.Future[None], kept: asyncio.Future[None] | None) -> None:
    """What was asked for is done as soon as what must survive of it is on disk."""
    if kept is None:
        settle(done, None)
    else:
        kept.add_done_callback(partial(_pass_on, done))


def _pass_on(done: asyncio.Future[None], kept: asyncio.Future[None]) -> None:
    # Logged by the one who keeps. Who cancels its future does not take back what is kept.
    settle(done, None if kept.cancelled() else kept.exception())


def settle(done: asyncio.Future[None], error: BaseException | None) -> None:
    """Tell whoever waits that it is done, or what became of it."""
    if done.done():
        return
    if error is None:
        done.set_result(None)
    else:
        done.set_exception(error)
        # Whoever settles it tells the log; nobody may be left to ask.
        done.exception()


def log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("a change is not on disk: %s", error)
