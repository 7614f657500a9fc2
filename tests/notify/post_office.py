"""An outbox for tests: what it stores, a channel that follows a script, and no polling.

`until` waits for something to become true and looks again whenever the outbox wrote, reported or
tried something, so a test takes as long as what it tests and no longer.
"""

import asyncio
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import msgspec

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import Clock, SystemClock
from leverframe.core.tree import defaults, with_value
from leverframe.notify.channel import CannotSend, Channel, ChannelLimits, Channels, Draft, Message
from leverframe.notify.outbox import Outbox
from leverframe.storage.store import MemoryStore, Store
from leverframe.storage.writer import PersistentMessageStore, Writer
from tests.devices.waiting import until
from tests.patience import PATIENCE_S


class Bell:
    """Rung whenever something happened that a test may wait for."""

    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await self._rung.wait()
                self._rung.clear()


class RingingShelf(PersistentMessageStore):
    def __init__(self, writer: Writer, bell: Bell) -> None:
        super().__init__(writer)
        self._bell = bell

    def write(self, messages: Mapping[int, Any]) -> "asyncio.Future[None]":
        self._bell.ring()
        return super().write(messages)


class ScriptedChannel:
    """Delivers, or refuses with the next of the given problems; can be made to hang."""

    def __init__(self, bell: Bell, limits: ChannelLimits | None = None) -> None:
        self.limits = limits or ChannelLimits(per_s=1e6, burst=1000)
        self.problems: list[CannotSend | Exception] = []
        #: While set, every attempt fails with it.
        self.broken: CannotSend | Exception | None = None
        self.delivered: list[str] = []
        self.attempted: list[str] = []
        self.hanging = False
        self.closed = 0
        self._bell = bell

    def compose(self, effect: Notify, channels: Channels) -> list[Draft]:
        if effect.text == "unwritable":
            raise RuntimeError("cannot be written")
        if effect.text == "not set up":
            raise CannotSend("There is no recipient; set one up.")
        return [Draft("operator", {"text": text}) for text in effect.text.split("|") if text]

    def configuration(self, channels: Channels) -> object:
        return channels.email

    async def deliver(self, message: Message, channels: Channels) -> str:
        text = message.content["text"]
        self.attempted.append(text)
        self._bell.ring()
        if self.hanging:
            await asyncio.get_running_loop().create_future()
        if self.broken is not None:
            raise self.broken
        if self.problems:
            raise self.problems.pop(0)
        self.delivered.append(text)
        return "thanks"

    def in_full(self, message: Message, channels: Channels) -> dict[str, Any]:
        if message.content["text"] == "unsendable":
            raise CannotSend("The sender is no address.")
        return {"recipients": [message.target], "body": message.content["text"]}

    async def close(self) -> None:
        self.closed += 1


class PostOffice:
    def __init__(
        self,
        *,
        store: Store | None = None,
        clock: Clock | None = None,
        capture: bool = False,
        bell: Bell | None = None,
        first_pause_s: float = 0.001,
        why_held: Callable[[], str | None] = lambda: None,
        **channels: Channel,
    ) -> None:
        self.bell = bell or Bell()
        self.store = store or MemoryStore()
        self.writer = Writer(self.store)
        self.settings = defaults(Profile())
        self.reports: list[str] = []
        self.troubles: dict[str, str] = {}
        self.outbox = Outbox(
            RingingShelf(self.writer, self.bell),
            clock or SystemClock(),
            lambda: self.settings,
            capture=capture,
            add_entry=self._add_entry,
            troubles=self.troubles,
            first_pause_s=first_pause_s,
            chance=Random(1),
            why_held=why_held,
        )
        for name, channel in channels.items():
            self.outbox.add(name, channel)
        self.outbox.start()

    def _add_entry(self, cause: Cause, fact: Fact) -> None:
        if fact.what not in ("message_sent", "message_captured"):
            self.reports.append(f"{cause.detail}: {fact}")
        self.bell.ring()

    def set(self, **changes: Any) -> None:
        """Change settings; paths are written with two underscores."""
        old = self.settings
        for path, value in changes.items():
            self.settings = with_value(self.settings, path.replace("__", "."), value)
        self.outbox.settings_changed(old, self.settings)

    def notify(self, text: str, channel: str = "email", slot: int = 1, **more: Any) -> None:
        self.outbox.notify(Notify(channel, slot, True, "rule 1", text=text, **more))

    def report(self, state: str) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = msgspec.to_builtins(self.outbox.report())[state]
        return messages

    async def until(self, condition: Callable[[], bool]) -> None:
        await self.bell.until(condition)

    async def until_ended(self, count: int = 1) -> list[dict[str, Any]]:
        """The messages that were sent or have failed, once there is this number of them."""
        await self.until(lambda: len(self.report("sent") + self.report("failed")) >= count)
        return sorted(self.report("sent") + self.report("failed"), key=lambda one: one["number"])

    async def until_stored(self) -> None:
        """Wait until everything that was to be stored is."""
        await until(lambda: self.writer.is_idle)

    async def until_problem(self, words: str, channel: str = "email") -> str:
        """The channel's problem, once it has one with these words."""

        def problem() -> str:
            return self.outbox.figures()[channel].problem or ""

        await self.until(lambda: words in problem())
        return problem()
