"""JSON schemas of queries, bodies and replies, with media types and the statuses of refusals."""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta, inspect

from leverframe.core.profile import Profile
from leverframe.core.settings import SECRETS, Settings
from leverframe.interface.descriptions.listing import list_offered_fields
from leverframe.interface.table.bodies import ListBody
from leverframe.interface.table.params import Param, Trailing
from leverframe.interface.table.shape import Item, Template

# The media types of requests and answers.

JSON = "application/json"
XML = "text/xml"
BINARY = "application/octet-stream"
PROBLEM = "application/problem+json"
FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain"
MULTIPART = "multipart/form-data"


# Every status with which a request can be rejected, and its cause.

#: The cause of each status. A rejected request changes nothing, except with status 504, a 503 that
#: says so, or a 409 for a condition that was not met in time.
REFUSALS: dict[int, str] = {
    400: "The command or its body is malformed, a value is out of range, a list has the wrong "
    "length, or a text is too long. Texts are never cut.",
    401: "No user is signed in, or the user name or password is wrong.",
    403: "The account is not allowed to do this, a page of another site caused the request, "
    "or the Host header names another machine.",
    404: "There is no such path or command, or this version does not have it yet; `detail` names "
    "the versions that do.",
    405: "The path or command requires another method, named in `Allow`.",
    409: "The command contradicts the current state, for example enabling an entry that does "
    "not exist; or virtual time reached its limit before a condition was met.",
    410: "This version no longer has the command.",
    411: "The request has a body but does not state its length.",
    412: "The request arrived after the time in its header `X-Valid-Until`; nothing was done.",
    413: "The body is too large: 1 MiB for lists and forms (8 KiB to sign in), 16 MiB for files.",
    414: "The path or the query is too long; a query may have 8 KiB.",
    415: "The command does not accept this type of body.",
    421: "Several machines: the controller has just moved to another node; repeat the request.",
    422: "The request needs more time or memory, or reads more values, than one request is"
    " allowed; `detail` says what to request instead.",
    423: "The outputs are locked (`outblock`) and the command would switch an output.",
    429: "Too many wrong passwords came from this address; `Retry-After` says when to retry.",
    431: "The headers are too large.",
    502: "A Modbus module did not accept the value, or a different value was read back.",
    503: "The controller is starting, in its bootloader or too busy. Several machines: it is "
    "not known whether the node still has the controller or whether the change is "
    "stored; or the database is unavailable and only it has the answer. `Retry-After` "
    "says when to retry.",
    504: "Several machines: another node received the request and did not answer; it is not "
    "known whether it was carried out. Fleet: a bulk command ended before all "
    "controllers had answered.",
    507: "The change could not be written to the store, or to the database that nodes share.",
}


# The value of a query item, and a list body, as JSON schema.
#
# A value of one field has the schema of the field. A value of several fields is a text: its pattern
# shows how they are joined, and `x-fields` contains the exact schema of each. Patterns of numbers
# describe the digits, not the limits; they apply to the text after percent-decoding.

Schema = dict[str, Any]

#: The only characters that may be escaped in JavaScript; Python's `re.escape` escapes more.
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
    """Return whether the value has several parts, which may include an index."""
    value = item.value
    return value is not None and bool(value.holes) and (len(value.holes) > 1 or any(value.literals))


def item_names(item: Item, params: Mapping[str, Param], profile: Profile) -> list[str]:
    """Return the names of an item with the indices filled in: `out0` to `out5`."""
    holes = item.name.holes
    choices = [_index_texts(params[letter].schema(profile)) for letter in holes]
    return [item.name.write(dict(zip(holes, texts, strict=True))) for texts in product(*choices)]


def list_body_schema(body: ListBody, profile: Profile) -> Schema:
    """Describe the items of a list body up to `&&`; text before and after them is ignored."""
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
    """Allow trailing fields to be omitted, each with the separator before it."""
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
    """Return a regular expression that matches the texts of a schema."""
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


# JSON schemas of replies, generated from their types.

Json = dict[str, Any]

_PREFIX = "#/components/schemas/"


class StatusReply(msgspec.Struct):
    """The states after a command; sent as XML."""

    out: Annotated[str, Meta(pattern="^[01]{6}$", description="OUT0 to OUT5.")]
    pwm: Annotated[str, Meta(description="PWM states; bit 0 is PWM0.")]
    ev: Annotated[str, Meta(description="Event variables; bit 0 is EVENT1.")]


class Problem(TypedDict):
    """A refusal in the form of RFC 9457."""

    type: Annotated[str, Meta(extra_json_schema={"format": "uri-reference"})]
    title: str
    status: int
    detail: Annotated[str, Meta(description="What is wrong, as a sentence.")]
    command: NotRequired[Annotated[str, Meta(description="The command concerned.")]]
    field: NotRequired[Annotated[str, Meta(description="The field concerned.")]]
    value: NotRequired[Annotated[str, Meta(description="The value that was sent.")]]
    allowed: NotRequired[Annotated[str, Meta(description="The values that are allowed.")]]


def reply_schemas(types: Iterable[Any]) -> tuple[list[Json], dict[str, Json]]:
    """Return the schema of every type, and the schemas to which they refer by name."""
    wanted = list(types)
    schemas, named = msgspec.json.schema_components(wanted, ref_template=_PREFIX + "{name}")
    sparing = _structs_without_defaults(wanted)
    for name, schema in named.items():
        if name not in sparing:
            _require_defaults(schema)
        _drop_large_defaults(schema)
    if Settings.__name__ in named:
        for path in SECRETS:
            _mask(path.split("."), named)
    return list(schemas), named


def _structs_without_defaults(types: Iterable[Any]) -> set[str]:
    """Return the names of the Structs whose fields are omitted if they have their default."""
    found: set[str] = set()
    seen: set[type] = set()

    def look(value: Any) -> None:
        if isinstance(value, inspect.StructType):
            if value.cls in seen:
                return
            seen.add(value.cls)
            if value.cls.__struct_config__.omit_defaults:
                found.add(value.cls.__name__)
        if isinstance(value, tuple | list):
            for one in value:
                look(one)
        elif isinstance(value, inspect.Type | inspect.Field):
            for name in value.__struct_fields__:
                look(getattr(value, name))

    look(inspect.multi_type_info(types))
    return found


def _require_defaults(schema: Json) -> None:
    """Mark all fields that are always sent as required, even if they have a default."""
    fields: dict[str, Json] = schema.get("properties", {})
    required = {*schema.get("required", ()), *(n for n, x in fields.items() if "default" in x)}
    schema["required"] = [name for name in fields if name in required]


def _drop_large_defaults(schema: Json) -> None:
    for field in schema.get("properties", {}).values():
        # The defaults of complete branches would make up most of the document.
        if isinstance(field.get("default"), tuple | list | dict):
            del field["default"]


def _mask(steps: list[str], named: dict[str, Json]) -> None:
    """Describe a secret as clients see it: `***` if it is set, null if it is not."""
    schema = named[Settings.__name__]
    for step in steps:
        schema = _below(schema, step, named)
    schema.clear()
    schema |= {"type": ["string", "null"], "description": "A secret: *** if it is set."}


def _below(schema: Json, step: str, named: dict[str, Json]) -> Json:
    below: Json = schema["items"] if step == "*" else schema["properties"][step]
    while "anyOf" in below or "$ref" in below:
        below = below["anyOf"][0] if "anyOf" in below else named[below["$ref"][len(_PREFIX) :]]
    return below
