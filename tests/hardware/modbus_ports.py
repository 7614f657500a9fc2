"""The Modbus ports of a controller that has no others."""

from leverframe.config import Config
from leverframe.controller import Controller
from leverframe.outgoing.targets import Targets
from leverframe.process.ports import connect_bus, connect_modbus_server
from leverframe.process.services import Service
from leverframe.servers.descriptors import DescriptorBudget


async def connect_modbus(controller: Controller, serial_modbus: str | None = None) -> list[Service]:
    """Connect the Modbus TCP server, and the master of modules."""
    server = await connect_modbus_server(controller, Config(modbus_port=0), DescriptorBudget())
    return [server, *connect_bus(controller, serial_modbus, Targets())]
