"""Sides of a comparison: a unit in the field, a unit file, a backup, a data folder, a recording."""

import asyncio
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from leverframe.commands.table.refusals import Refusal
from leverframe.commands.version_change.backup_content import check_content
from leverframe.config.toml_file import read_toml
from leverframe.engine.tree import is_confidential, leaves, settings_from_leaves
from leverframe.maintenance.readable_backup import read
from leverframe.process.stored_profile import read_stored_profile
from leverframe.profile import Profile
from leverframe.recording.replayer import UnitLogin
from leverframe.storage.backup import content_of
from leverframe.storage.datafolder import folder_with_store
from leverframe.storage.encrypting import EncryptingStore
from leverframe.storage.sqlite import SqliteStore
from leverframe.units.client import open_paced_client
from leverframe.units.loading import load_unit_file
from leverframe.units.problems import BadUnitFile
from leverframe.units.pulled_unit import PulledUnit
from leverframe.units.pulling import pull_unit
from leverframe.units.recorded_unit import read_recorded_unit
from leverframe.units.unit_comparison import ComparedUnit, NotComparable
from leverframe.units.unit_file import UnitFile

RECORDING = ".jsonl"
BACKUPS = (".bin", ".json")
UNIT_FILE = ".toml"
_SEALED = "the backup does not contain it in plain text"
_NOT_GIVEN = "the secret that the file refers to is missing"
_NOT_READ = "it was not read when the file was written"


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
    """Return the settings of a unit file; without its own version it gets the given version."""
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
