"""The change of a controller to another version, with settings converted; going back loses none.

What the new version cannot hold is listed, as after a restore. The settings as they were before are
kept beside the others, without secrets, until a version is reached that can hold all of them: they
are then what the controller has again, except where something was changed in between.
"""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from leverframe.commands.table.restored import NotCarriedOver, Restored
from leverframe.commands.version_change.backup_content import Content
from leverframe.commands.version_change.carried_readings import (
    disable_if_source_changed,
    other_readings,
    regulator_off,
)
from leverframe.commands.version_change.carry_over import carry_over
from leverframe.engine.actions import ENABLE_PID
from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import ModbusMapping, ModbusReading, Pid, Settings
from leverframe.engine.tree import (
    difference,
    is_secret,
    leaves,
    secret_paths,
    value_at,
    with_value,
)
from leverframe.profile import Profile

#: The upload under which the settings of an earlier version are kept.
EARLIER = "earlier-version"
#: Lists whose entries are meaningful only together.
_ENTRIES = ("rules", "schedule")
#: Settings below a path that are meaningful only together.
_TOGETHER = (
    ("pid", Pid.__struct_fields__),
    (r"differentials\.\d+", ("first", "operator", "second")),
    (r"modbus_devices\.\d+\.readings\.\d+", ModbusReading.__struct_fields__),
    (r"modbus_mapping\.\d+", ModbusMapping.__struct_fields__),
)
_ACCESS = "access"


class VersionChange(msgspec.Struct, frozen=True):
    settings: Settings
    not_carried_over: tuple[NotCarriedOver, ...] = ()
    #: What to keep as `EARLIER`; None when nothing is lost any more.
    earlier: bytes | None = None


class _Earlier(msgspec.Struct):
    hw: str
    sw: str
    settings: dict[str, Any]

    def content(self) -> Content:
        return Content(Profile(self.hw, self.sw), self.settings)


def change_version(
    present: Settings, old: Profile, new: Profile, earlier: bytes | None = None
) -> VersionChange:
    """Convert the present settings to another version; raise `Refusal`."""
    fresh = _convert(present, old, new)
    if earlier is None:
        lost = fresh.not_carried_over
        return VersionChange(fresh.settings, lost, _encode_common(old, present) if lost else None)
    content = msgspec.json.decode(earlier, type=_Earlier).content()
    before = carry_over(content, new, fresh.settings)
    # The settings as they would be without any change since.
    untouched = carry_over(content, old, present).settings
    unchanged = _convert(untouched, old, new).settings
    settings, changed = _with_changes(before.settings, unchanged, fresh.settings)
    still = [entry for entry in before.not_carried_over if not _is_among(entry.path, changed)]
    misled: list[NotCarriedOver] = []
    settings = _disable_if_source_changed(present, settings, changed, new, misled)
    lost = _each_once([*still, *fresh.not_carried_over, *misled])
    if still:
        return VersionChange(settings, lost, earlier)
    return VersionChange(settings, lost, _encode_common(old, present) if lost else None)


def _with_changes(
    settings: Settings, old: Settings, new: Settings
) -> tuple[Settings, tuple[str, ...]]:
    """Apply to the settings what differs between two others; return them and the paths."""
    changed = [_ACCESS]
    for path, *_ in difference(old, new):
        if path.partition(".")[0] not in (*_ENTRIES, _ACCESS):
            for one in _setting_group(path):
                settings = with_value(settings, one, value_at(new, one))
                changed.append(one)
    for name in _ENTRIES:
        if getattr(old, name) != getattr(new, name):
            settings = replace(settings, **{name: getattr(new, name)})
            changed.append(name)
    return settings, tuple(changed)


def _setting_group(path: str) -> tuple[str, ...]:
    branch, _, name = path.rpartition(".")
    for pattern, names in _TOGETHER:
        if name in names and re.fullmatch(pattern, branch):
            return tuple(f"{branch}.{one}" for one in names)
    return (path,)


def _disable_if_source_changed(
    present: Settings,
    settings: Settings,
    changed: tuple[str, ...],
    target: Profile,
    lost: list[NotCarriedOver],
) -> Settings:
    """Switch off rules and regulator on readings that came back as others."""
    others = other_readings(present, settings)
    if "pid.source" in changed and settings.pid.source in others:
        settings = replace(settings, pid=regulator_off(settings.pid, target, lost))
        others |= {ENABLE_PID}
    if "rules" not in changed:
        return settings
    rules = (
        rule and disable_if_source_changed(rule, f"rules.{place}", others, target, lost)
        for place, rule in enumerate(settings.rules)
    )
    return replace(settings, rules=tuple(rules))


def _is_among(path: str, changed: tuple[str, ...]) -> bool:
    return any(path == other or path.startswith(f"{other}.") for other in changed)


def _each_once(lost: Sequence[NotCarriedOver]) -> tuple[NotCarriedOver, ...]:
    return tuple({entry.path: entry for entry in reversed(lost)}.values())[::-1]


def _convert(settings: Settings, old: Profile, new: Profile) -> Restored:
    """Convert all settings; secrets come along even where the version has no use for them."""
    content = Content(old, dict(leaves(settings)), with_secrets=True)
    converted, lost = carry_over(content, new, defaults(new))
    for path in secret_paths(converted):
        if (value := content.settings.get(path)) is not None:
            converted = with_value(converted, path, value)
    return Restored(converted, tuple(entry for entry in lost if not is_secret(entry.path)))


def _encode_common(profile: Profile, settings: Settings) -> bytes:
    """Encode the settings without secrets and accounts, which every change carries over."""
    kept = {
        path: value
        for path, value in leaves(settings)
        if not is_secret(path) and path.partition(".")[0] not in (_ACCESS, "profile")
    }
    return msgspec.json.encode(_Earlier(profile.hw, profile.sw, kept))
