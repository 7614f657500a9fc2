"""`leverframe unit pull`: read the settings of units, list what was not read, and write files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from leverframe.core.errors import DONE, NOT_DONE, ErrorForPeople, print_json, print_lines
from leverframe.core.tree import MASK, MISSING, defaults, difference, is_confidential
from leverframe.host.maintenance.backup import write
from leverframe.storage.backup import BackupFile
from leverframe.units.file_keys import key_of
from leverframe.units.file_update import save_unit_file
from leverframe.units.inventory import InventoryUnit, count_units, files_of_units
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.summaries import print_failures, read_unit, visit_units
from leverframe.units.targets import Logins, select_units
from leverframe.units.unit_text import lines_of_file, toml_value

SUFFIXES = (".toml", ".json")


class CannotPull(ErrorForPeople):
    """The settings cannot be written in the requested form; the message is one sentence."""


async def pull(
    units: list[str],
    group: str | None,
    out: Path | None,
    user: str | None,
    ca_file: str | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Read units, print the settings and what could not be read, and write files."""
    inventory, chosen = select_units(units, group)
    files = _files(out, chosen, is_inventory=inventory is not None)
    logins = Logins(user, inventory)

    async def read_and_write(unit: InventoryUnit) -> _Pulled:
        pulled = await read_unit(unit, logins.at(unit.address), ca_file)
        file = files.get(unit.name)
        return _Pulled(unit.name, pulled, file, [] if file is None else write_pulled(pulled, file))

    found, failed = await visit_units(chosen, read_and_write)
    if as_json:
        for one in found:
            print_json({**document_of(one.pulled), "unit": one.name})
    elif verbose or len(chosen) == 1:
        for one in found:
            print_lines(report(one.pulled, one.file, one.referred))
    else:
        print_lines(summary(found))
    print_failures(failed, len(chosen), "read", as_json=as_json)
    return NOT_DONE if failed else DONE


class _Pulled(NamedTuple):
    name: str
    pulled: PulledUnit
    file: Path | None
    #: Secrets that are not in the file.
    referred: list[str]


def _files(
    out: Path | None, units: Sequence[InventoryUnit], *, is_inventory: bool
) -> dict[str, Path]:
    """Return the file of each unit; reject a bad name before the units are read, which is slow."""
    if out is None:
        return {}
    if len(units) > 1 or (is_inventory and out.suffix not in SUFFIXES):
        if out.suffix in SUFFIXES:
            raise CannotPull(
                f"{out} is a file, but {len(units)} units were named; name a folder instead, for"
                " one unit file each."
            )
        out.mkdir(parents=True, exist_ok=True)
        return files_of_units(out, units)
    if out.suffix not in SUFFIXES:
        raise CannotPull(
            f"Unknown file format {out.name}; end the name with .toml for a unit file, or .json"
            " for a backup."
        )
    if out.suffix == ".json" and out.exists():
        raise CannotPull(f"{out} already exists; choose another name, or remove it first.")
    return {unit.name: out for unit in units}


def summary(found: Sequence[_Pulled]) -> Iterator[str]:
    """Yield a line for each unit: its version, and how much was read."""
    width = max((len(one.name) for one in found), default=0)
    for one in found:
        pulled, changed = one.pulled, sum(1 for _ in list_changes(one.pulled))
        parts = [f"{pulled.profile}", f"{changed} settings differ from the factory settings"]
        if pulled.unread:
            parts.append(f"{len(pulled.unread)} parts not readable")
        if one.referred:
            parts.append(f"{len(one.referred)} secrets left out")
        if pulled.remarks:
            parts.append(f"{len(pulled.remarks)} notes (--verbose)")
        yield f"{one.name:{width}}  {', '.join(parts)}"
    folders = {str(one.file.parent) for one in found if one.file is not None}
    where = f", written to {', '.join(sorted(folders))}" if folders else ""
    yield f"{count_units(len(found))} read{where}."


def write_pulled(pulled: PulledUnit, out: Path) -> list[str]:
    """Write the settings to a file; return the keys of secrets that are not in it."""
    changed = dict(list_changes(pulled))
    if out.suffix == ".json":
        left_out = [path for path in changed if is_confidential(path)]
        plain = {path: value for path, value in changed.items() if path not in left_out}
        write(out, BackupFile.create(pulled.profile, plain, tuple(left_out)))
        return [key_of(path) for path in left_out]
    opening = f"Read from {who(pulled)}."
    unread = {whole_list(path) for path in pulled.unread}
    return list(save_unit_file(out, pulled.settings, pulled.profile, unread, opening))


def whole_list(path: str) -> str:
    """Return the list of an unread entry: a file contains such lists only as a whole."""
    branch, _, entry = path.partition(".")
    return branch if branch in ("rules", "schedule") and entry.isdigit() else path


def who(pulled: PulledUnit) -> str:
    """Return the name of a unit for users."""
    identity = pulled.identity
    called = f"{identity.name or 'a unit without a name'}, MAC {identity.mac or 'unknown'}"
    return f"{identity.address}: {called}, HW {identity.hardware} SW {identity.software}"


def list_changes(pulled: PulledUnit) -> Iterator[tuple[str, Any]]:
    """Yield the settings that differ from the factory settings."""
    for path, _, value in difference(defaults(pulled.profile), pulled.settings):
        if value is not MISSING and pulled.why_unread(path) is None:
            yield path, value


def document_of(pulled: PulledUnit) -> dict[str, Any]:
    """Return everything about a pulled unit except its secrets, for JSON."""
    return {
        "event": "pulled",
        "address": pulled.identity.address,
        "name": pulled.identity.name,
        "mac": pulled.identity.mac,
        "hw": pulled.identity.hardware,
        "sw": pulled.identity.software,
        "read_as": {"hw": pulled.profile.hw, "sw": pulled.profile.sw},
        "digest": pulled.digest,
        "settings": {
            key_of(path): MASK if value and is_confidential(path) else value
            for path, value in pulled.read_leaves()
        },
        "unread": {key_of(path): why for path, why in pulled.unread.items()},
        "lossy": {key_of(path): why for path, why in pulled.lossy.items()},
        "remarks": pulled.remarks,
    }


def report(pulled: PulledUnit, out: Path | None, referred: list[str]) -> Iterator[str]:
    lines = list(lines_of_file(pulled.settings, pulled.profile, pulled.unread))
    count = sum(1 for _ in pulled.read_leaves())
    yield who(pulled)
    yield f"Settings read: {count}; different from the factory settings:"
    for one in lines:
        name = f"{one.table}.{one.key}" if one.table else one.key
        yield f"  {name} = {MASK if is_confidential(one.path) else toml_value(one.value)}"
    if not lines:
        yield "  none"
    yield from _list_reasons("Not read:", pulled.unread)
    yield from _list_reasons("Read incompletely:", pulled.lossy)
    yield from (f"Note: {remark}" for remark in pulled.remarks)
    yield f"Digest: {pulled.digest}"
    if out is not None:
        yield f"Written to {out}."
    if referred:
        yield f"Secrets that are not in the file: {', '.join(referred)}"


def _list_reasons(title: str, reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of each reason in a line."""
    by_reason: dict[str, list[str]] = {}
    for path, why in reasons.items():
        by_reason.setdefault(why, []).append(path)
    if by_reason:
        yield title
    for why, paths in by_reason.items():
        yield f"  {', '.join(together(paths))}: {why}"


def together(paths: list[str]) -> list[str]:
    """Write paths as keys of a unit file; combine those that differ in one place: `rules.1-6`."""
    found: dict[tuple[str, str], list[int]] = {}
    for path in paths:
        steps = path.split(".")
        place = next((at for at, step in enumerate(steps) if step.isdigit()), None)
        if place is None:
            found[path, ""] = []
        else:
            ends = ".".join(steps[:place]), "".join(f".{x}" for x in steps[place + 1 :])
            found.setdefault(ends, []).append(int(steps[place]))
    return [
        f"{head}.{_places(head, numbers)}{tail}" if numbers else head
        for (head, tail), numbers in found.items()
    ]


def _places(head: str, numbers: list[int]) -> str:
    """Write places of a list as labels of unit files."""
    names = [key_of(f"{head}.{number}").rpartition(".")[2] for number in numbers]
    if len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]:
        return f"{names[0]}-{names[-1]}"
    return ",".join(names)
