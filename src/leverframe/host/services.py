"""Services of a controller: display, history, snapshots, outbox, serial port, modem, MQTT.

Each function connects a service to the controller: the service receives the controller's effects,
readings and settings.
"""

import asyncio
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from leverframe.core.engine.journal import Cause, Fact
from leverframe.core.engine.timers import Moment
from leverframe.core.runtime.bounded_work import WorkPlaces
from leverframe.core.runtime.clock import Clock
from leverframe.core.runtime.event_loop import LoopTurns
from leverframe.core.runtime.outgoing import OutgoingChannel, Targets
from leverframe.core.settings import Settings
from leverframe.core.tree import value_at
from leverframe.devices.modem_line import AbsentModem
from leverframe.devices.pinger import LOOKUPS_AT_A_TIME
from leverframe.devices.wire.prometheus import Family
from leverframe.devices.wiring import OledWiring
from leverframe.host.configuration import NodeConfig
from leverframe.host.controller import Controller
from leverframe.host.controller.faults import Faults
from leverframe.host.firmware_check import FirmwareCheck, ask_for_release
from leverframe.notify.channel import Trust
from leverframe.notify.email import Mail, Sms
from leverframe.notify.http import HttpCalls
from leverframe.notify.mqtt import MqttLink, MqttMessages
from leverframe.notify.outbox import ChannelMakers, Outbox
from leverframe.notify.snmp import CHANNELS, SnmpTraps, TrapOrigin, TrapThreads
from leverframe.notify.snmp_identity import EngineIdentity
from leverframe.server import passwords
from leverframe.server.bootloader import TransferPlaces
from leverframe.server.faults import faulty_transport
from leverframe.server.mqtt import BrokerSide, MqttService
from leverframe.server.routes import backups
from leverframe.server.routes.context import streams_of_all
from leverframe.server.routes.headers import VersionDocuments
from leverframe.server.routes.metrics import outbox_families
from leverframe.server.snmp_agent import AgentEngines
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.encryption import unreadable_sentence
from leverframe.storage.history.compactor import Bounds
from leverframe.storage.history.journal_recorder import JournalRecorder
from leverframe.storage.history.worker import HistoryRecorder, HistoryWorker, ThreadHistoryWorker
from leverframe.storage.snapshots import Snapshots, SnapshotService
from leverframe.storage.store import Stored
from leverframe.storage.writer import PersistentMessageStore

if TYPE_CHECKING:
    from leverframe.devices.modem import Modem


# Services that all controllers of a process share: threads, engines and slots.
#
# Each exists once per process, so that a controller costs no thread and a burst of sign-ins cannot
# exhaust the memory. Each is created at its first use.


class NodeServices:
    def __init__(self, lookups_at_a_time: int = LOOKUPS_AT_A_TIME) -> None:
        self._lookups_at_a_time = lookups_at_a_time
        self._lookups: ThreadPoolExecutor | None = None
        #: Slots for hashing passwords, which uses much memory.
        self.hashing = asyncio.Semaphore(passwords.AT_A_TIME)
        #: Slots for deriving the keys of backups, which uses much memory, too.
        self.backups = asyncio.Semaphore(backups.AT_A_TIME)
        #: Slots for work in separate processes.
        self.places = WorkPlaces()
        #: Slots for long answers.
        self.streams = streams_of_all()
        self.trap_threads = TrapThreads()
        #: Slots for firmware images, which use much memory.
        self.firmware_places = TransferPlaces()
        self.snmp_engines = AgentEngines()
        self.documents = VersionDocuments()

    @property
    def lookups(self) -> ThreadPoolExecutor:
        """Return the thread pool that resolves host names."""
        if self._lookups is None:
            self._lookups = ThreadPoolExecutor(self._lookups_at_a_time, thread_name_prefix="lookup")
        return self._lookups

    async def close(self) -> None:
        """Release the threads after the last controller has stopped."""
        if self._lookups is not None:
            self._lookups.shutdown(wait=False, cancel_futures=True)


# The effects of faults on the controller: its power, its clock and its message channels.

#: Called with a channel and the reason why its messages cannot be sent, or None if they can.
SetDown = Callable[[str, str | None], None]


class FaultyUnit:
    __slots__ = ("_controller", "plan_to_wake", "set_down")

    def __init__(self, controller: Controller, set_down: SetDown) -> None:
        self._controller = controller
        self.set_down = set_down
        self.plan_to_wake = controller.plan_to_wake

    def power_off(self, until: float) -> None:
        self._controller.lose_power()

    def power_on(self, *, lose_settings: bool) -> None:
        if lose_settings:
            self._controller.forget_settings()
        else:
            self._controller.restart()

    def shift_clock(self, seconds: float) -> None:
        clock = self._controller.clock
        clock.set_wall(clock.wall() + seconds)
        self._controller.clock_changed()

    def read(self) -> Moment:
        return self._controller.clock.read()

    def settings(self) -> Settings:
        return self._controller.engine.settings

    def log(self, cause: Cause, fact: Fact) -> None:
        wall = self._controller.clock.wall()
        self._controller.engine.machine.journal.add(wall, cause, fact)


class Service(Protocol):
    """A service that runs beside the controller and follows its settings automatically."""

    async def close(self) -> None: ...


class Sending(Struct, frozen=True):
    """How messages are sent."""

    #: Whether messages are kept, for tests, instead of sent; None keeps them only in virtual time.
    capture: bool | None = None
    #: The targets that messages and all other connections may reach.
    targets: Targets = Targets()
    #: Additional certificate authorities to trust, a PEM file.
    ca_file: str | None = None
    #: The URL of the automatic firmware check.
    firmware_check_url: str | None = None
    #: The client certificate for the MQTT broker, PEM files.
    mqtt_certificate: str | None = None
    mqtt_key: str | None = None
    #: Returns why nothing may be sent now, or None: a node that may have lost its controllers sends
    #: nothing.
    why_held: Callable[[], str | None] = lambda: None

    def captures(self, clock: Clock) -> bool:
        """Return whether messages are kept instead of sent."""
        return clock.is_virtual if self.capture is None else self.capture


def connect_panel(controller: Controller, wiring: OledWiring) -> Service:
    """Connect the real display; it is dark while the bootloader waits, and without power."""
    from leverframe.devices.linux.oled_panel import PanelService

    def lines() -> tuple[str, ...] | None:
        waits = controller.bootloader_until is not None
        return None if waits else controller.engine.display.lines()

    panel = PanelService(wiring, lines, controller.troubles)
    controller.watchers.add(panel.show_if_changed)
    controller.bootloader_watchers.append(lambda _: panel.show_if_changed())
    controller.power_watchers.append(lambda _: panel.show_if_changed())
    return panel


def history_worker(config: NodeConfig, folder: DataFolder) -> ThreadHistoryWorker:
    """Create the worker of the history; in virtual time its history is empty and only in memory."""
    bounds = Bounds(raw_days=config.history_days, max_bytes=config.history_max_mb * 1024 * 1024)
    path = None if config.virtual_time else folder.history_path
    return ThreadHistoryWorker(path, bounds, may_wait=config.virtual_time)


def connect_history(controller: Controller, worker: HistoryWorker) -> HistoryRecorder:
    """Record every value from now on."""
    worker.on_trouble = controller.note_history
    recorder = HistoryRecorder(worker, controller.clock)
    controller.history = recorder
    controller.watchers.add(recorder.flush_if_due)
    return recorder


def connect_journal(controller: Controller, history: HistoryRecorder) -> JournalRecorder:
    """Record the entries of the journal in the history."""
    recorder = JournalRecorder(
        history,
        controller.find_journal,
        controller.clock,
        controller.describe_version,
    )
    controller.journal_recorder = recorder
    controller.watchers.add(recorder.record_if_due)
    controller.live_parts.append(recorder)
    return recorder


def connect_snapshots(
    controller: Controller, store_path: Path, settle: Callable[[], None]
) -> SnapshotService:
    """Take snapshots of the store when it changes."""
    service = SnapshotService(Snapshots(store_path, settle), controller.troubles)
    controller.settings_watchers.append(service.settings_changed)
    return service


def connect_secrets(controller: Controller, stored: Stored) -> None:
    """Report the secrets that the key cannot decrypt, until each is set again."""
    missing = {path: _value_at(controller.engine.settings, path) for path in stored.unreadable}

    def show() -> None:
        sentence = unreadable_sentence(list(missing), stored.why_unreadable) if missing else None
        controller.troubles.note("secrets", sentence)

    def forget_what_is_set(_: Settings, settings: Settings) -> None:
        changed = [path for path, value in missing.items() if _value_at(settings, path) != value]
        for path in changed:
            del missing[path]
        if changed:
            show()

    if missing:
        show()
        controller.settings_watchers.append(forget_what_is_set)


def _value_at(settings: Settings, path: str) -> object:
    # The store may hold settings that this version does not have.
    with suppress(AttributeError, IndexError, ValueError):
        return value_at(settings, path)
    return None


class MessageSender(Struct):
    """The controller and the connections that its message channels use.

    Its bound methods replace nested functions, which would need 0.2 KB each.
    """

    controller: Controller
    sending: Sending
    name: str
    host_label: str
    mac: str
    identity: EngineIdentity
    turns: LoopTurns
    trap_threads: TrapThreads
    outbox: Outbox | None = None
    mqtt: MqttService | None = None
    present_trust: Trust | None = None

    @property
    def trust(self) -> Trust:
        if self.present_trust is None:
            self.present_trust = Trust(self.sending.ca_file)
        return self.present_trust

    def way_out(self, channel: str) -> OutgoingChannel:
        return self.sending.targets.channel(channel)

    def find_link(self) -> MqttLink:
        assert self.mqtt is not None
        return self.mqtt.link

    def count_messages(self) -> Iterable[Family]:
        assert self.outbox is not None
        return outbox_families(self.outbox.figures())

    def make_broker_side(self) -> BrokerSide:
        assert self.outbox is not None
        sending, faults = self.sending, self.controller.faults
        link = MqttLink(
            f"leverframe-{self.mac.replace(':', '')}",
            Trust(sending.ca_file, sending.mqtt_certificate, sending.mqtt_key),
            self.way_out("mqtt"),
            turns=self.turns,
            why_held=sending.why_held,
            wrap_transport=None if faults is None else faulty_transport(faults),
        )
        return BrokerSide(self.controller, link, self.outbox, name=self.name, mac=self.mac)

    def add_entry(self, cause: Cause, fact: Fact) -> None:
        wall = self.controller.clock.read().wall
        self.controller.engine.machine.journal.add(wall, cause, fact)


def _make_http(slot: int, sender: MessageSender) -> HttpCalls:
    why_held = sender.sending.why_held
    return HttpCalls(slot, sender.trust, sender.way_out("http"), why_held=why_held)


def _make_traps(number: int, sender: MessageSender) -> SnmpTraps:
    origin = trap_origin(sender.controller, sender.identity, name=sender.name, mac=sender.mac)
    return SnmpTraps(origin, sender.way_out("trap"), number, sender.trap_threads)


#: The channels in the order in which they are shown. A connected modem replaces the SMS channel.
CHANNEL_MAKERS: ChannelMakers[MessageSender] = {
    **{f"http{slot}": partial(_make_http, slot) for slot in range(1, 5)},
    "email": lambda sender: Mail(sender.host_label, sender.trust, sender.way_out("email")),
    "sms": lambda sender: Sms(AbsentModem()),
    "mqtt": lambda sender: MqttMessages(sender.find_link),
    **{name: partial(_make_traps, number) for number, name in enumerate(CHANNELS)},
}


def connect_outbox(controller: Controller, sending: Sending, sender: MessageSender) -> Outbox:
    """Send the messages of the controller and show their state to users."""
    outbox = Outbox(
        PersistentMessageStore(controller.writer),
        controller.clock,
        controller.find_settings,
        capture=sending.captures(controller.clock),
        why_held=sending.why_held,
        add_entry=sender.add_entry,
        troubles=controller.troubles,
    )
    sender.outbox = outbox
    outbox.offer(CHANNEL_MAKERS, sender)
    controller.on_notify = outbox.notify
    controller.settings_watchers.append(outbox.settings_changed)
    controller.power_watchers.append(outbox.set_power)
    controller.outbox_report = outbox.report
    controller.live_parts.append(outbox)
    controller.forget_captured = outbox.forget_captured
    controller.figures.append(sender.count_messages)
    return outbox


def connect_faults(controller: Controller, outbox: Outbox) -> None:
    """Connect the faults, if the board is simulated."""
    bench = controller.board.bench
    if bench is not None:
        faults = Faults(FaultyUnit(controller, outbox.set_down), bench)
        controller.faults = faults
        controller.timed.append(faults)
        controller.live_parts.append(faults)


def connect_mqtt(controller: Controller, sender: MessageSender) -> MqttService:
    """Connect the MQTT client; start it unless messages are captured."""
    sender.mqtt = MqttService(controller, sender.make_broker_side)
    return sender.mqtt


def connect_serial(controller: Controller, port: str | None, outbox: Outbox) -> list[Service]:
    """Connect the module on the serial port, and the modem, which reports a missing port."""
    if port is None:
        _connect_modem(controller, AbsentModem())
        return []
    from leverframe.devices.modem import NAME, Modem
    from leverframe.devices.serial_module import (
        SENSORS,
        UNREADABLE,
        SensorSession,
        SerialPortService,
        SerialSession,
    )
    from leverframe.server.sms_commands import SmsCommands

    modem = Modem(
        lambda: controller.engine.settings.gsm,
        SmsCommands(controller).take,
        controller.troubles,
    )
    _connect_modem(controller, modem)
    outbox.add("sms", Sms(modem))
    sessions: dict[str, Callable[[], SerialSession]] = {
        name: partial(SensorSession, name, sensor, controller.sense, controller.troubles)
        for name, sensor in SENSORS.items()
    }
    sessions[NAME] = lambda: modem
    service = SerialPortService(port, sessions, controller.troubles, unreadable=UNREADABLE)

    def follow(*_: object) -> None:
        service.choose(controller.engine.settings.serial.module if controller.has_power else None)

    controller.settings_watchers += [follow, modem.adopt]
    controller.power_watchers.append(follow)
    service.start(controller.engine.settings)
    return [service]


def _connect_modem(controller: Controller, modem: "Modem | AbsentModem") -> None:
    controller.on_modem = modem.command
    controller.reports["modem"] = modem.status.report
    controller.modem_report = modem.status.full_report


def connect_firmware_check(
    controller: Controller, sending: Sending, *, capture: bool
) -> FirmwareCheck:
    """Check daily for firmware, if a URL is configured and messages may be sent."""
    url, trust = sending.firmware_check_url, Trust(sending.ca_file)
    if url is None or capture:
        return FirmwareCheck(controller, None)
    ask = partial(ask_for_release, url, trust, sending.targets.channel("release"))
    return FirmwareCheck(controller, ask)


def trap_origin(
    controller: Controller, identity: EngineIdentity, *, name: str, mac: str
) -> TrapOrigin:
    """Return the origin of traps, which follows changes of the controller's name and address."""

    def uptime_s() -> float:
        return controller.engine.uptime(controller.clock.read())

    return TrapOrigin(
        identity, mac, uptime_s, lambda: controller.name_or(name), lambda: controller.own_address
    )
