"""A controller in the process of the test, on real sockets and in virtual time.

All such controllers run on one event loop in its own thread (`LoopThread`). Their stores are in
memory, and no message leaves the process: messages stay in the outbox.
"""

from contextlib import AsyncExitStack
from copy import copy
from datetime import UTC, tzinfo
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, Self, cast

import msgspec
from msgspec.structs import replace

from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.devices.simulated.fault_catalogue import Fault
from leverframe.host.assembly import (
    NORMALLY,
    ConfiguredIdentity,
    ControllerHost,
    build,
    make_identity,
)
from leverframe.host.controller import Controller
from leverframe.host.controller.snapshot import (
    LiveSnapshot,
    encode_snapshot,
    go_back,
    revive_snapshot,
    take_snapshot,
)
from leverframe.host.ports import open_ports, serve_http
from leverframe.host.reach import certificate_of, reach_of
from leverframe.host.recordings import read_answers
from leverframe.host.services import Sending
from leverframe.interface.table.lookup import UNRESTRICTED
from leverframe.server.http.messages import Reply, Request, complete_answer
from leverframe.server.routes.router import THIS_MACHINE, Reach, Web
from leverframe.storage.store import Changes, MemoryStore, Store
from leverframe.testing.initial_state import Beginning, account_leaves, settings_of_servers
from leverframe.testing.transport import LOOP_THREAD, THIS_PROCESS, Transport, TwinSnapshot, on_loop
from leverframe.testing.twin_client import check_reply

#: The client's address in the requests by which a test operates a twin.
BY_TEST = "test"
#: How long closing waits for answers in progress.
GRACE_S = 0.2


class InProcess(Transport):
    """A controller with its own servers, on the event loop of the twins."""

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
        #: The state that `reset` restores.
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
        """Use a controller that was started elsewhere, and close its `parts` at the end."""
        self._first = await take_snapshot(host.controller)
        self._host, self._parts = host, parts.pop_all()

    async def first_rows(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the initial settings, and the rows that identify the controller."""
        identity = make_identity(Random(self._seed).randbytes)
        if self.saved is not None:
            identity |= self.saved[1].identity
        return self._leaves | await account_leaves(self.beginning.accounts), identity

    def fork(self) -> Self:
        """Return another controller with the same start, on other ports and without the broker."""
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


# A twin on the running event loop, without a port, for asyncio tests that use its internals.
#
# `LoopTwin.ask` sends a request through the same function as the HTTP server; the controller, its
# engine and its board can be accessed directly, because everything runs in one thread.

NEWEST = Profile()


class LoopTwin:
    """A controller on the running event loop: memory store, virtual clock, no port."""

    def __init__(self, controller: Controller, web: Web) -> None:
        self.controller = controller
        self.web = web
        self._stop = controller.stop

    @classmethod
    async def start(
        cls,
        profile: Profile = NEWEST,
        *,
        store: Store | None = None,
        timezone: tzinfo = UTC,
        lenient: bool = False,
        reach: Reach = THIS_MACHINE,
        sending: Sending = NORMALLY,
    ) -> Self:
        """Start a twin; its data is in `store`, if one is given."""
        built = await build(
            profile,
            store or MemoryStore(),
            VirtualClock(),
            timezone,
            lenient=lenient,
            reach=reach,
            sending=sending,
        )
        twin = cls(built.controller, built.web)
        twin._stop = built.stop
        return twin

    async def close(self) -> None:
        """Switch the twin off; a durable store then contains all its data."""
        await self._stop()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def ask(
        self,
        target: str,
        method: str = "GET",
        body: bytes = b"",
        **headers: str,
    ) -> Reply:
        """Return the reply to a request; `Content_Type="..."` sets a header."""
        path, mark, query = target.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(method, path, query if mark else None, named, body, "127.0.0.1")
        # Only tests of long replies get a StreamReply.
        return cast(Reply, await complete_answer(self.web.handle(request)))

    async def ok(self, target: str, method: str = "GET", body: bytes = b"") -> Reply:
        """Send a request that must succeed, and return the reply."""
        reply = await self.ask(target, method, body)
        assert reply.status == 200, reply.body
        return reply

    async def refused(self, target: str, status: int, method: str = "GET") -> dict[str, Any]:
        """Send a request that must be refused with this status, and return the problem."""
        reply = await self.ask(target, method)
        assert reply.status == status, reply.body
        assert reply.content_type == "application/problem+json"
        problem: dict[str, Any] = msgspec.json.decode(reply.body)
        return problem

    async def json(self, path: str) -> Any:
        """Send a request that must succeed, and return the decoded reply."""
        return msgspec.json.decode((await self.ok(path)).body)

    async def settings(self) -> dict[str, Any]:
        """Return every setting as a tree."""
        settings: dict[str, Any] = await self.json("/api/settings")
        return settings

    async def state(self) -> dict[str, Any]:
        """Return every value by its label."""
        state: dict[str, Any] = await self.json("/api/state")
        return state

    async def outputs(self) -> str:
        """Return the six characters of the status reply."""
        body = (await self.ok("/outs.cgi")).body.decode()
        return body.partition("<out>")[2].partition("</out>")[0]
