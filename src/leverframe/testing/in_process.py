"""A controller in the process of the test, on real sockets and virtual time.

All of them live on one event loop in a thread of its own (`loop_thread.py`). What one remembers is
in memory, and nothing leaves it: messages are kept in its outbox.
"""

from contextlib import AsyncExitStack
from copy import copy
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self

from msgspec.structs import replace

from leverframe.clock import VirtualClock
from leverframe.commands.table.rights import UNRESTRICTED
from leverframe.controller import Controller
from leverframe.controller.live_snapshot import LiveSnapshot, go_back, take_snapshot
from leverframe.controller.saved_snapshot import encode_snapshot, revive_snapshot
from leverframe.hardware.fault_catalogue import Fault
from leverframe.process.build import ConfiguredIdentity, build, make_identity
from leverframe.process.controller_host import ControllerHost
from leverframe.process.ports import open_ports, serve_http
from leverframe.process.reach import certificate_of, reach_of
from leverframe.process.recorded import read_answers
from leverframe.process.services import Sending
from leverframe.profile import Profile
from leverframe.servers.http.messages import Request, complete_answer
from leverframe.storage.store import Changes, MemoryStore
from leverframe.testing.beginning import (
    Beginning,
    account_leaves,
    settings_of_servers,
)
from leverframe.testing.loop_thread import LOOP_THREAD, on_loop
from leverframe.testing.transport import THIS_PROCESS, Transport, TwinSnapshot
from leverframe.testing.twin_client import check_reply

#: Who is the cause of what a test does to a twin.
BY_TEST = "test"
#: How long an end waits for answers that are being made.
GRACE_S = 0.2


class InProcess(Transport):
    """A controller with servers of its own, on the event loop of the twins."""

    keeper = THIS_PROCESS

    def __init__(self, beginning: Beginning, seed: int) -> None:
        self.config = beginning.config()
        self.beginning = beginning
        self._seed = seed
        self._leaves = beginning.leaves | settings_of_servers(beginning)
        recorded = beginning.recorded
        self.answers = None if recorded is None else read_answers(Path(recorded))
        self._identity = ConfiguredIdentity(self.config.name, self.config.mac_address())
        self._host: ControllerHost | None = None
        self._parts = AsyncExitStack()
        self._memory = MemoryStore()
        #: What `reset` restores.
        self._first: LiveSnapshot | None = None
        self.uses_broker = beginning.given["mqtt"] is not None
        self.account = beginning.accounts[0] if beginning.accounts else None

    @property
    def is_on(self) -> bool:
        return self._host is not None

    @property
    def profile(self) -> Profile:
        return self.beginning.profile if self._host is None else self._host.controller.profile

    @property
    def running(self) -> ControllerHost:
        if self._host is None:
            raise RuntimeError("The twin is off; start it with `with`, or with start().")
        return self._host

    @property
    def controller(self) -> Controller:
        return self.running.controller

    def start(self) -> None:
        if self._host is None:
            LOOP_THREAD.run(self.open())

    def close(self) -> None:
        if self._host is not None:
            self._host = None
            LOOP_THREAD.run(self._parts.aclose())

    async def open(self) -> None:
        config = self.config
        async with AsyncExitStack() as parts:
            folder = parts.enter_context(TemporaryDirectory()) if config.tls else ""
            self._memory = MemoryStore()
            leaves, identity = await self.first_rows()
            await self._memory.commit(Changes(settings=leaves, kept=identity))
            reach = reach_of(config)
            host = await build(
                self.beginning.profile,
                self._memory,
                VirtualClock(self.beginning.wall),
                self.beginning.zone,
                lenient=config.lenient,
                sending=Sending(capture=True),
                reach=reach,
                configured=self._identity,
            )
            parts.push_async_callback(host.stop)
            host.answers = self.answers
            certificate = certificate_of(config, Path(folder), host.host_label)
            server = await serve_http(
                host, config, reach, certificate, option="port=", grace_s=GRACE_S
            )
            await open_ports(host, config)
            self.url = f"{'https' if certificate else 'http'}://{config.host}:{server.port}"
            self.ca_file = str(Path(folder) / "tls-certificate.pem") if certificate else None
            if self.uses_broker:
                host.mqtt.start()
                host.add(host.mqtt)
            if self.saved is not None:
                await go_back(host.controller, revive_snapshot(self.saved[1], host.controller))
            await self.take_over(host, parts)

    async def take_over(self, host: ControllerHost, parts: AsyncExitStack) -> None:
        """Use a controller that has been started, until the parts are closed."""
        self._first = await take_snapshot(host.controller)
        self._host, self._parts = host, parts.pop_all()

    async def first_rows(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the settings that it begins with, and what makes it this one."""
        identity = make_identity(Random(self._seed).randbytes)
        if self.saved is not None:
            identity |= self.saved[1].identity
        return self._leaves | await account_leaves(self.beginning.accounts), identity

    def fork(self) -> Self:
        """Return one that begins the same, elsewhere; it stays away from a broker."""
        other = copy(self)
        other.config = replace(self.config, port=0)
        other._host, other.uses_broker = None, False
        return other

    @on_loop
    async def note_no_broker(self) -> None:
        self.controller.note_connection(False)

    @on_loop
    async def operate(self, target: str, method: str = "GET", body: bytes = b"") -> bytes:
        path, mark, query = target.partition("?")
        request = Request(method, path, query if mark else None, {}, body, BY_TEST)
        reply: Any = await complete_answer(self.running.web.handle(request, requester=UNRESTRICTED))
        return check_reply(reply.status, reply.body, target)

    @on_loop
    async def snapshot(self) -> TwinSnapshot:
        return TwinSnapshot(await take_snapshot(self.controller), encode_snapshot, self.keeper)

    @on_loop
    async def go_back(self, state: Any) -> None:
        await go_back(self.controller, state)

    @on_loop
    async def reset(self) -> None:
        controller, store = self.controller, self._memory
        assert self._first is not None
        await go_back(controller, self._first)
        if uploads := store.upload_names():
            await store.commit(Changes(blobs=dict.fromkeys(uploads)))
            for watcher in controller.upload_watchers:
                for name in uploads:
                    watcher(name)
        if controller.history is not None:
            controller.history.forget()
        if controller.journal_recorder is not None:
            controller.journal_recorder.forget()
        if controller.request_journal is not None:
            controller.request_journal.clear()
        self.running.web.access.sessions.close_all()

    @on_loop
    async def step(self, limit_s: float) -> float:
        controller = self.controller
        now, deadline = controller.clock.read().now, controller.next_deadline()
        passed_s = limit_s if deadline is None else min(max(deadline - now, 0.0), limit_s)
        await controller.advance(passed_s)
        return passed_s

    @on_loop
    async def set_fault(self, fault: Fault) -> int:
        assert self.controller.faults is not None
        return self.controller.faults.add(fault).number
