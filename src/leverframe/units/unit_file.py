"""A unit file as a value: the settings of a unit that it defines, checked against a version.

Settings that a file does not mention stay unchanged on the unit. The rules and the schedule are
defined as a whole. A file with `complete = true` defines everything except its `unread` settings,
secrets and accounts, which never change if the file omits them.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from leverframe.core.profile import Profile, spans_in_words
from leverframe.core.settings import Settings, number_rules, with_rule
from leverframe.core.tree import (
    defaults,
    difference,
    is_confidential,
    leaves,
    pattern_of,
    settings_from_leaves,
    value_at,
    with_value,
)
from leverframe.interface.table.accounts import HASH, PLAIN_PASSWORD, USER_FIELDS, check_names
from leverframe.interface.table.params import (
    Base64Text,
    Bits,
    Changed,
    Flag,
    ListOf,
    Param,
    Scaled,
    Seconds10,
    Trailing,
    Word,
)
from leverframe.interface.table.refusals import NotCarriedOver, Refusal
from leverframe.interface.version_change.conversion import carry_over, with_page_settings
from leverframe.interface.version_change.limits import (
    ENTRIES,
    Content,
    is_allowed,
    is_sendable,
    missing_of_rule,
    missing_of_schedule,
    types_at,
    versions_with,
)
from leverframe.units.file_keys import DURATIONS, FileLine, FileProblem, is_part_of, key_of, type_at

# The allowed values of a setting in a version, as a JSON Schema and in words.
#
# The types of the command table describe the wire: codes, scaled numbers, tens of seconds. These
# functions describe the same limits for values in the tree and in a unit file.

JsonSchema = dict[str, Any]

_DURATION: JsonSchema = {"type": "string", "pattern": "^[0-9.]+(ms|s|m|min|h|d)[0-9a-z. ]*$"}


def schema_at(path: str, profile: Profile) -> JsonSchema | None:
    """Return the schema of the value at a path; None if the version has no such setting."""
    found = [value_schema(param, profile) for param in types_at(path, profile)]
    if not found and isinstance(type_at(pattern_of(path)), type):
        return None
    if not found:
        items = [value_schema(param, profile) for param in types_at(f"{path}.0", profile)]
        return {"type": "array", "items": items[0]} if items else None
    different = [schema for place, schema in enumerate(found) if schema not in found[:place]]
    return different[0] if len(different) == 1 else {"anyOf": different}


def value_schema(param: Param, profile: Profile) -> JsonSchema:
    """Return the schema of the values that a type of the table represents."""
    match param:
        case Changed():
            return value_schema(param.pick(profile), profile)
        case Trailing(inner):
            return value_schema(inner, profile)
        case Flag():
            return {"type": "boolean"}
        case Word(table, numeric):
            words = [code.word for code in table.of(profile)]
            return {"enum": [int(word) for word in words] if numeric else words}
        case Scaled(factor, lo, hi):
            return {"type": "number", "minimum": lo / factor, "maximum": hi / factor}
        case Seconds10(lo, hi):
            return {
                "type": "integer",
                "minimum": lo * 10,
                "maximum": hi * 10,
                "multipleOf": 10,
            }
        case Bits(count):
            return {"type": "array", "items": {"type": "boolean"}, "maxItems": count}
        case Base64Text(most, least):
            return {"type": "string", "minLength": least, "maxLength": most}
        case ListOf(item):
            most = param.most(profile)
            return {"type": "array", "items": value_schema(item, profile), "maxItems": most}
        case _:
            return param.schema(profile)


def in_file(pattern: str, schema: JsonSchema) -> JsonSchema:
    """Return the schema of a value as written in a unit file."""
    return {"anyOf": [schema, _DURATION]} if pattern in DURATIONS else schema


def words_of(schema: JsonSchema) -> str:
    """Describe in words what a schema allows."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(words_of(one) for one in schema["anyOf"]))
    if "enum" in schema:
        return f"one of {', '.join(str(one) for one in schema['enum'])}"
    kind = schema.get("type")
    if kind == "boolean":
        return "true or false"
    if kind == "array":
        most = f"up to {schema['maxItems']} items" if "maxItems" in schema else "items"
        return f"a list of {most}, each {words_of(schema['items'])}"
    if kind == "string":
        length = f"{schema.get('minLength', 0)} to {schema.get('maxLength')} characters"
        words = [length] if "maxLength" in schema else []
        return f"a text: {', '.join([*words, *_form(schema)])}"
    step = f" in steps of {schema['multipleOf']}" if "multipleOf" in schema else ""
    noun = "a whole number" if kind == "integer" else "a number"
    return f"{noun} from {schema.get('minimum')} to {schema.get('maximum')}{step}"


def _form(schema: JsonSchema) -> list[str]:
    return [schema["description"]] if schema.get("description") else []


#: Lists that a file defines as a whole.
WHOLE_LISTS = ("rules", "schedule")
#: Settings that are on in an entry that a file creates; a command creates the entry with them off.
_ON = {"rules": "enabled", "schedule": "active", "access.users": "active"}
_ACCESS = "access."
_ACCOUNT_TYPES = {"name": (USER_FIELDS["B"],), "password": (PLAIN_PASSWORD, HASH)}
_PROFILE = "profile."


class FileEntry(NamedTuple):
    """The value of one setting, and its place in a file."""

    value: Any
    line: FileLine
    #: False if the value only follows from another key.
    is_said: bool = True


class UnitFile(Struct, frozen=True):
    """The content of a unit file and its includes."""

    file: str
    profile: Profile
    #: Whether the file names its version.
    names_version: bool
    #: Its values, over the factory settings of the version.
    settings: Settings
    #: The paths it mentions: leaves, and `rules` and `schedule` as a whole.
    settings_named: frozenset[str]
    #: The place of each setting.
    lines: Mapping[str, FileLine]
    complete: bool = False
    unread: tuple[str, ...] = ()
    #: Settings whose secrets are missing; they count as not mentioned.
    unresolved: tuple[str, ...] = ()
    #: The branches and settings of the file that apply; empty for all.
    only: tuple[str, ...] = ()

    def restrict(self, branches: Collection[str]) -> "UnitFile":
        """Return the same file restricted to these branches."""
        if not branches:
            return self
        # Page settings are stored twice: some of the variables belong to them.
        pages = _pages_named(self.settings, self.settings_named) if "ui" in branches else ()
        return replace(self, only=(*branches, *pages))

    def names(self, path: str) -> bool:
        """Return whether the file mentions a setting; other settings do not change."""
        if self.only and not is_part_of(path, self.only):
            return False
        is_unread = is_part_of(path, self.unread) and not self._says_unread(path)
        if path.startswith(_PROFILE) or is_unread:
            return False
        whole = path.partition(".")[0]
        if path in self.settings_named or (whole in WHOLE_LISTS and whole in self.settings_named):
            return True
        return self.complete and not is_confidential(path) and not path.startswith(_ACCESS)

    def _says_unread(self, path: str) -> bool:
        """Return whether the file contains a value for a setting that was not read."""
        return path in self.unread and path in self.settings_named

    def over(self, present: Settings) -> Settings:
        """Return a unit's settings overridden by those of the file, which has the same version."""
        wanted = present
        for path, _, _ in difference(present, self.settings):
            if self.names(path):
                taken = path_copied_with(path, present, self.settings)
                wanted = with_value(wanted, taken, value_at(self.settings, taken))
        for path in self.unread:
            if path.startswith(ENTRIES) and not self._says_unread(path):
                wanted = with_part_of(present, wanted, path)
        return wanted

    def for_version(self, profile: Profile) -> tuple["UnitFile", tuple[NotCarriedOver, ...]]:
        """Return the file for another version, and the settings that this version does not have."""
        if profile == self.profile:
            return self, ()
        content = Content(self.profile, dict(leaves(self.settings)), with_secrets=True)
        carried = carry_over(content, profile, defaults(profile))
        named = self.settings_named & {
            *(path for path, _ in leaves(carried.settings)),
            *WHOLE_LISTS,
        }
        file = replace(self, profile=profile, settings=carried.settings, settings_named=named)
        lost = carried.not_carried_over
        if self.only:
            lost = tuple(one for one in lost if is_part_of(one.path, self.only))
        return file, lost


def with_part_of(source: Settings, target: Settings, path: str) -> Settings:
    """Return a tree with a value of another tree, unless one of them lacks the entry."""
    try:
        value = value_at(source, path)
        name, _, place = path.partition(".")
        if name == "rules" and place.isdecimal():
            return with_value(target, name, with_rule(target.rules, int(place), value))
        return with_value(target, path, value)
    except (IndexError, AttributeError):
        return target


def path_copied_with(path: str, first: Settings, second: Settings) -> str:
    """Return the path that is copied with a leaf: a list, an entry, or the leaf alone."""
    branch = path.partition(".")[0]
    if branch in WHOLE_LISTS:
        return branch
    place = path.rpartition(".")[0]
    if pattern_of(place) == "access.users.*" and None in (
        value_at(first, place),
        value_at(second, place),
    ):
        return place
    return path


class Entries(NamedTuple):
    """The content of a file and its includes before the check against a version."""

    settings: Mapping[str, FileEntry]
    #: The lists defined as a whole, and their places.
    lists: Mapping[str, FileLine]


def unit_file_of(
    file: str,
    profile: Profile,
    entries: Entries,
    *,
    names_version: bool,
    complete: bool,
    unread: Collection[str],
    unresolved: Collection[str],
) -> tuple[UnitFile, list[FileProblem]]:
    """Build the unit file for a version; also return the problems with its settings."""
    given = dict(entries.settings)
    for path, entry in entries.settings.items():
        place = path.rpartition(".")[0]
        switch = _ON.get(pattern_of(place).removesuffix(".*"))
        if switch:
            given.setdefault(f"{place}.{switch}", FileEntry(True, entry.line))
    problems = [*_too_long(given, profile)]
    values = {path: entry.value for path, entry in given.items()}
    settings, unfit = settings_from_leaves(profile, values)
    problems += (_lacking(path, given[path].line, profile) for path in unfit)
    sound = {path: entry for path, entry in given.items() if path not in unfit}
    settings = _with_pages(settings, profile, sound)
    problems += _not_allowed(sound, settings, profile)
    problems += _unsound_accounts(sound, settings)
    unit_file = UnitFile(
        file=file,
        profile=profile,
        names_version=names_version,
        settings=settings,
        settings_named=frozenset(
            {
                *(path for path, entry in sound.items() if entry.is_said),
                *entries.lists,
                *_pages_named(settings, sound),
            }
        ),
        lines={**entries.lists, **{path: entry.line for path, entry in sound.items()}},
        complete=complete,
        unread=tuple(unread),
        unresolved=tuple(unresolved),
    )
    return unit_file, sorted(dict.fromkeys(problems), key=lambda one: one.line)


def _too_long(entries: Mapping[str, FileEntry], profile: Profile) -> Iterator[FileProblem]:
    standard = dict(leaves(defaults(profile)))
    for path, (value, line, _) in entries.items():
        usual = standard.get(path)
        if isinstance(value, tuple) and usual and len(value) > len(usual):
            key = key_of(path)
            yield FileProblem(
                line,
                key,
                f"{key} has {len(value)} items; {profile} has {len(usual)} places for them.",
            )


def _lacking(path: str, line: FileLine, profile: Profile) -> FileProblem:
    key = key_of(path)
    return FileProblem(line, key, f"{profile} does not have {key}{_where_it_is(path)}.")


def _where_it_is(path: str) -> str:
    words = spans_in_words(versions_with(path))
    return f"; it exists in {words}" if words else ""


def _with_pages(settings: Settings, profile: Profile, entries: Mapping[str, FileEntry]) -> Settings:
    """Synchronize settings that versions store twice, unless the file sets both."""
    paged = with_page_settings(settings, profile)
    for path, _, value in difference(settings.variables, paged.variables, "variables"):
        if path not in entries:
            settings = with_value(settings, path, value)
    return settings


def _pages_named(settings: Settings, entries: Collection[str]) -> Iterator[str]:
    """Yield the variables that follow from page settings of the file."""
    if any(path.startswith("ui.") for path in entries):
        standard = defaults(Profile(settings.profile.hw, settings.profile.sw)).variables
        for path, _, _ in difference(standard, settings.variables, "variables"):
            yield path


def _not_allowed(
    entries: Mapping[str, FileEntry], settings: Settings, profile: Profile
) -> Iterator[FileProblem]:
    standard = dict(leaves(defaults(profile)))
    for path, (_, line, _) in entries.items():
        if path.startswith(ENTRIES):
            continue
        value = value_at(settings, path)
        if path.startswith(_ACCESS):
            yield from _unfit_account(path, value, line, profile)
        elif not is_allowed(path, value, standard.get(path), profile):
            yield _refusal_of(path, value, line, profile)
    for number, rule in number_rules(settings.rules):
        for name in _independent_parts(missing_of_rule(rule, profile)):
            yield _unfit_entry(f"rules.{number - 1}", name, getattr(rule, name), entries, profile)
    for place, entry in enumerate(settings.schedule):
        for name in missing_of_schedule(entry, profile) if entry is not None else ():
            yield _unfit_entry(f"schedule.{place}", name, getattr(entry, name), entries, profile)


def _unfit_account(
    path: str, value: Any, line: FileLine, profile: Profile
) -> Iterator[FileProblem]:
    """Yield names and passwords that no account can have; a password may be its stored hash."""
    types = _ACCOUNT_TYPES.get(path.rpartition(".")[2])
    if types and not any(is_sendable(one, value, profile) for one in types):
        key = key_of(path)
        allowed = words_of(value_schema(types[0], profile))
        yield FileProblem(line, key, f"{key} must be {allowed}.")


def _independent_parts(missing: list[str]) -> list[str]:
    """Skip settings that depend on a missing source."""
    depending = {
        f"{part}{suffix}"
        for suffix in ("", "2")
        if f"source{suffix}" in missing
        for part in ("compare", "reference")
    }
    return [name for name in missing if name not in depending]


def _refusal_of(path: str, value: Any, line: FileLine, profile: Profile) -> FileProblem:
    schema = schema_at(path, profile)
    if schema is None:
        return _lacking(path, line, profile)
    key = key_of(path)
    shown = "" if is_confidential(path) else f", not {_shorten(value)}"
    return FileProblem(line, key, f"{key} must be {words_of(schema)} in {profile}{shown}.")


def _shorten(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _unfit_entry(
    path: str, name: str, value: Any, entries: Mapping[str, FileEntry], profile: Profile
) -> FileProblem:
    leaf, key = f"{path}.{name}", key_of(path)
    line = (
        entries.get(leaf) or next(e for p, e in entries.items() if p.startswith(f"{path}."))
    ).line
    # `time` is the key for all time settings.
    why = (
        "does not support this time, date, days or name"
        if name == "time"
        else f"has no {name} {_shorten(value)} there"
    )
    return FileProblem(line, key, f"{key}: {profile} {why}.")


def _unsound_accounts(
    entries: Mapping[str, FileEntry], settings: Settings
) -> Iterator[FileProblem]:
    named = [path for path in entries if path.startswith(_ACCESS) and path.endswith(".name")]
    if not named:
        return
    users = [user.name for user in settings.access.users if user is not None]
    try:
        check_names(settings.access.admin.name, settings.access.user.name, *users)
    except Refusal as refusal:
        key = key_of(named[0])
        yield FileProblem(entries[named[0]].line, key, f"{key}: {refusal.detail}")
