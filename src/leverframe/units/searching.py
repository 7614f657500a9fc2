"""Find units: those that announce themselves, those at named addresses, and their identities.

A named address gets one HTTP request; a unit that answers is read once more for the digest of its
settings. Only a few addresses are started per second, to avoid a flood. A login is sent only to
units that `GuardedLogins` allows: any device can answer a search.
"""

import asyncio
from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from leverframe.errors import ErrorForPeople
from leverframe.recording.replayer import UnitLogin
from leverframe.recording.unit_client import UnitError, UnitSilent
from leverframe.status_files.decoding import keys_in
from leverframe.status_files.forms import NotReadable
from leverframe.units.client import SignInNeeded, UnitAnswer, open_paced_client
from leverframe.units.heard_units import HeardUnit
from leverframe.units.live_reading import short_text
from leverframe.units.mac_addresses import find_shared_macs, normal_mac
from leverframe.units.pulling import pull_unit
from leverframe.units.targets import GuardedLogins

#: Addresses started per second, and queried in parallel.
ADDRESSES_PER_S = 20
AT_A_TIME = 16
#: A unit in the same network accepts a connection and answers within a second.
ANSWER_S = 3.0
#: For all settings; a real unit needs 5 s, because it gets at most four requests per second.
DIGEST_S = 30.0
#: Versions, name and MAC address in one short file of every version.
IDENTITY = "/xml/stat.xml"
_NO_UNIT = "A device answers there, but not like a unit."


class FoundUnit(Struct, frozen=True):
    """One line of the result; empty for unknown parts."""

    address: str
    name: str = ""
    mac: str = ""
    hardware: str = ""
    software: str = ""
    digest: Annotated[str, Meta(description="Digest of all readable settings.")] = ""
    sign_in: Annotated[bool, Meta(description="Whether it requires a login.")] = False
    is_login_withheld: Annotated[
        bool, Meta(description="Whether the login was withheld, because it may be a stranger.")
    ] = False
    answers: Annotated[bool, Meta(description="Whether a device answers at the address.")] = True
    is_identified: Annotated[
        bool, Meta(description=("Whether it showed its identity like a unit."))
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

    An expected unit that does not answer, such as at a single address, is reported.
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
        # Most addresses of a range are unused; a unit that was just heard is there.
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
                # It showed its identity, and then became too slow or disappeared.
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
        return replace(found, trouble=f"It shows two MAC addresses: {found.mac} and {mac}.")
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
        f"Several addresses show the MAC address {mac}: {', '.join(addresses)}. Either it is one"
        " unit with these addresses, or one of them replaced another."
        for mac, addresses in macs.items()
    ]
