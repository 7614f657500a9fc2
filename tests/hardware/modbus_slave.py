"""A Modbus RTU slave of somebody else's making: pymodbus' server, as a program of its own.

    python tests/hardware/modbus_slave.py PORT < devices.json

Each device is an ID and four lists of runs, `[address, [value, ...]]`: coils, discrete inputs,
holding registers, input registers. What is not listed is refused; other IDs are silence.
"""

import asyncio
import json
import sys
from typing import Any

from pymodbus.server import ModbusSerialServer
from pymodbus.simulator import DataType, SimData, SimDevice

#: Every list needs something; nobody asks for this.
UNUSED_ADDRESS = 65000


def _device(description: dict[str, Any]) -> SimDevice:
    coils, inputs, holding, registers = description["runs"]
    return SimDevice(
        id=description["id"],
        simdata=(_bits(coils), _bits(inputs), _registers(holding), _registers(registers)),
    )


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
    server = ModbusSerialServer(devices, port=port, ignore_missing_devices=True)
    await server.serve_forever(background=True)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], [_device(one) for one in json.load(sys.stdin)]))
