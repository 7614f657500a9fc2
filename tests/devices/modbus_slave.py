"""A third-party Modbus slave: pymodbus' server, as a program of its own.

    python tests/devices/modbus_slave.py PORT < devices.json

speaks Modbus RTU on a serial port, or Modbus TCP on this machine where PORT is a number.

Each device is an ID and four lists of runs, `[address, [value, ...]]`: coils, discrete inputs,
holding registers, input registers. What is not listed is refused; other IDs are silence. A device
may think for a while before it answers (`thinks_s`), and answer with an exception (`refuses`).
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from pymodbus.constants import ExcCodes
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

#: Every list needs an entry; no test reads this one.
UNUSED_ADDRESS = 65000


def _device(description: dict[str, Any]) -> SimDevice:
    coils, inputs, holding, registers = description["runs"]
    return SimDevice(
        id=description["id"],
        simdata=(_bits(coils), _bits(inputs), _registers(holding), _registers(registers)),
        action=_behaviour(description.get("thinks_s", 0.0), description.get("refuses")),
    )


def _behaviour(thinks_s: float, refuses: int | None) -> Callable[..., Awaitable[ExcCodes | None]]:
    async def behave(*_: Any) -> ExcCodes | None:
        await asyncio.sleep(thinks_s)
        return ExcCodes(refuses) if refuses else None

    return behave


def _bits(runs: list[Any]) -> list[SimData]:
    given = [
        SimData(address, values=[bool(value) for value in values], datatype=DataType.BITS)
        for address, values in runs
    ]
    return [*given, SimData(UNUSED_ADDRESS, values=[False], datatype=DataType.BITS)]


def _registers(runs: list[Any]) -> list[SimData]:
    given = [
        SimData(address, values=values, datatype=DataType.REGISTERS) for address, values in runs
    ]
    return [*given, SimData(UNUSED_ADDRESS, values=[0], datatype=DataType.REGISTERS)]


async def serve(port: str, devices: list[SimDevice]) -> None:
    server: ModbusSerialServer | ModbusTcpServer
    if port.isdigit():
        server = ModbusTcpServer(
            devices, address=("127.0.0.1", int(port)), ignore_missing_devices=True
        )
    else:
        server = ModbusSerialServer(devices, port=port, ignore_missing_devices=True)
    await server.serve_forever(background=True)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], [_device(one) for one in json.load(sys.stdin)]))
