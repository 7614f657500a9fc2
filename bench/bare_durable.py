"""The baseline of durable changes: parser, SQLite and one thread that commits.

Every request is one row, answered once it is on disk; requests that arrive while the thread is busy
share the next transaction. No command is parsed, no setting is checked, no audit trail is kept:
this measures the cost of the disk, of two threads on one core and of the machine itself. It is not
a usable server.

    python bench/bare_durable.py FILE
"""

import asyncio
import sqlite3
import sys
import threading
from functools import partial

import uvloop

from bench.bare_responder import DEFAULT_BODY, BareResponder, reply_bytes

REPLY = reply_bytes(DEFAULT_BODY)
Waiting = tuple[bytes, asyncio.Transport]


class Committer:
    """Writes targets to the database in batches, and answers each batch after its commit."""

    def __init__(self, path: str, loop: asyncio.AbstractEventLoop) -> None:
        self._path = path
        self._loop = loop
        self._waiting: list[Waiting] = []
        self._wanted = threading.Condition()
        threading.Thread(target=self._run, daemon=True).start()

    def add(self, target: bytes, transport: asyncio.Transport) -> None:
        with self._wanted:
            self._waiting.append((target, transport))
            self._wanted.notify()

    def _run(self) -> None:
        store = sqlite3.connect(self._path, isolation_level=None)
        store.execute("PRAGMA journal_mode = WAL")
        store.execute("PRAGMA synchronous = FULL")
        store.execute("CREATE TABLE setting (path TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
        while True:
            with self._wanted:
                while not self._waiting:
                    self._wanted.wait()
                batch, self._waiting = self._waiting, []
            store.execute("BEGIN IMMEDIATE")
            store.executemany(
                "REPLACE INTO setting VALUES (?, ?)",
                [(target[:16], target) for target, _ in batch],
            )
            store.execute("COMMIT")
            self._loop.call_soon_threadsafe(answer, batch)


def answer(batch: list[Waiting]) -> None:
    for _, transport in batch:
        transport.write(REPLY)


class DurableResponder(BareResponder):
    def __init__(self, committer: Committer) -> None:
        super().__init__({}, REPLY)
        self.committer = committer

    def on_message_complete(self) -> None:
        self.committer.add(self.target, self.transport)


async def serve(path: str) -> None:
    loop = asyncio.get_running_loop()
    responder = partial(DurableResponder, Committer(path, loop))
    server = await loop.create_server(responder, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(sys.argv[1]))
