"""mDNS for a node: one responder announces all controllers that have an address in the network.

Controllers without one share the address of the node, and are reached by names that mDNS cannot
announce.
"""

import asyncio
from collections.abc import Callable

from leverframe.fleet.loopback import is_loopback4
from leverframe.fleet.member import Member
from leverframe.fleet.node import FleetNode
from leverframe.servers.discovery.mdns import MdnsAnnouncer, MdnsResponder, follow
from leverframe.servers.discovery.shared_port import ANY_ADDRESS
from leverframe.shutdown import close_all

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
        """Announce the present controllers, and from now on each change."""
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
