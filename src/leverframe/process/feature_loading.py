"""Load files and large libraries that requests need in the background, before the first request.

A request must not fail because a library cannot be opened when too many files are open, and no
relay waits for a disk. Startup itself loads none of this: loading begins after the start was
announced. Large, rarely used parts follow later, so that short-lived processes never load them.
"""

import asyncio
import codecs
import logging
from collections.abc import Callable

from leverframe.commands.table.params.particular import TIME_ZONE
from leverframe.engine.time_zone import zone_named
from leverframe.hardware import display_picture, pinger
from leverframe.servers.accounts import passwords
from leverframe.servers.routes import uploaded
from leverframe.servers.routes.pages import pages
from leverframe.storage import encrypting
from leverframe.uploads import picture

log = logging.getLogger(__name__)

Load = Callable[[], object]

#: 150 ms and 9 MB are too much for short-lived processes.
LARGE_AFTER_S = 10.0
RETRY_S = 60.0


class FeatureLoader:
    """Loads everything once, in threads, one after the other."""

    def __init__(self) -> None:
        self._missing = [*SMALL, *LARGE]
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        await self.load(SMALL)
        log.debug("features for requests are loaded")
        await asyncio.sleep(LARGE_AFTER_S)
        await self.load(LARGE)
        while self._missing:
            await asyncio.sleep(RETRY_S)
            await self.load(tuple(self._missing))

    async def load(self, loads: tuple[Load, ...]) -> None:
        for load in loads:
            try:
                await asyncio.to_thread(load)
                self._missing.remove(load)
            except Exception as error:
                log.warning("%s could not be loaded yet: %s", load.__module__, error)


def names_of_hosts() -> None:
    """Load the rules of international host names; the event loop needs them to listen."""
    codecs.lookup("idna")


def zones_of_examples() -> None:
    """Read the time zones that appear in descriptions of the commands."""
    _ZONES.extend(zone_named(name) for name in TIME_ZONE.fitting if name)


#: Stored here: a zone without a reference would be read again.
_ZONES: list[object] = []
#: About 100 ms and 8 MB together.
SMALL: tuple[Load, ...] = (
    *(names_of_hosts, zones_of_examples, pages, passwords.load, uploaded.load, encrypting.load),
    pinger.load,
)
LARGE: tuple[Load, ...] = (picture.load, display_picture.load)
