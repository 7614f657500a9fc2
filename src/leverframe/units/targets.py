"""The units of a command: addresses, or units of an inventory, with their logins."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from leverframe.core.profile import Profile
from leverframe.host.configuration.toml import read_toml
from leverframe.testing.recordings.replay import UnitLogin, ask_login
from leverframe.testing.recordings.unit_client import unit_at
from leverframe.units.file_keys import BadUnitFile, branches_in
from leverframe.units.file_loader import load_unit_file
from leverframe.units.inventory import Inventory, InventoryUnit, is_inventory, load_inventory
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_plan import BadPlan


class TargetUnit(NamedTuple):
    name: str
    address: str
    login: UnitLogin | None
    #: Returns its wanted settings, for its version.
    wanted: Callable[[Profile], UnitFile]
    #: Its MAC address in the inventory; empty accepts any.
    mac: str = ""


class Logins:
    """Login and MAC address of the unit at an address."""

    def __init__(self, user: str | None, inventory: Inventory | None) -> None:
        self._named = ask_login(user)
        #: Options with which a further command signs in the same way.
        self.options = (
            *(() if inventory is None else ("--inventory", str(inventory.path))),
            *(() if user is None else ("--user", user)),
        )
        listed = () if inventory is None else inventory.units
        self._units = {unit_at(unit.address): unit for unit in listed}

    def mac_at(self, address: str) -> str:
        """Return the MAC address that the inventory lists for an address, or an empty text."""
        unit = self._units.get(unit_at(address))
        return "" if unit is None else unit.mac

    def at(self, address: str) -> UnitLogin | None:
        """Return the login for an address: the given account, else that of the inventory."""
        unit = self._units.get(unit_at(address))
        if self._named is None and unit is not None and unit.user and unit.password is not None:
            return UnitLogin(unit.user, unit.password)
        return self._named


class GuardedLogins:
    """Decides which of the units that answer a search get a login.

    Units at addresses named by the operator get a login. Any other device may be a stranger: it
    gets a login only if the inventory lists it with the same address and MAC address.
    """

    def __init__(
        self,
        login_at: Callable[[str], UnitLogin | None] = lambda _: None,
        named: Iterable[str] = (),
        inventory: Inventory | None = None,
        *,
        withholds: bool = False,
    ) -> None:
        self._login_at = login_at
        self._named = {unit_at(address) for address in named}
        self._confirming = {
            (unit_at(unit.address), unit.mac): unit.address
            for unit in (() if inventory is None else inventory.units)
            if unit.mac
        }
        #: Whether there is a login that some units do not get.
        self.withholds = withholds

    def at(self, address: str, heard_mac: str) -> UnitLogin | None:
        """Return the login for a unit that answered from an address with this MAC address."""
        unit = unit_at(address)
        confirmed = self._confirming.get((unit, heard_mac))
        if unit not in self._named and confirmed is None:
            return None
        return self._login_at(confirmed or address)


def read_guarded_logins(
    user: str | None, named: Sequence[str], inventory: Inventory | None
) -> GuardedLogins:
    """Return the logins of a search; do not prompt for a password that no unit could get."""
    if not named and inventory is None:
        return GuardedLogins(withholds=user is not None)
    return GuardedLogins(Logins(user, inventory).at, named, inventory, withholds=not named)


class Selection(NamedTuple):
    """A unit file for all units, or an inventory that names a file for each."""

    inventory: Inventory | None
    file: Path | None
    #: The branches of the unit file to use; empty for all.
    only: tuple[str, ...] = ()

    @classmethod
    def of(cls, file: Path, inventory: Path | None, only: str | None = None) -> "Selection":
        branches = branches_in(only)
        if is_inventory(read_toml(file, BadUnitFile)[1]):
            return cls(load_inventory(file), None, branches)
        return cls(inventory_at(inventory), file, branches)

    def targets(self, units: Sequence[str], group: str | None, logins: Logins) -> list[TargetUnit]:
        """Return the selected units with their wanted settings."""
        return [
            TargetUnit(
                unit.name,
                unit.address,
                logins.at(unit.address),
                partial(self._read_wanted, unit),
                unit.mac,
            )
            for unit in self._choose(units, group)
        ]

    def _choose(self, units: Sequence[str], group: str | None) -> list[InventoryUnit]:
        if self.inventory is not None:
            return self.inventory.select(tuple(units), group)
        if group is not None:
            raise BadPlan("--group needs an inventory; add --inventory FILE.")
        if not units:
            raise BadPlan("Name the units, such as http://192.168.1.10, or an inventory.")
        return units_at(units)

    def _read_wanted(self, unit: InventoryUnit, profile: Profile) -> UnitFile:
        if self.file is not None:
            secrets = None if self.inventory is None else self.inventory.secrets.copy()
            return load_unit_file(
                self.file, profile=profile, values=unit.values, secrets=secrets, only=self.only
            )
        assert self.inventory is not None
        found = self.inventory.read_file(unit, profile, only=self.only)
        if found is None:
            raise BadPlan(f"The inventory names no file for {unit.name}.")
        return found


def units_at(addresses: Iterable[str]) -> list[InventoryUnit]:
    return [
        InventoryUnit(name=address, address=address.rstrip("/"))
        for address in dict.fromkeys(addresses)
    ]


def select_units(
    words: Sequence[str], group: str | None
) -> tuple[Inventory | None, list[InventoryUnit]]:
    """Return the named units: addresses, or an inventory followed by names."""
    if not is_inventory_file(words[0]):
        if group is not None:
            raise BadPlan("--group needs an inventory; name it as the first UNIT.")
        return None, units_at(words)
    inventory = load_inventory(Path(words[0]))
    return inventory, inventory.select(tuple(words[1:]), group)


def is_inventory_file(word: str) -> bool:
    """Return whether a word names an inventory, not an address or another file."""
    path = Path(word)
    if "://" in word or path.suffix != ".toml" or not path.is_file():
        return False
    return is_inventory(read_toml(path, BadUnitFile)[1])


def inventory_at(path: Path | None) -> Inventory | None:
    return None if path is None else load_inventory(path)
