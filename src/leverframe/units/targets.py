"""The units that a command is about: addresses, or those of an inventory, with their logins."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leverframe.config.toml_file import read_toml
from leverframe.profile import Profile
from leverframe.recording.asked_login import asked_login
from leverframe.recording.replayer import UnitLogin
from leverframe.units.inventory import Inventory, InventoryUnit, is_inventory, load_inventory
from leverframe.units.loading import load_unit_file
from leverframe.units.problems import BadUnitFile
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_plan import BadPlan

#: Units that are read at the same time; each has one connection.
MAX_AT_ONCE = 8


class TargetUnit(NamedTuple):
    name: str
    address: str
    login: UnitLogin | None
    #: Returns what it should be, for its version.
    wanted: Callable[[Profile], UnitFile]


class Logins:
    """Who signs in where: the account that was named, everywhere, else by the inventory."""

    def __init__(self, user: str | None, inventory: Inventory | None) -> None:
        self._named = asked_login(user)
        self._units = {} if inventory is None else {unit.address: unit for unit in inventory.units}

    def at(self, address: str) -> UnitLogin | None:
        unit = self._units.get(address)
        if self._named is None and unit is not None and unit.user and unit.password is not None:
            return UnitLogin(unit.user, unit.password)
        return self._named


class Selection(NamedTuple):
    """A unit file for all units, or an inventory that names one for each."""

    inventory: Inventory | None
    file: Path | None

    @classmethod
    def of(cls, file: Path, inventory: Path | None) -> "Selection":
        if is_inventory(read_toml(file, BadUnitFile)[1]):
            return cls(load_inventory(file), None)
        return cls(inventory_at(inventory), file)

    def targets(self, units: Sequence[str], group: str | None, logins: Logins) -> list[TargetUnit]:
        """Return the units that were asked for, with what each should be."""
        return [
            TargetUnit(
                unit.name, unit.address, logins.at(unit.address), partial(self._wanted, unit)
            )
            for unit in self._chosen(units, group)
        ]

    def _chosen(self, units: Sequence[str], group: str | None) -> list[InventoryUnit]:
        if self.inventory is not None:
            return self.inventory.selected(tuple(units), group)
        if group is not None:
            raise BadPlan("A group is one of an inventory; name that with --inventory.")
        if not units:
            raise BadPlan("Name the units, such as http://192.168.1.10, or an inventory.")
        return [
            InventoryUnit(name=address, address=address.rstrip("/"))
            for address in dict.fromkeys(units)
        ]

    def _wanted(self, unit: InventoryUnit, profile: Profile) -> UnitFile:
        if self.file is not None:
            secrets = None if self.inventory is None else self.inventory.secrets.copy()
            return load_unit_file(self.file, profile=profile, values=unit.values, secrets=secrets)
        assert self.inventory is not None
        found = self.inventory.wanted(unit, profile)
        if found is None:
            raise BadPlan(f"The inventory names no file for {unit.name}.")
        return found


def inventory_at(path: Path | None) -> Inventory | None:
    return None if path is None else load_inventory(path)
