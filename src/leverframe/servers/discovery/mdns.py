"""mDNS: the controller announces itself as `_http._tcp` and `_leverframe._tcp` in its network.

Announcing takes seconds, because a name is first asked for, so it runs beside everything else. A
name that somebody else has is counted up by the library. Nothing depends on it: a network that does
not allow multicast is a line in the log.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from leverframe.hardware.troubles import Troubles
from leverframe.profile import Profile

if TYPE_CHECKING:
    from zeroconf import ServiceInfo
    from zeroconf.asyncio import AsyncZeroconf

TYPES = ("_http._tcp.local.", "_leverframe._tcp.local.")
PART = "mDNS"
#: A label has 63, and the library counts a name up that somebody else has.
MAX_LABEL_BYTES = 58


class MdnsAnnouncer:
    def __init__(
        self, profile: Profile, *, name: str, host_label: str, mac: str, port: int
    ) -> None:
        self._name = name
        self._host_label = host_label
        self._port = port
        self._properties = {"hw": profile.hw, "sw": profile.sw, "mac": mac, "path": "/"}
        self._troubles = Troubles({})
        self._addresses: Sequence[str] = ()
        self._services: list[ServiceInfo] = []
        self._announcing: asyncio.Task[None] | None = None
        self._zeroconf: AsyncZeroconf | None = None

    def start(self, addresses: Sequence[str], troubles: MutableMapping[str, str]) -> None:
        """Announce on these addresses of the machine; an empty list means all."""
        self._troubles = Troubles(troubles)
        self._addresses = addresses
        self._announcing = asyncio.create_task(
            self._see_through(partial(self._announce, addresses))
        )

    def become(self, profile: Profile) -> None:
        """Announce the version that the controller has become."""
        self._properties |= {"hw": profile.hw, "sw": profile.sw}
        if self._announcing is not None:
            anew = partial(self._announce_anew, self._announcing)
            self._announcing = asyncio.create_task(self._see_through(anew))

    def rename(self, name: str) -> None:
        """Announce another name instead, if it is another one."""
        if name == self._name:
            return
        self._name = name
        if self._announcing is not None:
            anew = partial(self._announce_renamed, self._announcing)
            self._announcing = asyncio.create_task(self._see_through(anew))

    def set_power(self, on: bool) -> None:
        """Vanish without a word when the power goes; be announced again when it is back."""
        if self._announcing is None:
            return
        before = self._announcing
        if not on:
            before.cancel()
            if self._zeroconf is not None:
                # Closing would tell everybody what is still registered that it is gone.
                registry = self._zeroconf.zeroconf.registry
                registry.async_remove(registry.async_get_service_infos())
        then = partial(self._announce, self._addresses) if on else self._vanish
        anew = partial(self._after, before, then)
        self._announcing = asyncio.create_task(self._see_through(anew))

    async def _after(self, before: asyncio.Task[None], then: Callable[[], Awaitable[None]]) -> None:
        await asyncio.wait([before])
        await then()

    async def _vanish(self) -> None:
        self._services = []
        if self._zeroconf is not None:
            await self._zeroconf.async_close()
            self._zeroconf = None

    async def _announce_renamed(self, before: asyncio.Task[None]) -> None:
        await before
        if self._zeroconf is None:
            return
        olds, self._services = self._services, []
        for old in olds:
            await self._zeroconf.async_unregister_service(old)
        for old in olds:
            await self._register(old.type, old.parsed_addresses())

    async def _announce_anew(self, before: asyncio.Task[None]) -> None:
        await before
        for number, old in enumerate(self._services):
            # By the name that it got in the end, which the library may have counted up.
            new = self._service(old.type, old.name, old.parsed_addresses())
            assert self._zeroconf is not None
            await self._zeroconf.async_update_service(new)
            self._services[number] = new

    async def _see_through(self, announce: Callable[[], Awaitable[None]]) -> None:
        try:
            await announce()
        except Exception as error:
            # Errors of the library may come without a text.
            why = str(error) or type(error).__name__
            self._troubles.note(PART, f"the controller is not announced: {why}.")

    async def _announce(self, addresses: Sequence[str]) -> None:
        # Imported when it is used: it takes time and memory.
        from zeroconf import IPVersion
        from zeroconf.asyncio import AsyncZeroconf

        shown = list(addresses) or await asyncio.to_thread(_own_addresses)
        self._zeroconf = AsyncZeroconf(interfaces=shown, ip_version=IPVersion.V4Only)
        for kind in TYPES:
            await self._register(kind, shown)

    async def _register(self, kind: str, addresses: Sequence[str]) -> None:
        assert self._zeroconf is not None
        service = self._service(kind, f"{_instance_label(self._name)}.{kind}", addresses)
        await self._zeroconf.async_register_service(service, allow_name_change=True)
        self._services.append(service)

    def _service(self, kind: str, name: str, addresses: Sequence[str]) -> "ServiceInfo":
        from zeroconf import ServiceInfo

        return ServiceInfo(
            kind,
            name,
            port=self._port,
            properties=self._properties,
            server=f"{self._host_label}.local.",
            addresses=[socket.inet_aton(address) for address in addresses],
        )

    async def close(self) -> None:
        if self._announcing is not None:
            self._announcing.cancel()
            await asyncio.gather(self._announcing, return_exceptions=True)
        if self._zeroconf is not None:
            try:
                await self._zeroconf.async_unregister_all_services()
            finally:
                await self._zeroconf.async_close()


def _instance_label(name: str) -> str:
    """Make one label of a name: without dots, which the library takes for the end of one."""
    return name.replace(".", " ").encode()[:MAX_LABEL_BYTES].decode(errors="ignore")


def _own_addresses() -> list[str]:
    """Return the IPv4 addresses of this machine that others can reach."""
    import ifaddr

    return [
        str(address.ip)
        for adapter in ifaddr.get_adapters()
        for address in adapter.ips
        if address.is_IPv4 and not str(address.ip).startswith("127.")
    ]
