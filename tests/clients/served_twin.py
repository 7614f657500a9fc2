"""Controllers on loopback ports for clients that wait for their answers.

Such a client blocks the test's own thread, so the controllers live in another one, which all tests
of a module share. Every test gets a controller of its own.
"""

import asyncio
import os
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import requests
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.host.assembly import NORMALLY
from leverframe.host.ports import http_limits
from leverframe.host.services import Sending
from leverframe.server.faults import HttpFaults
from leverframe.server.http.messages import Answer, AnyReply, Handler, Reply, Request
from leverframe.server.http.server import HttpServer
from leverframe.server.routes.headers import open_to
from leverframe.server.routes.router import THIS_MACHINE, Reach
from leverframe.storage.store import Store
from leverframe.testing import LoopTwin
from tests.patience import PATIENCE_S

HOST = "127.0.0.1"
POLL_S = 0.02
#: Commands of pages are carried out so much later: a test that looks at the controller before the
#: page has its answer then fails each time, instead of on a busy day.
LATE_S = float(os.environ.get("TEST_LATE_S", "0"))

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


def eventually(read: Callable[[], object], wanted: object) -> None:
    """Wait until a controller says so: a page shows what it asked for before that is done."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := read()) != wanted and time.monotonic() < deadline:
        time.sleep(POLL_S)
    assert found == wanted


def late_for_pages(handler: Handler, seconds: float) -> Handler:
    """Carry out what browsers ask to change, not what they read, so much later."""

    async def later(request: Request) -> AnyReply:
        await asyncio.sleep(seconds)
        answer = handler(request)
        return await answer if isinstance(answer, Awaitable) else answer

    def handle(request: Request) -> Answer:
        changes = request.method == "POST" or request.path.endswith(".cgi")
        is_late = changes and "sec-fetch-mode" in request.headers
        return later(request) if is_late else handler(request)

    return handle


def let_browsers_keep(handler: Handler) -> Handler:
    """Let browsers keep the files of the pages, which stay the same while tests run.

    To ask for each whether it is still right takes a quarter of the time in which a page opens.
    """

    def handle(request: Request) -> Answer:
        answer = handler(request)
        if isinstance(answer, Reply) and request.path.startswith("/web/"):
            headers = dict(answer.headers) | {"Cache-Control": "max-age=3600"}
            return replace(answer, headers=tuple(headers.items()))
        return answer

    return handle


@contextmanager
def serve_twin(
    thread: LoopThread,
    profile: Profile,
    port: int = 0,
    reach: Reach = THIS_MACHINE,
    sending: Sending = NORMALLY,
    store: Store | None = None,
) -> Iterator[ServedTwin]:
    """Start a controller, at a port of its own if the wanted one is in use."""

    async def start() -> tuple[LoopTwin, HttpServer]:
        twin = await LoopTwin.start(profile, reach=reach, sending=sending, store=store)
        handler = let_browsers_keep(open_to(reach.names.origins, twin.web.handle))
        server = HttpServer(
            late_for_pages(handler, LATE_S) if LATE_S else handler,
            http_limits(),
            admission=open_to(reach.names.origins, twin.web.admit_body),
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
        await twin.close()

    twin, server = thread.wait_for(start())
    try:
        yield ServedTwin(twin, server.port, server)
    finally:
        thread.wait_for(stop(twin, server))
