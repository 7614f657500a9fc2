"""The MQTT service of a controller, with answers in the order of the commands.

Answers are not numbered, so clients rely on their order: an answer waits until its command is
stored and all earlier answers are published. While the disk hangs, or the broker accepts nothing, a
limited number of answers waits; further commands are refused. Refusals keep their place in the
order, too. Consecutive equal refusals are counted, so that they need no more room than one.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from leverframe import __version__
from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.machine import Value
from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.core.settings import Settings
from leverframe.host.controller import Controller, NeedsHashing, Outstanding
from leverframe.interface.table.command_text import calls_in
from leverframe.interface.table.refusals import Refusal
from leverframe.notify.mqtt import ONLINE, MqttLink, status_topic
from leverframe.notify.outbox import Outbox
from leverframe.server.home_assistant import (
    Controlled,
    PagesAddress,
    PublishedStates,
    announcement,
    labels_to_announce,
)
from leverframe.storage.store import Changes, StoreUnavailable
from leverframe.storage.writer import Writer

#: Maximum number of waiting answers; further commands are refused. With the data that its command
#: has to store, each answer needs one or two kilobytes. Brokers keep fewer messages for a client
#: that does not read.
MAX_WAITING = 5000
FAULT = "The command failed because of an internal error; see the log."


class WaitingAnswer(Struct):
    #: The work that must be stored before the answer is published.
    outstanding: Outstanding | None
    answer: str
    #: The number of consecutive commands with this reply.
    count: int = 1


class CommandAnswers:
    def __init__(self, publish: "Callable[[str], asyncio.Future[bool] | None]") -> None:
        """Publish answers with this function; its future ends when the broker has the answer.

        The function returns None without a connection.
        """
        self._publish = publish
        self._waiting: deque[WaitingAnswer] = deque()
        #: Publications that the broker has not acknowledged.
        self._under_way: deque[asyncio.Future[bool]] = deque()
        self._task: asyncio.Task[None] | None = None

    @property
    def are_too_many(self) -> bool:
        return len(self._waiting) >= MAX_WAITING

    def add(self, outstanding: Outstanding | None, answer: str) -> None:
        """Queue the answer to the next command."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and last.outstanding is outstanding is None and last.answer == answer:
            last.count += 1
        else:
            self._waiting.append(WaitingAnswer(outstanding, answer))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._give())

    async def _give(self) -> None:
        while self._waiting:
            first = self._waiting[0]
            answer = await _final(first)
            while first.count:
                first.count -= 1
                await self._give_one(answer)
            self._waiting.popleft()

    async def _give_one(self, answer: str) -> None:
        published = self._publish(answer)
        if published is None:
            return
        self._under_way.append(published)
        while self._under_way and self._under_way[0].done():
            self._under_way.popleft()
        if len(self._under_way) >= MAX_WAITING:
            await asyncio.wait([self._under_way.popleft()])


async def _final(waiting: WaitingAnswer) -> str:
    """Wait until the result of a command is known."""
    if waiting.outstanding is None:
        return waiting.answer
    try:
        await waiting.outstanding.finish()
    except StoreUnavailable as error:
        return str(error)
    except Exception:
        # The controller has logged it.
        return FAULT
    return waiting.answer


# The MQTT service: it publishes states and announcements, and receives commands.
#
# All topics are below the prefix in the settings:
#
#     <prefix>/status     online or offline (the last will), retained
#     <prefix>/<label>    every reading and state, retained
#     <prefix>/cmd        commands in the same text as over HTTP: out0=1&pwm1=0
#     <prefix>/cmdr       the answer to each: 1, or why it was refused
#     <prefix>/notify     messages of rules with the action MQTT (through the outbox)
#
# The broker decides who may publish on `cmd`; commands have the rights of a control user: outputs,
# PWM outputs and event variables, not settings. The lock of the outputs applies.

log = logging.getLogger(__name__)

#: The store's keys for the topics of announcements and of states.
ANNOUNCED, STATES = "mqtt.announced", "mqtt.states"

NAME = "MQTT broker"
#: The name of the problem if the broker accepts the connection, but not all publications.
REFUSED = "MQTT access"
DONE = "1"
#: Delay of a renewal. By then, withdrawals by another controller under our prefix have arrived. The
#: delay also limits how often a broker can cause renewals.
RENEW_S = 2.0
_BY_MQTT = Cause("command", "MQTT", source="MQTT")


class RetainedTopics:
    """The topics under which brokers keep messages of this controller, also after a restart.

    A retained message stays on the broker until it is withdrawn. Only this record knows what was
    published under an earlier prefix or identity.
    """

    def __init__(self, writer: Writer, stored: Mapping[str, Any], key: str) -> None:
        """Resume with the topics stored under the key."""
        self._writer = writer
        self._key = key
        self._by_broker = {place: set[str](topics) for place, topics in stored.get(key, {}).items()}
        self._planned: asyncio.Handle | None = None

    def at(self, place: str) -> frozenset[str]:
        return frozenset(self._by_broker.get(place, ()))

    def has(self, place: str, topic: str) -> bool:
        return topic in self._by_broker.get(place, ())

    def add(self, place: str, topic: str) -> None:
        if not self.has(place, topic):
            self._by_broker.setdefault(place, set()).add(topic)
            self._save_soon()

    def remove(self, place: str, topic: str) -> None:
        if self.has(place, topic):
            self._by_broker[place].remove(topic)
            if not self._by_broker[place]:
                del self._by_broker[place]
            self._save_soon()

    def close(self) -> None:
        if self._planned is not None:
            self._planned.cancel()
            self._save()

    def _save_soon(self) -> None:
        # A hundred topics that change together are stored as one change.
        if self._planned is None:
            self._planned = asyncio.get_running_loop().call_soon(self._save)

    def _save(self) -> None:
        self._planned = None
        rows = {place: sorted(topics) for place, topics in self._by_broker.items()}
        self._writer.commit(Changes(kept={self._key: rows})).add_done_callback(_log_failure)


class MqttService:
    """The MQTT service of a controller; its parts are created when the settings first need them.

    Most controllers have no broker; each of them needs 5 KB less.
    """

    __slots__ = ("__weakref__", "_controller", "_make_side", "_pages", "_side")

    def __init__(self, controller: Controller, make_side: "Callable[[], BrokerSide]") -> None:
        self._controller = controller
        self._make_side = make_side
        self._side: BrokerSide | None = None
        #: The address of the pages, once they are served.
        self._pages: PagesAddress | None = None

    @property
    def link(self) -> MqttLink:
        """Return the link to the broker, which connects when the settings say so."""
        return self._present_side().link

    def start(self) -> None:
        self._controller.settings_watchers.append(self._adopt)
        stored = self._controller.persistent.values
        settings = self._controller.engine.settings
        if settings.mqtt.enabled or stored.get(ANNOUNCED) or stored.get(STATES):
            self._present_side().start(settings)

    def pages_are_at(self, address: PagesAddress) -> None:
        """From now on, announce the address of the pages to Home Assistant."""
        self._pages = address
        if self._side is not None:
            self._side.pages_are_at(address)

    async def close(self) -> None:
        self._controller.settings_watchers.remove(self._adopt)
        if self._side is not None:
            await self._side.close()

    def _present_side(self) -> "BrokerSide":
        if self._side is None:
            self._side = self._make_side()
            if self._pages is not None:
                self._side.pages_are_at(self._pages)
        return self._side

    def _adopt(self, old: Settings, new: Settings) -> None:
        side = self._side
        if side is not None and side.is_started:
            side.adopt(old, new)
        elif new.mqtt.enabled:
            self._present_side().start(new)


class BrokerSide:
    """The part of a controller that communicates with its broker, and follows its settings."""

    def __init__(
        self, controller: Controller, link: MqttLink, outbox: Outbox, *, name: str, mac: str
    ) -> None:
        self._controller = controller
        self.link = link
        #: Whether this part follows the controller.
        self.is_started = False
        self._outbox = outbox
        self._name = name
        self._mac = mac
        self._labels = labels_to_announce(controller.engine.settings)
        self._states = PublishedStates(link, lambda: self._labels, self._value)
        self._states.on_first_value = self._announce
        writer, stored = controller.writer, controller.persistent.values
        self._announced = RetainedTopics(writer, stored, ANNOUNCED)
        #: The topics of the status and the states, under all prefixes used so far.
        self._retained = RetainedTopics(writer, stored, STATES)
        self._states.on_retained = lambda topic: self._retained.add(self._place, topic)
        self._renewal: asyncio.TimerHandle | None = None
        #: The address of the pages, once they are served.
        self._pages: PagesAddress | None = None
        self._was_up = False
        self._is_refused = False
        self._answers = CommandAnswers(self._publish_answer)
        #: Limits these log lines: a broker could cause any number of them.
        self._log = LogThrottle(log)
        link.on_change = self._link_changed
        link.on_message = self._on_message
        link.on_acknowledged = lambda: self._states.plan()

    def start(self, settings: Settings) -> None:
        """Follow the controller, beginning with these settings."""
        self.is_started = True
        self._labels = labels_to_announce(settings)
        self._controller.watchers.add(self._on_change)
        self._controller.power_watchers.append(self.link.set_power)
        if not self._controller.has_power:
            self.link.set_power(False)
        self.link.adopt(settings.mqtt)

    def pages_are_at(self, address: PagesAddress) -> None:
        """Announce the address of the pages to Home Assistant from now on."""
        self._pages = address
        if self.link.up:
            for label in self._labels:
                self._announce(label)

    async def close(self) -> None:
        if self.is_started:
            self._controller.watchers.discard(self._on_change)
            self._controller.power_watchers.remove(self.link.set_power)
        self._states.close()
        if self._renewal is not None:
            self._renewal.cancel()
        await self.link.close()
        self._announced.close()
        self._retained.close()

    def _value(self, label: str) -> Value:
        return self._controller.engine.values[label]

    # --- what the controller does -----------------------------------------------------------------

    def _on_change(self) -> None:
        is_up = self.link.up
        if is_up:
            self._states.plan()
        if self._controller.engine.machine.values["MQTT"] != is_up:
            # The controller has restarted. The connection is reported later, because the controller
            # is busy now.
            asyncio.get_running_loop().call_soon(self._report_connection)

    def _report_connection(self) -> None:
        if self._value("MQTT") != int(self.link.up):
            self._controller.note_connection(self.link.up)

    def adopt(self, old: Settings, new: Settings) -> None:
        if (old.mqtt.host, old.mqtt.port) != (new.mqtt.host, new.mqtt.port):
            self._leave(f"{old.mqtt.host}:{old.mqtt.port}")
        if not (old.mqtt.enabled or new.mqtt.enabled):
            return
        self._labels = labels_to_announce(new)
        same_link = new.mqtt == self.link.settings
        self.link.adopt(new.mqtt)
        if same_link and self.link.up:
            # Names and units may have changed.
            for label in self._labels:
                if announcement(label, self._me(old)) != announcement(label, self._me(new)):
                    self._announce(label)

    def _leave(self, place: str) -> None:
        """Withdraw our messages before the link changes to another broker; log a failure."""
        kept = self._announced.at(place)
        if not kept:
            return
        if not self.link.up:
            self._log_left_behind(place)
            return
        leaving = asyncio.gather(*(self._withdraw(topic, self._announced) for topic in kept))
        leaving.add_done_callback(lambda _: self._log_left_behind(place))

    def _log_left_behind(self, place: str) -> None:
        """Log the messages that could not be withdrawn.

        They are withdrawn if the link returns to that broker.
        """
        kept = self._announced.at(place)
        if not kept:
            return
        topic = min(kept).partition("/")[0]
        figures = {"place": place, "count": len(kept), "topic": topic}
        fact = Fact("mqtt_left_behind", figures=figures)
        log.warning("%s: %s", NAME, fact)
        self._controller.engine.machine.journal.add(
            self._controller.clock.read().wall, Cause("outbox", "MQTT"), fact
        )

    # --- what the link does -----------------------------------------------------------------------

    def _link_changed(self) -> None:
        up, problem = self.link.up, self.link.problem
        if problem is not None and self._controller.troubles.get(NAME) != problem:
            self._log.warning(self._place, "problem", "%s: %s", NAME, problem)
        self._controller.troubles.note(NAME, problem)
        self._note_refusal()
        if up != self._was_up:
            self._was_up = up
            log.info("%s: %s", NAME, "connected" if up else "no connection")
            if up:
                self._begin()
            self._report_connection()

    def _note_refusal(self) -> None:
        refusal = self.link.refusal()
        if refusal is not None and REFUSED not in self._controller.troubles:
            self._log.warning(self._place, "refusal", "%s: %s", NAME, refusal)
        self._controller.troubles.note(REFUSED, refusal)
        may_again = self._is_refused and refusal is None
        self._is_refused = refusal is not None
        if may_again and self.link.up:
            self._publish_all()

    def _begin(self) -> None:
        self.link.subscribe(f"{self.link.settings.prefix}/cmd")
        self.link.subscribe(status_topic(self.link.settings))
        self._publish_all()

    def _publish_all(self) -> None:
        status = status_topic(self.link.settings)
        self._retained.add(self._place, status)
        self.link.publish(status, ONLINE, retain=True)
        self._settle_states(status)
        self._settle_announcements()
        self._states.begin()
        self._outbox.try_again("mqtt")

    @property
    def _place(self) -> str:
        return f"{self.link.settings.host}:{self.link.settings.port}"

    def _settle_states(self, status: str) -> None:
        """Withdraw our retained messages under another prefix, or of a label that no longer exists.

        The status comes last: a controller that shares that prefix republishes its messages when
        the status changes.
        """
        prefix = self.link.settings.prefix
        own = {status, *(f"{prefix}/{label}" for label in self._labels)}
        former = self._retained.at(self._place) - own
        for topic in sorted(former, key=lambda topic: (topic.endswith("/status"), topic)):
            self._withdraw(topic, self._retained)

    def _settle_announcements(self) -> None:
        """Withdraw our announcements that are no longer true; renew those of absent values.

        Labels that have a value are announced when it is published.
        """
        me = self._me(self._controller.engine.settings)
        discovery = self.link.settings.discovery
        labels = {announcement(label, me).topic: label for label in self._labels if discovery}
        for topic in self._announced.at(self._place):
            if topic not in labels:
                self._withdraw(topic, self._announced)
            elif self._value(labels[topic]) is None:
                self._announce(labels[topic])

    def _withdraw(self, topic: str, topics: RetainedTopics) -> "asyncio.Future[bool]":
        place = self._place

        def withdrawn(future: "asyncio.Future[bool]") -> None:
            if future.result():
                topics.remove(place, topic)

        publish = self.link.publish(topic, b"", retain=True)
        publish.add_done_callback(withdrawn)
        return publish

    def _announce(self, label: str) -> None:
        """Announce a label that has or had a value; an absent one may have been renamed."""
        if not self.link.settings.discovery:
            return
        said = announcement(label, self._me(self._controller.engine.settings))
        if self._value(label) is None and not self._announced.has(self._place, said.topic):
            return
        self._announced.add(self._place, said.topic)
        self.link.publish(said.topic, msgspec.json.encode(said.payload), retain=True)

    def _me(self, settings: Settings) -> Controlled:
        # Use the new settings, which the engine may not have adopted yet.
        name = settings.name or self._controller.new_name or self._name
        url = None if self._pages is None else self._pages.url_from(self.link.local_address)
        profile = self._controller.profile
        return Controlled(name, self._mac, profile, settings, __version__, url)

    def _renew_soon(self) -> None:
        """Publish everything again soon: another controller withdrew messages under our prefix."""
        if self._renewal is None:
            self._renewal = asyncio.get_running_loop().call_later(RENEW_S, self._renew)

    def _renew(self) -> None:
        self._renewal = None
        if self.link.up:
            self._publish_all()

    # --- commands ---------------------------------------------------------------------------------

    def _on_message(self, topic: str, payload: bytes) -> None:
        if topic == status_topic(self.link.settings):
            if payload != ONLINE.encode():
                self._renew_soon()
            return
        outstanding: Outstanding | None = None
        try:
            outstanding = self._submit(payload)
            answer = DONE
        except Refusal as refusal:
            answer = str(refusal.as_problem()["detail"])
        except NeedsHashing:
            answer = "Passwords cannot be set by MQTT."
        except UnicodeDecodeError:
            answer = "The command is not UTF-8 text."
        except Exception:
            # The calling library would swallow the error.
            self._log.exception(self._place, "command", "%s: a command ended unexpectedly", NAME)
            answer = FAULT
        self._answers.add(outstanding, answer)

    def _submit(self, payload: bytes) -> Outstanding | None:
        if self._answers.are_too_many:
            raise Refusal(
                "Too many earlier commands are waiting for their responses. The command was not "
                "carried out; send it again later."
            )
        self._controller.check_that_it_is_here()
        if self._controller.bootloader_until is not None:
            raise Refusal("The controller is in its bootloader.")
        calls = calls_in(payload.decode(), self._controller.profile)
        return self._controller.submit([(call, None) for call in calls], _BY_MQTT)

    def _publish_answer(self, answer: str) -> "asyncio.Future[bool] | None":
        if not self.link.up:
            return None
        return self.link.publish(f"{self.link.settings.prefix}/cmdr", answer)


def _log_failure(future: "asyncio.Future[None]") -> None:
    if not future.cancelled() and (error := future.exception()) is not None:
        log.error("MQTT publications not stored: %s", error)
