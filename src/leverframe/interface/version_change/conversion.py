"""Conversion of settings between versions; settings that are lost can be restored later."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.engine.calls import ENABLE_PID
from leverframe.core.engine.secret_servers import servers
from leverframe.core.profile import Profile, Spans, is_offered
from leverframe.core.settings import ModbusMapping, ModbusReading, Pid, Settings, Ui
from leverframe.core.tree import (
    defaults,
    difference,
    is_confidential,
    is_secret,
    leaves,
    secret_paths,
    settings_from_leaves,
    value_at,
    with_value,
)
from leverframe.interface.table import user_interface as pages
from leverframe.interface.table.codes import HOMEPAGES, HOMEPAGES_OLDER
from leverframe.interface.table.params import Int
from leverframe.interface.table.pwm import FREQUENCY
from leverframe.interface.table.refusals import NotCarriedOver, Restored, report_lost
from leverframe.interface.version_change.entries import (
    MAPPING,
    carry_rules,
    carry_schedule,
    carry_texts,
    disable_if_source_changed,
    find_reversed_conditions,
    other_readings,
    pid_source_changed,
    regulator_off,
    with_readable_modules,
)
from leverframe.interface.version_change.limits import (
    EDITION,
    ENTRIES,
    Content,
    check_content,
    is_allowed,
    plain_leaves,
)

# Conversion of the settings of one version to another, with a list of what cannot be carried over.
#
# Every restore uses this conversion, even if both versions are the same. First all values are
# checked (`limits.py`). Then lists are fitted to the lengths of the new version; a setting that the
# version does not support, or whose value it does not allow, gets its default value, and so do
# parts of rules and of the schedule (`entries.py`). Functions that would then act differently are
# switched off: rules and the regulator if their reading has another meaning in the new version
# (`entries.py`), and "on after start" if a remembered state had precedence before. Texts show the
# same readings as before.
#
# Secrets that the file does not contain are not changed on the controller, and neither are the
# accounts without their passwords: a restore must neither lock the owner out nor let strangers in.
# A secret is deleted if it would be sent to a server that only the file names.

_ACCESS = "access."
#: Pairs of equivalent units, for versions that have only one unit of a pair.
_COUNTS_THE_SAME = {"W->kW/kWh": "W/kWh", "kW->W/kWh": "kW/kWh"}


class _Position(Struct, frozen=True):
    """A position among the variables that some versions use for a page setting."""

    variables: str
    number: int
    when: Spans
    value: Callable[[Ui, Profile], int]


def _homepage(ui: Ui, target: Profile) -> int:
    return HOMEPAGES.number(ui.homepage, target) or 0


def _bit_2(ui: Ui, target: Profile) -> int:
    """Return the bit: the homepage, or in later versions whether only users' names are shown."""
    if is_offered(pages.NAMES_ONLY, target):
        return int(ui.names_only)
    # 0 for a page that the bit cannot express; the command does the same.
    return HOMEPAGES_OLDER.number(ui.homepage, target) or 0


_POSITIONS = (
    _Position("bits", 0, pages.AUTO_SIGN_IN, lambda ui, _: int(ui.auto_sign_in)),
    _Position("bits", 1, pages.FIRMWARE_CHECK, lambda ui, _: int(ui.firmware_check)),
    _Position("bits", 2, pages.NAMES_ONLY + pages.HOMEPAGE_OLDER, _bit_2),
    _Position("bits", 3, pages.READ_ONLY_USER, lambda ui, _: int(ui.user_read_only)),
    _Position("bytes", 0, pages.HOMEPAGE, _homepage),
)


def carry_over(content: Content, target: Profile, present: Settings) -> Restored:
    """Convert a backup for a controller with the current settings."""
    lost: list[NotCarriedOver] = []
    source = check_content(content, lost)
    settings = _at_length(source, content.profile, target, lost)
    settings = _without_unknown(settings, target, lost)
    settings = _off_without_memory(source, settings, target, lost)
    settings = with_readable_modules(source, settings, target, lost)
    others = other_readings(source, settings)
    if pid_source_changed(source.pid, settings.pid, others):
        settings = replace(settings, pid=regulator_off(settings.pid, target, lost))
        others |= {ENABLE_PID}
    settings = replace(
        settings,
        rules=carry_rules(source.rules, target, lost, others),
        schedule=carry_schedule(source.schedule, target, lost),
    )
    if content.edition < EDITION:
        lost += find_reversed_conditions(settings.rules)
    if content.profile != target:
        settings = carry_texts(settings, content.profile, target, lost)
        settings = _positions(settings, content.profile, target, lost)
    settings = _with_present_secrets(settings, content, present, lost)
    return Restored(settings, tuple(lost))


def _at_length(
    source: Settings, made_on: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Fit the leaves into lists of the new version's lengths."""
    if made_on == target:
        return source
    old = dict(leaves(source))
    settings, unfit = settings_from_leaves(
        target, {path: value for path, value in old.items() if not path.startswith(ENTRIES)}
    )
    standard = dict(leaves(defaults(made_on)))
    for path in unfit:
        if old[path] != standard.get(path) and not path.startswith(MAPPING):
            lost.append(report_lost(path, old[path], f"{target} does not have this setting."))
    for path, value in leaves(settings):
        before = old.get(path)
        if isinstance(before, tuple) and isinstance(value, tuple) and len(before) > len(value):
            tail, usual = before[len(value) :], standard[path][len(value) :]
            if tail != usual:
                lost.append(
                    report_lost(path, tail, f"{target} has {len(value)} places in this list.")
                )
    return settings


def _without_unknown(settings: Settings, target: Profile, lost: list[NotCarriedOver]) -> Settings:
    for path, value, default in plain_leaves(settings, target):
        if not path.startswith(_ACCESS) and not is_allowed(path, value, default, target):
            lost.append(
                report_lost(path, value, f"{target} does not have this setting or this value.")
            )
            settings = with_value(settings, path, _instead(path, value, default, target))
    return settings


def _instead(path: str, value: Any, default: Any, target: Profile) -> Any:
    """Return the new version's value nearest to one that it does not allow, or the default."""
    if path == "pwm_frequency":
        limits = FREQUENCY.pick(target)
        assert isinstance(limits, Int)
        return tuple(min(max(hertz, limits.lo), limits.hi) for hertz in value)
    same = _COUNTS_THE_SAME.get(value) if isinstance(value, str) else None
    return same if same and is_allowed(path, same, default, target) else default


def _off_without_memory(
    source: Settings, settings: Settings, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Clear "on after start" where the remembered state, which is lost, took precedence over it."""
    for index, (old, new) in enumerate(zip(source.outputs, settings.outputs, strict=True)):
        if new.on_after_start and old.remember and not new.remember:
            path = f"outputs.{index}.on_after_start"
            reason = (
                f"{target} does not remember output states; remembered states took precedence"
                f" over this setting."
            )
            lost.append(report_lost(path, True, reason))
            settings = with_value(settings, path, False)
    return settings


def _positions(
    settings: Settings, made_on: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Set the variables that are page settings in the target version to these settings."""
    for position in _POSITIONS:
        path = f"variables.{position.variables}.{position.number}"
        # A position that contained a page setting was not an independent variable.
        value = 0 if is_offered(position.when, made_on) else value_at(settings, path)
        if is_offered(position.when, target):
            if value:
                reason = f"{target} uses the position for a page setting."
                lost.append(report_lost(path, value, reason))
            value = position.value(settings.ui, target)
        settings = with_value(settings, path, value)
    return settings


def with_page_settings(settings: Settings, profile: Profile) -> Settings:
    """Set the variables that a version uses for page settings from these settings."""
    settings = with_value(settings, "variables.words.0", settings.ui.refresh // 10)
    for position in _POSITIONS:
        if is_offered(position.when, profile):
            path = f"variables.{position.variables}.{position.number}"
            settings = with_value(settings, path, position.value(settings.ui, profile))
    return settings


def _with_present_secrets(
    settings: Settings, content: Content, present: Settings, lost: list[NotCarriedOver]
) -> Settings:
    accounts = settings.access
    if not content.with_secrets:
        for path, _ in leaves(settings):
            if _stays(path, content):
                settings = with_value(settings, path, value_at(present, path))
        settings = _without_redirected(settings, content, present, lost)
        reason = "The backup was restored without its secrets; this controller keeps its own value."
        lost += (report_lost(path, None, reason) for path in content.left_out)
    elif accounts.admin.password or not present.access.admin.password:
        return settings
    if _without_passwords(accounts) != _without_passwords(present.access):
        reason = "Accounts are restored only with their passwords; this controller keeps its own."
        lost.append(report_lost("access", None, reason))
    return with_value(settings, "access", present.access)


def _without_redirected(
    settings: Settings, content: Content, present: Settings, lost: list[NotCarriedOver]
) -> Settings:
    """Delete secrets of the controller if the file names another server for them."""
    before, after = servers(present), servers(settings)
    for path, server in after.items():
        for secret in _secrets_of_server(path) if server != before[path] else ():
            if _stays(secret, content) and value_at(settings, secret):
                reason = "The stored secret is for another server; set it again."
                lost.append(report_lost(secret, None, reason))
                settings = with_value(settings, secret, "")
    return settings


def _secrets_of_server(path: str) -> tuple[str, ...]:
    """Return the secrets that are sent to the same server as the password at a path."""
    branch = path.rpartition(".")[0]
    return (path, f"{branch}.body") if branch.startswith("http.") else (path,)


def _stays(path: str, content: Content) -> bool:
    """Return whether the file omits a setting because it is confidential."""
    # Files of earlier program versions contain the addresses of HTTP1-HTTP4.
    return is_confidential(path) and path not in content.settings and not path.startswith(_ACCESS)


def _without_passwords(accounts: Any) -> list[tuple[str, Any]]:
    return [(path, value) for path, value in leaves(accounts) if not path.endswith("password")]


# The change of a controller to another version, and the restoring of settings when it changes back.
#
# Settings that the new version does not support are listed, as after a restore. The previous
# settings are stored without secrets until the controller changes to a version that supports all of
# them. They are then restored, except for settings that were changed in the meantime.

#: The name of the stored file with the settings of an earlier version.
EARLIER = "earlier-version"
#: Lists whose entries can only be restored completely.
_ENTRIES = ("rules", "schedule")
#: Branches whose settings can only be restored together.
_TOGETHER = (
    ("pid", Pid.__struct_fields__),
    (r"differentials\.\d+", ("first", "operator", "second")),
    (r"modbus_devices\.\d+\.readings\.\d+", ModbusReading.__struct_fields__),
    (r"modbus_mapping\.\d+", ModbusMapping.__struct_fields__),
)
_ACCESS_LEAVES = "access"


class VersionChange(msgspec.Struct, frozen=True):
    settings: Settings
    not_carried_over: tuple[NotCarriedOver, ...] = ()
    #: The content of `EARLIER`; None if no setting is lost any longer.
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
    """Convert the current settings to another version; raise `Refusal`."""
    fresh = _convert(present, old, new)
    if earlier is None:
        lost = fresh.not_carried_over
        return VersionChange(fresh.settings, lost, _encode_common(old, present) if lost else None)
    content = msgspec.json.decode(earlier, type=_Earlier).content()
    before = carry_over(content, new, fresh.settings)
    # The settings that would result without any changes in the meantime.
    untouched = carry_over(content, old, present).settings
    unchanged = _convert(untouched, old, new).settings
    owned = _secrets_with_same_server(untouched, present)
    restored = before.settings
    for path in owned:
        value = value_at(restored, path) or value_at(fresh.settings, path)
        restored = with_value(restored, path, value)
    settings, changed = _with_changes(restored, unchanged, fresh.settings)
    settled = (*changed, *owned)
    still = [entry for entry in before.not_carried_over if not _is_among(entry.path, settled)]
    misled: list[NotCarriedOver] = []
    settings = _disable_if_source_changed(present, settings, changed, new, misled)
    lost = _each_once([*still, *fresh.not_carried_over, *misled])
    if still:
        return VersionChange(settings, lost, earlier)
    return VersionChange(settings, lost, _encode_common(old, present) if lost else None)


def _secrets_with_same_server(untouched: Settings, present: Settings) -> list[str]:
    """Return the secrets that belong to their earlier server, as it was not changed since."""
    earlier, now = servers(untouched), servers(present)
    unchanged = (path for path, server in now.items() if earlier.get(path) == server)
    return [secret for path in unchanged for secret in _secrets_of_server(path)]


def _with_changes(
    settings: Settings, old: Settings, new: Settings
) -> tuple[Settings, tuple[str, ...]]:
    """Apply the differences between two trees to the settings; return the result and the paths."""
    changed = [_ACCESS_LEAVES]
    for path, *_ in difference(old, new):
        if path.partition(".")[0] not in (*_ENTRIES, _ACCESS_LEAVES):
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
    """Switch off rules and the regulator if their restored readings have another meaning."""
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
    """Convert all settings, including secrets that the version does not use."""
    content = Content(old, dict(leaves(settings)), with_secrets=True)
    converted, lost = carry_over(content, new, defaults(new))
    for path in secret_paths(converted):
        if (value := content.settings.get(path)) is not None:
            converted = with_value(converted, path, value)
    return Restored(converted, tuple(entry for entry in lost if not is_secret(entry.path)))


def _encode_common(profile: Profile, settings: Settings) -> bytes:
    """Encode the settings without secrets and accounts, which are preserved in every version."""
    kept = {
        path: value
        for path, value in leaves(settings)
        if not is_secret(path) and path.partition(".")[0] not in (_ACCESS_LEAVES, "profile")
    }
    return msgspec.json.encode(_Earlier(profile.hw, profile.sw, kept))
