"""UDP discovery for a node: one socket answers for all controllers that have an address.

A query to one address is answered by its controller, a broadcast by each of them, once a second at
most: there may be thousands. The bytes that start a bootloader mean nothing here.
"""

import asyncio
import time
from collections.abc import Callable, Iterable

from msgspec.structs import replace

from leverframe.fleet.loopback import LOOPBACK, is_loopback4
from leverframe.fleet.member import Member
from leverframe.hardware.troubles import Troubles
from leverframe.servers.discovery.discovery import (
    PART,
    PORT,
    QUESTION,
    answers_discovery,
    discovery_answer,
    is_known,
)
from leverframe.servers.discovery.shared_port import Asked, SharedPort

#: Seconds between two broadcasts that are answered.
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
        """Listen, on loopback for this machine alone; the node also runs without a socket."""
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
