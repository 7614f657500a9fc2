"""UDP discovery: a client broadcasts a question, every controller in the network answers.

The answer has four lines: name, MAC address with dashes, software and hardware version, as units of
HW 3.5+ SW 1.26 and later give it. The three bytes that make a real unit start its bootloader are
obeyed only where the configuration says so, and not again and again: anybody in the network could
send them, and the outputs are off meanwhile.
"""

import asyncio
import logging
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, cast

from leverframe.commands.table.matching import Call, find
from leverframe.commands.table.refusals import Refusal
from leverframe.commands.table.rights import UNRESTRICTED
from leverframe.controller import Controller
from leverframe.engine.journal import Cause
from leverframe.hardware.troubles import Troubles
from leverframe.profile import HW35, Profile

log = logging.getLogger(__name__)

PORT = 30403
QUESTION = b"Discovery: Who is out there?"
START_BOOTLOADER = b"\x12\xf4\x81"
#: Between two starts of the bootloader by these bytes.
START_PAUSE_S = 600.0
PART = "discovery"


def answers_discovery(profile: Profile) -> bool:
    return profile.since("1.26", HW35)


class DiscoveryServer(asyncio.DatagramProtocol):
    def __init__(
        self, controller: Controller, *, name: str, mac: str, bootloader: bool = False
    ) -> None:
        self._controller = controller
        self._identity = [name, mac.replace(":", "-")]
        self._bootloader = bootloader
        self._next_start = 0.0
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self, host: str, troubles: MutableMapping[str, str], port: int = PORT) -> None:
        """Listen; where that is not possible, the controller works without being found."""
        loop = asyncio.get_running_loop()
        try:
            await loop.create_datagram_endpoint(lambda: self, local_addr=(host, port))
        except OSError as error:
            Troubles(troubles).note(
                PART,
                f"UDP port {port} cannot be used, so the controller is not found by discovery"
                f" ({error.strerror or error}); free it, or run with --no-discovery.",
            )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, address: tuple[str | Any, int]) -> None:
        if data.strip() == QUESTION:
            self._answer_to(address)
        elif data == START_BOOTLOADER and self._bootloader:
            self._start_bootloader(address[0])

    def _answer_to(self, address: tuple[str | Any, int]) -> None:
        """Answer if the present version does: firmware may have changed the version."""
        if self._transport is not None and answers_discovery(self._controller.profile):
            # A client that has left needs no answer.
            with suppress(OSError):
                self._transport.sendto(self._answer(), address)

    def _answer(self) -> bytes:
        profile = self._controller.profile
        return "\r\n".join([*self._identity, profile.sw, profile.hw]).encode()

    def _start_bootloader(self, peer: str) -> None:
        """Run the same command as over HTTP, so that the same conditions refuse it."""
        now = self._controller.clock.read().now
        if self._controller.bootloader_until is not None or now < self._next_start:
            return
        self._next_start = now + START_PAUSE_S
        found = find("GET", "/stm.cgi", ["upgrade=devstart3"], self._controller.profile)
        try:
            commands = [(call, None) for call in found if isinstance(call, Call)]
            cause = Cause("command", f"UDP {peer}", source=peer)
            self._controller.submit(commands, cause, account=UNRESTRICTED)
        except Refusal as refusal:
            log.warning("the bootloader is not started: %s", refusal.detail)

    async def close(self) -> None:
        if self._transport is not None:
            self._transport.close()
