"""Controllers on loopback ports for clients that wait for their answers.

Such a client blocks the test's own thread, so the controllers live in another one, which all tests
of a module share. Every test gets a controller of its own.
"""

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import requests

from leverframe.process.serve import http_limits
from leverframe.profile import Profile
from leverframe.servers.http.server import HttpServer
from leverframe.servers.http_faults import HttpFaults
from leverframe.servers.routes.other_origins import opened_to
from leverframe.servers.routes.router import THIS_MACHINE, Reach
from leverframe.testing import LoopTwin

HOST = "127.0.0.1"
PATIENCE_S = 30.0

Result = TypeVar("Result")


class LoopThread:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()

    def wait_for(self, work: Coroutine[Any, Any, Result]) -> Result:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(PATIENCE_S)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE_S)
        self._loop.close()


@dataclass(frozen=True)
class ServedTwin:
    twin: LoopTwin
    port: int
    server: HttpServer

    def get(self, target: str) -> requests.Response:
        """A request beside the client's own; it must succeed."""
        response = requests.get(f"http://{HOST}:{self.port}{target}", timeout=PATIENCE_S)
        response.raise_for_status()
        return response

    def set_readings(self, **readings: float | None) -> None:
        """Let the simulated board sense something; None unplugs."""
        items = [f"{name}={'none' if value is None else value}" for name, value in readings.items()]
        self.get("/sim.cgi?" + "&".join(items))

    def state(self) -> dict[str, Any]:
        state: dict[str, Any] = self.get("/api/state").json()
        return state

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.get("/api/settings").json()
        return settings


@contextmanager
def served(
    thread: LoopThread, profile: Profile, port: int = 0, reach: Reach = THIS_MACHINE
) -> Iterator[ServedTwin]:
    """Start a controller, at a port of its own if the wanted one was taken meanwhile."""

    async def start() -> tuple[LoopTwin, HttpServer]:
        twin = await LoopTwin.start(profile, reach=reach)
        server = HttpServer(
            opened_to(reach.names.origins, twin.web.handle),
            http_limits(),
            admission=opened_to(reach.names.origins, twin.web.admit_body),
        )
        assert twin.controller.faults is not None
        HttpFaults(twin.controller.faults, server, twin.controller.request_journal)
        try:
            await server.start(HOST, port)
        except OSError:
            await server.start(HOST, 0)
        return twin, server

    async def stop(twin: LoopTwin, server: HttpServer) -> None:
        await server.stop(grace_s=0.0)
        await twin.controller.stop()

    twin, server = thread.wait_for(start())
    try:
        yield ServedTwin(twin, server.port, server)
    finally:
        thread.wait_for(stop(twin, server))
