"""`leverframe unit check` and `unit schema`: unit files and inventories before anything is sent."""

from pathlib import Path

import msgspec

from leverframe.config.toml_file import read_toml
from leverframe.exit_codes import DONE, NO
from leverframe.plain_text import print_lines
from leverframe.profile import existing, newest_software
from leverframe.units.file_schema import file_schema
from leverframe.units.inventory import is_inventory, load_inventory
from leverframe.units.loading import load_unit_file
from leverframe.units.problems import BadUnitFile

#: Number of units listed before a mistake of a file that they share.
SHOWN_NAMES = 3


def check(files: list[Path]) -> int:
    """Print every mistake in unit files and inventories; return whether there are any."""
    wrong = [line for file in files for line in _mistakes(file)]
    print_lines(wrong or [f"{len(files)} checked, no mistakes found."])
    return NO if wrong else DONE


def schema(hw: str, sw: str | None) -> None:
    """Print the JSON Schema of unit files for a version."""
    profile = existing(hw, sw or newest_software(hw))
    text = msgspec.json.format(msgspec.json.encode(file_schema(profile)), indent=2).decode()
    print_lines(text.split("\n"))


def _mistakes(file: Path) -> list[str]:
    try:
        _, document = read_toml(file, BadUnitFile)
        if not is_inventory(document):
            load_unit_file(file, need_secrets=False)
            return []
        inventory = load_inventory(file, need_secrets=False)
    except BadUnitFile as error:
        return str(error).splitlines()
    # Many units can share a file with a mistake.
    found: dict[str, list[str]] = {}
    for unit in inventory.units:
        try:
            inventory.read_file(unit, need_secrets=False)
        except BadUnitFile as error:
            for line in str(error).splitlines():
                found.setdefault(line, []).append(unit.name)
    return [f"{_list_names(names)}: {line}" for line, names in found.items()]


def _list_names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
