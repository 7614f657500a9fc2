"""Futures of what is on its way to the disk: who hears of a failure, and who waits for whom."""

import asyncio
import logging

log = logging.getLogger(__name__)


def refuse(done: asyncio.Future[None], error: Exception) -> None:
    """What was asked for is not done. Whoever asked may have left, so the log says it too."""
    done.set_exception(error)
    log_failure(done)


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


def pass_on(done: asyncio.Future[None], kept: asyncio.Future[None]) -> None:
    if (error := kept.exception()) is not None:
        done.set_exception(error)
        # Logged by the one who keeps; nobody may be left to ask.
        done.exception()
    else:
        done.set_result(None)


def log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("a change is not on disk: %s", error)
