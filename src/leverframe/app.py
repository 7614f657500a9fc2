"""The process: builds a controller with its servers, runs until told to stop, stops in order.

This is the only place that knows all the parts. A controller in a test is built by the same
functions, on a virtual clock and a store that only remembers.
"""

import asyncio
import errno
import logging
import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from pathlib import Path
from typing import Protocol

from leverframe.clock import Clock, SystemClock, VirtualClock
from leverframe.commands.table import TABLE
from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.engine.journal import Cause
from leverframe.hardware.board import Board
from leverframe.hardware.linux import LinuxBoard
from leverframe.hardware.modbus_master import ModbusMaster
from leverframe.hardware.modem import NAME as MODEM
from leverframe.hardware.modem import Modem
from leverframe.hardware.oled_panel import PanelService
from leverframe.hardware.pinger import Pinger
from leverframe.hardware.serial_line import SerialLine
from leverframe.hardware.serial_module import SENSORS, UNREADABLE, SensorSession
from leverframe.hardware.serial_port import SerialPortService, Session
from leverframe.hardware.simulated import SimulatedBoard
from leverframe.notify.mqtt import MqttMessages
from leverframe.notify.mqtt_link import MqttLink
from leverframe.notify.outbox import Outbox
from leverframe.notify.sms import Sms
from leverframe.notify.snmp import SnmpTraps
from leverframe.notify.standard import Sending, standard_outbox
from leverframe.notify.trust import Trust
from leverframe.profile import Profile
from leverframe.reach import (
    certificate_of,
    introduce_administrator,
    listen,
    reach_of,
    take_up_certificate,
)
from leverframe.servers import journal_log
from leverframe.servers.announcing import Announcing, announce
from leverframe.servers.bootloader import BootloaderServer
from leverframe.servers.certificate import Certificate
from leverframe.servers.http import HttpServer, Limits
from leverframe.servers.journal_log import JournalLog
from leverframe.servers.metrics import outbox_families, server_families
from leverframe.servers.modbus_tcp import ModbusTcpServer
from leverframe.servers.mqtt import MqttService
from leverframe.servers.sms_commands import SmsCommands
from leverframe.servers.snmp_agent import SnmpAgent
from leverframe.servers.web import THIS_MACHINE, Reach, Web
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.message_shelf import MessageShelf
from leverframe.storage.sealed import SealedStore
from leverframe.storage.snapshot_keeper import SnapshotKeeper
from leverframe.storage.snapshots import Snapshots, recover
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, Store
from leverframe.supervisor import Supervisor
from leverframe.wiring import OledWiring, Wiring

log = logging.getLogger(__name__)

#: How much each command with a body takes.
_BODY_LIMITS = {
    row.form.items[0].text: row.body.most_bytes for row in TABLE if row.body is not None
}
_POST_PATH = "/post.cgi"
#: How soon the schedule follows somebody who sets the machine's clock.
LOOK_AT_CLOCK_S = 20.0
SIMULATED = Wiring()
NORMALLY = Sending()


class CannotListen(Exception):
    """The address cannot be used: one sentence."""


class Service(Protocol):
    """Something that runs beside the controller and follows its settings by itself."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class BuiltController:
    """A controller that has been started, its request function, and what runs beside it."""

    controller: Controller
    web: Web
    name: str
    mac: str
    services: tuple[Service, ...] = ()

    async def stop(self) -> None:
        for service in reversed(self.services):
            await service.close()
        await self.controller.stop()


async def build(
    profile: Profile,
    store: Store,
    clock: Clock,
    timezone: tzinfo,
    *,
    lenient: bool = False,
    wiring: Wiring = SIMULATED,
    serial_port: str | None = None,
    sending: Sending = NORMALLY,
    reach: Reach = THIS_MACHINE,
) -> BuiltController:
    """A started controller on the board that the wiring describes."""
    name, mac = await _identity(store)
    board: Board = LinuxBoard(wiring) if wiring.kind == "linux" else SimulatedBoard(clock.now)
    controller = Controller(profile, store, board, clock, timezone)
    services: list[Service] = []
    if isinstance(board, LinuxBoard):
        await board.open(controller.engine.settings, controller.troubles)
        controller.settings_watchers.append(lambda _, settings: board.adopt(settings))
        services.append(board)
    if wiring.oled is not None:
        services.append(connect_panel(controller, wiring.oled))
    if isinstance(clock, VirtualClock) and isinstance(board, SimulatedBoard):
        board.hosts.answered = controller.ping_answered
        controller.on_ping = board.hosts.ping
    else:
        pinger = Pinger(controller.ping_answered)
        controller.on_ping = pinger.ping
        services.append(pinger)
    outbox = connect_outbox(controller, name, sending)
    services.append(outbox)
    services += connect_serial(controller, serial_port, outbox)
    mqtt = connect_mqtt(controller, outbox, sending, name=name, mac=mac)
    outbox.add("snmp", snmp_traps(controller, mac))
    # What waits from before comes before what the start may bring.
    outbox.start()
    controller.start()
    if not outbox.capture:
        mqtt.start()
        services.append(mqtt)
    web = Web(controller, name=name, mac=mac, lenient=lenient, reach=reach)
    return BuiltController(controller, web, name, mac, tuple(services))


def connect_panel(controller: Controller, wiring: OledWiring) -> PanelService:
    """The real display; it is dark while the bootloader waits."""

    def lines() -> tuple[str, ...] | None:
        waits = controller.bootloader_until is not None
        return None if waits else controller.engine.display.lines()

    panel = PanelService(wiring, lines, controller.troubles)
    controller.watchers.add(panel.look)
    controller.bootloader_watchers.append(lambda _: panel.look())
    return panel


def connect_outbox(controller: Controller, name: str, sending: Sending) -> Outbox:
    """What the controller asks for goes to the outbox, and people see what becomes of it."""

    def tell(lane: str, sentence: str) -> None:
        wall = controller.clock.read().wall
        controller.engine.machine.journal.add(wall, Cause("outbox", lane), sentence)

    outbox = standard_outbox(
        MessageShelf(controller.store),
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
    sessions: dict[str, Callable[[], Session]] = {
        name: partial(SensorSession, name, sensor, controller.sense, controller.troubles)
        for name, sensor in SENSORS.items()
    }
    sessions[MODEM] = lambda: modem
    service = SerialPortService(port, sessions, controller.troubles, unreadable=UNREADABLE)
    controller.settings_watchers += [service.adopt, modem.adopt]
    service.start(controller.engine.settings)
    return [service]


def snmp_traps(controller: Controller, mac: str) -> SnmpTraps:
    """The channel of traps; they tell how long the controller has been running."""
    return SnmpTraps(mac, lambda: controller.engine.uptime(controller.clock.read()))


async def connect_snmp(built: BuiltController, config: Config) -> Service:
    """The SNMP agent, which listens once it is switched on."""
    controller = built.controller
    agent = SnmpAgent(controller, config.host, config.snmp_port, name=built.name, mac=built.mac)
    controller.settings_watchers.append(agent.adopt)
    await agent.follow(controller.engine.settings)
    return agent


async def connect_modbus(controller: Controller, config: Config) -> list[Service]:
    """The Modbus TCP server, which listens once it is switched on, and the bus if there is one."""
    server = ModbusTcpServer(controller, config.host, config.modbus_port, config.writing_networks())
    controller.settings_watchers.append(server.adopt)
    await server.follow(controller.engine.settings)
    if config.serial_modbus is None:
        return [server]
    master = ModbusMaster(
        SerialLine(config.serial_modbus),
        controller.engine.settings,
        controller.sense,
        controller.troubles,
        lambda: controller.clock.read().wall,
    )
    controller.settings_watchers.append(master.adopt)
    controller.reports["modbus"] = master.report
    return [server, master]


def keep_snapshots(controller: Controller, store_path: Path) -> Service:
    keeper = SnapshotKeeper(Snapshots(store_path), controller.troubles)
    controller.settings_watchers.append(keeper.settings_changed)
    return keeper


async def _identity(store: Store) -> tuple[str, str]:
    """Name and MAC address of the controller, made at its first start and kept."""
    kept = store.load().kept
    if "identity.mac" not in kept:
        tail = secrets.token_bytes(5)
        mac = ":".join(f"{byte:02X}" for byte in (0x02, *tail))
        made = {"identity.mac": mac, "identity.name": f"leverframe-{tail[-3:].hex()}"}
        await store.commit(Changes(kept=made))
        kept |= made
    return kept["identity.name"], kept["identity.mac"]


def stored_profile(store: Store) -> tuple[str | None, str | None, str | None]:
    """The profile that the store was last used with, and the version that was configured then."""
    kept = store.load().kept
    return kept.get("profile.hw"), kept.get("profile.sw"), kept.get("profile.configured_sw")


def http_limits() -> Limits:
    return Limits(body_limit=_body_limit, needs_length=_needs_length)


def _body_limit(_method: str, path: str, query: str | None) -> int:
    default = Limits.body_limit(_method, path, query)
    return _BODY_LIMITS.get(query or "", default) if path == _POST_PATH else default


def _needs_length(path: str, query: str | None) -> bool:
    return path == _POST_PATH and query in _BODY_LIMITS


async def serve(config: Config) -> None:
    """Run one controller until SIGTERM or SIGINT."""
    with DataFolder(Path(config.data)) as folder:
        recovered = recover(folder.store_path)
        store = SealedStore(SqliteStore(folder.store_path), folder.key_path)
        profile = config.profile(*stored_profile(store))
        used = {"hw": profile.hw, "sw": profile.sw, "configured_sw": config.sw}
        await store.commit(Changes(kept={f"profile.{name}": text for name, text in used.items()}))
        reach = reach_of(config)
        if reach.must_sign_in:
            await introduce_administrator(store)
        clock = VirtualClock() if config.virtual_time else SystemClock()
        built = await build(
            profile,
            store,
            clock,
            config.zone(),
            lenient=config.lenient,
            wiring=config.board,
            serial_port=config.serial_port,
            sending=Sending(config.capture, config.allow_local_targets, config.ca_file),
            reach=reach,
        )
        if recovered:
            log.error("%s", recovered)
            built.controller.troubles["recovery"] = recovered
        server = HttpServer(built.web.handle, http_limits())
        built.controller.figures.append(lambda: server_families(server))
        beside: list[Service] = [keep_snapshots(built.controller, folder.store_path)]
        try:
            certificate = certificate_of(config, folder.path, built.name)
            # Before anybody is told that it runs: who then stops it gets an orderly stop.
            stop = _listen_to_signals(certificate)
            await _listen(server, config, certificate, reach)
            if journal_log.is_wanted():
                beside.append(JournalLog(built.controller))
            beside += await connect_modbus(built.controller, config)
            beside.append(await connect_snmp(built, config))
            beside.append(
                BootloaderServer(
                    built.controller, config.host, config.tftp_port, config.public_key()
                )
            )
            beside += await announce(
                built.controller,
                Announcing(config.discovery, config.udp_bootloader, config.mdns),
                name=built.name,
                mac=built.mac,
                host=config.host,
                port=server.port,
            )
            scheme = "https" if certificate else "http"
            print(
                f"{built.name} ({profile}, {built.controller.board.kind} board) answers at "
                f"{scheme}://{config.host}:{server.port}/ - stop with Ctrl+C",
                flush=True,
            )
            if certificate:
                print(f"Fingerprint of its certificate: {certificate.fingerprint()}", flush=True)
            supervisor = Supervisor()
            supervisor.ready()
            await _told_to_stop(stop, built.controller, supervisor)
            supervisor.stopping()
        finally:
            for service in reversed(beside):
                await service.close()
            await server.stop()
            await built.stop()


async def _listen(
    server: HttpServer, config: Config, certificate: Certificate | None, reach: Reach
) -> None:
    try:
        await listen(server, config, certificate, reach)
    except OSError as error:
        raise CannotListen(_why_not(error, config)) from error


def _why_not(error: OSError, config: Config) -> str:
    address = f"{config.host}:{config.port}"
    if error.errno == errno.EADDRINUSE:
        return f"Port {config.port} is taken by another program; choose another with --port."
    if error.errno == errno.EACCES:
        return f"{address} may not be used by this account; choose a port above 1023 with --port."
    return f"{address} cannot be used: {error.strerror or error}."


def _listen_to_signals(certificate: Certificate | None) -> asyncio.Event:
    """SIGTERM and SIGINT set what is returned; SIGHUP takes up a new certificate."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, take_up_certificate, certificate)
    return stop


async def _told_to_stop(
    stop: asyncio.Event, controller: Controller, supervisor: Supervisor
) -> None:
    """Wait, and look after the machine's clock and the supervisor meanwhile."""
    interval_s = min(LOOK_AT_CLOCK_S, supervisor.interval_s or LOOK_AT_CLOCK_S)
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), interval_s)
        supervisor.alive()
        if isinstance(controller.clock, SystemClock) and controller.clock.was_stepped():
            controller.clock_changed()
