"""The start of a twin: the parameters of a test, or a saved snapshot.

Settings are given by path, or come from a backup, a unit file, a recording, or a unit. Reading a
unit works as in `leverframe unit pull`: at a limited rate, and without writing to the unit.
"""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from leverframe.core.durations import wall_of
from leverframe.core.profile import Profile
from leverframe.core.runtime.clock import VirtualClock
from leverframe.core.tree import defaults, difference
from leverframe.host.configuration import Config
from leverframe.host.configuration.toml import read_toml
from leverframe.host.controller.snapshot import BadSnapshot, SavedSnapshot, decode_snapshot
from leverframe.host.maintenance.configuration import (
    RECORDING,
    BadSettings,
    GivenSettings,
    leaves_for,
    version_for,
)
from leverframe.host.ports import check_port
from leverframe.interface.version_change.limits import Content
from leverframe.server.passwords import Passwords
from leverframe.testing.misuse import BadCall, check_parameters
from leverframe.testing.transport import LOOP_THREAD, READ_COMMUNITY, WRITE_COMMUNITY, TwinSnapshot

if TYPE_CHECKING:
    from leverframe.units.pulled_unit import PulledUnit


#: Top-level keys of backups, which unit files never have.
BACKUP_KEYS = {"hw", "sw", "settings"}
SCHEMES = ("http://", "https://")
#: Parameters that a snapshot defines, so that a twin loaded from it does not accept them.
OF_SNAPSHOT = ("hw", "sw", "mac", "name", "start", "timezone", "settings")


class Beginning(Struct, frozen=True):
    """The parameters of a twin, parsed and checked."""

    given: Mapping[str, Any]
    profile: Profile
    zone: tzinfo
    #: Its initial wall time.
    wall: float
    #: The settings that differ from the factory settings, by path.
    leaves: dict[str, Any]
    #: Accounts, with the administrator first.
    accounts: Sequence[tuple[str, str]]
    #: The recording that answers requests that the version does not support.
    recorded: str | Path | None
    #: The result of reading a unit or its recording.
    pulled: "PulledUnit | None"

    def config(self) -> Config:
        """Return the configuration of a controller with this start."""
        names = ("timezone", "name", "mac", "tls", "lenient")
        config = Config(
            port=self.given["port"] or 0,
            hw=self.profile.hw,
            sw=self.profile.sw,
            modbus_port=0,
            snmp_port=0,
            virtual_time=True,
            **{name: self.given[name] for name in names},
        )
        config.check_name()
        return config


def read_beginning(arguments: Mapping[str, Any]) -> Beginning:
    """Parse the parameters of a twin; raise an error if no twin can start with them."""
    check_parameters(arguments)
    hw, sw, start = arguments["hw"], arguments["sw"], arguments["start"]
    unit = read_settings(arguments["settings"], hw, sw)
    check_port(arguments["port"] or 0)
    profile, zone = (
        version_for(hw, sw, unit.settings),
        Config(timezone=arguments["timezone"]).zone(),
    )
    return Beginning(
        arguments,
        profile,
        zone,
        VirtualClock.START if start is None else wall_of(start, zone),
        leaves_for(unit.settings, profile),
        list((arguments["accounts"] or {}).items()),
        arguments["recorded"] or unit.recording,
        unit.pulled,
    )


def settings_of_servers(beginning: Beginning) -> dict[str, Any]:
    """Return the settings that switch the requested servers on."""
    given, wanted = beginning.given, dict[str, Any]()
    if given["modbus"]:
        wanted["modbus_tcp.enabled"] = True
    if given["snmp"]:
        wanted["snmp.enabled"] = True
        wanted["snmp.read_community"] = READ_COMMUNITY
        wanted["snmp.write_community"] = WRITE_COMMUNITY
    if given["mqtt"] is not None:
        wanted |= _mqtt_leaves(given["mqtt"])
    return leaves_for(wanted or None, beginning.profile)


async def account_leaves(accounts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """Return the settings of these accounts."""
    if not accounts:
        return {}
    if len(accounts) > 2:
        raise BadSettings("accounts: set the administrator, and optionally a user.")
    passwords, leaves = Passwords(), dict[str, Any]({"access.required": True})
    for role, (name, password) in zip(("admin", "user"), accounts, strict=False):
        leaves[f"access.{role}.name"] = name
        leaves[f"access.{role}.password"] = await passwords.hash(password)
    return leaves


def _mqtt_leaves(broker: str) -> dict[str, Any]:
    parts = urlsplit(broker if "://" in broker else f"mqtt://{broker}")
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or port is None or parts.scheme not in ("mqtt", "mqtts"):
        # The message omits the value, which may contain a password.
        raise BadSettings(
            "mqtt: this is not the address of a broker; write it like 127.0.0.1:1883, or with an"
            " account like"
            " mqtt://NAME:PASSWORD@127.0.0.1:1883."
        )
    return {
        "mqtt.enabled": True,
        "mqtt.host": parts.hostname,
        "mqtt.port": port,
        "mqtt.username": unquote(parts.username or ""),
        "mqtt.password": unquote(parts.password or ""),
        "mqtt.tls": parts.scheme == "mqtts",
    }


class GivenUnit(NamedTuple):
    settings: GivenSettings | None
    #: The recording that answers requests that the twin itself cannot answer.
    recording: str | Path | None = None
    #: The result of reading a unit or its recording.
    pulled: "PulledUnit | None" = None


def read_settings(
    source: "GivenSettings | PulledUnit | None", hw: str | None, sw: str | None
) -> GivenUnit:
    """Parse `settings`; `hw` and `sw` apply to a unit file that names no version."""
    if isinstance(source, str) and source.startswith(SCHEMES):
        return _from_pulled(_read_unit(source))
    if isinstance(source, str | Path):
        path = Path(source)
        if path.suffix == RECORDING:
            from leverframe.units.unit_reader import read_recorded_unit

            return _from_pulled(read_recorded_unit(path), path)
        if path.suffix == ".toml" and not BACKUP_KEYS & read_toml(path, BadSettings)[1].keys():
            return GivenUnit(_read_unit_file(path, hw, sw))
        return GivenUnit(path)
    if source is None or isinstance(source, Content | Mapping):
        return GivenUnit(source)
    from leverframe.units.pulled_unit import PulledUnit

    if not isinstance(source, PulledUnit):
        raise BadSettings(
            f"A twin cannot start from {type(source).__name__!r}. Allowed: values by path, a backup"
            f" (.toml, .json, .bin), a unit file (.toml), a recording ({RECORDING}), a pulled unit,"
            " or the URL of a unit."
        )
    return _from_pulled(source)


def _from_pulled(unit: "PulledUnit", recording: Path | None = None) -> GivenUnit:
    from leverframe.units.unit_reader import content_of_unit

    return GivenUnit(content_of_unit(unit), recording, unit)


def _read_unit(url: str) -> "PulledUnit":
    """Read the unit at a URL, which may contain a login: `http://NAME:PASSWORD@HOST`."""
    from leverframe.units.client import address_and_login, open_paced_client
    from leverframe.units.unit_reader import pull_unit

    address, login = address_and_login(url)

    async def pull() -> "PulledUnit":
        async with open_paced_client(address, login) as client:
            return await pull_unit(client)

    return LOOP_THREAD.run(pull())


def _read_unit_file(path: Path, hw: str | None, sw: str | None) -> Content:
    from leverframe.units.file_loader import load_unit_file
    from leverframe.units.take_over import hash_passwords

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


def read_snapshot(path: str | Path) -> tuple[bytes, SavedSnapshot]:
    """Read a saved snapshot; raise `BadSnapshot` unless this version can read it."""
    try:
        data = Path(path).read_bytes()
        return data, decode_snapshot(data)
    except OSError as error:
        raise BadSnapshot(f"{path} cannot be read: {error.strerror}.") from None
    except BadSnapshot as error:
        raise BadSnapshot(f"{path}: {error}") from None


def parameters_of(saved: SavedSnapshot, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters of a twin that is loaded from a snapshot."""
    if refused := [name for name in OF_SNAPSHOT if name in arguments]:
        raise BadSnapshot(
            f"{', '.join(refused)}: the snapshot already contains this. Allowed with a snapshot:"
            " accounts,"
            " tls, mqtt, lenient, recorded, seed, port."
        )
    return {
        "hw": saved.profile.hw,
        "sw": saved.profile.sw,
        "mac": saved.identity.get("identity.mac"),
        "timezone": saved.timezone,
        **arguments,
    }


def state_of(snapshot: object, keeper: str) -> Any:
    """Return the state to restore from a snapshot; reject a snapshot of another keeper."""
    if not isinstance(snapshot, TwinSnapshot):
        raise BadCall(
            "restore accepts a TwinSnapshot as returned by snapshot() of a twin, not a"
            f" {type(snapshot).__name__}."
        )
    if snapshot.keeper != keeper:
        raise BadCall(
            f"This snapshot is stored by {snapshot.keeper}, but this twin can restore only"
            f" snapshots of {keeper}; save it with save(path), and start another twin with"
            f" load(path)."
        )
    return snapshot.state
