"""Discovery for a node: UDP and mDNS for all controllers that have an address in the network."""

import asyncio
import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from leverframe.core.runtime.event_loop import close_all
from leverframe.devices.readings import Troubles
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.fleet.shared_ports import LOOPBACK, is_loopback4
from leverframe.server.discovery import (
    PART,
    PORT,
    QUESTION,
    answers_discovery,
    discovery_answer,
    is_known,
)
from leverframe.server.mdns import MdnsAnnouncer, MdnsResponder, follow
from leverframe.server.shared_ports import ANY_ADDRESS, Asked, SharedPort

# UDP discovery for a node: one socket answers for all controllers that have an address.
#
# The controller with the address answers a query to that address. All controllers answer a
# broadcast, at most once a second: there may be thousands of them. The bytes that start a
# bootloader have no effect here.

#: Minimum time between two broadcasts that are answered.
PAUSE_S = 1.0


class FleetDiscovery:
    def __init__(
        self,
        members: Callable[[], Iterable[Member]],
        http_port: int,
        troubles: dict[str, str],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._members = members
        self._http_port = http_port
        self._troubles = Troubles(troubles)
        self._now = monotonic
        self._next_round = 0.0
        self._port: SharedPort | None = None

    def start(self, host: str, port: int = PORT) -> None:
        """Listen for queries; if that fails, the node runs without discovery.

        A node on a loopback address listens only to this machine.
        """
        interface = LOOPBACK if is_loopback4(host) else None
        try:
            self._port = SharedPort(port, is_known, self._take, interface)
        except OSError as error:
            self._troubles.note(
                PART,
                f"UDP port {port} cannot be used ({error.strerror or error}), so discovery is"
                " off. Free the port, or set discovery = false.",
            )
            return
        asyncio.get_running_loop().add_reader(self._port, self._port.read)

    def _take(self, data: bytes, query: Asked) -> None:
        if data.strip() != QUESTION:
            return
        if not query.by_broadcast:
            self._answer(
                (one for one in self._members() if one.record.address == query.address), query
            )
            return
        if self._now() >= self._next_round:
            self._next_round = self._now() + PAUSE_S
            self._answer((one for one in self._members() if one.record.address), query)

    def _answer(self, members: Iterable[Member], query: Asked) -> None:
        for member in members:
            controller, address = member.controller, member.record.address
            if not controller.has_power:
                continue
            if self._port is not None and address and answers_discovery(controller.profile):
                lines = discovery_answer(
                    controller, member.built.name, member.built.mac, self._http_port
                )
                self._port.answer(lines, replace(query, address=address))

    async def close(self) -> None:
        if self._port is not None:
            asyncio.get_running_loop().remove_reader(self._port)
            self._port.close()
            self._port = None


# mDNS for a node: one responder announces all controllers that have an address in the network.
#
# Controllers without an address share the address of the node, and are reached by names that mDNS
# cannot announce.

#: Address and port of HTTP.
Place = tuple[str, int]


class FleetMdns:
    def __init__(
        self,
        node: FleetNode,
        http_port: int,
        is_announced: Callable[[str], bool] = lambda address: not is_loopback4(address),
    ) -> None:
        self._node = node
        self._http_port = http_port
        self._is_announced = is_announced
        self._responder = MdnsResponder()
        #: The announced place of each controller, by its number.
        self._announcers: dict[int, tuple[Member, Place, MdnsAnnouncer]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def start(self, host: str) -> None:
        """Announce the current controllers, and every later change."""
        self._responder = MdnsResponder(() if host == ANY_ADDRESS else (host,))
        self._node.watchers.add(self._look)
        self._look()

    def _look(self) -> None:
        wanted = {
            one.number: (one, place)
            for one in self._node.members.values()
            if (place := self._place_of(one)) is not None
        }
        for number, (member, before, announcer) in tuple(self._announcers.items()):
            found, place = wanted.get(number, (None, before))
            if found is member:
                announcer.rename(member.controller.engine.settings.name or member.name)
                if place != before:
                    announcer.move((place[0],), place[1])
                    self._announcers[number] = member, place, announcer
                continue
            del self._announcers[number]
            closing = asyncio.get_running_loop().create_task(announcer.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        for number, (member, place) in wanted.items():
            if number not in self._announcers:
                self._announcers[number] = member, place, self._announce(member, *place)

    def _place_of(self, member: Member) -> Place | None:
        address = member.record.address
        if not address or not self._is_announced(address):
            return None
        return address, member.record.port or self._http_port

    def _announce(self, member: Member, address: str, port: int) -> MdnsAnnouncer:
        return follow(
            member.controller,
            self._responder,
            (address,),
            name=lambda: member.name,
            host_label=member.built.host_label,
            mac=member.built.mac,
            port=port,
        )

    async def close(self) -> None:
        self._node.watchers.discard(self._look)
        await close_all([announcer.close for *_, announcer in self._announcers.values()])
        self._announcers.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)
