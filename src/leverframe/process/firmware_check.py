"""The automatic check for firmware (`bit1`): requests the newest version once a day.

It is off unless the setting is on and the configuration contains a URL. The interval is a day plus
a random time, also across restarts, so that many controllers do not send requests together. It uses
the controller's clock and sends nothing while messages are captured.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from random import random

import msgspec

from leverframe.controller import Controller
from leverframe.engine.moment import Moment
from leverframe.engine.settings import Settings
from leverframe.notify.channel import CannotSend
from leverframe.process.release_check import Release
from leverframe.profile import version
from leverframe.servers.routes.api import FirmwareReport
from leverframe.storage.store import Changes, StoreUnavailable

log = logging.getLogger(__name__)

DAY_S = 86_400.0
#: The maximum random time added to the day, and the maximum delay of the first request.
JITTER_S = 7_200.0
FIRST_JITTER_S = 60.0
#: The name under which the store keeps the last answer.
KEPT = "firmware_check"
NO_ADDRESS = (
    "The check is inactive: firmware_check_url is not configured, or messages are captured."
)

Ask = Callable[[], Awaitable[Release]]


class ReleaseAnswer(msgspec.Struct, frozen=True):
    """The last check: its time, and the answer or the problem."""

    at: float
    news: Release | None = None
    trouble: str | None = None


class FirmwareCheck:
    def __init__(
        self, controller: Controller, ask: Ask | None, *, chance: Callable[[], float] = random
    ) -> None:
        self._controller = controller
        self._ask = ask
        self._chance = chance
        self._heard = _last_answer(controller)
        self._due: float | None = None
        self._asking: asyncio.Task[None] | None = None
        controller.settings_watchers.append(self._settings_changed)
        controller.power_watchers.append(self._set_power)
        if ask is not None:
            controller.timed.append(self)
        controller.firmware_report = self.report
        self._plan(controller.engine.settings)

    def next_deadline(self) -> float | None:
        return self._due

    def tick(self, at: Moment) -> None:
        if self._due is None or at.now < self._due or self._ask is None:
            return
        self._due = at.now + DAY_S + self._chance() * JITTER_S
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._listen(self._ask, at.wall))

    def report(self) -> FirmwareReport:
        """Return what `/api/firmware` shows."""
        heard, profile = self._heard, self._controller.profile
        news = heard.news if heard else None
        fits = news is not None and (not news.hardware or profile.hw in news.hardware)
        on = self._controller.engine.settings.ui.firmware_check
        trouble = heard.trouble if heard else None
        return FirmwareReport(
            on=on,
            installed=profile.sw,
            checked=heard.at if heard else None,
            newest=news.version if news and fits else None,
            is_newer=bool(news and fits and version(news.version) > version(profile.sw)),
            notes=news.notes if news and fits else None,
            trouble=NO_ADDRESS if on and self._ask is None else trouble,
        )

    async def close(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)

    def _settings_changed(self, old: Settings, new: Settings) -> None:
        if old.ui.firmware_check != new.ui.firmware_check:
            self._plan(new)

    def _set_power(self, on: bool) -> None:
        if on:
            self._plan(self._controller.engine.settings)
            return
        self._due = None
        if self._asking is not None:
            self._asking.cancel()

    def _plan(self, settings: Settings) -> None:
        self._due = None
        if settings.ui.firmware_check and self._ask is not None:
            at = self._controller.clock.read()
            # A clock that was set back must not postpone the next check forever.
            since_s = max(0.0, at.wall - self._heard.at) if self._heard else DAY_S
            wait_s = max(DAY_S - since_s, 0.0)
            self._due = at.now + wait_s + self._chance() * (JITTER_S if wait_s else FIRST_JITTER_S)
        self._controller.plan_to_wake()

    async def _listen(self, ask: Ask, wall: float) -> None:
        before = self._heard.news if self._heard else None
        # Store the time first, so that a process that ends while waiting does not repeat the
        # request.
        with suppress(StoreUnavailable):
            await self._remember(ReleaseAnswer(wall, before))
        try:
            self._remember(ReleaseAnswer(wall, await ask()))
        except CannotSend as error:
            self._remember(ReleaseAnswer(wall, before, str(error)))
        except Exception as fault:
            # A fault of the program must not look like an answer without news.
            log.exception("the check for firmware ended unexpectedly")
            trouble = f"The check ended unexpectedly ({type(fault).__name__}); see the log."
            self._remember(ReleaseAnswer(wall, before, trouble))

    def _remember(self, answer: ReleaseAnswer) -> asyncio.Future[None]:
        """Store the last answer; the returned awaitable is done when it is on disk."""
        self._heard = answer
        kept = msgspec.json.encode(answer).decode()
        return self._controller.writer.commit(Changes(kept={KEPT: kept}))


def _last_answer(controller: Controller) -> ReleaseAnswer | None:
    kept = controller.persistent.values.get(KEPT)
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(kept, type=ReleaseAnswer) if isinstance(kept, str) else None
    return None
