"""Twins on loopback ports, and recorders in front of them, in the loop of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from leverframe.core.profile import Profile
from leverframe.host.ports import http_limits
from leverframe.host.recordings import RecordingFile, read_recording
from leverframe.interface.exchange import Exchange
from leverframe.interface.exchange_comparison import ComparisonRules
from leverframe.server.http.messages import Handler
from leverframe.server.http.server import HttpServer
from leverframe.testing.in_process import NEWEST, LoopTwin
from leverframe.testing.recordings.proxy import Proxy
from leverframe.testing.recordings.replay import ReplayedExchange, Replayer
from leverframe.testing.recordings.unit_client import ANSWER_S, unit_client

HOST = "127.0.0.1"


@dataclass(frozen=True)
class ServedTwin:
    twin: LoopTwin
    url: str


@asynccontextmanager
async def serve(handler: Handler) -> AsyncIterator[str]:
    """Give the address of a handler."""
    server = HttpServer(handler, http_limits())
    await server.start(HOST, 0)
    try:
        yield f"http://{HOST}:{server.port}"
    finally:
        await server.stop(grace_s=0.0)


@asynccontextmanager
async def twin_at_port(profile: Profile = NEWEST) -> AsyncIterator[ServedTwin]:
    twin = await LoopTwin.start(profile)
    try:
        async with serve(twin.web.handle) as url:
            yield ServedTwin(twin, url)
    finally:
        await twin.controller.stop()


@asynccontextmanager
async def recorder(unit: str, path: Path, answer_s: float = ANSWER_S) -> AsyncIterator[str]:
    """Give the address at which a unit is recorded to a file."""
    async with unit_client(unit, None, answer_s) as client:
        file = RecordingFile(path, client.origin)
        proxy = Proxy(client, file.add)
        await proxy.start(0)
        try:
            yield proxy.url.rstrip("/")
        finally:
            await proxy.stop()
            file.close()


def read_exchanges(path: Path) -> list[Exchange]:
    return list(read_recording(path))


async def replay_against(
    path: Path, unit: str, rules: ComparisonRules | None = None
) -> list[ReplayedExchange]:
    async with unit_client(unit, None) as client:
        return [one async for one in Replayer(client, rules).replay(read_exchanges(path))]


def list_differences(outcomes: list[ReplayedExchange]) -> list[str]:
    """Every difference that counts, in a line."""
    return [
        f"{one.exchange.request}: {x.key}: {x.recorded} -> {x.now}"
        for one in outcomes
        for x in one.differences
        if not x.varies
    ]
