"""Read the status files of any unit: their keys and values, and the settings that they show."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.errors import printable
from leverframe.core.foreign_documents import BadDocument, read_json_object, read_xml
from leverframe.core.profile import Profile
from leverframe.core.settings import Pid, Rule, Settings, number_rules
from leverframe.core.tree import (
    MISSING,
    defaults,
    is_confidential,
    is_secret,
    leaves,
    value_at,
    with_value,
)
from leverframe.interface.status_files.catalogue import FILES, keys_of
from leverframe.interface.status_files.forms import NotReadable
from leverframe.interface.status_files.keys import Keys, join_names
from leverframe.interface.status_files.parsers import ENTRY_LISTS, ReadSetting, leaf_of, places
from leverframe.interface.status_files.settings import VARIABLES, command_keys
from leverframe.interface.table import user_interface
from leverframe.interface.table.lookup import Call, find
from leverframe.interface.table.stage import Stage
from leverframe.interface.version_change.limits import (
    has_setting,
    is_allowed,
    missing_of_rule,
    missing_of_schedule,
    plain_leaves,
)

#: An XML file has two levels: one element that contains an element for each value.
_LEVELS = 2


def keys_in(path: str, body: bytes) -> dict[str, Any]:
    """Return the values of a file by their keys, or raise `NotReadable`."""
    try:
        return read_json_object(body) if path.endswith(".json") else _in_xml(body)
    except BadDocument as error:
        raise NotReadable(str(error)) from None


def _in_xml(body: bytes) -> dict[str, Any]:
    root = read_xml(body, max_depth=_LEVELS)
    found = {element.tag: element.text for element in root.children}
    if root.tag != "response" or len(found) != len(root.children):
        raise NotReadable("is not a list of values")
    return found


# Read settings from status files, with the same keys that write the files.
#
# A setting is read if all files that contain it show the same value and the version allows that
# value. All other settings are unread, with the reason, and have their factory values in the tree.

NOT_SHOWN = "no status file shows this setting"
CALLED = "the files show the name of the unit, but not whether a user set it"
REGULATED = "the regulator may have moved the duty that is shown"
MOVING = "the duty that is shown may still be moving to the duty that is set"
#: The maximum number of names in a remark.
_MAX_NAMED = 12

#: The decoded values of a file by key, or the reason why there are none, as the end of a sentence.
FileContent = Mapping[str, Any] | str


class ReadBack(Struct):
    """The settings that files show; the path of a branch stands for all leaves below it."""

    settings: Settings
    unread: dict[str, str]
    lossy: dict[str, str]
    #: Other findings: unknown keys, missing files.
    remarks: list[str]


def files_of(profile: Profile) -> tuple[str, ...]:
    """Return the paths of all status files of a version."""
    return tuple(path for path in FILES if keys_of(path, profile) is not None)


def read_back(profile: Profile, files: Mapping[str, FileContent]) -> ReadBack:
    """Read the settings of a version from its status files."""
    reader = _SettingsReader(profile)
    for path in files_of(profile):
        reader.read(path, files.get(path, "was not read"))
    return reader.result()


class _SettingsReader:
    def __init__(self, profile: Profile) -> None:
        self._profile = profile
        self._shown: dict[str, Any] = {}
        self._read_from: dict[str, str] = {}
        #: By place: the reason why the setting is unread, even if another file shows it.
        self._problems: dict[str, str] = {}
        #: By place: the reason why the file that should show the setting does not show it.
        self._missing: dict[str, str] = {}
        self._lossy: dict[str, str] = {}
        self._remarks: list[str] = []

    def read(self, path: str, content: FileContent) -> None:
        groups = keys_of(path, self._profile) or ()
        if isinstance(content, str):
            self._remarks.append(f"{path} {content}.")
            for keys in groups:
                for place in self._places(keys):
                    self._missing.setdefault(place, f"{path} {content}")
            return
        names = [name for keys in groups for name in keys.names]
        for what, found in (
            ("does not show", [name for name in names if name not in content]),
            ("has unknown keys:", [name for name in content if name not in set(names)]),
        ):
            if found:
                self._remarks.append(f"{path} {what} {list_names(found)}.")
        for keys in groups:
            if keys.stored is not None:
                self._read_keys(path, keys, content)

    def _places(self, keys: Keys) -> tuple[str, ...]:
        return () if keys.stored is None else places(keys.stored.patterns, self._profile)

    def _read_keys(self, path: str, keys: Keys, content: Mapping[str, Any]) -> None:
        assert keys.stored is not None
        settings = keys.stored.read([content.get(name) for name in keys.names], self._profile)
        all_places = self._places(keys)
        has_name_each = len(all_places) == len(keys.names)
        for one in settings:
            if isinstance(one, ReadSetting):
                self._take(path, one)
                continue
            is_single = has_name_each and one.path in all_places
            name = keys.names[all_places.index(one.path)] if is_single else join_names(keys.names)
            if content.get(name, MISSING) is MISSING and is_single:
                self._missing.setdefault(one.path, f"{path} has no `{name}`")
            else:
                self._problems.setdefault(one.path, f"`{name}` of {path} {one.why}")

    def _take(self, path: str, setting: ReadSetting) -> None:
        before = self._shown.setdefault(setting.path, setting.value)
        source = self._read_from.setdefault(setting.path, path)
        if before != setting.value:
            self._problems.setdefault(setting.path, f"{source} and {path} show different values")
        if setting.loss:
            self._lossy[setting.path] = setting.loss

    # --- the result -------------------------------------------------------------------------------

    def result(self) -> ReadBack:
        tree, read = self._tree()
        tree = self._with_page_settings(tree, read)
        tree = self._judge_duties(tree, read)
        tree, unfit = without_unfit(tree, self._profile)
        reasons = self._problems | unfit
        reasons_by_leaf = {"name": CALLED} | self._reasons() | unfit
        unread = unread_paths(self._profile, read - unfit.keys(), reasons_by_leaf)
        # Unread entries of lists that were read.
        unread |= {
            path: why for path, why in reasons.items() if path.startswith(("rules.", "schedule."))
        }
        lossy = {path: why for path, why in self._lossy.items() if path not in reasons}
        return ReadBack(tree, unread, lossy, self._remarks)

    def _tree(self) -> tuple[Settings, set[str]]:
        """Combine the values that were read; return the tree, and the leaves that were read."""
        refused = {leaf_of(place) for place in (*self._problems, *self._missing_items())}
        tree, read = defaults(self._profile), set[str]()
        for place, value in self._shown.items():
            leaf = leaf_of(place)
            if place in self._problems or leaf in refused:
                continue
            tree = with_value(tree, place, value)
            read.add(leaf)
        return tree, read

    def _missing_items(self) -> Iterator[str]:
        return (place for place in self._missing if place not in self._shown)

    def _reasons(self) -> dict[str, str]:
        reasons = {leaf_of(place): why for place, why in self._missing.items()}
        return reasons | {leaf_of(place): why for place, why in self._problems.items()}

    def _with_page_settings(self, tree: Settings, read: set[str]) -> Settings:
        """Read the settings of the pages from the stored variables."""
        names = {
            place: name
            for keys in command_keys(*VARIABLES)
            for place, name in zip(self._places(keys), keys.names, strict=True)
        }
        stage = Stage(self._profile, tree)
        for place in (place for place in names if leaf_of(place) in read):
            item = f"{names[place]}={value_at(tree, place)}"
            if item.startswith("string"):
                continue
            for call in find("GET", "/eeprom.cgi", [item], self._profile):
                if isinstance(call, Call) and call.row in _PAGE_ROWS:
                    call.row.perform(stage, call.values)
                    read.update(call.row.limits)
        if stage.settings.variables != tree.variables:
            # Two positions contain the same setting with different values.
            self._problems["ui.homepage"] = "the stored variables name two pages"
            read.discard("ui.homepage")
            return replace(
                stage.settings,
                variables=tree.variables,
                ui=replace(stage.settings.ui, homepage=tree.ui.homepage),
            )
        return stage.settings

    def _judge_duties(self, tree: Settings, read: set[str]) -> Settings:
        """Reject or mark as uncertain the duties that were possibly not set by a command.

        The regulator changes a duty constantly, so such a duty does not show the setting.
        """
        is_certain = not self._is_unknown("pid.enabled", read)
        regulates = tree.pid.enabled or any(
            rule.action == "ENABLE PID" for _, rule in number_rules(tree.rules)
        )
        for place, pwm in enumerate(tree.pwm):
            path = f"pwm.{place}.duty"
            if path not in read:
                continue
            if not is_certain or (regulates and place == tree.pid.pwm):
                self._problems[path] = REGULATED
                read.discard(path)
                tree = with_value(tree, path, value_at(defaults(self._profile), path))
            elif tree.pid != Pid():
                self._lossy[path] = REGULATED
            elif pwm.change_time or self._is_unknown(f"pwm.{place}.change_time", read):
                self._lossy[path] = MOVING
        return tree

    def _is_unknown(self, path: str, read: set[str]) -> bool:
        return path not in read and path in settings_of(self._profile)


_PAGE_ROWS = (*user_interface.ROWS[1:], user_interface.FIRMWARE_CHECK_ROW)


def without_unfit(tree: Settings, profile: Profile) -> tuple[Settings, dict[str, str]]:
    """Reset values that a version does not allow; return the tree, and the reasons by path."""
    unfit: dict[str, str] = {}
    for path, value, default in tuple(plain_leaves(tree, profile)):
        if not is_secret(path) and not is_allowed(path, value, default, profile):
            shown = "" if is_confidential(path) else f" {str(value)[:40]!r}"
            unfit[path] = f"{profile} does not allow the value{shown}"
            tree = with_value(tree, path, default)
    for place, rule in enumerate(tree.rules):
        if rule is not None and (lacking := missing_of_rule(rule, profile)):
            unfit[f"rules.{place}"] = f"{profile} does not allow its {', '.join(lacking)}"
            tree = with_value(tree, f"rules.{place}", Rule())
    for place, entry in enumerate(tree.schedule):
        if entry is not None and (lacking := missing_of_schedule(entry, profile)):
            unfit[f"schedule.{place}"] = f"{profile} does not allow its {', '.join(lacking)}"
            tree = with_value(tree, f"schedule.{place}", None)
    return tree, unfit


def unread_paths(profile: Profile, read: set[str], reasons: Mapping[str, str]) -> dict[str, str]:
    """Return the reasons for unread leaves; one path for a branch of which no leaf was read."""
    found: dict[str, str | None] = {
        path: None if _is_read(path, read) else _reason(path, reasons)
        for path in settings_of(profile)
    }
    below: dict[str, set[str | None]] = {}
    for path, why in found.items():
        for branch in _branches(path):
            below.setdefault(branch, set()).add(why)
    unread = {}
    for path, why in found.items():
        if why is not None:
            highest = next(branch for branch in _branches(path) if below[branch] == {why})
            unread[highest] = why
    return unread


_IN_ENTRY_LISTS = tuple(f"{name}." for name in ENTRY_LISTS)


@lru_cache(maxsize=64)
def settings_of(profile: Profile) -> tuple[str, ...]:
    """Return the leaves for which a version has commands, and its lists of entries."""
    plain = (path for path, _ in leaves(defaults(profile)))
    has = [
        path
        for path in plain
        if not path.startswith(_IN_ENTRY_LISTS) and has_setting(path, profile)
    ]
    return (*has, *ENTRY_LISTS)


def _is_read(path: str, read: set[str]) -> bool:
    return any(branch in read for branch in _branches(path))


def _reason(path: str, reasons: Mapping[str, str]) -> str:
    return next((reasons[branch] for branch in _branches(path) if branch in reasons), NOT_SHOWN)


def _branches(path: str) -> list[str]:
    """Return a path and the branches above it, the highest first."""
    steps = path.split(".")
    return [".".join(steps[:count]) for count in range(1, len(steps) + 1)]


def list_names(names: list[str]) -> str:
    """Join names that a unit sent; shorten the list if there are many."""
    more = len(names) - _MAX_NAMED
    shown = [
        printable(name if len(name) <= 40 else f"{name[:40]}...") for name in names[:_MAX_NAMED]
    ]
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
