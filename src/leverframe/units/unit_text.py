"""Settings as the text of a unit file: only differences from the factory settings of the version.

Secrets, and addresses that must stay secret, are never in the text. It contains references named
after their paths; their values are returned separately.
"""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from leverframe.core.durations import text_from_seconds
from leverframe.core.errors import printable
from leverframe.core.profile import Profile
from leverframe.core.settings import ControlUser, Node, Rule, ScheduleEntry, Settings, number_rules
from leverframe.core.tree import (
    MISSING,
    defaults,
    difference,
    is_confidential,
    pattern_of,
    value_at,
)
from leverframe.interface.version_change.conversion import with_page_settings
from leverframe.units.document_reader import SecretReference, escape_placeholders
from leverframe.units.file_keys import (
    DURATIONS,
    PLACES,
    SWITCH_WORDS,
    is_part_of,
    key_of,
    value_for_file,
)
from leverframe.units.rule_sentences import sentence_of

#: Maximum length of a list on one line.
MAX_LIST_LETTERS = 88
#: The initial values of a new entry in a file.
NEW_ENTRIES: dict[str, Node] = {
    "rules": Rule(enabled=True),
    "schedule": ScheduleEntry(active=True),
    "access.users": ControlUser(active=True),
}
#: Keys written even with their default: a table must not be empty.
_ALWAYS_WRITTEN = {"rules": "action", "schedule": "action", "access.users": "name"}


class WrittenLine(NamedTuple):
    """One line of a file: a key below its table, and its value."""

    path: str
    value: Any

    @property
    def table(self) -> str:
        return key_of(self.path).rpartition(".")[0]

    @property
    def key(self) -> str:
        return key_of(self.path).rpartition(".")[2]


class UnitText(NamedTuple):
    text: str
    #: The secrets by the names of their references in the text.
    secrets: dict[str, str]


def unit_text(
    settings: Settings, profile: Profile, unread: Collection[str] = (), opening: str = ""
) -> UnitText:
    """Write settings as a complete unit file; unread settings are left out."""
    lines = [f"# {line}" if line else "#" for line in opening.splitlines()]
    lines += [
        f'hardware = "{profile.hw}"',
        f'software = "{profile.sw}"',
        "# Settings that are not listed have their factory values; without this key they do not"
        " change.",
        "complete = true",
    ]
    if unread:
        lines.append(assignment("unread", unread_keys(unread)))
    secrets: dict[str, str] = {}
    written = list(lines_of_file(settings, profile, unread, secrets))
    plain = [one for one in written if not one.table]
    lines += (assignment(one.key, one.value) for one in plain)
    table = ""
    for one in written:
        if not one.table:
            continue
        if one.table != table:
            table = one.table
            lines += ["", f"[{table}]"]
        lines.append(assignment(one.key, one.value))
    return UnitText("\n".join(lines) + "\n", secrets)


def unread_keys(unread: Collection[str]) -> list[str]:
    """Return the keys that a file leaves out."""
    return [key_of(path) for path in sorted(unread)]


def lines_of_file(
    settings: Settings,
    profile: Profile,
    unread: Collection[str] = (),
    secrets: dict[str, str] | None = None,
) -> Iterator[WrittenLine]:
    """Yield the lines of settings, table by table."""
    standard = with_page_settings(replace(defaults(profile), ui=settings.ui), profile)
    standard = replace(standard, ui=defaults(profile).ui)
    shown = replace(settings, rules=(), schedule=standard.schedule)
    kept: dict[str, str] = {} if secrets is None else secrets
    found = [
        *_plain_lines(standard, shown, defaults(profile), kept),
        *_entry_lines(settings, kept),
    ]
    order = {name: place for place, name in enumerate(Settings.__struct_fields__)}
    found.sort(key=lambda one: order[one.path.partition(".")[0]])
    for one in found:
        if not is_part_of(one.path, unread):
            yield one


def file_value(path: str, value: Any, secrets: dict[str, str], standard: Any = None) -> Any:
    """Return the value of a setting as in a file; collect it if it is a secret."""
    if is_confidential(path) and value:
        name = key_of(path)
        secrets[name] = value
        return SecretReference("secret", name)
    written = value_for_file(path, value)
    if isinstance(written, list) and isinstance(standard, tuple) and standard:
        written = _without_usual_tail(written, list(standard))
    return _with_escaped_texts(written)


def _plain_lines(
    standard: Settings, settings: Settings, factory: Settings, secrets: dict[str, str]
) -> Iterator[WrittenLine]:
    for path, _, value in difference(standard, settings):
        if path.startswith(("profile.", "access.users.")) or value is MISSING:
            continue
        yield WrittenLine(path, file_value(path, value, secrets, value_at(factory, path)))


def _entry_lines(settings: Settings, secrets: dict[str, str]) -> Iterator[WrittenLine]:
    # Sentences are keys of the table `rules`; rules without a sentence have tables after it.
    spoken = {number - 1: sentence_of(rule) for number, rule in number_rules(settings.rules)}
    for place, sentence in spoken.items():
        if sentence is not None:
            yield WrittenLine(f"rules.{place}", escape_placeholders(sentence))
    for name in NEW_ENTRIES:
        for place, entry in enumerate(value_at(settings, name)):
            if entry is not None and (name != "rules" or spoken[place] is None):
                yield from lines_of_entry(f"{name}.{place}", entry, secrets)


def lines_of_entry(path: str, entry: Node, secrets: dict[str, str]) -> Iterator[WrittenLine]:
    """Yield the lines of the table of a rule, a schedule entry or a user."""
    name = path.rpartition(".")[0]
    for field in entry.__struct_fields__:
        value, here = getattr(entry, field), f"{path}.{field}"
        if isinstance(entry, ScheduleEntry) and entry.periodic and field == "time":
            yield WrittenLine(here, text_from_seconds(entry.time))
        elif value != getattr(NEW_ENTRIES[name], field) or field == _ALWAYS_WRITTEN[name]:
            yield WrittenLine(here, file_value(here, value, secrets))


def _without_usual_tail(items: list[Any], usual: list[Any]) -> list[Any]:
    """Leave out trailing items with factory values; reading adds them again."""
    count = len(items)
    while count > 1 and count <= len(usual) and items[count - 1] == usual[count - 1]:
        count -= 1
    return items[:count] if len(items) == len(usual) else items


def _with_escaped_texts(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_escaped_texts(item) for item in value]
    return escape_placeholders(value) if isinstance(value, str) else value


def assignment(key: str, value: Any) -> str:
    """Write a key with its value; a long list with one item per line, for readable diffs."""
    line = f"{key} = {toml_value(value)}"
    if not is_long_list(value):
        return line
    return "\n".join([f"{key} = [", *(f"    {toml_value(item)}," for item in value), "]"])


def is_long_list(value: Any) -> bool:
    return isinstance(value, list) and len(toml_value(value)) > MAX_LIST_LETTERS


def toml_value(value: Any) -> str:
    """Write a value as TOML."""
    if isinstance(value, SecretReference):
        return f"{{ {value.kind} = {toml_value(value.name)} }}"
    if isinstance(value, list):
        return f"[{', '.join(toml_value(item) for item in value)}]"
    return printable(msgspec.json.encode(value).decode())


# Settings in words, for comparisons: `OUT0 return time`, and their values as users write them.


def words_of_path(path: str) -> str:
    """Describe the setting at a path."""
    steps, words = path.split("."), list[str]()
    for index, (step, key) in enumerate(zip(steps, key_of(path).split("."), strict=True)):
        if step != key and not key.isdigit() and PLACES.get(pattern_of(".".join(steps[:index]))):
            # The label replaces the name of the list.
            words.pop()
        words.append(key if step != key else key.replace("_", " "))
    return " ".join(words)


def words_of_value(path: str, value: Any) -> str:
    """Format a value as in a unit file, durations without quotes."""
    written = value_for_file(path, value)
    if pattern_of(path) in DURATIONS:
        return str(written)
    if isinstance(value, str) and not value:
        return "nothing"
    return toml_value(written)


def words_of_entry(entry: ScheduleEntry) -> str:
    """Describe a schedule entry."""
    does = f"{entry.action} {SWITCH_WORDS[entry.value]}"
    if entry.periodic:
        when = f"every {text_from_seconds(entry.time)}"
    else:
        when = f"at {value_for_file('schedule.0.time', entry.time)}"
    days = value_for_file("schedule.0.days", entry.days)
    parts = [does, when, days if isinstance(days, str) else " ".join(days), entry.date or ""]
    named = f" ({entry.name})" if entry.name else ""
    return ("" if entry.active else "off: ") + " ".join(part for part in parts if part) + named
