"""UDP discovery: a client broadcasts a question, and every controller in the network answers.

The answer has four lines: name, MAC address with dashes, software and hardware version, as units of
HW 3.5+ SW 1.26 and later send it. The answer is sent from the address that the question was sent
to, so clients learn the address of the controller. No line is meant for the port, so the name is
followed by the port if clients would not try it by default.

All controllers of a machine share the port, and each answers for itself. The three bytes that start
the bootloader of a real unit work only if the configuration permits this, and at most once every
ten minutes: any host in the network could send them, and the bootloader switches the outputs off.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import msgspec
from msgspec import Struct

from leverframe.core.engine.journal import Cause
from leverframe.core.profile import HW35, Profile
from leverframe.devices.readings import Troubles
from leverframe.host.controller import Controller
from leverframe.interface.table.lookup import UNRESTRICTED, Call, find
from leverframe.interface.table.refusals import Refusal
from leverframe.server.shared_ports import Asked, SharedPort

log = logging.getLogger(__name__)

PORT = 30403
QUESTION = b"Discovery: Who is out there?"
START_BOOTLOADER = b"\x12\xf4\x81"
#: Minimum time between two starts of the bootloader by these bytes.
START_PAUSE_S = 600.0
#: Seconds until the server retries an occupied port.
RETRY_S = 15.0
#: The default ports of HTTP and HTTPS.
USUAL_PORTS = (80, 443)
PART = "discovery"


def answers_discovery(profile: Profile) -> bool:
    return profile.since("1.26", HW35)


def is_known(data: bytes) -> bool:
    return data == START_BOOTLOADER or data.strip() == QUESTION


def discovery_answer(controller: Controller, name: str, mac: str, http_port: int) -> bytes:
    """Return the four lines that describe a controller."""
    profile = controller.profile
    after_name = "" if http_port in USUAL_PORTS else f":{http_port}"
    return "\r\n".join(
        (controller.name_or(name) + after_name, mac.replace(":", "-"), profile.sw, profile.hw)
    ).encode()


class OwnAddress(Struct, frozen=True):
    """The one address that a controller listens on, and the interface that has it."""

    address: str
    interface: int

    def is_meant_by(self, datagram: Asked) -> bool:
        """Return whether a datagram was sent to this address, or broadcast to its network."""
        if datagram.by_broadcast:
            return datagram.interface == self.interface
        return datagram.address == self.address


def find_own_address(host: str) -> OwnAddress | None:
    """Find the machine's interface with this address; return None if it has no such IPv4 address.

    The lookup may take a moment.
    """
    import ifaddr

    try:
        address = socket.gethostbyname(host)
    except OSError:
        return None
    for adapter in ifaddr.get_adapters():
        if adapter.index is not None and any(ip.ip == address for ip in adapter.ips):
            return OwnAddress(address, adapter.index)
    return None


def own_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine that other machines can reach."""
    import ifaddr

    return [
        str(address.ip)
        for adapter in ifaddr.get_adapters()
        for address in adapter.ips
        if address.is_IPv4 and not str(address.ip).startswith("127.")
    ]


class DiscoveryServer:
    def __init__(
        self,
        controller: Controller,
        *,
        name: str,
        mac: str,
        http_port: int = USUAL_PORTS[0],
        bootloader: bool = False,
    ) -> None:
        self._controller = controller
        self._name = name
        self._mac = mac
        self._http_port = http_port
        self._bootloader = bootloader
        self._next_start = 0.0
        self._troubles = Troubles(controller.troubles)
        #: The only address to listen on; None for all addresses.
        self._only: OwnAddress | None = None
        self._port: SharedPort | None = None
        self._open: Callable[[], None] = lambda: None
        self._retry: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int | None:
        """The port of discovery; None while it is closed, and for versions without discovery."""
        if self._port is None or not answers_discovery(self._controller.profile):
            return None
        return self._port.number

    def start(
        self, only: OwnAddress | None = None, port: int = PORT, retry_s: float = RETRY_S
    ) -> None:
        """Listen while the version supports discovery; firmware may change the version."""
        self._only = only
        self._open = partial(self._listen, port, retry_s)
        self._controller.profile_watchers.append(self._follow_version)
        self._follow_version()

    def _follow_version(self) -> None:
        if not (self._bootloader or answers_discovery(self._controller.profile)):
            self._shut()
            self._troubles.note(PART, None)
        elif self._port is None:
            self._open()

    def _listen(self, port: int, retry_s: float) -> None:
        """Open the port; if that fails, the controller works without discovery."""
        self._shut()
        loop = asyncio.get_running_loop()
        try:
            self._port = SharedPort(port, is_known, self._take)
        except OSError as error:
            self._troubles.note(
                PART,
                f"UDP port {port} cannot be used ({error.strerror or error}), so discovery does "
                "not find the controller. Free the port, or run with --no-discovery.",
            )
            self._retry = loop.call_later(retry_s, self._listen, port, retry_s)
        else:
            self._troubles.note(PART, None)
            loop.add_reader(self._port, self._port.read)

    def _take(self, data: bytes, datagram: Asked) -> None:
        if not self._controller.has_power:
            return
        if self._only is not None:
            if not self._only.is_meant_by(datagram):
                return
            datagram = msgspec.structs.replace(datagram, address=self._only.address)
        if data == START_BOOTLOADER:
            if self._bootloader:
                self._start_bootloader(datagram.client[0])
        # Firmware may have changed the version.
        elif self._port is not None and answers_discovery(self._controller.profile):
            self._port.answer(self._answer(), datagram)

    def _answer(self) -> bytes:
        return discovery_answer(self._controller, self._name, self._mac, self._http_port)

    def _start_bootloader(self, peer: str) -> None:
        """Run the same command as over HTTP, so that it is refused under the same conditions."""
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
            log.warning("bootloader not started: %s", refusal.detail)

    def _shut(self) -> None:
        if self._retry is not None:
            self._retry.cancel()
        if self._port is not None:
            asyncio.get_running_loop().remove_reader(self._port)
            self._port.close()
            self._port = None

    async def close(self) -> None:
        with suppress(ValueError):
            self._controller.profile_watchers.remove(self._follow_version)
        self._shut()
