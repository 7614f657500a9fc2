"""Settings of one version made into settings of another, with a list of what is left behind.

A restore goes through here, also when both versions are the same. First everything is checked
(`backup_content.py`). Then lists get the lengths of the new version, a setting that it does not
have or cannot hold goes back to its default, and so do parts of rules and of the schedule
(`carried_entries.py`). What would do something else by that is switched off: rules and the
regulator on readings that are others there (`carried_readings.py`), and on after start where a
remembered state had the say. Texts keep showing the same readings (`carried_texts.py`).

Secrets that the file does not hold stay as they are on the controller, and so do the accounts,
whose passwords are secrets: a restore must neither lock the owner out nor open the door. What would
be sent to a server that the file names and the controller did not have is forgotten.
"""

from collections.abc import Callable
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.commands.table import user_interface as pages
from leverframe.commands.table.codes import HOMEPAGES, HOMEPAGES_OLDER
from leverframe.commands.table.params import Int
from leverframe.commands.table.pwm import FREQUENCY
from leverframe.commands.table.restored import NotCarriedOver, Restored, report_lost
from leverframe.commands.version_change.backup_content import (
    EDITION,
    ENTRIES,
    Content,
    check_content,
    plain_leaves,
)
from leverframe.commands.version_change.carried_entries import (
    carry_rules,
    carry_schedule,
    find_reversed_conditions,
)
from leverframe.commands.version_change.carried_readings import (
    MAPPING,
    other_readings,
    pid_source_changed,
    regulator_off,
    with_readable_modules,
)
from leverframe.commands.version_change.carried_texts import carry_texts
from leverframe.commands.version_change.limits import is_allowed
from leverframe.engine.actions import ENABLE_PID
from leverframe.engine.factory_settings import defaults
from leverframe.engine.sent_secrets import servers
from leverframe.engine.settings import Settings, Ui
from leverframe.engine.tree import (
    is_confidential,
    leaves,
    settings_from_leaves,
    value_at,
    with_value,
)
from leverframe.profile import Profile, Spans, is_offered

_ACCESS = "access."
#: A unit that counts the same, for versions that have only this one of the two.
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
    """Return the homepage at first, and later whether only names set by the user are shown."""
    if is_offered(pages.NAMES_ONLY, target):
        return int(ui.names_only)
    # 0 for a page that the bit cannot express, as the command for it sets.
    return HOMEPAGES_OLDER.number(ui.homepage, target) or 0


_POSITIONS = (
    _Position("bits", 0, pages.AUTO_SIGN_IN, lambda ui, _: int(ui.auto_sign_in)),
    _Position("bits", 1, pages.FIRMWARE_CHECK, lambda ui, _: int(ui.firmware_check)),
    _Position("bits", 2, pages.NAMES_ONLY + pages.HOMEPAGE_OLDER, _bit_2),
    _Position("bits", 3, pages.READ_ONLY_USER, lambda ui, _: int(ui.user_read_only)),
    _Position("bytes", 0, pages.HOMEPAGE, _homepage),
)


def carry_over(content: Content, target: Profile, present: Settings) -> Restored:
    """Convert a backup for a controller that has the present settings."""
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
    """Fit the leaves into the lists of the new version."""
    if made_on == target:
        return source
    old = dict(leaves(source))
    settings, unfit = settings_from_leaves(
        target, {path: value for path, value in old.items() if not path.startswith(ENTRIES)}
    )
    standard = dict(leaves(defaults(made_on)))
    for path in unfit:
        if old[path] != standard.get(path) and not path.startswith(MAPPING):
            lost.append(report_lost(path, old[path], f"{target} does not have it."))
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
    """Return the version's nearest to a value that it cannot hold, else the default."""
    if path == "pwm_frequency":
        limits = FREQUENCY.pick(target)
        assert isinstance(limits, Int)
        return tuple(min(max(hertz, limits.lo), limits.hi) for hertz in value)
    same = _COUNTS_THE_SAME.get(value) if isinstance(value, str) else None
    return same if same and is_allowed(path, same, default, target) else default


def _off_without_memory(
    source: Settings, settings: Settings, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Clear on after start where a remembered state decided: alone it would switch on."""
    for index, (old, new) in enumerate(zip(source.outputs, settings.outputs, strict=True)):
        if new.on_after_start and old.remember and not new.remember:
            path = f"outputs.{index}.on_after_start"
            reason = f"{target} does not remember the state that decided before this."
            lost.append(report_lost(path, True, reason))
            settings = with_value(settings, path, False)
    return settings


def _positions(
    settings: Settings, made_on: Profile, target: Profile, lost: list[NotCarriedOver]
) -> Settings:
    """Set the variables at positions that the target uses for page settings to those settings."""
    for position in _POSITIONS:
        path = f"variables.{position.variables}.{position.number}"
        # A position that held a page setting was no variable of its own.
        value = 0 if is_offered(position.when, made_on) else value_at(settings, path)
        if is_offered(position.when, target):
            if value:
                reason = f"{target} uses the position for a page setting."
                lost.append(report_lost(path, value, reason))
            value = position.value(settings.ui, target)
        settings = with_value(settings, path, value)
    return settings


def with_page_settings(settings: Settings, profile: Profile) -> Settings:
    """Set the variables that a version uses for page settings to what these say."""
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
        reason = "The backup was read without its secrets; this controller keeps its own value."
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
    """Remove secrets of the controller that would go to a server which the file names."""
    before, after = servers(present), servers(settings)
    for path, server in after.items():
        branch = path.rpartition(".")[0]
        sent = (path, f"{branch}.body") if branch.startswith("http.") else (path,)
        for secret in sent if server != before[path] else ():
            if _stays(secret, content) and value_at(settings, secret):
                reason = "It belongs to another server; set it again."
                lost.append(report_lost(secret, None, reason))
                settings = with_value(settings, secret, "")
    return settings


def _stays(path: str, content: Content) -> bool:
    """Return whether the file leaves a setting out because it is confidential."""
    # Files of earlier versions hold the addresses of HTTP1-HTTP4 openly.
    return is_confidential(path) and path not in content.settings and not path.startswith(_ACCESS)


def _without_passwords(accounts: Any) -> list[tuple[str, Any]]:
    return [(path, value) for path, value in leaves(accounts) if not path.endswith("password")]
