"""Modbus TCP: requests per second, as a ratio to pymodbus' own minimal server.

Both servers run on one core, the load on the other; every connection has one request in progress.
Rounds alternate between the servers, and the ratio is calculated within each round, because the
machine's speed drifts. Our server is the whole controller: a write carries out the same commands as
a request by HTTP. The other server only has a list of registers, on the same kind of event loop.
"""

import asyncio
import os
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.figure import Figure, Reference, need, progress
from bench.serving import HOST, LOAD_CORE, controller, fetch, free_port, pin, wait_for

CASES = (
    ("read 18 coils, 1 connection", struct.pack(">BHH", 1, 0, 18), 1),
    ("read 18 coils, 16 connections", struct.pack(">BHH", 1, 0, 18), 16),
    ("read 50 floats, 16 connections", struct.pack(">BHH", 4, 0, 100), 16),
    ("write a coil, 16 connections", struct.pack(">BHH", 5, 0, 0xFF00), 16),
)
_MINIMAL_SERVER = f"""
import sys, uvloop
from pymodbus.server import StartAsyncTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice
bits = [SimData(0, values=[False] * 32, datatype=DataType.BITS)]
registers = [SimData(0, values=[0] * 200, datatype=DataType.REGISTERS)]
device = SimDevice(id=1, simdata=(bits, bits, registers, registers))
uvloop.run(StartAsyncTcpServer(device, address=("{HOST}", int(sys.argv[1]))))
"""


class Load(asyncio.Protocol):
    """Sends a request, and the next one as soon as it is answered."""

    def __init__(self, pdu: bytes) -> None:
        self.frame = struct.pack(">HHHB", 1, 0, len(pdu) + 1, 1) + pdu
        self.count = 0
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        self.ask()

    def ask(self) -> None:
        assert self.transport is not None
        self.transport.write(self.frame)

    def data_received(self, data: bytes) -> None:
        if data[7] & 0x80:
            raise SystemExit(f"the server refuses {self.frame.hex()}: {data.hex()}")
        self.count += 1
        self.ask()


async def per_second(port: int, pdu: bytes, connections: int, seconds: float) -> float:
    loop = asyncio.get_running_loop()
    loads = [Load(pdu) for _ in range(connections)]
    for load in loads:
        await loop.create_connection(lambda load=load: load, HOST, port)
    began, before = time.perf_counter(), sum(load.count for load in loads)
    await asyncio.sleep(seconds)
    rate = (sum(load.count for load in loads) - before) / (time.perf_counter() - began)
    for load in loads:
        assert load.transport is not None
        load.transport.abort()
    return rate


@contextmanager
def modbus_controller() -> Iterator[int]:
    """Run a controller; yield its Modbus port."""
    with tempfile.TemporaryDirectory() as folder:
        port, config = free_port(), Path(folder, "config.toml")
        config.write_text(f"modbus_port = {port}\n")
        with controller(Path(folder, "data"), "--config", str(config)) as served:
            fetch(served.address, "/stm.cgi?modbuson=1")
            wait_for(port)
            yield port


@contextmanager
def minimal_server() -> Iterator[int]:
    port = free_port()
    with pin([sys.executable, "-c", _MINIMAL_SERVER, str(port)]):
        wait_for(port)
        yield port


def measure(quick: bool) -> list[Figure]:
    need("taskset")
    seconds, rounds = (0.5, 1) if quick else (2.0, 5)
    figures = []
    os.sched_setaffinity(0, {LOAD_CORE})
    with modbus_controller() as ours, minimal_server() as library:
        for what, pdu, connections in CASES:
            own: list[float] = []
            others: list[float] = []
            for _ in range(rounds):
                for port, rates in ((ours, own), (library, others)):
                    rates.append(asyncio.run(per_second(port, pdu, connections, seconds)))
                progress()
            figures.append(figure(what, own, others))
    return figures


def figure(what: str, own: list[float], others: list[float]) -> Figure:
    ratio = statistics.median(mine / its for mine, its in zip(own, others, strict=True))
    return Figure(
        what,
        statistics.median(own),
        "/s",
        reference=Reference("pymodbus' server", statistics.median(others), "/s", ratio),
        goal=">= 1",
        met=ratio >= 1,
        rounds={"/s": own, "pymodbus /s": others},
    )
