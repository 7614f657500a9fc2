"""One address that does everything together that could keep a controller from other clients.

A program of its own: `python -m tests.soak.hostile_neighbour HTTPS MODBUS SNMP` with the ports of a
controller at this machine. It runs until it is killed, and reports nothing: what must hold is
checked elsewhere.
"""

import asyncio
import logging
import resource
import socket
import ssl
import sys
from base64 import b64encode
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from random import Random
from typing import Any

HOST, SOURCE = "127.0.0.1", "127.0.0.2"
#: It has an account of its own, that may read.
ACCOUNT = ("guest", "long guest secret")
MIB = 1024 * 1024
PATIENCE_S = 10.0
#: Connections that are opened one after the other without a pause.
BATCH = 5

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def basic(name: str, password: str) -> str:
    return "Authorization: Basic " + b64encode(f"{name}:{password}".encode()).decode()


def head(line: str, *headers: str) -> bytes:
    return "\r\n".join([f"{line} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


class HostileNeighbour:
    def __init__(self, https: int, modbus: int, snmp: int) -> None:
        self._https, self._modbus, self._snmp = https, modbus, snmp
        self._chance = Random(5)
        #: First the streams, which would find no connection later on.
        self._has_streams = asyncio.Event()
        self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._tls.check_hostname, self._tls.verify_mode = False, ssl.CERT_NONE

    async def run(self) -> None:
        attacks: tuple[Callable[[], Coroutine[Any, Any, None]], ...] = (
            *(self._hold_plain, self._hold_handshakes, self._hold_modbus, self._hold_streams),
            *(self._upload, self._upload, self._upload, self._upload_as_guest),
            *(self._guess, self._guess, self._send_rubbish, self._send_datagrams),
        )
        async with asyncio.TaskGroup() as group:
            for attack in attacks:
                group.create_task(self._again_and_again(attack))

    async def _again_and_again(self, attack: Callable[[], Coroutine[Any, Any, None]]) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
                await attack()
            await asyncio.sleep(0.05)

    @asynccontextmanager
    async def _connect(self, port: int, *, tls: bool = False) -> AsyncIterator[Streams]:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(
                HOST, port, local_addr=(SOURCE, 0), ssl=self._tls if tls else None
            )
        try:
            yield reader, writer
        finally:
            writer.transport.abort()

    async def _hold(self, port: int, count: int, lines: tuple[bytes, ...]) -> None:
        """Open connections, more than are taken, and keep those that are."""
        held: list[socket.socket] = []
        try:
            for number in range(count):
                client = socket.socket()
                held.append(client)
                client.setblocking(False)
                client.bind((SOURCE, 0))
                with suppress(BlockingIOError):
                    client.connect((HOST, port))
                if number % BATCH == 0:
                    await asyncio.sleep(0.005)
                with suppress(OSError):
                    client.send(lines[number % len(lines)])
            await asyncio.sleep(3.0)
        finally:
            for client in held:
                client.close()

    # --- descriptors --------------------------------------------------------------------------

    async def _hold_plain(self) -> None:
        await self._has_streams.wait()
        await self._hold(self._https, 1800, (b"", b"GET / HT", head("GET /")))

    async def _hold_handshakes(self) -> None:
        await self._has_streams.wait()
        await self._hold(self._https, 1200, (b"\x16\x03\x01\x02", b"\x16"))

    async def _hold_modbus(self) -> None:
        await self._hold(self._modbus, 60, (b"", b"\0\1\0\0\0\6", b"GET / HTTP/1.1\r\n\r\n"))

    # --- bodies, passwords, streams -----------------------------------------------------------

    async def _upload(self, *headers: str) -> None:
        async with self._connect(self._https, tls=True) as (_, writer):
            size = f"Content-Length: {15 * MIB}"
            writer.write(head("POST /post.cgi?wwwfileupload", size, *headers))
            async with asyncio.timeout(PATIENCE_S):
                for _ in range(14):
                    writer.write(bytes(MIB))
                    await writer.drain()
                await asyncio.sleep(PATIENCE_S)

    async def _upload_as_guest(self) -> None:
        await self._upload(basic(*ACCOUNT))

    async def _guess(self) -> None:
        async with self._connect(self._https, tls=True) as (reader, writer):
            for _ in range(20):
                name = self._chance.choice(("chief", "stranger"))
                password = f"guess {self._chance.randrange(10**6)}"
                writer.write(head("GET /outs.cgi?out0=1", basic(name, password)))
                async with asyncio.timeout(PATIENCE_S):
                    await reader.readuntil(b"\r\n\r\n")
                await asyncio.sleep(0.1)

    async def _hold_streams(self) -> None:
        held: list[asyncio.StreamWriter] = []
        try:
            for _ in range(100):
                async with asyncio.timeout(PATIENCE_S):
                    _, writer = await asyncio.open_connection(
                        HOST, self._https, local_addr=(SOURCE, 0), ssl=self._tls
                    )
                held.append(writer)
                writer.write(head("GET /api/stream", basic(*ACCOUNT)))
                await asyncio.sleep(0.01)
            self._has_streams.set()
            await asyncio.sleep(5.0)
        finally:
            for writer in held:
                writer.transport.abort()

    # --- rubbish ------------------------------------------------------------------------------

    async def _send_rubbish(self) -> None:
        async with self._connect(self._https, tls=True) as (reader, writer):
            kind = self._chance.randrange(3)
            if kind == 0:
                writer.write(self._chance.randbytes(200))
            elif kind == 1:
                writer.write(head("GET /nothing") * 200)
            else:
                writer.write(b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 10_000)
            async with asyncio.timeout(1.0):
                await reader.read(65536)

    async def _send_datagrams(self) -> None:
        large = b"\x30\x82\xda\xc0\x02\x01\x01\x04\x05wrong\xa0\x82\xda\xb0" + b"\x30\0" * 27_992
        wrong = bytes.fromhex("302602010104057772 6f6e67a01a02020101020100020100300e300c06082b0601")
        discovery = bytes.fromhex(
            "303a020103300f02024a69020300ffe304010402010304103 00e0400020100020100040004000400"
            "3012040004 00a00c020237f00201000201003000".replace(" ", "")
        )
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.bind((SOURCE, 0))
            for datagram in (large, *[b"\xa2\x3d"] * 20, *[wrong] * 20, *[discovery] * 10):
                sender.sendto(datagram, (HOST, self._snmp))


def main() -> None:
    # A client that is refused all the time has much to report.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(HostileNeighbour(*map(int, sys.argv[1:4])).run())


if __name__ == "__main__":
    main()
