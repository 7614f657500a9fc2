"""The JSON Schema of unit files, for editors that complete and check TOML with a schema."""

from leverframe.engine.factory_settings import defaults
from leverframe.engine.settings import Node, Settings
from leverframe.engine.tree import branch_of, is_confidential, pattern_of, value_at
from leverframe.profile import HARDWARE, Profile
from leverframe.units.allowed_values import JsonSchema, in_file, schema_at
from leverframe.units.file_keys import (
    DAYS,
    PLACES,
    SWITCH_WORDS,
    SWITCHED_TO,
    TIMES,
    hints,
    kind_words,
    type_at,
)
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
    """Describe a list of tables; equal places share one description."""
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
