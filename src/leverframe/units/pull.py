"""`leverframe unit pull`: read the settings of a unit, say what was not read, and write a file."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import MASK, MISSING, difference, is_confidential
from leverframe.errors import ErrorForPeople
from leverframe.maintenance.readable_backup import write
from leverframe.plain_text import print_lines
from leverframe.process.json_lines import print_json
from leverframe.recording.asked_login import asked_login
from leverframe.storage.backup import BackupFile
from leverframe.units.client import paced_client
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import pull_unit
from leverframe.units.rewriting import save_unit_file
from leverframe.units.unit_text import toml_value, written_lines

SUFFIXES = (".toml", ".json")


class CannotPull(ErrorForPeople):
    """What was read cannot be written as it was asked for: one sentence."""


async def pull(
    unit: str, out: Path | None, user: str | None, ca_file: str | None, as_json: bool
) -> None:
    """Read a unit, print what was read and what was not, and write it to a file."""
    _check_name(out)
    async with paced_client(unit, asked_login(user), ca_file) as client:
        pulled = await pull_unit(client)
    referred = [] if out is None else written(pulled, out)
    if as_json:
        print_json(document_of(pulled))
    else:
        print_lines(report(pulled, out, referred))


def _check_name(out: Path | None) -> None:
    """Refuse a file before a unit is asked for seconds."""
    if out is None:
        return
    if out.suffix not in SUFFIXES:
        raise CannotPull(
            f"The name {out.name} does not say which form the file has; end it with .toml for a"
            " unit file, or with .json for a backup."
        )
    if out.suffix == ".json" and out.exists():
        raise CannotPull(f"{out} is there already; choose another name, or remove it first.")


def written(pulled: PulledUnit, out: Path) -> list[str]:
    """Write what was read to a file; return the paths of what is confidential and not in it."""
    changed = dict(changed_settings(pulled))
    if out.suffix == ".json":
        left_out = [path for path in changed if is_confidential(path)]
        plain = {path: value for path, value in changed.items() if path not in left_out}
        write(out, BackupFile.written_now(pulled.profile, plain, tuple(left_out)))
        return left_out
    opening = f"Read from {who(pulled)}."
    unread = {whole_list(path) for path in pulled.unread}
    return list(save_unit_file(out, pulled.settings, pulled.profile, unread, opening))


def whole_list(path: str) -> str:
    """Return the list of an entry that was not read: a file names such lists as a whole."""
    branch, _, entry = path.partition(".")
    return branch if branch in ("rules", "schedule") and entry.isdigit() else path


def who(pulled: PulledUnit) -> str:
    """Name a unit as people do."""
    identity = pulled.identity
    called = f"{identity.name or 'a unit without a name'}, MAC {identity.mac or 'unknown'}"
    return f"{identity.address}: {called}, HW {identity.hardware} SW {identity.software}"


def changed_settings(pulled: PulledUnit) -> Iterator[tuple[str, Any]]:
    """Yield what was read and is not as it came from the factory."""
    for path, _, value in difference(defaults(pulled.profile), pulled.settings):
        if value is not MISSING and pulled.why_unread(path) is None:
            yield path, value


def document_of(pulled: PulledUnit) -> dict[str, Any]:
    """Return everything about a pulled unit but its confidential texts, for scripts."""
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
            path: MASK if value and is_confidential(path) else value
            for path, value in pulled.read_leaves()
        },
        "unread": pulled.unread,
        "lossy": pulled.lossy,
        "remarks": pulled.remarks,
    }


def report(pulled: PulledUnit, out: Path | None, referred: list[str]) -> Iterator[str]:
    lines = list(written_lines(pulled.settings, pulled.profile, pulled.unread))
    count = sum(1 for _ in pulled.read_leaves())
    yield who(pulled)
    yield f"Settings that were read: {count}; not as they came from the factory:"
    for one in lines:
        name = f"{one.table}.{one.key}" if one.table else one.key
        yield f"  {name} = {MASK if is_confidential(one.path) else toml_value(one.value)}"
    if not lines:
        yield "  none"
    yield from _listed("Not read:", pulled.unread)
    yield from _listed("Read with loss:", pulled.lossy)
    yield from (f"Note: {remark}" for remark in pulled.remarks)
    yield f"Digest: {pulled.digest}"
    if out is not None:
        yield f"Written to {out}."
    if referred:
        yield f"Confidential, and not in the file: {', '.join(referred)}"


def _listed(title: str, reasons: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths of each reason in a line."""
    by_reason: dict[str, list[str]] = {}
    for path, why in reasons.items():
        by_reason.setdefault(why, []).append(path)
    if by_reason:
        yield title
    for why, paths in by_reason.items():
        yield f"  {', '.join(together(paths))}: {why}"


def together(paths: list[str]) -> list[str]:
    """Write paths that differ by one number as one: `power.0-5.unit`."""
    found: dict[tuple[str, str], list[int]] = {}
    for path in paths:
        steps = path.split(".")
        place = next((at for at, step in enumerate(steps) if step.isdigit()), None)
        if place is None:
            found[path, ""] = []
        else:
            ends = ".".join([*steps[:place], ""]), "".join(f".{x}" for x in steps[place + 1 :])
            found.setdefault(ends, []).append(int(steps[place]))
    return [f"{head}{_numbers(numbers)}{tail}" for (head, tail), numbers in found.items()]


def _numbers(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == [*range(numbers[0], numbers[-1] + 1)]:
        return f"{numbers[0]}-{numbers[-1]}"
    return ",".join(map(str, numbers))
