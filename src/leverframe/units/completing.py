"""Complete the settings that a unit does not show from a unit file: accounts, mail, messages.

Settings that the unit shows come from the unit, because a file may be older.
"""

from pathlib import Path

from msgspec import Struct

from leverframe.commands.table.accounts import HASH_PREFIX
from leverframe.engine.settings import Settings
from leverframe.engine.tree import difference, leaves, value_at, with_value
from leverframe.errors import ErrorForPeople
from leverframe.servers.accounts.passwords import Passwords
from leverframe.units.file_keys import key_of
from leverframe.units.loading import load_unit_file
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_file import path_copied_with

_ACCESS = "access."


class ContradictedUnit(ErrorForPeople):
    """A unit file has other accounts than the unit: one sentence."""


class CompletedSettings(Struct, frozen=True):
    """The settings of a unit completed by a file, and remarks about them."""

    settings: Settings
    #: Settings that come from the file.
    told: frozenset[str] = frozenset()
    remarks: tuple[str, ...] = ()


async def complete(settings: Settings, pulled: PulledUnit, path: Path) -> CompletedSettings:
    """Add settings from a unit file that could not be read from a unit."""
    file, lost = load_unit_file(path, profile=pulled.profile).for_version(pulled.profile)
    remarks = [f"{key_of(one.path)} of {path}: {one.reason}" for one in lost]
    wanted = file.over(settings)
    for leaf, _, _ in difference(settings, wanted):
        if pulled.why_unread(leaf) is not None:
            continue
        if leaf.startswith(_ACCESS) and leaf.endswith(".name"):
            raise ContradictedUnit(
                f"{path}: {key_of(leaf)} differs from the unit, so its passwords may belong to"
                " other accounts; correct the file. Nothing was written."
            )
        remarks.append(f"{key_of(leaf)} is taken from the unit, not from {path}.")
        part = path_copied_with(leaf, settings, wanted)
        wanted = with_value(wanted, part, value_at(settings, part))
    named = frozenset(leaf for leaf, _ in leaves(wanted) if file.names(leaf))
    return CompletedSettings(await hash_passwords(wanted), named, tuple(remarks))


async def hash_passwords(settings: Settings) -> Settings:
    """Hash the passwords of accounts as a controller does."""
    for path, value in leaves(settings):
        is_password = path.startswith(_ACCESS) and path.endswith(".password")
        if is_password and value and not value.startswith(HASH_PREFIX):
            settings = with_value(settings, path, await Passwords().hash(value))
    return settings
