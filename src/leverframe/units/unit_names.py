"""What units are called: in inventories, as files, and several of them in one line."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit

from leverframe.units.inventory import InventoryUnit

_MAX_LETTERS = 64
#: Names in a line; the others are counted.
MAX_NAMES = 6
_Name = TypeVar("_Name")


def plain_name(text: str, address: str) -> str:
    """Return a name of letters, digits, `-` and `_` alone; of a nameless unit, by its address."""
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
    if words:
        return "-".join(words)[:_MAX_LETTERS]
    where = urlsplit(address)
    return plain_name(f"unit {where.hostname} {where.port or ''}", "http://unit")


def distinct_names(names: Iterable[str]) -> list[str]:
    """Add numbers to names that come again, also where only capitals differ, as in some folders."""
    found: dict[str, str] = {}
    for name in names:
        number, distinct = 1, name
        while distinct.lower() in found:
            number += 1
            distinct = f"{name}-{number}"
        found[distinct.lower()] = distinct
    return list(found.values())


def files_of_units(folder: Path, units: Sequence[InventoryUnit]) -> dict[str, Path]:
    """Return the unit file of each unit in a folder, by the name of the unit."""
    names = distinct_names(plain_name(unit.name, unit.address) for unit in units)
    return {unit.name: folder / f"{name}.toml" for unit, name in zip(units, names, strict=True)}


def count_units(count: int) -> str:
    return f"{count} {'unit' if count == 1 else 'units'}"


def name_units(names: Collection[str]) -> str:
    """Name units in one line; of many the first ones."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    shown = [*names][: MAX_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
