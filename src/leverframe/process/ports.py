"""What a controller offers besides HTTP: SNMP, Modbus TCP, taking firmware; and the bus."""

import asyncio
from functools import partial

from leverframe.config import Config, NodeConfig
from leverframe.controller import Controller
from leverframe.engine.effects import WriteModbus
from leverframe.engine.facts import Fact
from leverframe.engine.journal import Cause
from leverframe.hardware.modbus_master import ModbusMaster
from leverframe.hardware.modbus_writer import ModbusWriter
from leverframe.hardware.serial_line import SerialLine
from leverframe.hardware.tcp_line import TcpLine
from leverframe.hardware.write_reports import SimulatedWriter, WriteReports
from leverframe.loop_shares import LoopTurns
from leverframe.outgoing.targets import Targets
from leverframe.process.build import BuiltController
from leverframe.process.services import Service
from leverframe.servers.bootloader import BootloaderServer, ImageInstaller, TransferPlaces
from leverframe.servers.descriptors import DescriptorBudget
from leverframe.servers.modbus.listening_place import ListeningPlace, OwnPlace
from leverframe.servers.modbus.tcp import ModbusTcpServer
from leverframe.servers.routes.metrics import modbus_families
from leverframe.servers.snmp.agent import SnmpAgent
from leverframe.servers.snmp.datagram_place import DatagramPlace, OwnDatagramPlace
from leverframe.uploads.bad_upload import BadUpload


async def connect_snmp(
    built: BuiltController, config: NodeConfig, place: DatagramPlace | None = None
) -> SnmpAgent:
    """Connect the SNMP agent, which listens once it is switched on."""
    controller = built.controller
    place = place or OwnDatagramPlace(config.host, config.snmp_port)
    agent = SnmpAgent(
        controller,
        place,
        name=built.name,
        identity=built.snmp_identity,
        engines=built.node.snmp_engines,
        turns=built.turns,
    )
    controller.settings_watchers.append(agent.adopt)
    controller.settings_checks["snmp.enabled"] = agent.check
    controller.ports["snmp"] = lambda: agent.port
    await agent.follow(controller.engine.settings)
    return agent


def connect_bootloader(
    controller: Controller,
    host: str | None,
    port: int,
    public_key: bytes | None,
    places: TransferPlaces | None = None,
) -> BootloaderServer:
    """Connect what takes firmware while the bootloader waits; without a key it refuses every image.

    A controller of a node that has no address of its own has no `host` to send images to, and the
    `places` are those of all controllers there.
    """
    installer = None
    if public_key is not None:
        installer = _image_installer(controller, public_key, places or TransferPlaces())
    bootloader = BootloaderServer(controller, host, port, installer)
    controller.ports["tftp"] = lambda: bootloader.port
    return bootloader


def _image_installer(
    controller: Controller, public_key: bytes, places: TransferPlaces
) -> ImageInstaller:
    # Imported here, at the start: only a controller with a key needs what unpacks images.
    from leverframe.controller.version_change import install
    from leverframe.uploads.firmware import MAX_BYTES, check_image

    async def install_image(image: bytes, cause: Cause) -> None:
        firmware = await asyncio.to_thread(check_image, image, public_key, controller.profile.hw)
        if not controller.has_power:
            raise BadUpload("The controller has lost its power; send the image again.")
        # The end of the server does not take back what is on its way to the disk.
        await install(controller, firmware.sw, firmware.site, cause)

    return ImageInstaller(MAX_BYTES, install_image, places)


async def connect_modbus(
    controller: Controller, config: Config, descriptors: DescriptorBudget
) -> list[Service]:
    """Connect the Modbus TCP server, and the master of modules."""
    place = OwnPlace(config.host, config.modbus_port)
    server = await connect_modbus_server(controller, config, descriptors, place)
    targets = Targets(config.allow_local_targets)
    return [server, *connect_bus(controller, config.serial_modbus, targets)]


async def connect_modbus_server(
    controller: Controller,
    config: NodeConfig,
    descriptors: DescriptorBudget,
    place: ListeningPlace,
    turns: LoopTurns | None = None,
) -> ModbusTcpServer:
    """Connect the Modbus TCP server, which listens once switched on."""
    server = ModbusTcpServer(controller, place, config.writing_networks(), descriptors, turns)
    controller.settings_watchers.append(server.adopt)
    controller.settings_checks["modbus_tcp.enabled"] = server.check
    controller.ports["modbus"] = lambda: server.port
    await server.follow(controller.engine.settings)
    return server


def connect_bus(controller: Controller, serial_port: str | None, targets: Targets) -> list[Service]:
    """Connect the master of modules, on a serial port and by TCP."""
    master = ModbusMaster(
        None if serial_port is None else SerialLine(serial_port),
        controller.engine.settings,
        controller.sense,
        controller.troubles,
        lambda: controller.clock.read().wall,
        partial(TcpLine, targets.channel("modbus")),
    )
    controller.settings_watchers.append(master.adopt)
    controller.power_watchers.append(master.set_power)
    controller.reports["modbus"] = master.report
    controller.reports["modbus_statistics"] = master.statistics
    controller.figures.append(lambda: modbus_families(master.statistics()))
    return [master, *connect_writing(controller, master)]


def connect_writing(controller: Controller, master: ModbusMaster) -> list[Service]:
    """Connect what writes to modules: those that are asked, else the simulated board."""

    def wall() -> float:
        return controller.clock.read().wall

    def add_entry(reason: str, fact: Fact) -> None:
        controller.engine.machine.journal.add(wall(), Cause("modbus", reason), fact)

    def changed() -> None:
        controller.engine.machine.version += 1
        controller.carry_out([])

    reports = WriteReports(wall, changed)
    controller.reports["modbus_writes"] = reports.report
    writer = ModbusWriter(master.request, controller.troubles, add_entry, reports)
    controller.settings_watchers.append(writer.adopt)
    bench = controller.board.bench
    simulated = None if bench is None else SimulatedWriter(bench, reports)

    def write(effect: WriteModbus) -> "asyncio.Future[None] | None":
        if simulated is None or master.has_bus_of(effect.slot):
            return writer.write(effect)
        simulated.write(effect)
        return None

    controller.take_writes(write)
    return [writer]
