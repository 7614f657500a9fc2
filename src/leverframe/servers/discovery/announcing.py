"""Discovery in the network: UDP discovery and mDNS together."""

import asyncio

from msgspec import Struct

from leverframe.controller import Controller
from leverframe.servers.discovery.discovery import DiscoveryServer, find_own_address
from leverframe.servers.discovery.mdns import MdnsAnnouncer, MdnsResponder, follow
from leverframe.servers.discovery.shared_port import ANY_ADDRESS


class Announcing(Struct, frozen=True):
    """The kinds of announcement that the configuration allows."""

    discovery: bool
    bootloader: bool
    mdns: bool


async def announce(
    controller: Controller,
    wanted: Announcing,
    *,
    name: str,
    host_label: str,
    mac: str,
    host: str,
    port: int,
) -> list[DiscoveryServer | MdnsAnnouncer]:
    """Start the enabled announcements; the caller has to close the result.

    `name` is used until the user names the controller.
    """
    started: list[DiscoveryServer | MdnsAnnouncer] = []
    if wanted.discovery:
        server = DiscoveryServer(
            controller, name=name, mac=mac, http_port=port, bootloader=wanted.bootloader
        )
        only = None if host == ANY_ADDRESS else await asyncio.to_thread(find_own_address, host)
        server.start(only)
        controller.ports["discovery"] = lambda: server.port
        started.append(server)
    if wanted.mdns:
        responder = MdnsResponder(() if host == ANY_ADDRESS else (host,))
        started.append(
            follow(
                controller,
                responder,
                (),
                name=lambda: name,
                host_label=host_label,
                mac=mac,
                port=port,
            )
        )
    return started
