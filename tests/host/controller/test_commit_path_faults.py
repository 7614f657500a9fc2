"""Every call on the way of a change to the disk fails once, with an unexpected error.

The calls are found by following one request. Whatever fails: what was answered with 200 is on disk;
what was not is not, unless it had been committed already, or only the client that waited for it
failed; and store, engine and what the next request builds on agree.
"""

import asyncio
import errno
import gc
import inspect
import logging
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import leverframe
from leverframe.core.tree import settings_from_leaves, value_at
from leverframe.storage import writer
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.testing.in_process import NEWEST, LoopTwin
from tests.devices.waiting import until
from tests.effort import some_of
from tests.patience import PATIENCE_S

SOURCE = str(Path(leverframe.__file__).parent)
#: The client is not on the way.
ASKING = f"{SOURCE}/testing/"

#: Where a call is made, and what is called.
Site = tuple[str, str, int, str]


class Tracer:
    """Notes every call that our code makes in a request, or lets one of them fail."""

    def __init__(self, store: SqliteStore, fault: BaseException, at: Site | None) -> None:
        self.sites: dict[Site, None] = {}
        #: Whether the call was made after a transaction.
        self.was_committed = False
        self._store = store
        self._transactions = store.transactions
        self._fault = fault
        self._at = at
        self._begun: set[FrameType] = set()

    def __call__(self, frame: FrameType, event: str, callee: Any) -> None:
        if event == "call":
            caller = frame.f_back
        elif event == "c_call":
            caller = frame
        else:
            return
        # Most calls are made elsewhere: to look closely at each takes most of the time of a test.
        if caller is None or (self._at is not None and caller.f_lineno != self._at[2]):
            return
        if event == "c_call":
            self._on_call(caller, getattr(callee, "__qualname__", repr(callee)))
        # A coroutine that resumes is not called again.
        elif frame not in self._begun:
            if frame.f_code.co_flags & inspect.CO_COROUTINE:
                self._begun.add(frame)
            self._on_call(caller, frame.f_code.co_qualname)

    def _on_call(self, caller: FrameType, callee: str) -> None:
        file = caller.f_code.co_filename
        if not file.startswith(SOURCE) or file.startswith(ASKING):
            return
        if callee.startswith(CANNOT_FAIL):
            return
        if caller.f_code is writer._resolve.__code__:
            # Nothing would be left to notify those who wait.
            return
        site = (file[len(SOURCE) :], caller.f_code.co_qualname, caller.f_lineno, callee)
        self.sites.setdefault(site)
        if site == self._at:
            self._at = None
            self.was_committed = self._store.transactions > self._transactions
            raise self._fault


#: Who only waits for a change that has been accepted: leaving does not take it back.
WAITING = ("CommandEndpoint._carry_out", "complete_answer", "reply_when_done", "Outstanding.finish")

#: What notifies those who wait, lets the next one in, or only happens to come up in between.
CANNOT_FAIL = ("Future.", "Task.", "lock.", "WeakSet.")


class Bench:
    """One controller on a real store, asked again and again for another value of a setting."""

    def __init__(
        self, twin: LoopTwin, store: SqliteStore, path: Path, request: str, leaf: str
    ) -> None:
        self._twin = twin
        self._store = store
        self._path = path
        self._request = request
        self._leaf = leaf
        self.value = 0

    def new_target(self) -> str:
        self.value += 1
        return self._request.format(value=self.value)

    async def ask(self, target: str, tracer: Callable[..., None] | None = None) -> int:
        """Send a request as the server does, to which every fault is a 500."""
        self._profile(tracer)
        try:
            async with asyncio.timeout(PATIENCE_S):
                return (await self._twin.ask(target)).status
        except (Exception, asyncio.CancelledError):
            return 500
        finally:
            self._profile(None)
            await until(lambda: self._twin.controller.writer.is_idle)

    def _profile(self, tracer: Callable[..., None] | None) -> None:
        self._store._thread.submit(sys.setprofile, tracer).result()
        sys.setprofile(tracer)

    def on_disk(self) -> int:
        with closing(sqlite3.connect(self._path)) as reader:
            found = reader.execute("SELECT value FROM setting WHERE path = ?", (self._leaf,))
            (text,) = found.fetchone()
        return int(text.strip('"'))

    def pending(self) -> int:
        return int(value_at(self._twin.controller.pending, self._leaf))

    def check_agreement(self) -> None:
        controller = self._twin.controller
        stored, _ = settings_from_leaves(NEWEST, controller.store.load().settings)
        assert controller.pending == stored
        assert controller.engine.settings == stored


def out_of_files() -> OSError:
    return OSError(errno.EMFILE, "Too many open files")


@pytest.mark.parametrize(
    "fault",
    [
        RuntimeError,
        asyncio.CancelledError,
        pytest.param(out_of_files, marks=pytest.mark.thorough),
    ],
)
@pytest.mark.parametrize(
    ("target", "leaf"),
    [
        ("/stm.cgi?oname=0{value}&em4=secret{value}", "outputs.0.name"),
        ("/outs.cgi?roafs=01&ortime=1{value}&out=out0", "outputs.1.return_time"),
    ],
    ids=["a secret", "switching too"],
)
@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
# A fault between `open` and its `with` leaves the log to be closed by its last reference.
@pytest.mark.filterwarnings("ignore:unclosed file .*-wal:ResourceWarning")
async def test_change_answered_with_200_is_on_disk_after_any_single_fault(
    tmp_path: Path,
    fault: Callable[[], BaseException],
    target: str,
    leaf: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Traces in the log would hold on to what did not come to its end.
    caplog.set_level(logging.CRITICAL + 1)
    path = tmp_path / "store.db"
    store = SqliteStore(path)
    twin = await LoopTwin.start(store=EncryptingStore(store, tmp_path / "key"))
    bench = Bench(twin, store, path, target, leaf)
    assert await bench.ask(bench.new_target()) == 200
    following = Tracer(store, fault(), None)
    assert await bench.ask(bench.new_target(), following) == 200
    assert len(following.sites) > 100
    sites = list(following.sites)
    for site in sites if fault is out_of_files else some_of(sites):
        before, request = bench.on_disk(), bench.new_target()
        tracer = Tracer(store, fault(), site)
        status = await bench.ask(request, tracer)
        on_disk = bench.on_disk()
        assert bench.pending() == on_disk, site
        if status == 200:
            assert on_disk == bench.value, site
        elif not tracer.was_committed:
            bench.check_agreement()
            if site[1] not in WAITING:
                assert on_disk == before, site
        assert await bench.ask(request) == 200, site
        assert bench.on_disk() == bench.value, site
        bench.check_agreement()
    await twin.controller.stop()
    again = await LoopTwin.start(store=EncryptingStore(SqliteStore(path), tmp_path / "key"))
    assert again.controller.pending == twin.controller.pending
    await again.controller.stop()
    del tracer
    gc.collect()
