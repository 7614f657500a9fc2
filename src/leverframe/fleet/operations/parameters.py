"""The parameters and bodies of requests to a node: their types, and how they are read.

Every text and every list has a bound, which a test over all endpoints requires: a node is shared,
and the requests of one client must not take the time and memory of others. A list is a text with
commas.
"""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from leverframe.commands.describe.openapi import QueryParameter
from leverframe.commands.table.bodies import ON_LOOP_BODY_LIMIT
from leverframe.commands.table.matching import MAX_QUERY_BYTES
from leverframe.commands.table.params import decode_text
from leverframe.commands.table.refusals import BadValue
from leverframe.commands.table.written_commands import MAX_TEXT_BYTES
from leverframe.config.described import describe_type, split_type
from leverframe.fleet.records import MAX_TAG_LETTERS, MAX_TAGS
from leverframe.fleet.templates import MAX_BYTES as MAX_TEMPLATE_BYTES

#: The key of the maximum number of items of a list, in its type.
MAX_ITEMS = "max_items"
#: Controllers that one request may name; tags and searches choose any number.
MAX_NAMES = 20_000
#: Of all parameters of a request: to decode each of them takes a microsecond or two.
MAX_ENCODED_BYTES = 40_000


def list_of_texts(most: int, letters: int) -> Any:
    """Return the type of a list, with limits for its items and for its total length."""
    extra = {MAX_ITEMS: most}
    return Annotated[
        str,
        Meta(max_length=letters, description=("One or several, separated by commas."), extra=extra),
    ]


#: Of a controller, tenant, account or node, at most 31 letters; or a pattern of names.
Name = Annotated[str, Meta(max_length=64)]
Names = list_of_texts(MAX_NAMES, MAX_NAMES * 32)
Tags = list_of_texts(MAX_TAGS, MAX_TAGS * (MAX_TAG_LETTERS + 1))
#: Durations, moments, versions, addresses.
ShortText = Annotated[str, Meta(max_length=64)]
Words = Annotated[str, Meta(max_length=200)]
#: A path stands before the query.
Command = Annotated[str, Meta(max_length=MAX_QUERY_BYTES + 64)]

CommandBody = Annotated[
    str,
    Meta(
        max_length=ON_LOOP_BODY_LIMIT,
        description="The body of the command, if it accepts one.",
    ),
]
Template = Annotated[
    str,
    Meta(
        max_length=MAX_TEMPLATE_BYTES,
        description="A template: a settings backup in JSON or TOML.",
    ),
]
CommandsOrTemplate = Annotated[
    str,
    Meta(
        max_length=max(MAX_TEMPLATE_BYTES, MAX_TEXT_BYTES),
        description="Commands, one per line, or a template.",
    ),
]
DRY_RUN = QueryParameter("dry_run", bool, "Change nothing; report what the result would be.")
#: Bodies that become thousands of settings.
TEMPLATES = (Template, CommandsOrTemplate)

_SWITCHES = {
    "1": True,
    "true": True,
    "yes": True,
    "0": False,
    "false": False,
    "no": False,
    "": True,
}


def read_parameters(query: str, offered: Sequence[QueryParameter]) -> dict[str, Any]:
    """Read the parameters of a query, each of the type that the endpoint declares."""
    if (count := query.count("%")) > MAX_ENCODED_BYTES:
        raise BadValue(
            f"{count} bytes of the parameters are percent-encoded.",
            allowed=f"up to {MAX_ENCODED_BYTES} of them",
        )
    known = {one.name: one.type for one in offered}
    given: dict[str, Any] = {}
    for item in filter(None, query.split("&")):
        name, _, raw = item.partition("=")
        if name not in known:
            allowed = ", ".join(known) or "no parameters"
            raise BadValue("Unknown parameter.", field=name[:40], allowed=allowed)
        if name in given:
            raise BadValue(
                "It is set twice.", field=name, allowed=("several values separated by commas")
            )
        given[name] = _value(name, decode_text(raw), known[name])
    return given


def _value(name: str, text: str, hint: Any) -> Any:
    _check_length(name, text, hint)
    value: Any = _SWITCHES.get(text.lower(), text) if hint is bool else text
    try:
        return msgspec.convert(value, hint, strict=False)
    except msgspec.ValidationError:
        raise BadValue(
            f"{text[:40]!r} is not allowed.", field=name, allowed=_describe_type(hint)
        ) from None


def _check_length(name: str, text: str, hint: Any) -> None:
    """Refuse a text or a list that is longer than its type allows."""
    _, metas = split_type(hint)
    for meta in metas:
        most = (meta.extra or {}).get(MAX_ITEMS)
        if most is not None and (count := text.count(",") + 1) > most:
            raise BadValue(f"There are {count} of them.", field=name, allowed=f"up to {most}")
        if meta.max_length is not None and len(text) > meta.max_length:
            raise BadValue(
                f"It has {len(text)} characters.",
                field=name,
                allowed=f"up to {meta.max_length} characters",
            )


def check_body(body: bytes, hint: Any) -> None:
    """Refuse a body that is longer than its type allows."""
    _, metas = split_type(hint)
    for meta in metas:
        if meta.max_length is not None and len(body) > meta.max_length:
            raise BadValue(
                f"The body has {len(body)} bytes.", allowed=f"up to {meta.max_length} bytes"
            )


def _describe_type(hint: Any) -> str:
    """Describe in words what a parameter accepts, instead of a pattern."""
    _, metas = split_type(hint)
    in_words = (meta.description for meta in metas if meta.pattern is not None)
    return next(in_words, None) or describe_type(hint)
