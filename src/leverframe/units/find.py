"""`leverframe unit find`: find units in the network or at given addresses."""

import asyncio
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec

from leverframe.core.errors import (
    DONE,
    NO,
    ErrorForPeople,
    print_json,
    print_line,
    print_lines,
    print_warnings,
    printable,
)
from leverframe.core.runtime.installation import explain_missing_extra
from leverframe.units.addresses import addresses_from_names, shorten_addresses, single_addresses
from leverframe.units.inventory import count_units, distinct_names, plain_name
from leverframe.units.search import (
    FoundUnit,
    HeardUnit,
    broadcast_request,
    doubles,
    hear_announced,
    look_at,
)
from leverframe.units.targets import inventory_at, read_guarded_logins
from leverframe.units.unit_text import toml_value

# An inventory of the units found by a search, as a text that `unit check` accepts.
#
# Every unit gets a unique name and the group `all`, where the operator adds common keys. Devices
# that answered without an identity follow as comments.

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_OPENING = """\
# Found by `leverframe unit find` on {day}.
# Settings that all units have in common go here, such as:
#   file = "all.toml"
#   user = "admin"
#   password = {{ env = "UNIT_PASSWORD" }}
[groups.all]
"""


class CannotWriteInventory(ErrorForPeople):
    """The inventory would overwrite a file; the message is one sentence."""


class FoundInventory(NamedTuple):
    text: str
    #: Number of units in it.
    size: int
    #: Remarks about changed names and omitted units.
    remarks: list[str]


def refuse_present(path: Path | None) -> None:
    """Refuse to overwrite a file before the search, which takes seconds."""
    if path is not None and path.exists():
        raise CannotWriteInventory(
            f"{path} already exists; choose another name, or remove it first."
        )


def build_inventory(found: Sequence[FoundUnit]) -> FoundInventory:
    """Return the inventory of found units; each MAC address appears once."""
    listed: dict[str, FoundUnit] = {}
    left_out: list[tuple[FoundUnit, str]] = []
    for unit in found:
        if not unit.answers:
            continue
        if not unit.mac or (unit.trouble and not unit.is_identified):
            left_out.append((unit, _why_unknown(unit)))
        elif unit.mac in listed:
            left_out.append((unit, f"it has the same MAC address as {listed[unit.mac].address}."))
        else:
            listed[unit.mac] = unit
    units = list(listed.values())
    names = distinct_names(plain_name(unit.name, unit.address) for unit in units)
    text = _OPENING.format(day=f"{datetime.now(UTC):%Y-%m-%d}")
    for unit, name in zip(units, names, strict=True):
        text += "\n" + "\n".join(_table(unit, name)) + "\n"
    for unit, why in left_out:
        lines = [f"Left out: {why}", *_table(unit, plain_name(unit.name, unit.address))]
        text += "\n" + "\n".join(f"# {printable(line)}" for line in lines) + "\n"
    return FoundInventory(
        text,
        len(units),
        [
            *_renamings(units, names),
            *(f"{unit.address} is left out of the inventory: {why}" for unit, why in left_out),
        ],
    )


def _why_unknown(unit: FoundUnit) -> str:
    if unit.trouble:
        return unit.trouble
    return "it requires a login before it shows its identity; add --user NAME."


def _table(unit: FoundUnit, name: str) -> Iterator[str]:
    if unit.hardware or unit.name:
        version = f"HW {unit.hardware} SW {unit.software}" if unit.hardware else "unknown version"
        yield printable(f"# {version}, called {toml_value(unit.name)}")
    key = name if _BARE_KEY.fullmatch(name) else toml_value(name)
    yield f"[units.{key}]"
    yield f"address = {toml_value(unit.address)}"
    if unit.mac:
        yield f"mac = {toml_value(unit.mac)}"
    yield 'groups = ["all"]'


def _renamings(units: Sequence[FoundUnit], names: Sequence[str]) -> Iterator[str]:
    """Yield the units that share a name, and their names in the inventory."""
    sharing: dict[str, list[str]] = {}
    for unit, name in zip(units, names, strict=True):
        base = plain_name(unit.name, unit.address).lower()
        sharing.setdefault(base, []).append(f"{unit.address} is {name}")
    for shared in sharing.values():
        if len(shared) > 1:
            yield f"Units with the same name are numbered in the inventory: {', '.join(shared)}."


def same_names(found: Iterable[FoundUnit]) -> list[str]:
    """Return a sentence for each name that several units share; one unit may answer twice."""
    units: dict[str, dict[str, str]] = {}
    for unit in found:
        if unit.name:
            units.setdefault(unit.name, {}).setdefault(unit.mac or unit.address, unit.address)
    return [
        f"{len(sharing)} units have the name {name}: {', '.join(sharing.values())}."
        for name, sharing in units.items()
        if len(sharing) > 1
    ]


MAX_LISTEN_S = 60.0
#: Length of the digest prefix in tables; JSON contains the whole digest.
SHOWN_DIGEST = 12
_HEADS = ("address", "name", "MAC", "hardware", "software", "settings", "sign-in")


class CannotFind(ErrorForPeople):
    """The search cannot start; the message is one sentence."""


async def find_units(
    addresses: list[str],
    inventory: Path | None,
    user: str | None,
    listen_s: float,
    ca_file: str | None,
    quick: bool,
    as_json: bool,
    out: Path | None,
) -> int:
    """Print a line for each unit found; return 1 if a unit is missing."""
    refuse_present(out)
    if not 0 < listen_s <= MAX_LISTEN_S:
        raise CannotFind(f"--listen must be more than 0 and at most {MAX_LISTEN_S:.0f} seconds.")
    named = addresses_from_names(addresses)
    known = inventory_at(inventory)
    logins = read_guarded_logins(user, named, known)
    heard, unheard = ([], []) if named else await _hear_units(listen_s)
    expected = single_addresses(addresses)
    found = await look_at(heard, named, logins, ca_file, wants_digest=not quick, expected=expected)
    _print(found, _find_unused(named, found), as_json=as_json)
    present = [unit for unit in found if unit.answers]
    remarks = same_names(found) if out is None else _write_inventory(out, found, as_json=as_json)
    print_warnings([*unheard, *doubles(found), *_withheld(found), *remarks])
    return DONE if present and len(present) == len(found) else NO


def _write_inventory(out: Path, found: list[FoundUnit], *, as_json: bool) -> list[str]:
    """Write the found units to a new file; return a report."""
    inventory = build_inventory(found)
    if not inventory.size:
        return [f"{out} was not written: no units were found.", *inventory.remarks]
    with out.open("x", encoding="utf-8") as file:
        file.write(inventory.text)
    if not as_json:
        print_line(f"{count_units(inventory.size)} written to {out}.")
    return inventory.remarks


def _find_unused(named: list[str], found: list[FoundUnit]) -> list[str]:
    """Return the unused addresses of ranges and networks."""
    known = {unit.address for unit in found}
    return [address for address in named if address not in known]


def _withheld(found: list[FoundUnit]) -> Iterator[str]:
    """Yield sentences about units that did not receive the login, with advice."""
    addresses = [unit.address for unit in found if unit.is_login_withheld]
    if addresses:
        yield (
            f"The login was not sent to {', '.join(addresses)}, because any device can answer a"
            " search."
        )
        yield (
            "Name the addresses of your units, or use --inventory with their addresses and MAC"
            " addresses."
        )


async def _hear_units(listen_s: float) -> tuple[list[HeardUnit], list[str]]:
    """Return the units that answered, and why others may be missing."""
    by_question, by_name = await asyncio.gather(
        broadcast_request(listen_s=listen_s),
        hear_announced(listen_s=listen_s),
        return_exceptions=True,
    )
    if isinstance(by_question, BaseException):
        raise by_question
    if isinstance(by_name, ModuleNotFoundError):
        why = explain_missing_extra(by_name)
        return by_question, [f"Controllers that announce themselves were not searched. {why}"]
    if isinstance(by_name, BaseException):
        raise by_name
    # A unit may be found both ways; its answer to the broadcast has its plain name.
    macs = {unit.mac for unit in by_question}
    return [*by_question, *(unit for unit in by_name if unit.mac not in macs)], []


def _print(found: list[FoundUnit], unused: list[str], *, as_json: bool) -> None:
    if as_json:
        for unit in found:
            print_json(msgspec.to_builtins(unit))
        return
    present = [unit for unit in found if unit.answers]
    if present:
        _print_table(present)
    else:
        print_line("No units were found.")
    print_lines(f"{unit.address}: {unit.trouble}" for unit in found if unit.trouble)
    if unused and present:
        count = len(unused) + len(found)
        print_line(
            f"No answer from {len(unused)} of {count} addresses: {shorten_addresses(unused)}"
        )


def _print_table(found: list[FoundUnit]) -> None:
    rows = [_HEADS, *(tuple(map(printable, _row(unit))) for unit in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADS))]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        for row in rows
    )
    print_lines(line.rstrip() for line in lines)


def _row(unit: FoundUnit) -> tuple[str, ...]:
    return (
        unit.address,
        unit.name or "-",
        unit.mac or "-",
        unit.hardware or "-",
        unit.software or "-",
        unit.digest[:SHOWN_DIGEST] or "-",
        "not sent" if unit.is_login_withheld else "yes" if unit.sign_in else "no",
    )
