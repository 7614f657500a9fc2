"""`leverframe unit take-over` and `give-back`: replace a unit by a controller, and undo this."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from leverframe.core.errors import DONE, NO, ErrorForPeople, print_line, print_lines
from leverframe.core.labels import ENERGIES
from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.core.tree import (
    MISSING,
    defaults,
    difference,
    leaves,
    settings_from_leaves,
    value_at,
    with_value,
)
from leverframe.host.configuration.keys import as_toml
from leverframe.host.start_version import profile_rows
from leverframe.interface.table.accounts import HASH_PREFIX
from leverframe.server.passwords import Passwords
from leverframe.storage.datafolder import STORE_NAME, DataFolder, folder_with_store
from leverframe.storage.encryption import EncryptingStore
from leverframe.storage.private_files import write_private
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, MemoryStore, Stored
from leverframe.testing.recordings.replay import UnitLogin, ask_login
from leverframe.testing.recordings.unit_client import unit_at
from leverframe.units.addresses import normal_mac
from leverframe.units.client import SignInNeeded, open_paced_client
from leverframe.units.file_keys import is_part_of, key_of
from leverframe.units.file_loader import load_unit_file
from leverframe.units.live_values import LiveReader, LiveReading
from leverframe.units.presentation import plan_in_words
from leverframe.units.proof import plan_for_settings
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.unit_file import path_copied_with
from leverframe.units.unit_plan import write_plans
from leverframe.units.unit_reader import pull_unit

# Complete the settings that a unit does not show from a unit file: accounts, mail, messages.
#
# Settings that the unit shows come from the unit, because a file may be older.

_ACCESS = "access."


class ContradictedUnit(ErrorForPeople):
    """The accounts in a unit file differ from those of the unit; the message is one sentence."""


class CompletedSettings(Struct, frozen=True):
    """The settings of a unit completed by a file, and remarks about them."""

    settings: Settings
    #: Settings that come from the file.
    from_file: frozenset[str] = frozenset()
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


# `leverframe unit take-over`: create a software controller that replaces a unit.
#
# The controller gets the unit's settings, name, MAC address and version, the login that was used to
# read the unit, and the meter counts, so that clients find the same unit. Settings that a unit does
# not show, such as its other accounts, can come from a unit file; settings found in neither are
# listed. The unit is only read.

#: The settings read from the unit, in the data folder of the controller that replaces it.
TAKEN_OVER = "taken-over.json"


class CannotTakeOver(ErrorForPeople):
    """The unit cannot be taken over; the message is one sentence."""


class TakenOver(Struct, frozen=True):
    """The unit at the time of the take-over."""

    address: str
    hw: str
    sw: str
    mac: str
    #: Initial differences of the controller from the factory settings; secrets encrypted.
    settings: dict[str, Any]
    unread: dict[str, str]

    @property
    def profile(self) -> Profile:
        return Profile(self.hw, self.sw)

    def tree(self, key: Path) -> Settings:
        """Return the initial settings of the controller; `key` is the path of its key file."""
        opened = EncryptingStore(MemoryStore(), key).open_secrets(Stored(dict(self.settings), {}))
        settings, _ = settings_from_leaves(self.profile, opened.settings)
        return settings


async def take_over(
    unit: str,
    data: Path,
    config_out: Path,
    user: str | None,
    ca_file: str | None,
    host: str,
    port: int | None,
    file: Path | None = None,
) -> None:
    """Read a unit; create the data folder and configuration of a controller that replaces it."""
    _refuse_to_overwrite(data, config_out)
    login = ask_login(user)
    asks_login = await _asks_for_login(unit, ca_file)
    async with open_paced_client(unit, login, ca_file) as client:
        live = await LiveReader(client).look()
        pulled = await pull_unit(client)
    mac = normal_mac(pulled.identity.mac)
    if mac is None:
        raise CannotTakeOver(f"{unit} shows no MAC address, by which its clients identify it.")
    settings = await _with_account(pulled.settings, login if asks_login else None)
    completed = (
        CompletedSettings(settings) if file is None else await complete(settings, pulled, file)
    )
    began_with = await _write_store(data, pulled, completed.settings, live)
    record = TakenOver(
        unit, pulled.profile.hw, pulled.profile.sw, mac, began_with, dict(pulled.unread)
    )
    write_private(data / TAKEN_OVER, msgspec.json.encode(record))
    wanted_port = unit_at(unit).port if port is None else port
    _write_text(config_out, _configuration(pulled, mac, data, host, wanted_port))
    _print_report(pulled, completed, config_out, has_account=asks_login and login is not None)


def _refuse_to_overwrite(data: Path, config_out: Path) -> None:
    if config_out.exists():
        raise CannotTakeOver(f"{config_out} already exists; choose another file with --config-out.")
    if (data / STORE_NAME).exists():
        raise CannotTakeOver(
            f"{data} already contains a controller; choose a new folder with --data."
        )


def _write_text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


async def _asks_for_login(unit: str, ca_file: str | None) -> bool:
    async with open_paced_client(unit, None, ca_file) as client:
        try:
            await client.read("/json/all.json")
        except SignInNeeded:
            return True
    return False


async def _with_account(settings: Settings, login: UnitLogin | None) -> Settings:
    """Make the account used on the unit the administrator's account."""
    if login is None:
        return settings
    hashed = await Passwords().hash(login.password)
    for path, value in (
        ("access.required", True),
        ("access.admin.name", login.name),
        ("access.admin.password", hashed),
    ):
        settings = with_value(settings, path, value)
    return settings


def _list_changes(profile: Profile, settings: Settings) -> Iterator[tuple[str, Any]]:
    for path, _, value in difference(defaults(profile), settings):
        if value is not MISSING:
            yield path, msgspec.to_builtins(value)


async def _write_store(
    data: Path, pulled: PulledUnit, settings: Settings, live: LiveReading
) -> dict[str, Any]:
    """Create the data folder of the controller; return its settings with encrypted secrets."""
    kept = profile_rows(pulled.profile)
    if settings.energy_remember:
        kept |= {
            f"energy.{index}": value
            for index, label in enumerate(ENERGIES)
            if (value := live.values.get(label)) is not None
        }
    with DataFolder(data) as folder:
        sqlite = SqliteStore(folder.store_path)
        try:
            changed = dict(_list_changes(pulled.profile, settings))
            store = EncryptingStore(sqlite, folder.key_path)
            await store.commit(Changes(settings=changed, kept=kept))
            return sqlite.load().settings
        finally:
            await sqlite.close()


def _configuration(pulled: PulledUnit, mac: str, data: Path, host: str, port: int) -> str:
    keys = {
        "host": host,
        "port": port,
        "data": str(data.absolute()),
        "hw": pulled.profile.hw,
        "sw": pulled.profile.sw,
        "mac": mac,
    }
    if pulled.identity.name:
        keys["name"] = pulled.identity.name
    lines = (f"{key} = {as_toml(value)}\n" for key, value in keys.items())
    return f"# Replaces the unit at {pulled.identity.address}.\n" + "".join(lines)


def _print_report(
    pulled: PulledUnit, completed: CompletedSettings, config_out: Path, *, has_account: bool
) -> None:
    identity = pulled.identity
    from_file = completed.from_file
    read = sum(1 for path, _ in leaves(pulled.settings) if pulled.why_unread(path) is None)
    print_line(f"Taken over from {identity.name or identity.address}: {read} settings.")
    for remark in (*pulled.remarks, *completed.remarks):
        print_line(f"note: {remark}")
    for path, why in sorted(pulled.unread.items()):
        is_in_file = any(is_part_of(leaf, [path]) for leaf in from_file)
        if not is_in_file and not (has_account and path.startswith(_ACCESS)):
            print_line(f"not taken over: {key_of(path)}: {why}")
    for path, why in sorted(pulled.lossy.items()):
        print_line(f"possibly inexact: {key_of(path)}: {why}")
    if has_account and not any(path.startswith(_ACCESS) for path in from_file):
        print_line(
            "Only the account that you signed in with is taken over; name the remaining accounts"
            " in a unit file, with --file."
        )
    print_line("Outputs and event variables start as after a restart.")
    print_line(
        f"Start it with `leverframe run --config {config_out}` at the address of the unit, after"
        " you have switched the unit off."
    )


# `leverframe unit give-back`: transfer the changes of a controller back to its original unit.
#
# Changes made on the controller become a plan for the unit. All other settings stay as they are on
# the unit, even if they were changed on the unit. The plan is verified on a twin, printed, and
# written for `unit apply`; nothing is sent.

#: Accounts of the controller are not transferred: the unit has kept its own.
_STAYS = ("access", "profile")


class MergedSettings(NamedTuple):
    """The wanted settings of a unit: its own settings with the changes of the controller."""

    settings: Settings
    #: Paths that the controller changed.
    changed: tuple[str, ...]
    #: Paths that were also changed on the unit, to another value.
    disputed: tuple[str, ...]


async def give_back(
    data: Path, to: str | None, user: str | None, ca_file: str | None, out: Path | None
) -> int:
    """Print the plan that transfers the changes of a controller to its original unit."""
    taken = read_taken_over(data)
    began_with, present = await _settings_of(data, taken)
    async with open_paced_client(to or taken.address, ask_login(user), ca_file) as client:
        pulled = await pull_unit(client, mac=taken.mac)
    _refuse_another_version(taken, pulled)
    merged = changes_for(began_with, present, pulled)
    for path in merged.disputed:
        key = key_of(path)
        print_line(f"{key} was also changed on the unit; the plan sets the controller's value.")
    named = [path for path in merged.changed if pulled.why_unread(path) is not None]
    plan = await plan_for_settings(
        pulled.identity.name or pulled.identity.address, pulled, merged.settings, named
    )
    print_lines(plan_in_words(plan))
    if out is not None:
        write_plans(out, [plan])
        print_line(f"Written to {out}; send it with `leverframe unit apply {out}`.")
    return NO if plan.left_out else DONE


def read_taken_over(data: Path) -> TakenOver:
    """Read the record of the unit from the take-over."""
    try:
        return msgspec.json.decode((data / TAKEN_OVER).read_bytes(), type=TakenOver)
    except (FileNotFoundError, NotADirectoryError):
        raise CannotTakeOver(
            f"{data} is not the data folder of a controller created by `leverframe unit take-over`."
        ) from None
    except msgspec.MsgspecError as error:
        raise CannotTakeOver(f"{data / TAKEN_OVER} is damaged: {error}.") from None


async def _settings_of(data: Path, taken: TakenOver) -> tuple[Settings, Settings]:
    """Return the initial and the present settings of the controller."""
    with folder_with_store(data) as folder:
        store = EncryptingStore(SqliteStore(folder.store_path), folder.key_path)
        try:
            settings, _ = settings_from_leaves(taken.profile, store.load().settings)
        finally:
            await store.close()
        return taken.tree(folder.key_path), settings


def _refuse_another_version(taken: TakenOver, pulled: PulledUnit) -> None:
    if pulled.profile != taken.profile:
        raise CannotTakeOver(
            f"The unit is {pulled.profile} now but was {taken.profile} when it was taken over;"
            f" compare the unit and the controller with `leverframe unit diff` and change the"
            f" unit with a unit file."
        )


def changes_for(old: Settings, new: Settings, pulled: PulledUnit) -> MergedSettings:
    """Apply the differences between old and new to the settings of a unit."""
    changed, disputed = [], []
    for path, before, after in _counting(old, new):
        changed.append(path)
        if pulled.why_unread(path) is None and _leaf(pulled.settings, path) not in (before, after):
            disputed.append(path)
    settings = _merge(old, new, pulled.settings)
    return MergedSettings(settings, tuple(changed), tuple(disputed))


def _counting(old: Settings, new: Settings) -> Iterator[tuple[str, Any, Any]]:
    for path, before, after in difference(old, new):
        if path.partition(".")[0] not in _STAYS:
            yield path, before, after


def _leaf(settings: Settings, path: str) -> Any:
    return dict(leaves(settings)).get(path, MISSING)


def _merge(old: Settings, new: Settings, present: Settings) -> Settings:
    """Merge: take changed parts from the new settings, and the rest from the present ones."""
    parts = {
        name: _part(getattr(old, name), getattr(new, name), getattr(present, name))
        for name in present.__struct_fields__
        if name not in _STAYS
    }
    return msgspec.structs.replace(present, **parts)


def _part(old: Any, new: Any, present: Any) -> Any:
    if old == new:
        return present
    if isinstance(new, msgspec.Struct) and type(old) is type(new) is type(present):
        parts = {
            name: _part(getattr(old, name), getattr(new, name), getattr(present, name))
            for name in new.__struct_fields__
        }
        return msgspec.structs.replace(new, **parts)
    if isinstance(new, tuple) and len(old) == len(new) == len(present):
        return tuple(map(_part, old, new, present))
    # A list of changed length, such as the rules, is transferred as a whole.
    return new
