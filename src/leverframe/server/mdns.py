"""mDNS: the controller announces itself as `_http._tcp` and `_leverframe._tcp` in its network.

An announcement runs in the background, because it takes seconds: the network is first asked whether
the name is free. If the name is already in use, the library appends a number. Nothing depends on
mDNS: if the network does not allow multicast, the log has one line about it. Controllers of one
process share the library's sockets.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.core.runtime.installation import explain_missing_extra
from leverframe.devices.readings import Troubles
from leverframe.host.controller import Controller
from leverframe.server.discovery import DiscoveryServer, find_own_address, own_addresses
from leverframe.server.shared_ports import ANY_ADDRESS

if TYPE_CHECKING:
    from zeroconf import ServiceInfo
    from zeroconf.asyncio import AsyncZeroconf


TYPES = ("_http._tcp.local.", "_leverframe._tcp.local.")
PART = "mDNS"
#: A label may have 63 bytes; the rest is for the number that the library appends to a used name.
MAX_LABEL_BYTES = 58
#: The number of names that are checked at the same time.
AT_A_TIME = 10


class MdnsResponder:
    """The library's sockets and memory, shared by all announcers of this process."""

    def __init__(self, interfaces: Sequence[str] = ()) -> None:
        """Use these addresses of the machine; without any, use all addresses."""
        self._interfaces = interfaces
        self._opened: AsyncZeroconf | None = None
        self._users = 0
        self._opening = asyncio.Lock()
        self._goodbyes: set[asyncio.Future[None]] = set()
        #: Limits concurrent announcements: each checks its name several times, and there may be
        #: thousands.
        self.turns = asyncio.Semaphore(AT_A_TIME)

    async def take(self) -> "AsyncZeroconf":
        """Return the library's responder; it stays open until each `take` has a `give_back`."""
        async with self._opening:
            if self._opened is None:
                # Imported here, because importing needs time and memory.
                from zeroconf import IPVersion
                from zeroconf.asyncio import AsyncZeroconf

                shown = list(await self.addresses())
                self._opened = AsyncZeroconf(interfaces=shown, ip_version=IPVersion.V4Only)
            self._users += 1
            return self._opened

    async def addresses(self) -> Sequence[str]:
        return self._interfaces or await asyncio.to_thread(own_addresses)

    def withdraw(self, services: "Sequence[ServiceInfo]", *, silently: bool) -> None:
        """Stop answering for services; send goodbye messages unless `silently`."""
        assert self._opened is not None
        if silently:
            self._opened.zeroconf.registry.async_remove(list(services))
            return
        for service in services:
            saying = asyncio.ensure_future(self._send_goodbye(service))
            self._goodbyes.add(saying)
            saying.add_done_callback(self._goodbyes.discard)

    async def _send_goodbye(self, service: "ServiceInfo") -> None:
        assert self._opened is not None
        await (await self._opened.async_unregister_service(service))

    async def give_back(self) -> None:
        """After the goodbyes, close the sockets if no announcer uses them any more."""
        async with self._opening:
            self._users -= 1
            if self._users == 0 and self._opened is not None:
                if self._goodbyes:
                    await asyncio.wait(self._goodbyes)
                opened, self._opened = self._opened, None
                await opened.async_close()


class MdnsAnnouncer:
    def __init__(
        self,
        profile: Profile,
        *,
        name: str,
        host_label: str,
        mac: str,
        port: int,
        responder: MdnsResponder,
    ) -> None:
        self._name = name
        self._host_label = host_label
        self._port = port
        self._properties = {"hw": profile.hw, "sw": profile.sw, "mac": mac, "path": "/"}
        self._responder = responder
        self._troubles = Troubles({})
        self._addresses: Sequence[str] = ()
        self._services: list[ServiceInfo] = []
        self._announcing: asyncio.Task[None] | None = None
        self._zeroconf: AsyncZeroconf | None = None

    def start(self, addresses: Sequence[str], troubles: MutableMapping[str, str]) -> None:
        """Announce these addresses; an empty list means the responder's addresses."""
        self._troubles = Troubles(troubles)
        self._addresses = addresses
        self._announcing = asyncio.create_task(self._see_through(self._announce))

    def set_version(self, profile: Profile) -> None:
        """Announce the controller's new version."""
        self._properties |= {"hw": profile.hw, "sw": profile.sw}
        if self._announcing is not None:
            renamed = partial(self._rename_services, self._announcing)
            self._announcing = asyncio.create_task(self._see_through(renamed))

    def rename(self, name: str) -> None:
        """Announce another name, if it differs."""
        if name == self._name:
            return
        self._name = name
        self._replace_what_is_announced()

    def move(self, addresses: Sequence[str], port: int) -> None:
        """Announce another address and port."""
        self._addresses, self._port = addresses, port
        self._replace_what_is_announced()

    def _replace_what_is_announced(self) -> None:
        if self._announcing is not None:
            renamed = partial(self._announce_again, self._announcing)
            self._announcing = asyncio.create_task(self._see_through(renamed))

    def set_power(self, on: bool) -> None:
        """Disappear silently when the power fails; announce again when it returns."""
        if self._announcing is None:
            return
        before = self._announcing
        if not on:
            before.cancel()
            self._withdraw(silently=True)
        then = self._announce if on else self._vanish
        renamed = partial(self._after, before, then)
        self._announcing = asyncio.create_task(self._see_through(renamed))

    async def _after(self, before: asyncio.Task[None], then: Callable[[], Awaitable[None]]) -> None:
        await asyncio.wait([before])
        await then()

    def _withdraw(self, *, silently: bool) -> list[str]:
        """Stop answering for the announced services; return their types."""
        services, self._services = self._services, []
        if services:
            self._responder.withdraw(services, silently=silently)
        return [service.type for service in services]

    async def _vanish(self) -> None:
        self._withdraw(silently=True)
        if self._zeroconf is not None:
            self._zeroconf = None
            await self._responder.give_back()

    async def _announce_again(self, before: asyncio.Task[None]) -> None:
        await before
        for kind in self._withdraw(silently=False):
            await self._register(kind)

    async def _rename_services(self, before: asyncio.Task[None]) -> None:
        await before
        for number, old in enumerate(self._services):
            # Use the final name: the library may have appended a number.
            new = self._service(old.type, old.name)
            assert self._zeroconf is not None
            await self._zeroconf.async_update_service(new)
            self._services[number] = new

    async def _see_through(self, announce: Callable[[], Awaitable[None]]) -> None:
        try:
            await announce()
        except ModuleNotFoundError as error:
            self._troubles.note(PART, explain_missing_extra(error))
        except Exception as error:
            # The library's errors may have no text.
            why = str(error) or type(error).__name__
            self._troubles.note(PART, f"mDNS does not announce the controller: {why}.")

    async def _announce(self) -> None:
        self._zeroconf = await self._responder.take()
        self._addresses = self._addresses or await self._responder.addresses()
        for kind in TYPES:
            await self._register(kind)

    async def _register(self, kind: str) -> None:
        assert self._zeroconf is not None
        service = self._service(kind, f"{_instance_label(self._name)}.{kind}")
        async with self._responder.turns:
            await self._zeroconf.async_register_service(service, allow_name_change=True)
        self._services.append(service)

    def _service(self, kind: str, name: str) -> "ServiceInfo":
        from zeroconf import ServiceInfo

        return ServiceInfo(
            kind,
            name,
            port=self._port,
            properties=self._properties,
            server=f"{self._host_label}.local.",
            addresses=[socket.inet_aton(address) for address in self._addresses],
        )

    async def close(self) -> None:
        # Announcements must not reach the network any more.
        announcing, self._announcing = self._announcing, None
        if announcing is not None:
            announcing.cancel()
            await asyncio.gather(announcing, return_exceptions=True)
        self._withdraw(silently=False)
        if self._zeroconf is not None:
            self._zeroconf = None
            await self._responder.give_back()


def follow(
    controller: Controller,
    responder: MdnsResponder,
    addresses: Sequence[str],
    *,
    name: Callable[[], str],
    host_label: str,
    mac: str,
    port: int,
) -> MdnsAnnouncer:
    """Announce a controller; follow the changes of its name, version and power."""

    def present_name() -> str:
        return controller.engine.settings.name or name()

    announcer = MdnsAnnouncer(
        controller.profile,
        name=present_name(),
        host_label=host_label,
        mac=mac,
        port=port,
        responder=responder,
    )
    announcer.start(addresses, controller.troubles)
    controller.profile_watchers.append(lambda: announcer.set_version(controller.profile))
    controller.settings_watchers.append(lambda *_: announcer.rename(present_name()))
    controller.power_watchers.append(announcer.set_power)
    return announcer


def _instance_label(name: str) -> str:
    """Turn a name into one DNS label, without dots, which would end the label."""
    return name.replace(".", " ").encode()[:MAX_LABEL_BYTES].decode(errors="ignore")


# Discovery in the network: UDP discovery and mDNS together.


class Announcing(Struct, frozen=True):
    """Which announcements the configuration allows."""

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
