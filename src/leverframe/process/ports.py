"""What a controller offers on ports of its own besides HTTP: SNMP, Modbus; and its snapshots."""

from collections.abc import Callable
from pathlib import Path

from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.hardware.modbus_master import ModbusMaster
from leverframe.hardware.serial_line import SerialLine
from leverframe.process.beside import Service
from leverframe.process.build import BuiltController
from leverframe.servers.modbus.tcp import ModbusTcpServer
from leverframe.servers.snmp.agent import SnmpAgent
from leverframe.storage.datafolder import DataFolder
from leverframe.storage.history.desk import ThreadDesk
from leverframe.storage.history.keeper import Bounds
from leverframe.storage.snapshot_keeper import SnapshotKeeper
from leverframe.storage.snapshots import Snapshots


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


def history_desk(config: Config, folder: DataFolder) -> ThreadDesk:
    """Virtual time begins anew with every start, and so does what was recorded on it."""
    bounds = Bounds(raw_days=config.history_days, most_bytes=config.history_max_mb * 1024 * 1024)
    path = None if config.virtual_time else folder.history_path
    return ThreadDesk(path, bounds, may_wait=config.virtual_time)


def keep_snapshots(controller: Controller, store_path: Path, settle: Callable[[], None]) -> Service:
    keeper = SnapshotKeeper(Snapshots(store_path, settle), controller.troubles)
    controller.settings_watchers.append(keeper.settings_changed)
    return keeper
