"""Forward connections to the node that has their controller, after the first request head.

All bytes of the client, including those already read, go to the owner of the controller, and the
owner's bytes go to the client. This node no longer parses HTTP on the connection.

Before the first byte is sent, the owner confirms that it has the controller. If the owner does not
have it, or cannot be reached, nothing was done, and the next owner is asked. While no node has the
controller, the request is held for a while, and then refused.
"""

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from leverframe.core.runtime.log_lines import LogThrottle
from leverframe.fleet.cluster.directory import Directory, Place
from leverframe.fleet.cluster.handshake import Client, Handshake, HandshakeFailed, Verdict
from leverframe.fleet.cluster.tunnel import OwnerCall, Tunnel
from leverframe.fleet.door import Door, DoorConnection
from leverframe.fleet.entrance import CROWDED_OUT, HELD_BY_NO_NODE, MISDIRECTED, Entrance
from leverframe.fleet.owners import DEADLINES, LOOK_AGAIN_S, Located, OwnerPart, ask_owners
from leverframe.server.fair_shares import Lease
from leverframe.server.http.connection import (
    BODY_ANNOUNCED,
    CLOSED,
    CLOSING,
    HEAD,
    IDLE,
    LOST,
    REQUEST,
    STREAMING,
)
from leverframe.server.http.messages import Request, SentReply
from leverframe.server.http.parser import NOTHING
from leverframe.server.http.server_state import ServerState

CONNECTION = DEADLINES["connection"]


class ElsewhereEntrance(Entrance):
    """The entrance of a single request for a controller that another node has."""

    def __init__(self, name: str) -> None:
        super().__init__(name, MISDIRECTED.admission, MISDIRECTED.admission)


class Forwarding:
    """Forwards the clients of a door to other nodes."""

    def __init__(
        self, door: Door, directory: Directory, handshake: Handshake, hold_s: float
    ) -> None:
        self.door = door
        self.directory = directory
        self.handshake = handshake
        self.tunnels: set[Tunnel] = set()
        self._hold_s = hold_s
        self._warn = LogThrottle(logging.getLogger(__name__)).warning

    async def reach(self, name: str, client: Client) -> OwnerCall | Entrance | None:
        """Return a connection to the owner of a controller, None for this node, or a refusal.

        An owner that does not have the controller yet may be about to start it, so it is asked
        again soon.
        """
        loop, here = asyncio.get_running_loop(), Place(self.directory.node, "", 0)
        until = loop.time() + self._hold_s
        missed: Place | None = None

        def can_be_asked() -> bool:
            return self.door.answers_for(name) or self._other_place(name) not in (None, missed)

        async def find(_: list[str]) -> Located[str, Place]:
            if self.door.answers_for(name):
                return [(name, here)]
            return [(name, self._other_place(name) if loop.time() < until else None)]

        async def ask(place: Place, names: list[str]) -> list[OwnerPart[str]]:
            nonlocal missed
            if place is here:
                return [OwnerPart(here.node, names)]
            left_s = until - loop.time()
            answer = await self._ask(place, name, client, min(left_s, CONNECTION.answer_s))
            missed = place if answer is None else None
            return [OwnerPart(place.node, names, answer, is_open=answer is None)]

        async def wait(left_s: float) -> None:
            nonlocal missed
            pause_s = left_s if missed is None else min(left_s, LOOK_AGAIN_S)
            await self.directory.wait_until(can_be_asked, name, pause_s)
            missed = None

        if not can_be_asked():
            self.directory.figures.held += 1
        (part,) = await ask_owners(await find([name]), find, ask, wait, self._hold_s)
        if not part.is_open:
            found: OwnerCall | Entrance | None = part.value
            return found
        self.directory.figures.unavailable += 1
        return HELD_BY_NO_NODE

    def _other_place(self, name: str) -> Place | None:
        place = self.directory.place_of(name)
        return None if place is None or place.node == self.directory.node else place

    async def _ask(
        self, place: Place, name: str, client: Client, seconds: float
    ) -> OwnerCall | Entrance | None:
        """Ask a node for a controller; return None if the node does not have it."""
        owner = OwnerCall(place, name)
        try:
            async with asyncio.timeout(seconds):
                await asyncio.get_running_loop().create_connection(
                    lambda: owner, place.host, place.port
                )
                if not owner.is_within(self.door.descriptors, client.host):
                    owner.abort()
                    return CROWDED_OUT
                verdict, _ = await owner.shake_hands(self.handshake, client, name)
            if verdict is Verdict.ACCEPTED:
                return owner
            owner.abort()
            return CROWDED_OUT if verdict is Verdict.CROWDED else None
        except (OSError, TimeoutError, HandshakeFailed, ValueError) as error:
            owner.abort()
            why = getattr(error, "strerror", None) or str(error) or "it does not answer"
            self._warn(place.node, "join", "a request for a controller cannot be forwarded to"
                " node %s: %s",
                       place.node, why)  # fmt: skip
            return None
        except BaseException:
            owner.abort()
            raise


class ForwardingConnection(DoorConnection):
    """A client's connection, up to the first request for a controller of another node."""

    def __init__(
        self,
        forwarding: Forwarding,
        door: Door,
        state: ServerState,
        entrance: Entrance | None,
        lease: Lease,
    ) -> None:
        super().__init__(door, state, entrance, lease)
        self._forwarding = forwarding
        #: All bytes since the start of the request that is being read; None if they also contain an
        #: earlier request, which was answered here, so that they cannot be forwarded.
        self._received: bytes | None = None

    def data_received(self, data: bytes) -> None:
        if (
            self._parser.reading is NOTHING
            and not self._pending
            and (self.state is IDLE or self.state is HEAD)
        ):
            self._received = data
        elif self._received is not None:
            self._received += data
        super().data_received(data)

    def controller_left(self) -> None:
        """Keep the connection: the next request is routed to the current node of its controller."""
        if self.state is STREAMING:
            self.stop()

    def _meant(self, request: Request) -> Entrance:
        meant = super()._meant(request)
        if meant is self._door.unknown and (name := self._door.name_elsewhere(request)) is not None:
            if self._received is not None:
                return ElsewhereEntrance(name)
            self._parser.end()
            self._forwarding.directory.figures.misdirected += 1
            return MISDIRECTED
        self._received = None
        return meant

    def _answer_led(self, request: Request) -> None:
        if isinstance(request.meant, ElsewhereEntrance):
            self._change(REQUEST)
            self._begin_to_forward(request, self._server.handler, self._deliver)
        else:
            super()._answer_led(request)

    def _check_led(self, request: Request) -> None:
        if isinstance(request.meant, ElsewhereEntrance):
            self._change(BODY_ANNOUNCED)
            self._begin_to_forward(request, self._server.admission, self._admit_body)
        else:
            super()._check_led(request)

    def _begin_to_forward(
        self,
        request: Request,
        if_here: Callable[[Request], Any],
        proceed: Callable[[Request, SentReply], None],
    ) -> None:
        self._pause_input()
        answer = self._reach_owner(request, if_here)
        self._server.run(self._continue_later(request, answer, partial(self._forward_or, proceed)))

    async def _reach_owner(self, request: Request, if_here: Callable[[Request], Any]) -> Any:
        """Return the connection to the owner, or the answer."""
        source = self._transport.get_extra_info("peername")
        target = self._transport.get_extra_info("sockname")
        client = Client(self.peer, source[1], target[0], target[1])
        found = await self._forwarding.reach(request.meant.name, client)
        if isinstance(found, Entrance):
            return found.handler(request)
        if found is not None:
            return found
        self._lead(request)
        answer = if_here(request)
        return await answer if asyncio.iscoroutine(answer) else answer

    def _forward_or(
        self, proceed: Callable[[Request, SentReply], None], request: Request, found: Any
    ) -> None:
        if isinstance(found, OwnerCall):
            self._hand_over(found)
        else:
            proceed(request, found)

    def _hand_over(self, owner: OwnerCall) -> None:
        if self.state in (CLOSING, CLOSED) or self._received is None or self._used_for is None:
            owner.abort()  # the client has left
            return
        self.flush()
        received, self._received = self._received, None
        # The tunnel keeps the slot among the connections to the controller.
        self._used_for.connections.discard(self)
        self._used_for = None
        give_back = partial(self._door.shares.give_back, self._held_as)
        self._forwarding.directory.figures.joined += 1
        tunnel = Tunnel(self._server, self._transport, owner, self._forwarding.directory)
        tunnel.on_end += [
            give_back,
            self._lease.end,
            partial(self._forwarding.tunnels.discard, tunnel),
        ]
        self._forwarding.tunnels.add(tunnel)
        self._server.add(tunnel)
        self._server.forget(self)
        self._change(LOST)
        self._let_go()
        tunnel.begin(received, client_is_behind=self.output_paused)
