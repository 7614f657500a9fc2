"""What a twin begins with: settings by path, a backup, a unit file, a recording, or a unit itself.

A unit is read as `leverframe unit pull` reads it: politely, and never written to.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from leverframe.commands.version_change.backup_content import Content
from leverframe.config.toml_file import read_toml
from leverframe.engine.factory_settings import defaults
from leverframe.engine.tree import difference
from leverframe.fleet.given_settings import (
    RECORDING,
    BadSettings,
    GivenSettings,
    version_for,
)
from leverframe.testing.loop_thread import LOOP_THREAD

if TYPE_CHECKING:
    from leverframe.units.pulled_unit import PulledUnit

#: Keys that backups have at their top, and unit files never.
BACKUP_KEYS = {"hw", "sw", "settings"}
SCHEMES = ("http://", "https://")


class GivenUnit(NamedTuple):
    settings: GivenSettings | None
    #: Whose answers the twin gives where it has none itself.
    recording: str | Path | None = None
    #: What was read from a unit or a recording of one.
    pulled: "PulledUnit | None" = None


def read_given(
    given: "GivenSettings | PulledUnit | None", hw: str | None, sw: str | None
) -> GivenUnit:
    """Read what is given as settings; `hw` and `sw` are for a unit file that names no version."""
    if isinstance(given, str) and given.startswith(SCHEMES):
        return _from_pulled(_read_unit(given))
    if isinstance(given, str | Path):
        path = Path(given)
        if path.suffix == RECORDING:
            from leverframe.units.recorded_unit import recorded_unit

            return _from_pulled(recorded_unit(path), path)
        if path.suffix == ".toml" and not BACKUP_KEYS & read_toml(path, BadSettings)[1].keys():
            return GivenUnit(_read_unit_file(path, hw, sw))
        return GivenUnit(path)
    if given is None or isinstance(given, Content | Mapping):
        return GivenUnit(given)
    from leverframe.units.pulled_unit import PulledUnit

    if not isinstance(given, PulledUnit):
        raise BadSettings(
            f"A twin cannot begin with {type(given).__name__!r}. Allowed: values by path, a backup"
            f" (.toml, .json, .bin), a unit file (.toml), a recording ({RECORDING}), a pulled unit,"
            " or the URL of a unit."
        )
    return _from_pulled(given)


def _from_pulled(unit: "PulledUnit", recording: Path | None = None) -> GivenUnit:
    from leverframe.units.recorded_unit import content_of_unit

    return GivenUnit(content_of_unit(unit), recording, unit)


def _read_unit(url: str) -> "PulledUnit":
    """Read the unit at a URL, which may have a login: `http://NAME:PASSWORD@HOST`."""
    from leverframe.units.client import address_and_login, paced_client
    from leverframe.units.pulling import pull_unit

    address, login = address_and_login(url)

    async def pull() -> "PulledUnit":
        async with paced_client(address, login) as client:
            return await pull_unit(client)

    return LOOP_THREAD.run(pull())


def _read_unit_file(path: Path, hw: str | None, sw: str | None) -> Content:
    from leverframe.units.completing import hash_passwords
    from leverframe.units.loading import load_unit_file

    wanted = None if hw is None and sw is None else version_for(hw, sw, None)
    file = load_unit_file(path, profile=wanted, need_secrets=False)
    has_passwords = any(
        one.startswith("access.") and one.endswith(".password") for one in file.settings_named
    )
    settings = file.settings
    if has_passwords:
        settings = LOOP_THREAD.run(hash_passwords(settings))
    changed = difference(defaults(file.profile), settings)
    return Content(
        file.profile, {path: value for path, _, value in changed}, with_secrets=has_passwords
    )
