"""Find units that announce themselves by UDP or mDNS, and units at named addresses.

Only the request is sent, never the bytes that start a bootloader. Answers come from strangers:
invalid answers are ignored.
"""

import asyncio
import socket
from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.core.errors import ErrorForPeople, printable
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.settings_reader import keys_in
from leverframe.server.discovery import PORT, QUESTION
from leverframe.server.mdns import TYPES
from leverframe.testing.recordings.replay import UnitLogin
from leverframe.testing.recordings.unit_client import UnitError, UnitSilent
from leverframe.units.addresses import find_shared_macs, normal_mac
from leverframe.units.client import SignInNeeded, UnitAnswer, open_paced_client
from leverframe.units.live_values import short_text
from leverframe.units.targets import GuardedLogins
from leverframe.units.unit_reader import pull_unit

if TYPE_CHECKING:
    from zeroconf import ServiceInfo


#: Broadcast addresses of every IPv4 network of this machine.
BROADCAST = "255.255.255.255"
#: Real units answer within a tenth of a second; a request may get lost.
LISTEN_S = 3.0
ASKED_TIMES = 2
_MAX_ANSWER_BYTES = 512
_MAX_UNITS = 1024
_MAX_LETTERS = 64
#: A name without an answer uses the whole time limit, and any device can announce many names.
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
    targets: Sequence[str] = (BROADCAST,), port: int = PORT, listen_s: float = LISTEN_S
) -> list[HeardUnit]:
    """Send the request to broadcast addresses; return the units that answer in time."""
    heard: dict[str, HeardUnit] = {}
    with _asking_socket(port) as asking:
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout(listen_s):
                for _ in range(ASKED_TIMES):
                    for target in targets:
                        # A machine without a network cannot send the request.
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


# Find units: those that announce themselves, those at named addresses, and their identities.
#
# A named address gets one HTTP request; a unit that answers is read once more for the digest of
# its settings. Only a few addresses are started per second, to avoid a flood. A login is sent
# only to units that `GuardedLogins` allows: any device can answer a search.

#: Addresses started per second, and queried in parallel.
ADDRESSES_PER_S = 20
AT_A_TIME = 16
#: A unit in the same network accepts a connection and answers within a second.
ANSWER_S = 3.0
#: Time limit for all settings; a real unit needs 5 s for them, at four requests per second.
DIGEST_S = 30.0
#: Versions, name and MAC address in one short file of every version.
IDENTITY = "/xml/stat.xml"
_NO_UNIT = "A device answers at this address, but not as a unit does."


class FoundUnit(Struct, frozen=True):
    """One line of the result; empty for unknown parts."""

    address: str
    name: str = ""
    mac: str = ""
    hardware: str = ""
    software: str = ""
    digest: Annotated[str, Meta(description="Digest of all readable settings.")] = ""
    sign_in: Annotated[bool, Meta(description="Whether the unit requires a login.")] = False
    is_login_withheld: Annotated[
        bool,
        Meta(description="Whether the login was withheld, because any device can answer a search."),
    ] = False
    answers: Annotated[bool, Meta(description="Whether a device answers at the address.")] = True
    is_identified: Annotated[
        bool, Meta(description=("Whether the device identified itself as a unit."))
    ] = False
    #: Its problem, in a sentence.
    trouble: str = ""


async def look_at(
    announced: Iterable[HeardUnit],
    named: Sequence[str],
    logins: GuardedLogins,
    ca_file: str | None,
    *,
    wants_digest: bool,
    expected: Collection[str] = (),
) -> list[FoundUnit]:
    """Query all announced units and every named address; omit unused addresses.

    Addresses in `expected`, such as single addresses, are reported even if they are unused.
    """
    known = {unit.address: unit for unit in announced}
    addresses = list(dict.fromkeys([*known, *named]))
    turns = asyncio.Semaphore(AT_A_TIME)

    async def look(address: str) -> FoundUnit | None:
        async with turns:
            found = await _look(
                address, known.get(address), logins, ca_file, wants_digest=wants_digest
            )
        return found if found.answers or address in expected else None

    looks = []
    async with asyncio.TaskGroup() as group:
        for number, address in enumerate(addresses):
            if number:
                await asyncio.sleep(1 / ADDRESSES_PER_S)
            looks.append(group.create_task(look(address)))
    return [found for one in looks if (found := one.result()) is not None]


async def _look(
    address: str,
    unit: HeardUnit | None,
    logins: GuardedLogins,
    ca_file: str | None,
    *,
    wants_digest: bool,
) -> FoundUnit:
    found = FoundUnit(address) if unit is None else FoundUnit(*unit)
    try:
        try:
            return await _query_unit(found, None, ca_file, wants_digest=wants_digest)
        except SignInNeeded:
            found = replace(found, sign_in=True)
            login = logins.at(address, found.mac)
            if login is None:
                return replace(found, is_login_withheld=logins.withholds)
            return await _query_unit(found, login, ca_file, wants_digest=wants_digest)
    except UnitSilent as silence:
        # Most addresses of a range are unused, but a unit that has just announced itself exists.
        return replace(found, answers=unit is not None, trouble=str(silence))
    except ErrorForPeople as refusal:
        return replace(found, trouble=str(refusal))


async def _query_unit(
    found: FoundUnit, login: UnitLogin | None, ca_file: str | None, *, wants_digest: bool
) -> FoundUnit:
    opened = open_paced_client(found.address, login, ca_file, answer_s=ANSWER_S, retry_waits_s=())
    async with opened as client:
        found = _identify(found, await client.read(IDENTITY))
        if wants_digest and not found.trouble:
            try:
                pulled = await pull_unit(client, within_s=DIGEST_S)
            except UnitError as problem:
                # The unit answered at first, and then became too slow or disappeared.
                return replace(found, trouble=str(problem))
            found = replace(found, digest=pulled.digest)
    return found


def _identify(found: FoundUnit, answer: UnitAnswer) -> FoundUnit:
    try:
        keys = keys_in(IDENTITY, answer.body)
    except NotReadable:
        return replace(found, trouble=_NO_UNIT)
    mac = normal_mac(keys.get("ip4", ""))
    who = [short_text(keys.get(name, "")) for name in ("sname", "hw", "sw")]
    if not answer.is_ok or mac is None or not all(who[1:]):
        return replace(found, trouble=_NO_UNIT)
    if found.mac and found.mac != mac:
        return replace(found, trouble=f"The unit shows two MAC addresses: {found.mac} and {mac}.")
    name, hardware, software = who
    return replace(
        found,
        name=name or found.name,
        mac=mac,
        hardware=hardware,
        software=software,
        is_identified=True,
    )


def doubles(found: Iterable[FoundUnit]) -> list[str]:
    """Return a sentence for each MAC address that units at several addresses show."""
    macs = find_shared_macs((unit.address, unit.mac) for unit in found)
    return [
        f"Several addresses show the MAC address {mac}: {', '.join(addresses)}. Either one unit"
        f" has all these addresses, or one unit replaced another."
        for mac, addresses in macs.items()
    ]
