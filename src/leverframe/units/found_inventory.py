"""An inventory of the units found by a search, as a text that `unit check` accepts.

Every unit gets a unique name and the group `all`, where the operator adds common keys. Devices that
answered without an identity follow as comments.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from leverframe.errors import ErrorForPeople
from leverframe.plain_text import printable
from leverframe.units.inventory import distinct_names, plain_name
from leverframe.units.searching import FoundUnit
from leverframe.units.unit_text import toml_value

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_OPENING = """\
# Found by `leverframe unit find` on {day}.
# Here stands what all units have in common, such as:
#   file = "all.toml"
#   user = "admin"
#   password = {{ env = "UNIT_PASSWORD" }}
[groups.all]
"""


class CannotWriteInventory(ErrorForPeople):
    """An inventory that would overwrite a file: one sentence."""


class FoundInventory(NamedTuple):
    text: str
    #: Number of units in it.
    size: int
    #: Remarks about changed names and omitted units.
    remarks: list[str]


def refuse_present(path: Path | None) -> None:
    """Refuse to overwrite a file before units are queried for seconds."""
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
    """Return a sentence for each name of several units; one unit may answer twice."""
    units: dict[str, dict[str, str]] = {}
    for unit in found:
        if unit.name:
            units.setdefault(unit.name, {}).setdefault(unit.mac or unit.address, unit.address)
    return [
        f"{len(sharing)} units have the name {name}: {', '.join(sharing.values())}."
        for name, sharing in units.items()
        if len(sharing) > 1
    ]
