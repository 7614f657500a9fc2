"""The JSON Schema of unit files for editors, and `leverframe unit check` and `unit schema`."""

from pathlib import Path

import msgspec

from leverframe.core.errors import DONE, NO, print_lines
from leverframe.core.profile import HARDWARE, Profile, existing, newest_software
from leverframe.core.settings import Node, Settings
from leverframe.core.tree import branch_of, defaults, is_confidential, pattern_of, value_at
from leverframe.host.configuration.toml import read_toml
from leverframe.units.file_keys import (
    DAYS,
    PLACES,
    SWITCH_WORDS,
    SWITCHED_TO,
    TIMES,
    BadUnitFile,
    hints,
    kind_words,
    type_at,
)
from leverframe.units.file_loader import load_unit_file
from leverframe.units.inventory import is_inventory, load_inventory
from leverframe.units.unit_file import JsonSchema, in_file, schema_at
from leverframe.units.unit_text import NEW_ENTRIES

_REFERENCE: JsonSchema = {
    "type": "object",
    "properties": {"env": {"type": "string"}, "secret": {"type": "string"}},
    "additionalProperties": False,
    "minProperties": 1,
    "maxProperties": 1,
    "description": "a secret: the name of an environment variable, or one of the secrets file",
}
_PLACEHOLDER: JsonSchema = {"type": "string", "pattern": "\\$\\{[A-Za-z0-9_-]+\\}"}
_TEXTS: JsonSchema = {"type": "array", "items": {"type": "string"}}
_OWN: dict[str, JsonSchema] = {
    "hardware": {"enum": list(HARDWARE)},
    "software": {"type": "string", "pattern": "^[1-9]\\.[0-9]{2}[a-z]?$"},
    "include": _TEXTS,
    "secrets": {"type": "string"},
    "values": {"type": "object"},
    "complete": {"type": "boolean"},
    "unread": _TEXTS,
}
_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number"}


def file_schema(profile: Profile) -> JsonSchema:
    """Return the schema of the unit files of a version."""
    shared: dict[str, JsonSchema] = {}
    settings = _table(Settings, "", profile, shared)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Leverframe unit file, {profile}",
        **settings,
        "properties": {**_OWN, **settings["properties"]},
        "$defs": shared,
    }


def _table(
    node: type[Node], path: str, profile: Profile, shared: dict[str, JsonSchema]
) -> JsonSchema:
    properties = {}
    for name, hint in hints(node).items():
        here = f"{path}.{name}" if path else name
        if here == "profile":
            continue
        branch, is_list = branch_of(hint)
        if branch is None:
            schema = _leaf(here, profile)
        elif is_list:
            schema = _list(branch, here, profile, shared)
        else:
            schema = _table(branch, here, profile, shared)
        if schema is not None:
            properties[name] = schema
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _list(
    branch: type[Node], path: str, profile: Profile, shared: dict[str, JsonSchema]
) -> JsonSchema:
    """Describe a list of tables; equal entries share one description."""
    labels = PLACES[pattern_of(path)]
    count = len(labels) if path in NEW_ENTRIES else _count(path, profile)
    places: dict[str, JsonSchema] = {}
    for place, label in enumerate(labels[:count]):
        table = _table(branch, f"{path}.{place}", profile, shared)
        if path == "rules":
            table = {"anyOf": [{"type": "string"}, table]}
        alike = next((name for name, one in shared.items() if one == table), None)
        name = alike or f"{branch.__name__}_{label}"
        shared[name] = table
        places[label] = {"$ref": f"#/$defs/{name}"}
    return {"type": "object", "properties": places, "additionalProperties": False}


def _count(path: str, profile: Profile) -> int:
    return len(value_at(defaults(profile), path))


def _leaf(path: str, profile: Profile) -> JsonSchema | None:
    pattern = pattern_of(path)
    if is_confidential(path):
        return (
            _REFERENCE
            if path.startswith("access.")
            else {"anyOf": [_REFERENCE, {"type": "string"}]}
        )
    if pattern in TIMES | DAYS | SWITCHED_TO:
        words = {"enum": list(SWITCH_WORDS)} if pattern in SWITCHED_TO else {"type": "string"}
        number = {"type": "array"} if pattern in DAYS else {"type": "integer"}
        return {"anyOf": [words, number], "description": kind_words(pattern)}
    schema = _plain(pattern) if pattern.startswith(_ENTRY_PARTS) else schema_at(path, profile)
    if schema is None:
        return None
    return {"anyOf": [in_file(pattern, schema), _PLACEHOLDER], "description": kind_words(pattern)}


_ENTRY_PARTS = ("rules.", "schedule.", "access.users.")


def _plain(pattern: str) -> JsonSchema:
    hint = type_at(pattern)
    return {"type": _TYPES.get(hint, "string")}


# `leverframe unit check` and `unit schema`: check unit files and inventories, and print the schema.

#: Number of units listed before a mistake of a file that they share.
SHOWN_NAMES = 3


def check(files: list[Path]) -> int:
    """Print every mistake in unit files and inventories; return whether there are any."""
    wrong = [line for file in files for line in _mistakes(file)]
    print_lines(wrong or [f"{len(files)} checked, no mistakes found."])
    return NO if wrong else DONE


def schema(hw: str, sw: str | None) -> None:
    """Print the JSON Schema of unit files for a version."""
    profile = existing(hw, sw or newest_software(hw))
    text = msgspec.json.format(msgspec.json.encode(file_schema(profile)), indent=2).decode()
    print_lines(text.split("\n"))


def _mistakes(file: Path) -> list[str]:
    try:
        _, document = read_toml(file, BadUnitFile)
        if not is_inventory(document):
            load_unit_file(file, need_secrets=False)
            return []
        inventory = load_inventory(file, need_secrets=False)
    except BadUnitFile as error:
        return str(error).splitlines()
    # Many units can share a file with a mistake.
    found: dict[str, list[str]] = {}
    for unit in inventory.units:
        try:
            inventory.read_file(unit, need_secrets=False)
        except BadUnitFile as error:
            for line in str(error).splitlines():
                found.setdefault(line, []).append(unit.name)
    return [f"{_list_names(names)}: {line}" for line, names in found.items()]


def _list_names(names: list[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more
