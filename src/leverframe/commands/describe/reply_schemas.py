"""JSON schemas of replies, made from the types that are sent."""

from collections.abc import Iterable
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec
from msgspec import Meta, inspect

from leverframe.engine.settings import SECRETS, Settings

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
    """Return the schema of every type, and the schemas they refer to by name."""
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
    """Name the Structs whose fields are left out where they have their default."""
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
    """List every field that is always sent: msgspec takes one with a default for optional."""
    fields: dict[str, Json] = schema.get("properties", {})
    required = {*schema.get("required", ()), *(n for n, x in fields.items() if "default" in x)}
    schema["required"] = [name for name in fields if name in required]


def _drop_large_defaults(schema: Json) -> None:
    for field in schema.get("properties", {}).values():
        # The defaults of whole branches would be most of the document.
        if isinstance(field.get("default"), tuple | list | dict):
            del field["default"]


def _mask(steps: list[str], named: dict[str, Json]) -> None:
    """Describe a secret as it is sent: `***` if it is set, null if it is not."""
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
