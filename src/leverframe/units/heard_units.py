"""Units that announce themselves in the network: by the maker's UDP request, and by mDNS.

Only the request is sent, never the bytes that start a bootloader. Answers come from strangers:
invalid answers are ignored.
"""

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from leverframe.plain_text import printable
from leverframe.servers.discovery.discovery import PORT, QUESTION
from leverframe.servers.discovery.mdns import TYPES
from leverframe.units.mac_addresses import normal_mac

if TYPE_CHECKING:
    from zeroconf import ServiceInfo

#: Broadcast addresses of every IPv4 network of this machine.
EVERYBODY = "255.255.255.255"
#: Real units answer within a tenth of a second; a request may get lost.
LISTEN_S = 3.0
ASKED_TIMES = 2
_MAX_ANSWER_BYTES = 512
_MAX_UNITS = 1024
_MAX_LETTERS = 64
#: A name without an answer uses its whole time limit, and a stranger may announce many.
_RESOLVE_MS, _RESOLVED_AT_A_TIME = 1000, 64
#: Only controllers of this program; `_http._tcp` would include every printer.
_SERVICE = TYPES[1]
_USUAL_PORT = 80


class HeardUnit(NamedTuple):
    """The public identity of a unit."""

    address: str
    name: str
    mac: str
    hardware: str
    software: str


async def broadcast_request(
    targets: Sequence[str] = (EVERYBODY,), port: int = PORT, listen_s: float = LISTEN_S
) -> list[HeardUnit]:
    """Send the request to broadcast addresses; return the units that answer in time."""
    heard: dict[str, HeardUnit] = {}
    with _asking_socket(port) as asking:
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(listen_s):
                for _ in range(ASKED_TIMES):
                    for target in targets:
                        # A machine without a network has no one to ask.
                        with suppress(OSError):
                            await loop.sock_sendto(asking, QUESTION, (target, port))
                while len(heard) < _MAX_UNITS:
                    data, source = await loop.sock_recvfrom(asking, _MAX_ANSWER_BYTES)
                    unit = _from_answer(data, source[0])
                    if unit is not None:
                        heard.setdefault(unit.address, unit)
    return list(heard.values())


def _asking_socket(port: int) -> socket.socket:
    """Return a socket at the port that units expect of a client, or at any other port."""
    asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asking.setblocking(False)
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    for number in (port, 0):
        with suppress(OSError):
            asking.bind(("", number))
            break
    return asking


def _from_answer(data: bytes, source: str) -> HeardUnit | None:
    """Parse the answer of a unit: name, MAC address, software and hardware, a line each."""
    lines = data.decode("utf-8", "replace").split("\r\n")
    if len(lines) < 4:
        return None
    name, mac, software, hardware = (line.strip()[:_MAX_LETTERS] for line in lines[:4])
    normal = normal_mac(mac)
    if normal is None or not f"{name}{software}{hardware}".isprintable():
        return None
    plain, colon, port = name.rpartition(":")
    has_port = bool(colon) and port.isascii() and port.isdigit() and 0 < int(port) < 65536
    address = f"http://{source}:{port}" if has_port else f"http://{source}"
    return HeardUnit(address, plain if has_port else name, normal, hardware, software)


async def hear_announced(
    interfaces: Sequence[str] = (), listen_s: float = LISTEN_S
) -> list[HeardUnit]:
    """Return the controllers that announce themselves by mDNS, on these interfaces or on all."""
    from zeroconf import BadTypeInNameException, IPVersion, Zeroconf
    from zeroconf.asyncio import AsyncServiceBrowser, AsyncServiceInfo, AsyncZeroconf

    names: dict[str, None] = {}

    def on_change(zeroconf: Zeroconf, service_type: str, name: str, state_change: object) -> None:
        if len(names) < _MAX_UNITS:
            names[name] = None

    try:
        opened = (
            AsyncZeroconf(interfaces=list(interfaces), ip_version=IPVersion.V4Only)
            if interfaces
            else AsyncZeroconf(ip_version=IPVersion.V4Only)
        )
    except OSError:
        # A network without multicast announces no controllers.
        return []
    try:
        browser = AsyncServiceBrowser(opened.zeroconf, [_SERVICE], handlers=[on_change])
        await asyncio.sleep(listen_s)
        await browser.async_cancel()
        turns = asyncio.Semaphore(_RESOLVED_AT_A_TIME)

        async def resolve(name: str) -> list[HeardUnit]:
            # The library rejects names that no honest controller announces.
            with suppress(BadTypeInNameException):
                info = AsyncServiceInfo(_SERVICE, name)
                async with turns:
                    if await info.async_request(opened.zeroconf, _RESOLVE_MS):
                        return _from_service(info, name)
            return []

        found = await asyncio.gather(*map(resolve, names))
        return [unit for units in found for unit in units]
    finally:
        await opened.async_close()


def _from_service(info: "ServiceInfo", name: str) -> list[HeardUnit]:
    properties = info.decoded_properties
    mac = normal_mac(properties.get("mac") or "")
    addresses = [text for text in info.parsed_addresses() if ip_address(text).version == 4]
    if mac is None or not addresses:
        return []
    port = "" if info.port == _USUAL_PORT else f":{info.port}"
    said = (name.removesuffix(f".{_SERVICE}"), properties.get("hw"), properties.get("sw"))
    shown, hardware, software = (printable((text or "")[:_MAX_LETTERS]) for text in said)
    return [HeardUnit(f"http://{addresses[0]}{port}", shown, mac, hardware, software)]
