"""The Modbus ports of a controller that has no others."""

from leverframe.core.runtime.outgoing import Targets
from leverframe.host.configuration import Config
from leverframe.host.controller import Controller
from leverframe.host.ports import connect_bus, connect_modbus_server
from leverframe.host.services import Service
from leverframe.server.fair_shares import DescriptorBudget


async def connect_modbus(controller: Controller, serial_modbus: str | None = None) -> list[Service]:
    """Connect the Modbus TCP server, and the master of modules."""
    server = await connect_modbus_server(controller, Config(modbus_port=0), DescriptorBudget())
    return [server, *connect_bus(controller, serial_modbus, Targets())]
