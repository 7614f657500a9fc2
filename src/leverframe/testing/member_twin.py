"""A twin that is a controller of the node of its fleet.

The twin has its own address in 127.0.0.0/8. It is an ordinary twin if no such address is possible,
or if it needs something that a single controller of a node cannot have (TLS, a recording, a given
name or port).
"""

import asyncio
from contextlib import AsyncExitStack
from ipaddress import ip_address
from itertools import count
from typing import Any, Self

from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.runtime.event_loop import close_all
from leverframe.fleet.member import Member, NewController
from leverframe.fleet.node_web import NodeWeb
from leverframe.fleet.records import MemberRecord
from leverframe.fleet.serve import node_of
from leverframe.host.configuration import Config, NodeConfig
from leverframe.server.http.messages import AnyReply, Request, complete_answer
from leverframe.storage.lanes.lane import MemoryLane
from leverframe.testing.any_twin import STARTED_TWINS
from leverframe.testing.in_process import GRACE_S, InProcess
from leverframe.testing.initial_state import Beginning
from leverframe.testing.transport import HOST, LOOP_THREAD
from leverframe.testing.twin import Twin

FIRST_ADDRESS = ip_address("127.77.0.1")


class TwinNode:
    """The node of a fleet of twins; it exists while at least one of them is on."""

    def __init__(self) -> None:
        self._lane = MemoryLane()
        self._web: NodeWeb | None = None
        self._numbers = count()
        self._changing = asyncio.Lock()

    async def add(self, config: Config, wall: float, new: NewController) -> Member | None:
        """Create a controller with its own address; return None if no such address is usable."""
        async with self._changing:
            if self._web is None:
                self._lane = MemoryLane()
                node_config = NodeConfig(
                    timezone=config.timezone,
                    lenient=config.lenient,
                    capture=True,
                    # The test owns all controllers of the node.
                    allow_local_targets=True,
                    modbus_port=0,
                    snmp_port=0,
                )
                self._web = await node_of(node_config, self._lane, VirtualClock(wall))
                # Process events in strict chronological order across all controllers.
                self._web.time.window_s = 0.0
                await self._web.node.door.listen(HOST, 0)
            node = self._web.node
            if not node.door.takes_loopback:
                await self._end(self._web)
                return None
            number = next(self._numbers)
            record = MemberRecord(
                f"twin-{number + 1}",
                hw=new.record.hw,
                sw=new.record.sw,
                address=_address(number),
            )
            (member,) = await node.add([NewController(record, new.profile, new.leaves, new.kept)])
            return member

    def reserve_addresses(self, count: int) -> str:
        """Return the first of several consecutive free addresses."""
        numbers = [next(self._numbers) for _ in range(max(count, 1))]
        return _address(numbers[0])

    async def remove(self, member: Member) -> None:
        """Remove a controller if it still exists; the node ends with its last controller."""
        async with self._changing:
            node = self._running.node
            if not member.has_left:
                await node.remove([member])
            if not node.members:
                await self._end(self._running)

    async def close(self) -> None:
        """Shut the node down if it still runs, including controllers that other clients created."""
        async with self._changing:
            if self._web is not None:
                await self._end(self._web)

    @property
    def _running(self) -> NodeWeb:
        assert self._web is not None
        return self._web

    def member(self, name: str) -> Member:
        return self._running.node.members[name]

    async def set_time(self, wall: float) -> None:
        """Set the time at which further controllers start."""
        if self._web is not None:
            self._web.node.clock.set_wall(wall)

    async def answer(self, request: Request) -> AnyReply:
        """Answer a request to the node itself without using its port."""
        return await complete_answer(self._running.handle(request))

    async def _end(self, web: NodeWeb) -> None:
        self._web = None
        await close_all([web.jobs.close, lambda: web.node.door.stop(GRACE_S), web.node.close])

    def store_of(self, member: Member) -> Any:
        return self._lane.store(member.number)

    @property
    def port(self) -> int:
        return self._running.node.door.port

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    def url_of(self, name: str) -> str:
        """Return the URL at which a controller is reached by its name."""
        return self._running.node.door.url_of(name).rstrip("/")


def _address(number: int) -> str:
    return str(FIRST_ADDRESS + number)


class MemberTwin(Twin):
    """A twin of a fleet."""

    # Reports would be too expensive: a fleet may have a thousand twins.
    _reports_each_end = False
    _transport: "InNode"

    def __init__(self, node: TwinNode, **parameters: Any) -> None:
        self._node = node
        super().__init__(**parameters)

    def _way_to(self, beginning: Beginning) -> "InNode":
        return InNode(self._node, beginning, self.seed)

    @property
    def member(self) -> Member | None:
        """Its controller at the node; None while it is off, or if it has its own port."""
        return self._transport.member

    def take(self, member: Member) -> Self:
        """Represent an existing controller of the node."""
        LOOP_THREAD.run(self._transport.stand_for(member))
        STARTED_TWINS.add(self)
        return self

    def find_place(self) -> None:
        """Look up the present address of its controller."""
        self._transport.find_place()


class InNode(InProcess):
    """A controller of a fleet's node or, if that is not possible, one with its own servers."""

    member: Member | None = None

    def __init__(self, node: TwinNode, beginning: Beginning, seed: int) -> None:
        super().__init__(beginning, seed)
        self._node = node

    async def open(self) -> None:
        own = (self.config.tls, self.config.name, self.config.port, self.answers)
        member = None if any(own) else await self._new_member()
        if member is None:
            await super().open()
        else:
            await self.stand_for(member)

    async def _new_member(self) -> Member | None:
        leaves, identity = await self.first_rows()
        if self.config.mac is not None:
            identity["identity.mac"] = self.config.mac_address()
        profile = self.profile
        record = MemberRecord("", hw=profile.hw, sw=profile.sw)
        new = NewController(record, profile, leaves, identity)
        return await self._node.add(self.config, self.beginning.wall, new)

    async def stand_for(self, member: Member) -> None:
        """Use an existing controller of the node, and remove it at the end."""
        async with AsyncExitStack() as parts:
            parts.push_async_callback(self._remove, member)
            if self.uses_broker:
                member.built.mqtt.start()
                parts.push_async_callback(member.built.mqtt.close)
            self._memory = self._node.store_of(member)
            self.member = member
            self.find_place()
            await self.take_over(member.built, parts)

    def find_place(self) -> None:
        """Look up the present address of its controller, or its URL by name."""
        assert self.member is not None
        record = self.member.record
        if record.address is None:
            self.url, self.door, self.host = self._node.url_of(record.name), self._node.url, HOST
        else:
            self.url, self.door = f"http://{record.address}:{self._node.port}", None
            self.host = record.address

    async def _remove(self, member: Member) -> None:
        self.member, self.host = None, HOST
        await self._node.remove(member)
