"""The flood of streams, which a benchmark begins: all of them are read as long as it lasts."""

import asyncio
import gc

from bench import flood
from tests.devices.waiting import until


async def test_every_stream_stays_open_and_is_read() -> None:
    sent: dict[asyncio.StreamWriter, int] = {}

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        sent[writer] = 0
        while not writer.is_closing():
            writer.write(b"x" * 65536)
            await writer.drain()
            sent[writer] += 1
            await asyncio.sleep(0)

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    await flood.stream("127.0.0.1", server.sockets[0].getsockname()[1])
    await until(lambda: len(sent) == flood.STREAMS)
    gc.collect()
    before = dict(sent)
    # More than the buffers between them hold, so it has been read.
    await until(lambda: all(count > before[one] + 2 for one, count in sent.items()))
    assert not any(writer.is_closing() for writer in sent)
    server.close()
    for writer in sent:
        writer.close()
    # Who reads closes its end when it has read all; else it would outlive the loop.
    await asyncio.wait(flood._READING)
