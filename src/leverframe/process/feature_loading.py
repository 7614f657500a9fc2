"""What requests need is loaded beside the loop, before the first of them: files, large libraries.

A request must not find that a library cannot be opened because too many files are open, and no
relay waits for a disk. The start itself loads nothing of this: it begins when the start has been
announced, with what the settings have switched on, and goes on when they switch on more. Whoever
switches something on is answered when it is loaded. What could not be loaded is tried again by
whoever needs it, and with the next change of the settings.
"""

import asyncio
import codecs
import logging
from collections.abc import Callable, Iterator

from leverframe.controller import Controller
from leverframe.engine.settings import Settings
from leverframe.hardware import display_picture, pinger
from leverframe.servers.accounts import passwords
from leverframe.servers.routes import uploaded
from leverframe.servers.routes.pages import pages

log = logging.getLogger(__name__)

Load = Callable[[], object]


class FeatureLoader:
    def __init__(self, controller: Controller, *, must_sign_in: bool, has_site: bool) -> None:
        self._controller = controller
        self._must_sign_in = must_sign_in
        self._has_site = has_site
        self._loaded: set[Load] = set()
        self._loading: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._controller.settings_watchers.append(self._adopt)
        self._begin(self._controller.engine.settings)

    async def close(self) -> None:
        self._controller.settings_watchers.remove(self._adopt)
        if self._loading is not None:
            await asyncio.wait([self._loading])

    def _adopt(self, old: Settings, new: Settings) -> asyncio.Task[None] | None:
        return self._begin(new)

    def _begin(self, settings: Settings) -> asyncio.Task[None] | None:
        """Load what is not loaded yet, after what is being loaded."""
        missing = [load for load in self._needed(settings) if load not in self._loaded]
        if not missing:
            return None
        self._loaded.update(missing)
        loop = asyncio.get_running_loop()
        self._loading = loop.create_task(self._load(missing, self._loading))
        return self._loading

    async def _load(self, missing: list[Load], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        for load in missing:
            try:
                await asyncio.to_thread(load)
            except Exception as error:
                self._loaded.discard(load)
                log.warning("%s could not be loaded yet: %s", load.__module__, error)

    def _needed(self, settings: Settings) -> Iterator[Load]:
        yield names_of_hosts
        yield pages
        if self._must_sign_in or settings.access.required:
            yield passwords.load
        if self._has_site:
            yield uploaded.load
        if settings.oled.enabled:
            yield display_picture.load
        if any(entry.enabled for entry in settings.watchdog):
            yield pinger.load


def names_of_hosts() -> None:
    """Load the rules of names in all scripts; the event loop asks them where to listen."""
    codecs.lookup("idna")
