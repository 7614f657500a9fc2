"""mDNS for a node: one responder announces all controllers that have an address in the network.

Those without one share the address of the node, and are reached by names that mDNS cannot tell.
"""

import asyncio
from collections.abc import Callable

from leverframe.fleet.loopback import is_loopback4
from leverframe.fleet.members import Member
from leverframe.fleet.node import FleetNode
from leverframe.servers.discovery.mdns import MdnsAnnouncer, MdnsResponder, follow
from leverframe.servers.discovery.shared_port import ANY_ADDRESS
from leverframe.shutdown import close_all


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
        #: By the numbers of their controllers.
        self._announcers: dict[int, tuple[Member, MdnsAnnouncer]] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def start(self, host: str) -> None:
        """Announce who is there, and from now on who comes and goes."""
        self._responder = MdnsResponder(() if host == ANY_ADDRESS else (host,))
        self._node.watchers.add(self._look)
        self._look()

    def _look(self) -> None:
        members = {one.number: one for one in self._node.members.values()}
        for number, (member, announcer) in tuple(self._announcers.items()):
            if members.get(number) is member:
                announcer.rename(member.controller.engine.settings.name or member.name)
                continue
            del self._announcers[number]
            closing = asyncio.get_running_loop().create_task(announcer.close())
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)
        for number, member in members.items():
            address = member.record.address
            if number not in self._announcers and address and self._is_announced(address):
                self._announcers[number] = member, self._announced(member, address)

    def _announced(self, member: Member, address: str) -> MdnsAnnouncer:
        return follow(
            member.controller,
            self._responder,
            (address,),
            name=lambda: member.name,
            host_label=member.built.host_label,
            mac=member.built.mac,
            port=member.record.port or self._http_port,
        )

    async def close(self) -> None:
        self._node.watchers.discard(self._look)
        await close_all([announcer.close for _, announcer in self._announcers.values()])
        self._announcers.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)
