"""A thread with a database connection of its own."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import psycopg

from leverframe.fleet.cluster import membership
from leverframe.storage.fleet.postgres_connection import Connection
from leverframe.storage.fleet.postgres_schema import open_database

Result = TypeVar("Result")


class DatabaseThread:
    def __init__(
        self, name: str, address: str, on_connected: Callable[[Connection], None] = lambda _: None
    ) -> None:
        """Set what to call in the thread with every new connection."""
        self._address = address
        self._on_connected = on_connected
        self._thread = ThreadPoolExecutor(1, name)
        # Only the thread touches it.
        self._connection: Connection | None = None

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    async def run(self, work: Callable[[Connection], Result]) -> Result:
        """Call a function with the connection; raise the database's error if it is unreachable."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, work)

    def _run(self, work: Callable[[Connection], Result]) -> Result:
        is_new = self._connection is None
        connection = self._connection = self._connection or open_database(self._address)
        try:
            if is_new:
                membership.name_session(connection)
                self._on_connected(connection)
            return work(connection)
        except psycopg.Error:
            # Also one whose session has no name: the nodes would not recognize it.
            connection.close()
            self._connection = None
            raise

    def close(self) -> None:
        self._thread.shutdown()
        if self._connection is not None:
            self._connection.close()
