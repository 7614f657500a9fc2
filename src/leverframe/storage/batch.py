"""What waits for the disk: commits that share a transaction, and what they are told."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from leverframe.storage.store import Rows, StoreUnavailable, Then

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Waiting:
    """A commit on its way to the disk."""

    rows: Rows
    future: asyncio.Future[None]
    then: Then | None

    def succeed(self) -> None:
        self._tell(None)
        if not self.future.done():
            self.future.set_result(None)

    def fail(self, refusal: StoreUnavailable) -> None:
        self._tell(refusal)
        if not self.future.done():
            self.future.set_exception(refusal)
            if self.then is not None:
                # Told already, so it is no oversight if nobody waits for the future.
                self.future.exception()

    def _tell(self, refusal: StoreUnavailable | None) -> None:
        """What goes wrong with whoever hears of it changes nothing about what is on disk, and must
        not keep the others of a batch waiting."""
        if self.then is None:
            return
        try:
            self.then(refusal)
        except Exception:
            log.exception("what follows a commit failed")


def loop_of(batch: Sequence[Waiting]) -> asyncio.AbstractEventLoop:
    """The loop of the newest commit: an older one may come from a loop that has ended."""
    return batch[-1].future.get_loop()


def succeed_all(batch: list[Waiting]) -> None:
    for waiting in batch:
        waiting.succeed()


def merged(batch: Sequence[Waiting]) -> Rows:
    """What results from writing all of them in order."""
    rows = Rows()
    for waiting in batch:
        rows.add(waiting.rows)
    return rows
