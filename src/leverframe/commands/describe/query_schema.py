"""The value of a query item, and a list body, as JSON schema.

A value that is one field has the schema of the field. A value of several fields is a text: its
pattern shows how they are joined, and `x-fields` holds the exact schema of each. Patterns of
numbers describe the digits, not the limits; they are about the text after percent-decoding.
"""

import re
from collections.abc import Mapping
from itertools import product
from typing import Any

from leverframe.commands.describe.availability import list_offered_fields
from leverframe.commands.table.bodies import ListBody
from leverframe.commands.table.params import Param, Trailing
from leverframe.commands.table.shape import Item, Template
from leverframe.profile import Profile

Schema = dict[str, Any]

#: Python's `re.escape` escapes more than JavaScript allows to be escaped.
_SYNTAX = r"[\\^$.*+?()\[\]{}|]"


def value_schema(item: Item, params: Mapping[str, Param], profile: Profile) -> Schema:
    """Describe the texts that are allowed after the `=` of an item."""
    if item.value is None:
        return {"type": "string", "maxLength": 0}
    if not item.value.holes:
        return {"type": "string", "const": item.value.literals[0]}
    fields = _field_schemas(item, params, profile)
    if not is_joined(item):
        only = fields[item.value.holes[0]]
        if only.get("type") in ("integer", "string"):
            return only
    return {
        "type": "string",
        "pattern": f"^{_value_pattern(item, params, fields)}$",
        "x-fields": {letter: fields[letter] for letter in item.value.holes if letter in fields},
    }


def is_joined(item: Item) -> bool:
    """Return whether the value has several parts, so that an index may be among them."""
    value = item.value
    return value is not None and bool(value.holes) and (len(value.holes) > 1 or any(value.literals))


def item_names(item: Item, params: Mapping[str, Param], profile: Profile) -> list[str]:
    """Write the name of an item with its indices filled in: `out0` to `out5`."""
    holes = item.name.holes
    choices = [_index_texts(params[letter].schema(profile)) for letter in holes]
    return [item.name.write(dict(zip(holes, texts, strict=True))) for texts in product(*choices)]


def list_body_schema(body: ListBody, profile: Profile) -> Schema:
    """Describe the items of a list body up to `&&`; what stands around them is ignored."""
    fields = _field_schemas(body.item, body.params, profile)
    name = _join_pattern(body.item.name, fields)
    value = _value_pattern(body.item, body.params, fields)
    return {
        "type": "string",
        "pattern": f"(?:&{name}={value})*&&",
        "x-item": body.item.text,
        "x-fields": fields,
    }


def _literal(text: str) -> str:
    return re.sub(_SYNTAX, r"\\\g<0>", text)


def _index_texts(schema: Schema) -> list[str]:
    numbers = schema.get("enum") or range(schema["minimum"], schema["maximum"] + 1)
    return [str(number) for number in numbers]


def _field_schemas(item: Item, params: Mapping[str, Param], profile: Profile) -> dict[str, Schema]:
    return {
        letter: params[letter].schema(profile)
        for letter in list_offered_fields(item, params, profile)
    }


def _value_pattern(item: Item, params: Mapping[str, Param], fields: Mapping[str, Schema]) -> str:
    """Allow trailing fields to be left out, each with the separator before it."""
    assert item.value is not None
    literals, holes = item.value.literals, item.value.holes
    required = [letter for letter in holes if not isinstance(params[letter], Trailing)]
    pattern = _join_pattern(
        Template(literals[: len(required)] + literals[-1:], tuple(required)), fields
    )
    optional = ""
    for number in reversed(range(len(required), len(holes))):
        if holes[number] in fields:
            text = _literal(literals[number]) + text_pattern(fields[holes[number]])
            optional = f"(?:{text}{optional})?"
    return pattern + optional


def _join_pattern(template: Template, fields: Mapping[str, Schema]) -> str:
    pattern = _literal(template.literals[0])
    for letter, literal in zip(template.holes, template.literals[1:], strict=True):
        pattern += text_pattern(fields[letter]) + _literal(literal)
    return pattern


def text_pattern(schema: Schema) -> str:
    """Return a regular expression for the texts of a schema."""
    if "oneOf" in schema:
        cases = dict.fromkeys(text_pattern(case) for case in schema["oneOf"])
        return f"(?:{'|'.join(cases)})" if len(cases) > 1 else next(iter(cases))
    if "enum" in schema:
        return _choice_pattern([str(choice) for choice in schema["enum"]])
    if "pattern" in schema:
        return str(schema["pattern"]).removeprefix("^").removesuffix("$")
    if schema["type"] == "integer":
        return _number_pattern(schema["minimum"], schema["maximum"])
    if schema["type"] == "array":
        return _list_pattern(schema)
    if schema["type"] == "object":
        parts = [text_pattern(part) for part in schema["properties"].values()]
        return _literal(schema["x-separator"]).join(parts)
    if schema.get("contentEncoding") == "base64":
        return "[A-Za-z0-9+/=]*"
    return f".{{{schema.get('minLength', 0)},{schema['maxLength']}}}"


def _choice_pattern(choices: list[str]) -> str:
    if all(len(choice) == 1 for choice in choices):
        return f"[{''.join(choices)}]"
    return f"(?:{'|'.join(_literal(choice) for choice in choices)})"


def _number_pattern(lo: int, hi: int) -> str:
    if lo >= 0 and hi <= 9:
        return f"[{lo}-{hi}]"
    digits = max(len(str(abs(lo))), len(str(abs(hi))))
    return f"{'-?' if lo < 0 else ''}[0-9]{{1,{digits}}}"


def _list_pattern(schema: Schema) -> str:
    item, least, most = text_pattern(schema["items"]), schema["minItems"], schema["maxItems"]
    further = f"(?:{_literal(schema['x-separator'])}{item}){{{max(least, 1) - 1},{most - 1}}}"
    return f"{item}{further}" if least else f"(?:{item}{further})?"
