"""Real pings, to this machine only."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import icmplib
import pytest

from leverframe.core.engine.calls import PingHost
from leverframe.core.runtime.outgoing import Targets
from leverframe.devices.pinger import LOOKUPS_AT_A_TIME, Pinger
from tests.patience import PATIENCE_S

WAY_OUT = Targets().channel("ping")

HERE = "127.0.0.1"
#: A name with an empty part: it is refused before any name server is asked.
IMPOSSIBLE_NAME = "no..name"

Answer = tuple[int, float | None]


class Pings:
    def __init__(self) -> None:
        self.answers: asyncio.Queue[Answer] = asyncio.Queue()
        self.lookups = ThreadPoolExecutor(LOOKUPS_AT_A_TIME)
        self.pinger = Pinger(self._note, self.lookups, WAY_OUT)

    def _note(self, entry: int, ms: float | None) -> None:
        self.answers.put_nowait((entry, ms))

    def send(self, entry: int, host: str, timeout_s: float = 5.0) -> None:
        self.pinger.ping(PingHost(entry, host, timeout_s))

    async def answer(self) -> Answer:
        return await asyncio.wait_for(self.answers.get(), PATIENCE_S)


@pytest.fixture
async def pings() -> AsyncIterator[Pings]:
    pings = Pings()
    yield pings
    await pings.pinger.close()
    pings.lookups.shutdown(wait=False, cancel_futures=True)


@pytest.fixture(scope="session")
def may_ping() -> None:
    for privileged in (True, False):
        try:
            icmplib.ICMPv4Socket(None, privileged).close()
        except icmplib.SocketPermissionError:
            continue
        return
    pytest.skip("this account may not send pings: neither a raw nor a ping socket can be opened")


@pytest.mark.usefixtures("may_ping")
@pytest.mark.parametrize("host", [HERE, "localhost"])
async def test_host_that_is_there_answers_in_milliseconds(pings: Pings, host: str) -> None:
    pings.send(2, host)
    entry, milliseconds = await pings.answer()
    assert entry == 2
    assert milliseconds is not None
    assert 0 < milliseconds < 5000


@pytest.mark.usefixtures("may_ping")
async def test_pings_of_several_entries_run_side_by_side(pings: Pings) -> None:
    for entry in range(6):
        pings.send(entry, HERE)
    answers = [await pings.answer() for _ in range(6)]
    assert sorted(entry for entry, _ in answers) == [0, 1, 2, 3, 4, 5]
    assert all(milliseconds is not None for _, milliseconds in answers)


@pytest.mark.usefixtures("may_ping")
async def test_new_ping_of_an_entry_ends_the_one_before(pings: Pings) -> None:
    pings.send(0, HERE)
    pings.send(0, HERE)
    await pings.answer()
    pings.send(1, HERE)
    assert (await pings.answer())[0] == 1
    assert pings.answers.empty()


async def test_host_that_cannot_be_reached_is_no_answer_and_not_logged(
    pings: Pings, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def unreachable(*_: object, **__: object) -> None:
        raise icmplib.SocketAddressError(HERE)

    monkeypatch.setattr(icmplib, "async_ping", unreachable)
    pings.send(0, HERE)
    assert await pings.answer() == (0, None)
    assert caplog.records == []


async def test_name_that_cannot_be_found_is_no_answer_and_logged_once(
    pings: Pings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)
    for _ in range(2):
        pings.send(0, IMPOSSIBLE_NAME)
        assert await pings.answer() == (0, None)
    assert [record.getMessage() for record in caplog.records] == [
        "the name of the watchdog's host no..name cannot be resolved"
    ]


PING_WITHOUT_RIGHTS = """
import asyncio, encodings.idna, os
from concurrent.futures import ThreadPoolExecutor
from leverframe.core.engine.calls import PingHost
from leverframe.devices.pinger import Pinger, load
from leverframe.core.runtime.outgoing import Targets

async def main():
    load()
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    answers = asyncio.Queue()
    lookups, way_out = ThreadPoolExecutor(1), Targets().channel("ping")
    pinger = Pinger(lambda entry, ms: answers.put_nowait(ms), lookups, way_out)
    for _ in range(2):
        pinger.ping(PingHost(0, "127.0.0.1", 2.0))
        print(await answers.get())

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become an account without rights")
def test_missing_ping_permission_silences_all_hosts_and_is_logged_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PING_WITHOUT_RIGHTS],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    if done.returncode == 0 and "None" not in done.stdout:
        pytest.skip("any account may send pings here")
    assert done.stdout == "None\nNone\n", done.stderr
    assert done.stderr.count("ping_group_range") == 1


async def test_nothing_is_reported_after_closing() -> None:
    pings = Pings()
    pings.send(0, HERE)
    await pings.pinger.close()
    assert pings.answers.empty()
