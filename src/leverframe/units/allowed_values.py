"""The allowed values of a setting in a version, as a JSON Schema and in words.

The types of the command table describe the wire: codes, scaled numbers, tens of seconds. Here the
same limits describe values in the tree and in a unit file.
"""

from typing import Any

from leverframe.commands.table.params import (
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
from leverframe.commands.version_change.limits import types_at
from leverframe.engine.tree import pattern_of
from leverframe.profile import Profile
from leverframe.units.file_keys import DURATIONS, type_at

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
    """Return what a schema allows, in words."""
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
