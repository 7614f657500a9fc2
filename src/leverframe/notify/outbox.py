"""The outbox: `Notify` effects, stored as messages and delivered by one queue per channel.

Every message is on disk before it is sent; its state changes from `waiting` to `sent` or `failed`.
The last messages of both kinds are kept, so that users can see their outcome even after a restart.
With `capture` nothing is sent: messages are kept as `captured` for tests, and a later start without
`capture` does not send them either.

Accepting an effect never waits: a dead server, a full queue or a slow disk cannot delay a relay.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import Annotated, Any, ClassVar, Protocol, TypeVar

import msgspec
from msgspec import Meta

from leverframe.core.engine.calls import Notify
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.timers import SET_CLOCK
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import close_all
from leverframe.notify.channel import (
    CAPTURED,
    FAILED,
    SENT,
    WAITING,
    CannotSend,
    Channel,
    Channels,
    Draft,
    Message,
    MessageReport,
    cause_of,
    message_fact,
    without_content,
)
from leverframe.notify.channel_queue import (
    CHANCE,
    FIRST_PAUSE_S,
    ChannelQueue,
    QueueContext,
    QueuedMessage,
)

log = logging.getLogger(__name__)

#: The number of finished messages that are kept per channel and state.
KEPT = {SENT: 20, FAILED: 50, CAPTURED: 2000}
#: The kinds of journal entries for messages that were sent or captured.
_ARRIVED = {SENT: "message_sent", CAPTURED: "message_captured"}
#: How many waiting messages of each channel are shown; all are counted.
SHOWN_WAITING = 100


#: The type of the object for which a channel sends messages.
Sender = TypeVar("Sender")
#: The functions that create channels, by the name of the channel.
ChannelMakers = Mapping[str, Callable[[Sender], Channel]]
NO_MAKERS: ChannelMakers[Any] = MappingProxyType({})


class MessageStore(Protocol):
    """A store of messages that survives a restart."""

    def load(self) -> dict[int, Any]:
        """Load every message by number, in order."""

    def write(self, messages: Mapping[int, Any]) -> "asyncio.Future[None]":
        """Write messages; None removes one. The future is done when they are durable."""


class ChannelFigures(msgspec.Struct, frozen=True):
    """The figures of one channel since startup, and its problem."""

    waiting: int
    attempts: int
    sent: int
    failed: int
    captured: int
    dropped: int
    problem: Annotated[str | None, Meta(description="Problem that prevents delivery now.")]
    next_attempt_in: Annotated[float | None, Meta(description="Seconds.")]


class OutboxReport(msgspec.Struct, frozen=True):
    """The content of `/api/outbox`: oldest messages first, and no secrets."""

    capture: Annotated[bool, Meta(description="Whether messages are kept instead of sent.")]
    channels: dict[str, ChannelFigures]
    waiting: list[MessageReport]
    sent: list[MessageReport]
    failed: list[MessageReport]
    captured: list[Message]


class Outbox:
    live_name: ClassVar[str] = "outbox"
    live_type: ClassVar[Any] = tuple[
        dict[tuple[str, str], tuple[Message, ...]],
        dict[tuple[str, str], int],
        int,
        tuple[Message, ...],
    ]

    __slots__ = (
        "__weakref__",
        "_add_entry",
        "_channels",
        "_makers",
        "_sender",
        "_clock",
        "_closed",
        "_context",
        "_counts",
        "_ended",
        "_held",
        "_is_stored",
        "_number",
        "_queues",
        "_set_up",
        "_store",
        "_troubles",
        "capture",
    )

    def __init__(
        self,
        store: MessageStore,
        clock: Clock,
        set_up: Callable[[], Channels],
        *,
        capture: bool = False,
        why_held: Callable[[], str | None] = lambda: None,
        add_entry: Callable[[Cause, Fact], None] = lambda cause, fact: None,
        troubles: dict[str, str] | None = None,
        first_pause_s: float = FIRST_PAUSE_S,
        chance: Random = CHANCE,
    ) -> None:
        self.capture = capture
        self._store = store
        self._clock = clock
        self._set_up = set_up
        self._add_entry = add_entry
        #: Present problems by channel; other parts read this, too.
        self._troubles = {} if troubles is None else troubles
        self._context = QueueContext(clock, set_up, first_pause_s, chance, {}, why_held)
        #: The channels that exist, and the functions that create the others.
        self._channels: dict[str, Channel] = {}
        self._makers: ChannelMakers[Any] = NO_MAKERS
        self._sender: Any = None
        #: Queues of the channels that have had a message to send.
        self._queues: dict[str, ChannelQueue] = {}
        self._ended: dict[tuple[str, str], deque[Message]] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._number = 0
        self._closed = False
        #: Whether the last known write reached the store.
        self._is_stored = True
        #: Messages to capture when the simulated failure of their channel ends.
        self._held: list[Message] = []

    def add(self, name: str, channel: Channel) -> None:
        """Use `channel` for the messages of this channel, or of this channel and slot (`http1`)."""
        self._channels[name] = channel

    def offer(self, makers: "ChannelMakers[Sender]", sender: Sender) -> None:
        """Register functions that create the channels of a sender when messages need them.

        Most controllers send nothing; each of them saves 2.5 KB.
        """
        self._makers, self._sender = makers, sender

    def _names(self) -> list[str]:
        return list(dict.fromkeys((*self._makers, *self._channels)))

    def _has(self, name: str) -> bool:
        return name in self._channels or name in self._makers

    def _channel(self, name: str) -> Channel:
        channel = self._channels.get(name)
        if channel is None:
            channel = self._channels[name] = self._makers[name](self._sender)
        return channel

    def start(self) -> None:
        """Resume the messages of an earlier run; called after all channels are added."""
        for number, row in self._store.load().items():
            self._number = max(self._number, number)
            try:
                message = msgspec.convert(row, Message)
            except msgspec.ValidationError:
                log.warning("message %d in the store is not valid and is skipped", number)
                self._write({number: None})
                continue
            if message.state in (SENT, FAILED) and message.content:
                # An earlier version of the program kept the content.
                message.content = {}
                self._write({number: message})
            if message.state != WAITING:
                self._remember(message)
            elif not self.capture:
                self._resume(message)

    def _resume(self, message: Message) -> None:
        if not self._has(message.channel):
            self._fail(message, f"No channel of this controller sends {message.channel} messages.")
            return
        queue = self._queue(message.channel)
        at = self._clock.read()
        known = message.created >= SET_CLOCK
        age_s = max(0.0, at.wall - message.created) if known else 0.0
        stored = asyncio.get_running_loop().create_future()
        stored.set_result(None)
        self._put(
            queue, QueuedMessage(message, stored, at.now + queue.channel.limits.expires_s - age_s)
        )

    def notify(self, effect: Notify) -> "asyncio.Future[None] | None":
        """Queue the messages of an effect; never wait and never raise.

        The future is done when all of its waiting messages are on disk, or the disk has refused
        them.
        """
        name = f"{effect.channel}{effect.slot}"
        if not self._has(name):
            name = effect.channel
        if not self._has(name):
            log.warning("no channel sends %s messages; dropped one of %s", name, effect.reason)
            return None
        try:
            drafts = self._channel(name).compose(effect, self._set_up())
        except CannotSend as refusal:
            self._fail(self._message(name, effect, Draft("unknown")), str(refusal))
        except Exception:
            # Settings can come from files, and an invalid setting must not stop the controller.
            log.exception("%s: a message could not be written", name)
        else:
            stored = [
                self._take(self._message(draft.channel or name, effect, draft)) for draft in drafts
            ]
            # The store writes in order, so the last future covers all of them.
            return stored[-1] if stored else None
        return None

    def _queue(self, name: str) -> ChannelQueue:
        queue = self._queues.get(name)
        if queue is None:
            queue = self._queues[name] = ChannelQueue(
                name, self._channel(name), self._context, self
            )
        return queue

    def _message(self, channel: str, effect: Notify, draft: Draft) -> Message:
        self._number += 1
        return Message(
            number=self._number,
            channel=channel,
            slot=effect.slot,
            active=effect.active,
            reason=effect.reason,
            target=draft.target,
            content=dict(draft.content),
            created=self._clock.read().wall,
            cause=effect.cause,
        )

    def _take(self, message: Message) -> "asyncio.Future[None] | None":
        if self.capture:
            if message.channel in self._context.down:
                self._hold(message)
            else:
                self._capture(message)
            return None
        stored = self._write({message.number: message})
        queue = self._queue(message.channel)
        expires_at = self._clock.read().now + queue.channel.limits.expires_s
        if not self._closed:
            self._put(queue, QueuedMessage(message, stored, expires_at))
        return stored

    def set_down(self, channel: str, sentence: str | None) -> None:
        """Simulate a failure of a channel, with a sentence that says why; None ends it."""
        if sentence is not None:
            self._context.down[channel] = sentence
        elif self._context.down.pop(channel, None) is not None:
            going = [message for message in self._held if message.channel == channel]
            self._held = [message for message in self._held if message.channel != channel]
            for message in going:
                message.problem = None
                self._capture(message)
            self.try_again(channel)

    def _hold(self, message: Message) -> None:
        message.problem = self._context.down[message.channel]
        message.attempts += 1
        self._add_entry(cause_of(message), message_fact(message, "message_delayed"))
        self._held.append(message)

    def _capture(self, message: Message) -> None:
        try:
            full = self._channel(message.channel).in_full(message, self._set_up())
            message.content = {**message.content, **full}
        except CannotSend as refusal:
            # Tests see the error that an attempt would have had.
            message.problem = str(refusal)
        message.state = CAPTURED
        self.note_end(message)

    def _put(self, queue: ChannelQueue, waiting: QueuedMessage) -> None:
        dropped = queue.put(waiting)
        if dropped is not None:
            self._write({dropped.number: None})

    def _fail(self, message: Message, problem: str) -> None:
        message.state, message.problem = FAILED, problem
        message.ended = self._clock.read().wall
        self._add_entry(cause_of(message), message_fact(message, "message_refused"))
        self.note_end(message)

    # --- reports of queues ------------------------------------------------------------------------

    def note_end(self, message: Message) -> None:
        if message.state in _ARRIVED:
            self._add_entry(cause_of(message), message_fact(message, _ARRIVED[message.state]))
        key = (message.channel, message.state)
        self._counts[key] = self._counts.get(key, 0) + 1
        if message.state != CAPTURED:
            # The content has addresses and texts that are no longer needed and never shown.
            message.content = {}
        rows: dict[int, Message | None] = {message.number: message}
        gone = self._remember(message)
        if gone is not None:
            rows[gone.number] = None
        self._write(rows)

    def keep_attempt(self, message: Message) -> None:
        self._write({message.number: message})

    def note_fact(self, channel: str, fact: Fact, message: Message | None = None) -> None:
        log.warning("%s: %s", channel, fact)
        self._add_entry(Cause("outbox", channel) if message is None else cause_of(message), fact)

    def note_problem(self, channel: str, problem: str | None) -> None:
        if problem is None:
            self._troubles.pop(channel, None)
        else:
            self._troubles[channel] = problem

    def _remember(self, message: Message) -> Message | None:
        """Keep a finished message; return the oldest one if there are too many."""
        kept = self._ended.setdefault((message.channel, message.state), deque())
        kept.append(message)
        return kept.popleft() if len(kept) > KEPT[message.state] else None

    def _write(self, rows: Mapping[int, Message | None]) -> "asyncio.Future[None]":
        future = self._store.write(rows)
        if future.done():
            self._note_written(future)
        else:
            future.add_done_callback(self._note_written)
        return future

    def _note_written(self, future: "asyncio.Future[None]") -> None:
        """Log a refusal of the store once, until a write succeeds."""
        if future.cancelled():
            return
        error = future.exception()
        if error is not None and self._is_stored:
            log.error("the outbox could not be saved: %s", error)
        self._is_stored = error is None

    # --- queries ----------------------------------------------------------------------------------

    def figures(self) -> dict[str, ChannelFigures]:
        """Return the figures by channel, for `/api/outbox` and the metrics."""
        return {name: self._figures(name, self._queues.get(name)) for name in self._names()}

    def _figures(self, name: str, queue: ChannelQueue | None) -> ChannelFigures:
        count = {state: self._counts.get((name, state), 0) for state in KEPT}
        return ChannelFigures(
            waiting=queue.waiting_count if queue else 0,
            attempts=queue.attempts if queue else 0,
            sent=count[SENT],
            failed=count[FAILED],
            captured=count[CAPTURED],
            dropped=queue.dropped if queue else 0,
            problem=queue.problem if queue else None,
            next_attempt_in=queue.next_attempt_in() if queue else None,
        )

    def report(self) -> OutboxReport:
        waiting = [
            message
            for queue in self._queues.values()
            for message, _ in zip(queue.waiting(), range(SHOWN_WAITING), strict=False)
        ]
        waiting += self._held
        return OutboxReport(
            capture=self.capture,
            channels=self.figures(),
            waiting=[without_content(message) for message in _in_order(waiting)],
            sent=[without_content(message) for message in self._list_ended(SENT)],
            failed=[without_content(message) for message in self._list_ended(FAILED)],
            captured=self._list_ended(CAPTURED),
        )

    def _list_ended(self, state: str) -> list[Message]:
        return _in_order(
            [
                message
                for (_, ended_as), kept in self._ended.items()
                if ended_as == state
                for message in kept
            ]
        )

    # --- snapshots --------------------------------------------------------------------------------

    def live_state(self) -> Any:
        """Return the messages that are kept, and the counts of all messages."""
        ended = {key: tuple(kept) for key, kept in self._ended.items()}
        held = tuple(msgspec.structs.replace(message) for message in self._held)
        return ended, dict(self._counts), self._number, held

    def resume_from(self, state: Any) -> None:
        """Replace the messages with those of a state; do nothing unless messages are captured."""
        if not self.capture:
            return
        ended, counts, self._number, held = state
        self._held = [msgspec.structs.replace(message) for message in held]
        before = {message.number for message in self._list_ended(CAPTURED)}
        self._ended = {key: deque(kept) for key, kept in ended.items()}
        self._counts = dict(counts)
        after = {message.number: message for message in self._list_ended(CAPTURED)}
        rows: dict[int, Message | None] = dict.fromkeys(before - after.keys())
        rows |= {number: after[number] for number in after.keys() - before}
        if rows:
            self._write(rows)

    # --- life -------------------------------------------------------------------------------------

    def settings_changed(self, old: Channels, new: Channels) -> None:
        """Retry immediately the messages whose failure the new settings may have fixed."""
        for queue in self._queues.values():
            if queue.channel.configuration(old) != queue.channel.configuration(new):
                queue.try_again()

    def forget_captured(self) -> None:
        """Delete the captured messages."""
        captured = self._list_ended(CAPTURED)
        self._ended = {key: kept for key, kept in self._ended.items() if key[1] != CAPTURED}
        if captured:
            self._write(dict.fromkeys(message.number for message in captured))

    def try_again(self, name: str) -> None:
        """Retry the waiting messages of a channel immediately: delivery may be possible now."""
        queue = self._queues.get(name)
        if queue is not None:
            queue.try_again()

    def set_power(self, on: bool) -> None:
        """Cancel attempts when the power goes off; retry all waiting messages when it is back."""
        for queue in self._queues.values():
            queue.set_power(on)

    async def close(self) -> None:
        """Stop sending; waiting messages are on disk and are sent after the next startup."""
        self._closed = True
        await close_all(queue.close for queue in self._queues.values())


def _in_order(messages: list[Message]) -> list[Message]:
    return sorted(messages, key=lambda message: message.number)
