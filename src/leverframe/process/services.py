"""What runs beside a controller on any machine: display, outbox, serial module, modem, MQTT.

Each function joins one service to the controller: its effects out, its readings and settings in.
"""

from collections.abc import Callable
from functools import partial
from typing import Protocol

from leverframe.controller import Controller
from leverframe.engine.journal import Cause
from leverframe.hardware.modem import NAME as MODEM
from leverframe.hardware.modem import Modem
from leverframe.hardware.oled_panel import PanelService
from leverframe.hardware.serial_module import SENSORS, UNREADABLE, SensorSession
from leverframe.hardware.serial_port import SerialPortService, SerialSession
from leverframe.notify.mqtt import MqttMessages
from leverframe.notify.mqtt_link import MqttLink
from leverframe.notify.outbox import Outbox
from leverframe.notify.sending import Sending, network_outbox
from leverframe.notify.sms import Sms
from leverframe.notify.snmp import SnmpTraps
from leverframe.notify.trust import Trust
from leverframe.process.firmware_check import FirmwareCheck
from leverframe.process.release_check import ask_for_release
from leverframe.servers.mqtt.service import MqttService
from leverframe.servers.routes.metrics import history_families, outbox_families
from leverframe.servers.sms_commands import SmsCommands
from leverframe.storage.history.recorder import HistoryRecorder
from leverframe.storage.history.worker import HistoryWorker
from leverframe.storage.message_store import PersistentMessageStore
from leverframe.wiring import OledWiring


class Service(Protocol):
    """Something that runs beside the controller and follows its settings by itself."""

    async def close(self) -> None: ...


def connect_panel(controller: Controller, wiring: OledWiring) -> PanelService:
    """The real display; it is dark while the bootloader waits."""

    def lines() -> tuple[str, ...] | None:
        waits = controller.bootloader_until is not None
        return None if waits else controller.engine.display.lines()

    panel = PanelService(wiring, lines, controller.troubles)
    controller.watchers.add(panel.look)
    controller.bootloader_watchers.append(lambda _: panel.look())
    return panel


def connect_history(controller: Controller, worker: HistoryWorker) -> HistoryRecorder:
    """Every value is recorded from the start on."""

    def tell(sentence: str | None) -> None:
        if sentence is None:
            controller.troubles.pop("history", None)
        else:
            controller.troubles["history"] = sentence

    worker.tell = tell
    recorder = HistoryRecorder(worker, controller.clock)
    controller.history = recorder
    controller.watchers.add(recorder.look)
    controller.figures.append(lambda: history_families(recorder.figures))
    return recorder


def connect_outbox(controller: Controller, name: str, sending: Sending) -> Outbox:
    """What the controller asks for goes to the outbox, and people see what becomes of it."""

    def tell(lane: str, sentence: str) -> None:
        wall = controller.clock.read().wall
        controller.engine.machine.journal.add(wall, Cause("outbox", lane), sentence)

    outbox = network_outbox(
        PersistentMessageStore(controller.store),
        controller.clock,
        lambda: controller.engine.settings,
        name,
        sending,
        tell=tell,
        troubles=controller.troubles,
    )
    controller.on_notify = outbox.notify
    controller.settings_watchers.append(outbox.settings_changed)
    controller.outbox_report = outbox.report
    controller.figures.append(lambda: outbox_families(outbox.figures()))
    return outbox


def connect_mqtt(
    controller: Controller, outbox: Outbox, sending: Sending, *, name: str, mac: str
) -> MqttService:
    """The client of an MQTT broker; it is started unless nothing may be sent."""
    link = MqttLink(f"leverframe-{mac.replace(':', '')}", Trust(sending.ca_file))
    outbox.add("mqtt", MqttMessages(link))
    return MqttService(controller, link, outbox, name=name, mac=mac)


def connect_serial(controller: Controller, port: str | None, outbox: Outbox) -> list[Service]:
    """The module on the serial port, and the modem, which says so where there is no port."""
    modem = Modem(
        lambda: controller.engine.settings.gsm,
        SmsCommands(controller).take,
        controller.troubles,
    )
    controller.on_modem = modem.command
    outbox.add("sms", Sms(modem))
    controller.reports["modem"] = modem.status.shown
    controller.modem_report = modem.status.shown_in_full
    if port is None:
        return []
    sessions: dict[str, Callable[[], SerialSession]] = {
        name: partial(SensorSession, name, sensor, controller.sense, controller.troubles)
        for name, sensor in SENSORS.items()
    }
    sessions[MODEM] = lambda: modem
    service = SerialPortService(port, sessions, controller.troubles, unreadable=UNREADABLE)
    controller.settings_watchers += [service.adopt, modem.adopt]
    service.start(controller.engine.settings)
    return [service]


def connect_firmware_check(
    controller: Controller, sending: Sending, *, capture: bool
) -> FirmwareCheck:
    """The daily question for firmware, if there is an address and anything may be sent."""
    url, trust = sending.firmware_check_url, Trust(sending.ca_file)
    if url is None or capture:
        return FirmwareCheck(controller, None)
    ask = partial(ask_for_release, url, trust, allow_local=sending.allow_local_targets)
    return FirmwareCheck(controller, ask)


def snmp_traps(controller: Controller, mac: str) -> SnmpTraps:
    """The channel of traps; they tell how long the controller has been running."""
    return SnmpTraps(mac, lambda: controller.engine.uptime(controller.clock.read()))
