"""A way to the database that can be cut: what a node sends arrives when it is restored."""

import asyncio

from tests.ports import free_port
from tests.postgres_server import PostgresServer

_CHUNK_BYTES = 1 << 16


class DatabaseProxy:
    """Listens on loopback and forwards to the socket of a server."""

    def __init__(self, server: PostgresServer) -> None:
        self.port = free_port()
        #: The server of new connections.
        self.server = server
        #: Of the connections from now on; those that were broken off have one of their own.
        self._whole = asyncio.Event()
        self._whole.set()
        self._late: list[asyncio.Event] = []
        #: Bytes that are held at present.
        self.held = 0
        #: Are new connections ended immediately?
        self.is_refusing = False
        self._clients: set[asyncio.StreamWriter] = set()
        self._broken_off: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    def address(self, database: str) -> str:
        """Return an address of the server that leads through this proxy."""
        words = [word for word in database.split() if not word.startswith("host=")]
        return " ".join([f"host=127.0.0.1 port={self.port}", *words])

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)

    def cut(self) -> None:
        """Let nothing through; both ends believe that the other one is only slow."""
        self._whole.clear()

    def restore(self) -> None:
        """Deliver what was held, also of connections that have ended since."""
        for whole in (self._whole, *self._late):
            whole.set()

    def break_off(self) -> None:
        """End connections on the side of the node; what they have sent stays on its way."""
        self._late.append(self._whole)
        self._whole = asyncio.Event()
        self._whole.set()
        self._broken_off |= self._clients
        for writer in self._broken_off:
            writer.transport.abort()

    @property
    def is_late(self) -> bool:
        """Is something still on its way, or being done, of what was broken off?"""
        return not self._broken_off.isdisjoint(self._clients)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        whole = self._whole
        self._clients.add(writer)
        try:
            if self.is_refusing:
                return
            await whole.wait()
            socket = str(self.server.socket / ".s.PGSQL.5432")
            of_database, to_database = await asyncio.open_unix_connection(socket)
            try:
                await asyncio.gather(
                    self._pump(reader, to_database, whole), self._pump(of_database, writer, whole)
                )
            finally:
                to_database.close()
        except OSError:
            # The database is away, or one of the two has gone: so has the other one.
            pass
        finally:
            self._clients.discard(writer)
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, whole: asyncio.Event
    ) -> None:
        try:
            while data := await _read(reader):
                self.held += len(data)
                await whole.wait()
                self.held -= len(data)
                writer.write(data)
                await writer.drain()
            await whole.wait()
        except OSError:
            pass
        finally:
            writer.close()

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(_CHUNK_BYTES)
    except OSError:
        return b""
