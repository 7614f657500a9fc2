"""`leverframe unit diff`: the differences between two units, by meaning."""

import asyncio
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import asdict, replace

from leverframe.core.errors import DONE, NO, NOT_DONE, print_json, print_lines
from leverframe.core.profile import Profile
from leverframe.core.tree import is_confidential, leaves, settings_from_leaves
from leverframe.host.configuration.toml import read_toml
from leverframe.host.maintenance.backup import read
from leverframe.host.start_version import read_stored_profile
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.version_change.limits import check_content
from leverframe.storage.backup import content_of
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.testing.recordings.replay import UnitLogin, ask_login
from leverframe.units.client import open_paced_client
from leverframe.units.comparison import ComparedUnit, NotComparable, UnitDifference, compare_units
from leverframe.units.file_keys import BadUnitFile, branches_in, is_part_of
from leverframe.units.file_loader import load_unit_file
from leverframe.units.inventory import Inventory, InventoryUnit, files_of_units, load_inventory
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.summaries import differences_in_words, print_failures, read_unit, visit_units
from leverframe.units.targets import Logins, is_inventory_file
from leverframe.units.unit_file import UnitFile
from leverframe.units.unit_reader import pull_unit, read_recorded_unit

# Sides of a comparison: a unit in the field, a unit file, a backup, a data folder, a recording.

RECORDING = ".jsonl"
BACKUPS = (".bin", ".json")
UNIT_FILE = ".toml"
_SEALED = "the backup does not contain this value in plain text"
_NOT_GIVEN = "the secret that the file refers to is missing"
_NOT_READ = "this setting was not read when the file was written"


def is_unit_file(named: str) -> bool:
    """Return whether a side is a unit file, which may use the version of the other side."""
    path = Path(named)
    return path.suffix == UNIT_FILE and path.is_file() and not _is_backup(path)


async def side_of(named: str, login: UnitLogin | None, ca_file: str | None) -> ComparedUnit:
    """Read a side other than a unit file; its kind follows from its name."""
    if named.startswith(("http://", "https://")):
        async with open_paced_client(named, login, ca_file) as client:
            return side_of_pulled(named, await pull_unit(client))
    return await asyncio.to_thread(_read_stored_side, named)


def _read_stored_side(named: str) -> ComparedUnit:
    path = Path(named)
    if path.is_dir():
        return asyncio.run(_data_folder(named, path))
    if path.suffix == RECORDING:
        return _recording(named, path)
    if path.suffix in (*BACKUPS, UNIT_FILE):
        return _backup(named, path)
    raise NotComparable(
        f"{named} cannot be compared; name the address of a unit (http://...), a unit file"
        " (.toml), a backup (.bin, .json, .toml), a data folder or a recording (.jsonl)."
    )


def side_of_file(
    path: Path, profile: Profile | None = None, only: Collection[str] = ()
) -> ComparedUnit:
    """Return the settings of a unit file; a file without a version gets the given one."""
    file = load_unit_file(path, profile=profile, need_secrets=False, only=only)
    return side_of_unit_file(str(path), file)


def side_of_unit_file(title: str, file: UnitFile) -> ComparedUnit:
    unread = dict.fromkeys(file.unread, _NOT_READ) | dict.fromkeys(file.unresolved, _NOT_GIVEN)
    return ComparedUnit(title, file.profile, file.settings, unread=unread, speaks=_mentions(file))


def _mentions(file: UnitFile) -> Callable[[str], bool]:
    def speaks(path: str) -> bool:
        return (
            file.names(path)
            or path in (*file.unread, *file.unresolved)
            or any(named.startswith(f"{path}.") for named in file.settings_named)
        )

    return speaks


def _is_backup(path: Path) -> bool:
    _, document = read_toml(path, BadUnitFile)
    return isinstance(document.get("settings"), Mapping) and "hw" in document


def side_of_pulled(title: str, pulled: PulledUnit) -> ComparedUnit:
    return ComparedUnit(
        title, pulled.profile, pulled.settings, unread=pulled.unread, lossy=pulled.lossy
    )


def _backup(named: str, path: Path) -> ComparedUnit:
    content = content_of(read(path), None)
    try:
        settings = check_content(content, [])
    except Refusal as refusal:
        raise NotComparable(f"{named}: {refusal.detail}") from None
    known = content.settings
    missing = [leaf for leaf, _ in leaves(settings) if is_confidential(leaf) and leaf not in known]
    return ComparedUnit(named, content.profile, settings, unread=dict.fromkeys(missing, _SEALED))


async def _data_folder(named: str, path: Path) -> ComparedUnit:
    with folder_with_store(path) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            hw, sw, _ = read_stored_profile(store)
            stored = store.load().settings
        finally:
            await store.close()
    profile = Profile(hw or Profile().hw, sw or Profile().sw)
    settings, _ = settings_from_leaves(profile, stored)
    return ComparedUnit(named, profile, settings)


def _recording(named: str, path: Path) -> ComparedUnit:
    pulled = read_recorded_unit(path, in_the_end=True)
    if not pulled.identity.hardware or not pulled.identity.software:
        raise NotComparable(f"{named} contains no status file with the version of the unit.")
    return side_of_pulled(named, pulled)


#: Number of settings that are listed if a side does not show them; the rest are counted.
MAX_NAMED = 8


async def diff(
    first: str,
    others: list[str],
    group: str | None,
    files: Path | None,
    only: str | None,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Print the differences; return whether there are any, as an exit status."""
    branches = branches_in(only)
    if is_inventory_file(first):
        inventory = load_inventory(Path(first))
        units = inventory.select(tuple(others), group)
        wanted = _file_reader(inventory, units, files, branches)
        order = _InventoryOrder(units, wanted, Logins(user, inventory), ca_file)
        return await _diff_inventory(order, as_json=as_json, verbose=verbose)
    if len(others) != 1 or group is not None or files is not None:
        raise NotComparable(
            "Name two sides, such as http://192.168.1.10 north.toml; or an inventory, whose"
            " units are compared with their files."
        )
    sides = await read_sides(first, others[0], ask_login(user), ca_file, branches)
    result = compare_units(*(restrict_side(side, branches) for side in sides))
    if as_json:
        print_json({"same": result.is_same, **asdict(result)})
    else:
        print_lines(lines_of(result))
    return DONE if result.is_same else NO


class _InventoryOrder(NamedTuple):
    """The units that are compared with their files."""

    units: Sequence[InventoryUnit]
    #: Returns the file of a unit, for its version.
    wanted: Callable[[InventoryUnit, Profile], UnitFile]
    logins: Logins
    ca_file: str | None


def _file_reader(
    inventory: Inventory,
    units: Sequence[InventoryUnit],
    folder: Path | None,
    branches: tuple[str, ...],
) -> Callable[[InventoryUnit, Profile], UnitFile]:
    """Return the reader of a unit's file: the file in the inventory, or in a folder."""
    pulled = {} if folder is None else files_of_units(folder, units)

    def read_file(unit: InventoryUnit, profile: Profile) -> UnitFile:
        if folder is not None:
            file: UnitFile | None = load_unit_file(
                pulled[unit.name], profile=profile, need_secrets=False, only=branches
            )
        else:
            file = inventory.read_file(unit, profile, need_secrets=False, only=branches)
        if file is None:
            raise NotComparable(
                "The inventory names no file for it; add a file to the inventory, or use --files"
                " FOLDER."
            )
        return file

    return read_file


async def _diff_inventory(order: _InventoryOrder, *, as_json: bool, verbose: bool) -> int:
    async def compare(unit: InventoryUnit) -> UnitDifference:
        pulled = await read_unit(unit, order.logins.at(unit.address), order.ca_file)
        file = order.wanted(unit, pulled.profile)
        return compare_units(side_of_pulled(unit.name, pulled), side_of_unit_file(file.file, file))

    results, failed = await visit_units(order.units, compare)
    if as_json:
        for one in results:
            print_json({"unit": one.first, "same": one.is_same, **asdict(one)})
    elif verbose or len(order.units) == 1:
        for one in results:
            print_lines(lines_of(one))
    else:
        print_lines(differences_in_words(results, len(failed)))
    print_failures(failed, len(order.units), "compared", as_json=as_json)
    if failed:
        return NOT_DONE
    return DONE if all(one.is_same for one in results) else NO


def restrict_side(side: ComparedUnit, branches: tuple[str, ...]) -> ComparedUnit:
    """Return a side restricted to these branches; the whole side without branches."""
    if not branches:
        return side
    return replace(side, speaks=lambda path: is_part_of(path, branches) and side.speaks(path))


async def read_sides(
    first: str,
    second: str,
    login: UnitLogin | None,
    ca_file: str | None,
    only: tuple[str, ...] = (),
) -> tuple[ComparedUnit, ComparedUnit]:
    """Read both sides; a unit file without a version gets the version of the other side."""
    sides = {
        named: await side_of(named, login, ca_file)
        for named in (first, second)
        if not is_unit_file(named)
    }
    profile = next((side.profile for side in sides.values()), None)
    for named in (first, second):
        if named not in sides:
            sides[named] = side_of_file(Path(named), profile, only)
    return sides[first], sides[second]


def lines_of(result: UnitDifference) -> Iterator[str]:
    """Yield the lines that describe the differences."""
    yield f"- {result.first}, {result.first_version}"
    yield f"+ {result.second}, {result.second_version}"
    yield from (str(one) for one in (*result.differences, *result.cannot_hold))
    for unknown in result.cannot_tell:
        named = ", ".join(unknown.keys[:MAX_NAMED])
        more = len(unknown.keys) - MAX_NAMED
        yield (
            f"{unknown.side} does not show {named}"
            f"{f' and {more} more' if more > 0 else ''}: {unknown.reason}"
        )
    count = len(result.differences) + len(result.cannot_hold)
    known = " as far as both show it" if result.cannot_tell else ""
    yield f"{_count_differences(count)}." if count else f"The same{known}."


def _count_differences(count: int) -> str:
    return f"{count} {'difference' if count == 1 else 'differences'}"
