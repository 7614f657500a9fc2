"""`leverframe unit take-over`: create a software controller that replaces a unit.

It gets the unit's settings, name, MAC address and version, the login that was used to read it, and
its meter counts, so that clients find the same unit. Settings that a unit does not show, such as
its other accounts, can come from a unit file; settings found in neither are listed. The unit is
only read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from leverframe.config.example import as_toml
from leverframe.engine.factory_settings import defaults
from leverframe.engine.labels import ENERGIES
from leverframe.engine.settings import Settings
from leverframe.engine.tree import MISSING, difference, leaves, settings_from_leaves, with_value
from leverframe.errors import ErrorForPeople
from leverframe.plain_text import print_line
from leverframe.process.stored_profile import profile_rows
from leverframe.profile import Profile
from leverframe.recording.replayer import UnitLogin, ask_login
from leverframe.recording.unit_client import unit_at
from leverframe.servers.accounts.passwords import Passwords
from leverframe.storage.datafolder import STORE_NAME, DataFolder
from leverframe.storage.encrypting import EncryptingStore
from leverframe.storage.private_file import write_private
from leverframe.storage.sqlite import SqliteStore
from leverframe.storage.store import Changes, MemoryStore, Stored
from leverframe.units.client import SignInNeeded, open_paced_client
from leverframe.units.completing import CompletedSettings, complete
from leverframe.units.file_keys import is_part_of, key_of
from leverframe.units.live_reading import LiveReader, LiveReading
from leverframe.units.mac_addresses import normal_mac
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import pull_unit

#: The settings read from the unit, in the data folder of the controller that replaces it.
TAKEN_OVER = "taken-over.json"
_ACCESS = "access."


class CannotTakeOver(ErrorForPeople):
    """The unit cannot be taken over: one sentence."""


class TakenOver(Struct, frozen=True):
    """The unit as it was at the take-over."""

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
        """Return the initial settings of the controller; the key is that of its data folder."""
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
    told = completed.told
    read = sum(1 for path, _ in leaves(pulled.settings) if pulled.why_unread(path) is None)
    print_line(f"Taken over from {identity.name or identity.address}: {read} settings.")
    for remark in (*pulled.remarks, *completed.remarks):
        print_line(f"note: {remark}")
    for path, why in sorted(pulled.unread.items()):
        is_told = any(is_part_of(leaf, [path]) for leaf in told)
        if not is_told and not (has_account and path.startswith(_ACCESS)):
            print_line(f"not taken over: {key_of(path)}: {why}")
    for path, why in sorted(pulled.lossy.items()):
        print_line(f"possibly inexact: {key_of(path)}: {why}")
    if has_account and not any(path.startswith(_ACCESS) for path in told):
        print_line(
            "Only the account that you signed in with is taken over; name the remaining accounts"
            " in a unit file, with --file."
        )
    print_line("Outputs and event variables start as after a restart.")
    print_line(
        f"Start it with `leverframe run --config {config_out}` at the address of the unit, after"
        " you have switched the unit off."
    )
