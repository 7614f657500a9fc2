"""Update a unit file and keep its comments, its order and its unchanged lines.

Only values of changed settings are replaced. A key in the file stays there, even with a factory
setting; a removed rule or entry is deleted. New keys are added to their table, or in a table at the
end.
"""

from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from itertools import pairwise
from pathlib import Path
from typing import Any

from leverframe.core.profile import Profile
from leverframe.core.settings import Rule, Settings, rule_numbered
from leverframe.core.tree import MISSING, difference, value_at
from leverframe.host.configuration.toml import read_toml
from leverframe.units.document_reader import SecretReference, escape_placeholders
from leverframe.units.file_keys import PLACES, BadUnitFile, is_part_of, key_of
from leverframe.units.file_loader import KnownSecrets, load_unit_file
from leverframe.units.rule_sentences import sentence_of
from leverframe.units.unit_text import (
    NEW_ENTRIES,
    WrittenLine,
    assignment,
    file_value,
    is_long_list,
    lines_of_entry,
    unit_text,
    unread_keys,
)


def save_unit_file(
    path: Path,
    settings: Settings,
    profile: Profile,
    unread: Collection[str] = (),
    opening: str = "",
) -> dict[str, str]:
    """Write settings to a unit file, new or in place; return its secrets.

    Unread settings stay as they are in the file.
    """
    if path.exists():
        text, secrets = _rewritten(path, settings, profile, unread)
    else:
        text, secrets = unit_text(settings, profile, unread, opening)
    beside = path.with_name(f".{path.name}.new")
    try:
        beside.write_text(text, encoding="utf-8")
        _check(beside, path, settings, profile, unread, secrets)
        beside.replace(path)
    except OSError as error:
        raise BadUnitFile(f"{path} cannot be written: {error.strerror}.") from None
    finally:
        beside.unlink(missing_ok=True)
    return secrets


def _check(
    written: Path,
    path: Path,
    settings: Settings,
    profile: Profile,
    unread: Collection[str],
    secrets: dict[str, str],
) -> None:
    """Refuse to write a file that would not have the right settings."""
    known = KnownSecrets({}, secrets)
    said = load_unit_file(written, profile=profile, secrets=known, need_secrets=False)
    for leaf, _, _ in difference(said.settings, settings):
        if not is_part_of(leaf, (*unread, *said.unresolved)):
            raise BadUnitFile(
                f"{path} cannot be updated: {key_of(leaf)} would differ from the unit, perhaps"
                " because of an included file. Write to another file."
            )


def _rewritten(
    path: Path, settings: Settings, profile: Profile, unread: Collection[str]
) -> tuple[str, dict[str, str]]:
    # Imported here: most commands write no unit file.
    import tomlkit

    before = load_unit_file(path, profile=profile, need_secrets=False)
    text, present = read_toml(path, BadUnitFile)
    secrets: dict[str, str] = {}
    changes = list(_changes(before.settings, settings, unread, secrets))
    own: dict[str, Any] = {}
    if before.profile != profile:
        own = {"hardware": profile.hw, "software": profile.sw}
    if before.complete and set(before.unread) != set(unread):
        own["unread"] = unread_keys(unread)
    own |= {change.key: change.value for change in changes if not change.table}
    added = {key: value for key, value in own.items() if key not in present}
    document = tomlkit.parse(_with_keys(text, added))
    for key in own.keys() - added.keys():
        document[key] = _item(own[key], document.get(key))
    for change in changes:
        if change.table:
            _put(document, change.path, change.value)
    for path_of_secret in before.unresolved:
        # The setting is empty now; a reference left in the file would set it again.
        if not value_at(settings, path_of_secret) and not is_part_of(path_of_secret, unread):
            _put(document, path_of_secret, "")
    for place in _find_changed_rules(before.settings, settings, unread):
        old, new = (rule_numbered(one.rules, place + 1) for one in (before.settings, settings))
        _put_rule(document, place, old, new)
    return _with_blank_lines(document.as_string(), text), secrets


def _with_keys(text: str, added: dict[str, Any]) -> str:
    """Add keys outside tables where they are allowed: before the first table and its comment."""
    if not added:
        return text
    lines = text.splitlines()
    header = next((n for n, line in enumerate(lines) if line.lstrip().startswith("[")), len(lines))
    place = header
    while place and (not lines[place - 1].strip() or lines[place - 1].lstrip().startswith("#")):
        place -= 1
    new = [assignment(key, value) for key, value in added.items()]
    if not place:
        # There are only comments: the first ones describe the file.
        place, new = header, [*new, ""]
    return "\n".join([*lines[:place], *new, *lines[place:]]) + "\n"


def _with_blank_lines(text: str, before: str) -> str:
    """Separate added tables with a blank line, unless the file uses none."""
    lines, known = text.splitlines(), before.splitlines()
    dense = set(pairwise(known))
    spaced = lines[:1]
    for above, line in pairwise(lines):
        is_header = line.startswith("[") and above.strip() and not above.startswith("#")
        spaced += ["", line] if is_header and (above, line) not in dense else [line]
    return "\n".join(spaced) + "\n"


def _changes(
    before: Settings, after: Settings, unread: Collection[str], secrets: dict[str, str]
) -> Iterator[WrittenLine]:
    """Yield the changes of the file other than rules; MISSING removes a key."""
    seen: set[str] = set()
    for path, _, value in difference(before, after):
        if path.startswith(("profile.", "rules.")) or is_part_of(path, unread):
            continue
        entry = path.rpartition(".")[0]
        was, now = _entries(before, after, entry)
        if was is not None and now is not None:
            # Another version may not have the setting.
            gone = value is MISSING
            yield WrittenLine(path, MISSING if gone else file_value(path, value, secrets))
        elif entry not in seen:
            seen.add(entry)
            lines = [] if now is None else lines_of_entry(entry, now, secrets)
            yield from lines or [WrittenLine(entry, MISSING)]


def _entries(before: Settings, after: Settings, entry: str) -> tuple[Any, Any]:
    """Return an entry of both trees, or None if it is missing; other branches always exist."""
    if entry.rpartition(".")[0] not in NEW_ENTRIES:
        return before, after
    return value_at(before, entry), value_at(after, entry)


def _find_changed_rules(
    before: Settings, after: Settings, unread: Collection[str]
) -> Iterator[int]:
    for place in range(max(len(before.rules), len(after.rules))):
        is_known = not is_part_of(f"rules.{place}", unread)
        old, new = (rule_numbered(one.rules, place + 1) for one in (before, after))
        if is_known and old != new:
            yield place


def _put_rule(document: Any, place: int, before: Rule | None, rule: Rule | None) -> None:
    path, label = f"rules.{place}", PLACES["rules"][place]
    present = document.get("rules", {}).get(label)
    if rule is None:
        _put(document, path, MISSING)
        return
    if before is not None and isinstance(present, dict):
        for leaf, _, value in difference(before, rule, path):
            _put(document, leaf, file_value(leaf, value, {}))
        return
    sentence = sentence_of(rule)
    if sentence is not None:
        _put(document, path, escape_placeholders(sentence))
        return
    # A table cannot replace a text.
    _put(document, path, MISSING)
    for line in lines_of_entry(path, rule, {}):
        _put(document, line.path, line.value)


def _put(document: Any, path: str, value: Any) -> None:
    """Set one key of a document, with the tables above it; MISSING removes it."""
    import tomlkit

    *tables, last = key_of(path).split(".")
    table = document
    for key in tables:
        if key not in table:
            if value is MISSING:
                return
            table[key] = tomlkit.table()
        table = table[key]
    if isinstance(table, tomlkit.items.Table) and table.is_super_table():
        # It gets a header of its own; tomlkit would repeat the comment of the table below it.
        table.trivia.comment_ws = table.trivia.comment = ""
    if value is MISSING:
        if last in table:
            del table[last]
    elif isinstance(value, SecretReference):
        reference = tomlkit.inline_table()
        reference[value.kind] = value.name
        table[last] = reference
    else:
        table[last] = _item(value, table.get(last))


def _item(value: Any, present: Any = None) -> Any:
    """Return a value for a document; a long list has one item per line, with its comments."""
    import tomlkit

    if not isinstance(value, list):
        return value
    if isinstance(present, tomlkit.items.Array) and "\n" in present.as_string():
        _change_items(present, value)
        return present
    items = tomlkit.array()
    items.extend(value)
    return items.multiline(is_long_list(value))


def _change_items(present: Any, wanted: list[Any]) -> None:
    """Replace, remove and insert items of a list, so that the rest keep their comments."""
    matcher = SequenceMatcher(None, present.unwrap(), wanted, autojunk=False)
    for _, begin, end, first, last in reversed(matcher.get_opcodes()):
        for place, item in zip(range(begin, end), wanted[first:last], strict=False):
            if present[place] != item:
                present[place] = item
        both = min(end - begin, last - first)
        for place in reversed(range(begin + both, end)):
            del present[place]
        for item in reversed(wanted[first + both : last]):
            present.insert(begin + both, item)
