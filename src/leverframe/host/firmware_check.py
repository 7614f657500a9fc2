"""The automatic check for firmware (`bit1`): requests the newest version once a day.

It runs only if the setting is on and the configuration contains a URL. The interval is a day plus a
random time, also across restarts, so that many controllers do not send requests together. It uses
the controller's clock and sends nothing while messages are captured.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from importlib import import_module
from random import random
from urllib.parse import urlsplit

import msgspec

from leverframe.core.engine.timers import Moment
from leverframe.core.profile import UnknownProfile, version
from leverframe.core.runtime.outgoing import ForbiddenTarget, OutgoingChannel
from leverframe.core.settings import Settings
from leverframe.host.controller import Controller
from leverframe.notify.channel import CannotSend, OutgoingRequest, RemoteServer, Trust, sentence
from leverframe.server.routes.api import FirmwareReport
from leverframe.storage.store import Changes, StoreUnavailable

# Fetch the newest software version from a configured URL.
#
# The answer is JSON: `{"version": "1.76", "hardware": ["3.5", "3.9"], "notes":
# "https://example.org/1.76"}`. `version` is required; without `hardware` the version applies to all
# hardware; `notes` links to release notes. Other keys are ignored. The request contains nothing
# about the controller, and the URL must be a target that messages may also reach.

ANSWER_S = 15.0
MAX_BYTES = 16 * 1024
MAX_LETTERS = 255


class Release(msgspec.Struct, frozen=True):
    """The answer with the newest release."""

    version: str
    hardware: tuple[str, ...] = ()
    notes: str | None = None


async def ask_for_release(url: str, trust: Trust, way_out: OutgoingChannel) -> Release:
    """Fetch the newest release, or raise `CannotSend` with a sentence."""
    # In a thread, as for messages: importing the client takes longer than a relay may wait.
    await asyncio.to_thread(import_module, "leverframe.notify.http_request")
    from leverframe.notify.http_request import answer_of, new_client

    server, parts = RemoteServer.of(url), urlsplit(url)
    try:
        addresses = await way_out.resolve(server.host, server.port)
    except ForbiddenTarget as error:
        raise CannotSend(str(error)) from error
    except OSError as error:
        raise CannotSend(sentence(error, server.host, server.port)) from error
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    async with new_client(await trust.ready(), ANSWER_S, of_controller=True) as client:
        request = OutgoingRequest(path, None, parts.username or "", parts.password or "")
        # One more byte reveals an answer that is too long.
        status, body = await answer_of(client, server, addresses, request, MAX_BYTES + 1)
    if status != 200:
        raise CannotSend(f"{server} answered with status {status} instead of the newest version.")
    return release_from_answer(body, str(server))


def release_from_answer(body: bytes, place: str) -> Release:
    if len(body) > MAX_BYTES:
        raise CannotSend(f"{place} answered with more than {MAX_BYTES} bytes.")
    try:
        news = msgspec.json.decode(body, type=Release)
        version(news.version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise CannotSend(
            f"{place} did not answer with JSON that contains version, hardware and notes."
        ) from None
    except UnknownProfile:
        raise CannotSend(
            f"{place} answered with a version that is not written like 1.36 or 1.49d."
        ) from None
    if news.notes is not None and not _is_link(news.notes):
        raise CannotSend(f"{place} answered with notes that are not an http or https URL.")
    return news


def _is_link(text: str) -> bool:
    is_short = len(text) <= MAX_LETTERS and text.isprintable()
    return is_short and text.startswith(("http://", "https://"))


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
    __slots__ = ("__weakref__", "_ask", "_asking", "_chance", "_controller", "_due", "_heard")

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
            # An error of the program must not look like an answer without news.
            log.exception("the check for firmware ended unexpectedly")
            trouble = f"The check ended unexpectedly ({type(fault).__name__}); see the log."
            self._remember(ReleaseAnswer(wall, before, trouble))

    def _remember(self, answer: ReleaseAnswer) -> asyncio.Future[None]:
        """Store the last answer; the returned future is done when it is on disk."""
        self._heard = answer
        kept = msgspec.json.encode(answer).decode()
        return self._controller.writer.commit(Changes(kept={KEPT: kept}))


def _last_answer(controller: Controller) -> ReleaseAnswer | None:
    kept = controller.persistent.values.get(KEPT)
    with suppress(msgspec.DecodeError):
        return msgspec.json.decode(kept, type=ReleaseAnswer) if isinstance(kept, str) else None
    return None
