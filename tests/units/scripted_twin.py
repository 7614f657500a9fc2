"""A twin that is asked in this process, and whose answers fail where a test says so."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import httpx

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import defaults, difference
from leverframe.storage.store import Changes, MemoryStore
from leverframe.testing import LoopTwin
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitClient, unit_at
from leverframe.units.client import PacedClient
from leverframe.units.proof import in_process
from tests.units.plain_front import is_hidden

#: What happens to the request of this number among the commands, counted from 1.
Fate = Callable[[int, str], str | None]


class Killed(BaseException):
    """Stands for the end of the process in the middle of the work."""


class ScriptedTwin:
    def __init__(self, twin: LoopTwin, *, is_real: bool) -> None:
        self.twin = twin
        self._is_real = is_real
        #: Targets of the commands that the unit carried out.
        self.carried_out: list[str] = []
        #: "lost": carried out, not answered; "dropped": neither; "killed before" and "killed after"
        #: end the work there; "swallowed": answered, not carried out; a number is a status.
        self.fate: Fate = lambda number, target: None
        #: What is answered instead of a status file or the settings.
        self.fixed_body: bytes | None = None
        #: A status file that is not there any more.
        self.missing_file = ""
        self._number = 0

    @property
    def settings(self) -> Settings:
        return self.twin.controller.engine.settings

    def client(self, login: UnitLogin | None = None) -> PacedClient:
        inside = in_process(self.twin.web)

        async def answer(sent: httpx.Request) -> httpx.Response:
            target = sent.extensions["target"].decode()
            if ".cgi?" not in target:
                hides = self._is_real and is_hidden(target)
                if hides or target == self.missing_file:
                    return _respond(404, b"")
                if self.fixed_body is not None:
                    return _respond(200, self.fixed_body)
                return await inside.handle_async_request(sent)
            self._number += 1
            fate = self.fate(self._number, target)
            if fate == "killed before":
                raise Killed
            if fate == "dropped":
                raise httpx.ReadTimeout("no answer")
            if fate == "swallowed":
                return _respond(200, b"<response></response>")
            if fate is not None and fate.isdigit():
                return _respond(int(fate), b"")
            response = await inside.handle_async_request(sent)
            if response.status_code == 200:
                self.carried_out.append(target)
            if fate == "killed after":
                raise Killed
            if fate == "lost":
                raise httpx.ReadTimeout("no answer")
            return response

        http = httpx.AsyncClient(transport=httpx.MockTransport(answer), trust_env=False)
        return PacedClient(
            UnitClient(unit_at("http://unit"), http), login, paced=False, retry_waits_s=()
        )


def _respond(status: int, body: bytes) -> httpx.Response:
    return httpx.Response(
        status, headers={"content-type": "text/plain"}, stream=httpx.ByteStream(body)
    )


@asynccontextmanager
async def start_scripted_twin(
    profile: Profile, settings: Settings, *, is_real: bool = False
) -> AsyncIterator[ScriptedTwin]:
    """Start a twin with these settings; a real one hides what only Leverframe has."""
    store = MemoryStore()
    changed = {path: value for path, _, value in difference(defaults(profile), settings)}
    await store.commit(Changes(settings=changed))
    async with await LoopTwin.start(profile, store=store) as twin:
        yield ScriptedTwin(twin, is_real=is_real)
        await asyncio.sleep(0)
