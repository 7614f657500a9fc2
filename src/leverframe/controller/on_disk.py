"""Futures of what is on its way to the disk: who hears of a failure, and who waits for whom."""

import asyncio
import logging

log = logging.getLogger(__name__)


def heard(future: asyncio.Future[None]) -> None:
    """The failure of a commit is told by the future of its request."""
    if not future.cancelled():
        future.exception()


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
    else:
        done.set_result(None)


def log_failure(future: asyncio.Future[None]) -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("a change is not on disk: %s", error)
