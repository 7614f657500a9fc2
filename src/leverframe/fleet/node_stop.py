"""The stop of a node: how many of its controllers have stopped, for whoever waits for it."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sized
from contextlib import asynccontextmanager

from leverframe.fleet.progress import ProgressReport

#: A stop that takes longer is told of as often.
PROGRESS_EVERY_S = 2.0


class NodeStop:
    def __init__(self, running: Callable[[], Sized]) -> None:
        self._running = running
        #: How many there were; None as long as nothing stops.
        self._count: int | None = None

    def progress(self) -> ProgressReport | None:
        """Return how many controllers have stopped; None while the node does not stop."""
        if self._count is None:
            return None
        return ProgressReport(max(0, self._count - len(self._running())), self._count)

    @asynccontextmanager
    async def printed_progress(self) -> AsyncIterator[None]:
        """Print progress to standard error while all controllers are stopped."""
        self._count = len(self._running())
        printing = asyncio.create_task(self._print_progress())
        try:
            yield
        finally:
            printing.cancel()

    async def _print_progress(self) -> None:
        while True:
            await asyncio.sleep(PROGRESS_EVERY_S)
            if (progress := self.progress()) is not None:
                print(
                    f"leverframe: the node is stopping: {progress.done:,} of {progress.of:,}"
                    " controllers have stopped",
                    file=sys.stderr,
                    flush=True,
                )
