"""Flood one controller or node until the program is ended.

    python -m bench.flood modbus|snmp|stream HOST PORT
    python -m bench.flood requests HOST PORT FILE CONNECTIONS

The file contains the bytes of one HTTP request, which every connection sends.

Each connection sends its next request as soon as it gets an answer, like a client without any
pause. A datagram without an answer is repeated after a moment.
"""

import asyncio
import struct
import sys
from pathlib import Path

from bench.modbus_tcp import Load

#: The maximum for one address.
MODBUS_CONNECTIONS = 10
MANAGERS = 16
STREAMS = 64
#: Local addresses that send requests in turn, because limits apply to each address.
SOURCES = tuple(f"127.0.0.{number}" for number in range(1, 5))
ASKED_AGAIN_S = 0.1
#: The community in the datagram below.
COMMUNITY = "flood"
WRITE_COIL = struct.pack(">BHH", 5, 0, 0xFF00)
#: GetBulk of the 20 values after OUT0 (1.3.6.1.4.1.7616.1.1.0), by v2c.
SNMP_QUESTION = bytes.fromhex(
    "30290201010405666c6f6f64a51d0203782e320201000201143010300e060a2b06010401bb400101000500"
)
#: References to the stream readers, which would otherwise be garbage-collected and stop reading.
_READING: set[asyncio.Future[None]] = set()


class Manager(asyncio.DatagramProtocol):
    """Sends an SNMP request, and the next one as soon as it is answered."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.DatagramTransport = transport  # type: ignore[assignment]
        self._ask()

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._again.cancel()
        self._ask()

    def _ask(self) -> None:
        self._transport.sendto(SNMP_QUESTION)
        self._again = asyncio.get_running_loop().call_later(ASKED_AGAIN_S, self._ask)


async def modbus(host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(MODBUS_CONNECTIONS):
        await loop.create_connection(lambda: Load(WRITE_COIL), host, port)


async def snmp(host: str, port: int) -> None:
    loop = asyncio.get_running_loop()
    for _ in range(MANAGERS):
        await loop.create_datagram_endpoint(Manager, remote_addr=(host, port))


async def stream(host: str, port: int) -> None:
    for _ in range(STREAMS):
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(b"GET /api/stream HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
        _READING.add(asyncio.ensure_future(_read_all(reader, writer)))


async def _read_all(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    # Keep the writer, too: without a reference to it the connection may be closed.
    while await reader.read(65536):
        pass
    writer.close()


async def requests(host: str, port: int, file: str = "", connections: str = "1") -> None:
    request = await asyncio.to_thread(Path(file).read_bytes)
    for number in range(int(connections)):
        source = SOURCES[number % len(SOURCES)]
        _READING.add(asyncio.ensure_future(_ask_again_and_again(host, port, request, source)))


async def _ask_again_and_again(host: str, port: int, request: bytes, source: str) -> None:
    """Send a request without a pause; reconnect if the connection is closed."""
    while True:
        local = (source, 0)
        reader, writer = await asyncio.open_connection(host, port, limit=1 << 24, local_addr=local)
        try:
            while True:
                writer.write(request)
                await writer.drain()
                await _read_answer(reader)
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(ASKED_AGAIN_S)
        finally:
            writer.close()


async def _read_answer(reader: asyncio.StreamReader) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    _, _, behind = head.partition(b"content-length:")
    await reader.readexactly(int(behind.split(b"\r\n")[0]))


async def flood(kind: str, host: str, port: int, *others: str) -> None:
    if kind == "requests":
        await requests(host, port, *others)
    else:
        await {"modbus": modbus, "snmp": snmp, "stream": stream}[kind](host, port)
    print("flooding", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(flood(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
