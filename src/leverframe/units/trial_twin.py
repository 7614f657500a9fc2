"""An in-memory twin of a unit without a port, for trying a plan."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from typing import Any

import httpx

from leverframe.clock import VirtualClock
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Settings
from leverframe.engine.tree import difference
from leverframe.process.build import build
from leverframe.profile import Profile
from leverframe.recording.replayer import UnitLogin
from leverframe.recording.unit_client import UnitClient, unit_at
from leverframe.servers.accounts.passwords import Passwords
from leverframe.servers.http.messages import Request, complete_answer
from leverframe.servers.routes.router import Web
from leverframe.storage.store import Changes, MemoryStore
from leverframe.units.client import PacedClient

#: Only the trial knows this twin, which ends with the trial.
_PASSWORD = "of a twin for a trial"
_ADDRESS = "http://twin"
_LOOPBACK = "127.0.0.1"


@asynccontextmanager
async def trial_twin(
    profile: Profile, settings: Settings, *, signs_in: bool
) -> AsyncIterator[PacedClient]:
    """Start a twin with these settings; yield its client.

    If the trial involves accounts, the administrator has a password known only to the trial.
    """
    leaves: dict[str, Any] = {
        path: value for path, _, value in difference(defaults(profile), settings)
    }
    login = None
    if signs_in:
        leaves["access.admin.password"] = await Passwords().hash(_PASSWORD)
        login = UnitLogin(settings.access.admin.name, _PASSWORD)
    store = MemoryStore()
    await store.commit(Changes(settings=leaves))
    built = await build(profile, store, VirtualClock(), UTC)
    try:
        async with httpx.AsyncClient(transport=in_process(built.web), trust_env=False) as client:
            yield PacedClient(UnitClient(unit_at(_ADDRESS), client), login, paced=False)
    finally:
        await built.stop()


def in_process(web: Web) -> httpx.MockTransport:
    """Pass the client's bytes to the HTTP request function."""

    async def answer(sent: httpx.Request) -> httpx.Response:
        path, mark, query = sent.extensions["target"].decode().partition("?")
        headers = {name: value for name, value in sent.headers.items() if name != "host"}
        request = Request(
            sent.method, path, query if mark else None, headers, sent.content, _LOOPBACK
        )
        reply: Any = await complete_answer(web.handle(request))
        return httpx.Response(
            reply.status,
            headers={"content-type": reply.content_type},
            stream=httpx.ByteStream(reply.body),
        )

    return httpx.MockTransport(answer)
