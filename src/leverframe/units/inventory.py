"""An inventory of units: their addresses, their logins, and the files with their settings.

    secrets = "secrets.toml"

    [groups.greenhouses]
    file = "greenhouse.toml"
    user = "admin"
    password = { env = "GREENHOUSE_PASSWORD" }

    [units.north]
    address = "http://192.168.1.10"
    groups = ["greenhouses"]
    mac = "D8:80:39:12:34:56"
    values = { zone = "north" }

A unit inherits the keys of its groups; later groups override earlier ones, and its own keys
override both. `watch_table.py` reads the table `[watch]`.
"""

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.host.configuration.toml import TomlLines, TomlPath, read_toml
from leverframe.units.addresses import normal_mac
from leverframe.units.document_reader import SecretReference, Value, reference_in
from leverframe.units.file_keys import BadUnitFile, FileLine, FileProblem, unknown
from leverframe.units.file_loader import KnownSecrets, holds_plain, load_unit_file
from leverframe.units.unit_file import UnitFile
from leverframe.units.watch_table import WatchTable, read_watch_table

#: Maximum length of a name, which is also a file name, and maximum number of names in a line.
_MAX_LETTERS, MAX_NAMES = 64, 6
_SHARED: dict[str, tuple[type, str]] = {
    "file": (str, 'the name of a unit file such as "north.toml"'),
    "user": (str, "the name of an account"),
    "password": (dict, '{ env = "NAME" } or { secret = "name" }'),
    "values": (dict, 'a table such as { zone = "north" }'),
}
_OF_A_UNIT: dict[str, tuple[type, str]] = {
    **_SHARED,
    "address": (str, "an address such as http://192.168.1.10"),
    "groups": (list, 'a list such as ["greenhouses"]'),
    "mac": (str, "a MAC address such as D8:80:39:12:34:56"),
}
_TOP: dict[str, tuple[type, str]] = {
    "secrets": (str, 'the name of a file such as "secrets.toml"'),
    "groups": (dict, "tables such as [groups.greenhouses]"),
    "units": (dict, "tables such as [units.north]"),
    "watch": (dict, "a table [watch]"),
}


class InventoryUnit(Struct, frozen=True):
    """One unit of an inventory, with the keys of its groups."""

    name: str
    address: str
    groups: tuple[str, ...] = ()
    #: The unit file with its wanted settings.
    file: Path | None = None
    #: In capital letters with colons; empty if unknown.
    mac: str = ""
    user: str | None = None
    password: str | None = None
    values: Mapping[str, Value] = {}
    #: Its place in the inventory.
    line: FileLine = FileLine("", 1)


class Inventory(Struct, frozen=True):
    """All units of an inventory, in its order."""

    path: Path
    units: tuple[InventoryUnit, ...]
    secrets: KnownSecrets
    watch: WatchTable = WatchTable()

    def select(self, names: tuple[str, ...] = (), group: str | None = None) -> list[InventoryUnit]:
        """Return the units with these names or addresses, by default all, within one group."""
        known = {unit.name: unit for unit in self.units}
        known |= {unit.address: unit for unit in self.units}
        for name in names:
            if name not in known:
                sentence = unknown(name, [unit.name for unit in self.units], "unit")
                raise BadUnitFile(f"{self.path}: {sentence}")
        groups = {name for unit in self.units for name in unit.groups}
        if group is not None and group not in groups:
            raise BadUnitFile(f"{self.path}: {unknown(group, sorted(groups), 'group')}")
        chosen = [known[name] for name in names] if names else list(self.units)
        return [unit for unit in chosen if group is None or group in unit.groups]

    def read_file(
        self,
        unit: InventoryUnit,
        profile: Profile | None = None,
        *,
        need_secrets: bool = True,
        only: Collection[str] = (),
    ) -> UnitFile | None:
        """Read the unit file of a unit for a version; None if it has none."""
        if unit.file is None:
            return None
        return load_unit_file(
            unit.file,
            profile=profile,
            values=unit.values,
            secrets=self.secrets.copy(),
            need_secrets=need_secrets,
            only=only,
        )


def load_inventory(path: Path, *, need_secrets: bool = True) -> Inventory:
    """Read an inventory; raise `BadUnitFile` with every mistake in it."""
    text, document = read_toml(path, BadUnitFile)
    lines = TomlLines(text)
    reading = _Reading(
        path, lambda place: FileLine(str(path), lines.line_of(place)), need_secrets=need_secrets
    )
    inventory = reading.inventory(document)
    if reading.problems:
        raise BadUnitFile(sorted(reading.problems, key=lambda problem: problem.line))
    return inventory


def is_inventory(document: Mapping[str, Any]) -> bool:
    """Return whether a document is an inventory and not a unit file."""
    return isinstance(document.get("units"), dict)


class _Reading:
    def __init__(
        self, path: Path, line_at: Callable[[TomlPath], FileLine], *, need_secrets: bool
    ) -> None:
        self._path = path
        self._line_at = line_at
        self._need_secrets = need_secrets
        self._secrets = KnownSecrets(os.environ)
        self.problems: list[FileProblem] = []

    def inventory(self, document: dict[str, Any]) -> Inventory:
        top = self.check_table(document, _TOP, ())
        if "secrets" in top:
            try:
                self._secrets.add_file(self._path.parent / top["secrets"])
            except BadUnitFile as error:
                self.wrong(("secrets",), str(error))
        groups = dict(self._tables(top.get("groups", {}), _SHARED, "groups"))
        tables = dict(self._tables(top.get("units", {}), _OF_A_UNIT, "units"))
        units = tuple(self._unit(name, table, groups) for name, table in tables.items())
        self._note_duplicates(units, "mac")
        self._note_duplicates(units, "address")
        watch = read_watch_table(top.get("watch", {}), self)
        return Inventory(self._path, units, self._secrets, watch)

    def _tables(
        self, tables: dict[str, Any], keys: dict[str, tuple[type, str]], part: str
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        for name, table in tables.items():
            if isinstance(table, dict):
                yield name, self.check_table(table, keys, (part, name))
            else:
                self.wrong((part, name), f"{part}.{name} must be a table: [{part}.{name}].")

    def check_table(
        self, table: dict[str, Any], keys: dict[str, tuple[type, str]], place: TomlPath
    ) -> dict[str, Any]:
        sound = {}
        for key, given in table.items():
            name = ".".join(map(str, (*place, key)))
            if key not in keys:
                self.wrong((*place, key), unknown(name, keys))
            elif (
                not isinstance(given, keys[key][0])
                or (key == "password" and reference_in(given) is None)
                or (key in ("groups", "values") and place and not holds_plain(given))
            ):
                self.wrong((*place, key), f"{name} must be {keys[key][1]}.")
            else:
                sound[key] = given
        return sound

    def _unit(
        self, name: str, own: dict[str, Any], groups: Mapping[str, dict[str, Any]]
    ) -> InventoryUnit:
        place = ("units", name)
        merged: dict[str, Any] = {}
        values: dict[str, Value] = {}
        for group in own.get("groups", ()):
            if group not in groups:
                known = list(groups)
                sentence = unknown(str(group), known, "group")
                self.wrong((*place, "groups"), f"units.{name}: {sentence}")
                continue
            values |= groups[group].get("values", {})
            merged |= groups[group]
        merged |= own
        values |= own.get("values", {})
        file = merged.get("file")
        return InventoryUnit(
            name=name,
            address=self._address(own.get("address"), name, place),
            groups=tuple(own.get("groups", ())),
            file=None if file is None else self._path.parent / file,
            mac=self._mac(own.get("mac"), name, (*place, "mac")),
            user=merged.get("user"),
            password=self._password(merged.get("password"), name, (*place, "password")),
            values=values,
            line=self._line_at(place),
        )

    def _address(self, address: str | None, name: str, place: TomlPath) -> str:
        if address is None:
            # A value of the wrong type was already reported.
            if not any(problem.key == f"units.{name}.address" for problem in self.problems):
                self.wrong(
                    place, f"units.{name} has no address; add one such as http://192.168.1.10."
                )
            return ""
        try:
            parts = urlsplit(address)
            is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            is_usable = is_usable and parts.username is None and address.isprintable()
            is_usable = is_usable and " " not in address
            is_usable = is_usable and f"{parts.path.strip('/')}{parts.query}{parts.fragment}" == ""
        except ValueError:
            is_usable = False
        if not is_usable:
            # An address may contain a password, which is not repeated.
            self.wrong(
                (*place, "address"),
                f"units.{name}.address is not the address of a unit; write it like"
                " http://192.168.1.10, without user, password or path.",
            )
        return address.rstrip("/")

    def _mac(self, text: str | None, name: str, place: TomlPath) -> str:
        if text is None:
            return ""
        mac = normal_mac(text)
        if mac is None:
            self.wrong(place, f"units.{name}.mac must be six bytes such as D8:80:39:12:34:56.")
        return mac or ""

    def secret(self, reference: SecretReference, place: TomlPath) -> str | None:
        return self._find_secret(reference, ".".join(map(str, place)), place)

    def _find_secret(self, reference: SecretReference, key: str, place: TomlPath) -> str | None:
        found = self._secrets.find(reference)
        if found is None and self._need_secrets:
            self.wrong(place, f"{key} {reference.why_missing}.")
        return found

    def _password(self, table: dict[str, str] | None, name: str, place: TomlPath) -> str | None:
        reference = reference_in(table)
        return (
            None
            if reference is None
            else self._find_secret(reference, f"units.{name}.password", place)
        )

    def _note_duplicates(self, units: tuple[InventoryUnit, ...], field: str) -> None:
        first: dict[str, InventoryUnit] = {}
        for unit in units:
            value = getattr(unit, field)
            other = first.setdefault(value, unit)
            if value and other is not unit:
                self.wrong(
                    ("units", unit.name, field),
                    f"units.{unit.name} has the same {field} as units.{other.name}, {value}; it"
                    " must be unique.",
                )

    def wrong(self, place: TomlPath, sentence: str) -> None:
        key = ".".join(map(str, place))
        self.problems.append(FileProblem(self._line_at(place), key, sentence))


# --- names of units -----------------------------------------------------------------------------


def plain_name(text: str, address: str) -> str:
    """Return a name of letters, digits, `-` and `_`; a nameless unit is named by its address."""
    words = "".join(letter if letter.isalnum() or letter == "_" else " " for letter in text).split()
    if words:
        return "-".join(words)[:_MAX_LETTERS]
    where = urlsplit(address)
    return plain_name(f"unit {where.hostname} {where.port or ''}", "http://unit")


def distinct_names(names: Iterable[str]) -> list[str]:
    """Append numbers to repeated names, ignoring case like some file systems."""
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
    """List units in one line; if there are many, only the first ones."""
    if len(names) <= MAX_NAMES:
        return ", ".join(names)
    shown = [*names][: MAX_NAMES - 1]
    return f"{', '.join(shown)} and {len(names) - len(shown)} more"
