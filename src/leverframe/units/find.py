"""`leverframe unit find`: find units in the network or at given addresses."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec

from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, NO
from leverframe.plain_text import print_line, print_lines, print_warnings, printable
from leverframe.process.json_lines import print_json
from leverframe.units.found_inventory import build_inventory, refuse_present, same_names
from leverframe.units.heard_units import HeardUnit, broadcast_request, hear_announced
from leverframe.units.inventory import count_units
from leverframe.units.named_addresses import (
    addresses_from_names,
    shorten_addresses,
    single_addresses,
)
from leverframe.units.searching import FoundUnit, doubles, look_at
from leverframe.units.targets import inventory_at, read_guarded_logins

MAX_LISTEN_S = 60.0
#: Length of the digest prefix in tables; JSON contains the whole digest.
SHOWN_DIGEST = 12
_HEADS = ("address", "name", "MAC", "hardware", "software", "settings", "sign-in")


class CannotFind(ErrorForPeople):
    """The search cannot start: one sentence."""


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
    heard = [] if named else await _hear_units(listen_s)
    expected = single_addresses(addresses)
    found = await look_at(heard, named, logins, ca_file, wants_digest=not quick, expected=expected)
    _print(found, _find_unused(named, found), as_json=as_json)
    present = [unit for unit in found if unit.answers]
    remarks = same_names(found) if out is None else _write_inventory(out, found, as_json=as_json)
    print_warnings([*doubles(found), *_withheld(found), *remarks])
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
    """Yield which units did not get the login, with advice."""
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


async def _hear_units(listen_s: float) -> list[HeardUnit]:
    by_question, by_name = await asyncio.gather(
        broadcast_request(listen_s=listen_s), hear_announced(listen_s=listen_s)
    )
    # A unit found both ways is the same unit; its own answer has the plain name.
    macs = {unit.mac for unit in by_question}
    return [*by_question, *(unit for unit in by_name if unit.mac not in macs)]


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
