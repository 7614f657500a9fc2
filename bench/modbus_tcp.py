"""Modbus TCP: requests per second, as a ratio to pymodbus' own minimal server.

Both servers run on one core, the load on the other; every connection has one request on its way.
Rounds alternate between the servers, and the ratio is taken within each round, because the
machine's speed drifts. Ours is the whole controller, with the same commands behind a write as by
HTTP; the other keeps a list of registers, on the same event loop. Needs `taskset`.

    python bench/modbus_tcp.py [--seconds 2] [--rounds 5]
"""

import argparse
import asyncio
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVER_CORE, LOAD_CORE = 1, 0
HOST = "127.0.0.1"
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
    """Sends a request, and again as soon as it is answered."""

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


def free_port() -> int:
    with socket.create_server((HOST, 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


@contextmanager
def started(arguments: list[str], port: int) -> Iterator[int]:
    """A server on its core, once it listens."""
    program = subprocess.Popen(
        ["taskset", "-c", str(SERVER_CORE), sys.executable, *arguments],
        stdout=subprocess.DEVNULL,
        # The library tells at length of every client that leaves.
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(port)
        yield port
    finally:
        program.terminate()
        program.wait(10)


def wait_for(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection((HOST, port)).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise SystemExit(f"nothing listens on port {port}")


@contextmanager
def controller() -> Iterator[int]:
    with tempfile.TemporaryDirectory() as folder:
        http, modbus = free_port(), free_port()
        config = Path(folder, "config.toml")
        config.write_text(f'modbus_port = {modbus}\nport = {http}\ndata = "{folder}/data"\n')
        with started(["-m", "leverframe", "run", "--config", str(config)], http):
            urllib.request.urlopen(f"http://{HOST}:{http}/stm.cgi?modbuson=1").read()
            wait_for(modbus)
            yield modbus


def measure(seconds: float, rounds: int) -> Iterator[tuple[str, float, float]]:
    """Name, requests per second, and the ratio to the library's server."""
    with controller() as ours, started(["-c", _MINIMAL_SERVER, str(port := free_port())], port):
        for name, pdu, connections in CASES:
            own, ratios = [], []
            for _ in range(rounds):
                own.append(asyncio.run(per_second(ours, pdu, connections, seconds)))
                ratios.append(own[-1] / asyncio.run(per_second(port, pdu, connections, seconds)))
            yield name, statistics.median(own), statistics.median(ratios)


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--seconds", type=float, default=2.0)
    options.add_argument("--rounds", type=int, default=5)
    chosen = options.parse_args()
    os.sched_setaffinity(0, {LOAD_CORE})
    print("| case | per second | of pymodbus' server | goal |")
    print("|---|---|---|---|")
    for name, rate, ratio in measure(chosen.seconds, chosen.rounds):
        print(f"| {name} | {rate:,.0f} | {ratio:.2f} | >= 1.0 |", flush=True)


if __name__ == "__main__":
    main()
