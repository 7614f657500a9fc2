"""The interface of one version as an OpenAPI 3.1 document.

OpenAPI describes one operation per path and method, while one command path has a hundred commands.
Therefore a path has one GET and one POST operation, and each command name is an optional query
parameter of both. Names with an index are listed individually (`out0` to `out5`), and forms that
share a name are alternatives of one schema. A name whose value contains an index can be repeated,
so it is a list. `x-form` is the form as printed; `x-role` is the required role.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import unquote

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.interface.descriptions.listing import example_body, example_texts, is_deprecated
from leverframe.interface.descriptions.schemas import (
    BINARY,
    FORM,
    JSON,
    MULTIPART,
    PROBLEM,
    REFUSALS,
    TEXT,
    XML,
    Problem,
    StatusReply,
    is_joined,
    item_names,
    list_body_schema,
    reply_schemas,
    value_schema,
)
from leverframe.interface.table.bodies import FormBody, ListBody, Upload
from leverframe.interface.table.lookup import COMMAND_PATHS, TABLE
from leverframe.interface.table.row import Row
from leverframe.interface.table.shape import Item

Json = dict[str, Any]

POST_PATH = "/post.cgi"
_INTRODUCTION = (
    "Commands of a controller with {profile}. Several commands may be joined with `&`, even "
    "if names repeat; they run in the order of the query, all of them or none. Send the "
    "separators `*` and `:` as they are and percent-encode them inside texts."
)
#: Error statuses of paths that only return data.
_READING_REFUSALS = (401, 403, 404, 405, 503)


class QueryParameter(Struct, frozen=True):
    name: str
    type: Any
    doc: str


class EndpointDescription(Struct, frozen=True):
    """The description of a path other than that of a command."""

    path: str
    #: The required role.
    role: str
    #: The purpose of the path, in one sentence for users.
    doc: str
    #: The type of its reply; None if the reply is a file.
    reply: Any = None
    content_type: str = JSON
    methods: tuple[str, ...] = ("GET", "HEAD")
    query: tuple[QueryParameter, ...] = ()
    #: The type of the data in the body of a POST.
    body: Any = None
    body_content_type: str = TEXT
    #: The request may have no body.
    body_is_optional: bool = False
    #: The request may take long. It only returns an answer, and ends when the client disconnects.
    ends_with_client: bool = False

    @property
    def takes_form(self) -> bool:
        """Return whether a form in the body may contain parameters instead of the query."""
        return False


def openapi(
    profile: Profile, title: str, version: str, endpoints: Sequence[EndpointDescription]
) -> Json:
    """Build the complete document for a profile."""
    info = {
        "title": title,
        "version": version,
        "description": _INTRODUCTION.format(profile=profile),
    }
    commands = {path: _command_path(path, profile) for path in sorted(COMMAND_PATHS)}
    document = openapi_of_endpoints(info, endpoints, commands)
    document["components"]["schemas"][StatusReply.__name__]["xml"] = {"name": "response"}
    return document


def openapi_of_endpoints(
    info: Json, endpoints: Sequence[EndpointDescription], other_paths: Json
) -> Json:
    """Build a document of endpoints, after other paths that are already described."""
    replies, schemas = reply_schemas(
        (StatusReply, Problem, *(endpoint.reply for endpoint in endpoints))
    )
    return {
        "openapi": "3.1.0",
        "info": info,
        "security": [{}, {"basic": []}],
        "paths": {
            **other_paths,
            **{
                endpoint.path: _endpoint_path(endpoint, schema)
                for endpoint, schema in zip(endpoints, replies[2:], strict=True)
            },
        },
        "components": {
            "schemas": schemas,
            "responses": {_refusal_name(s): _refusal(text) for s, text in REFUSALS.items()},
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
    }


def _command_path(path: str, profile: Profile) -> Json:
    rows = [row for row in TABLE if row.form.path == path and row.form.items]
    rows = [row for row in rows if row.is_offered(profile)]
    name = _operation_name(path)
    get = _operation(f"get{name}", "Run the commands of the query.", _command_reply())
    post = _operation(f"post{name}", "The same with POST.", _command_reply())
    parameters = _parameters(rows, profile)
    if path != POST_PATH:
        return {"parameters": parameters, "get": get, "post": post}
    get["summary"] = "The current states; the commands of this path require POST."
    post["summary"] = "Run one command that has a body."
    post["parameters"] = parameters
    post["requestBody"] = {"required": True, "content": _body_content(rows, profile)}
    return {"get": get, "post": post}


def _operation_name(path: str) -> str:
    words = path.replace(".", " ").replace("/", " ").replace("_", " ").split()
    return "".join(word.capitalize() for word in words)


def _operation(name: str, summary: str, ok: Json, refusals: Iterable[int] = REFUSALS) -> Json:
    answers = {str(status): _reference("responses", _refusal_name(status)) for status in refusals}
    return {"operationId": name, "summary": summary, "responses": {"200": ok} | answers}


def _parameters(rows: list[Row], profile: Profile) -> list[Json]:
    """Create one parameter for each name, in the order of the table."""
    named = [
        (name, row, item)
        for row in rows
        for item in row.form.items
        for name in item_names(item, row.params, profile)
    ]
    order = list(dict.fromkeys(name for name, _, _ in named))
    named.sort(key=lambda found: order.index(found[0]))
    return [
        _parameter(name, [(row, item) for _, row, item in group], profile)
        for name, group in groupby(named, key=lambda found: found[0])
    ]


def _parameter(name: str, forms: list[tuple[Row, Item]], profile: Profile) -> Json:
    schemas = [_form_of_value(row, item, profile) for row, item in forms]
    schema = schemas[0] if len(schemas) == 1 else _alternatives(forms, schemas)
    joined = any(is_joined(item) for _, item in forms)
    parameter: Json = {
        "name": name,
        "in": "query",
        "required": False,
        "description": " Or: ".join(dict.fromkeys(row.doc for row, _ in forms)),
        "schema": {"type": "array", "items": schema, "minItems": 1} if joined else schema,
    }
    if joined:
        parameter |= {"style": "form", "explode": True}
    if any("x-fields" in schema for schema in schemas):
        # Otherwise clients would encode the separators.
        parameter["allowReserved"] = True
    if all(item.value is None for _, item in forms):
        parameter["allowEmptyValue"] = True
    if all(is_deprecated(row, profile) for row, _ in forms):
        parameter["deprecated"] = True
    return parameter


def _form_of_value(row: Row, item: Item, profile: Profile) -> Json:
    """Combine the schema of a form's value with the other properties of the form."""
    schema = value_schema(item, row.params, profile)
    known: Json = {"x-form": row.line, "x-role": row.role}
    if len(row.form.items) > 1:
        known["x-together"] = [other.text.partition("=")[0] for other in row.form.items]
    if item.value is not None:
        known["examples"] = [_example_value(row, item, schema, profile)]
    return schema | known


def _alternatives(forms: list[tuple[Row, Item]], schemas: list[Json]) -> Json:
    """Combine forms by `anyOf`: several may match, and the server uses the first one."""
    docs = [{"description": row.doc} for row, _ in forms]
    return {"anyOf": [schema | doc for doc, schema in zip(docs, schemas, strict=True)]}


def _example_value(row: Row, item: Item, schema: Json, profile: Profile) -> str | int:
    text = unquote(item.write(example_texts(row, profile)).partition("=")[2])
    return int(text) if schema["type"] == "integer" else text


def _body_content(rows: list[Row], profile: Profile) -> Json:
    """Group the bodies of all commands by their content type."""
    kinds: dict[str, list[Json]] = {}
    for row in rows:
        known: Json = {"description": row.doc, "x-form": row.line, "x-role": row.role}
        if (example := example_body(row, profile)) is not None:
            known["x-example"] = example
        match row.body:
            case FormBody():
                kinds.setdefault(FORM, []).append(_form_schema(row.body, profile) | known)
            case ListBody():
                schema = list_body_schema(row.body, profile)
                kinds.setdefault("text/plain", []).append(schema | known)
            case Upload(what):
                known["description"] += f" The body is {what}."
                kinds.setdefault(BINARY, []).append(known)
                kinds.setdefault(MULTIPART, []).append(_FILE_FORM | known)
    return {kind: {"schema": {"anyOf": schemas}} for kind, schemas in kinds.items()}


#: A file in a form, as sent by `curl -F file=@NAME`.
_FILE_FORM: Json = {
    "type": "object",
    "properties": {"file": {"type": "string", "format": "binary"}},
    "required": ["file"],
    "maxProperties": 1,
}


def _form_schema(body: FormBody, profile: Profile) -> Json:
    """Describe the fields of a form, all of them optional."""
    return {
        "type": "object",
        "properties": {name: param.schema(profile) for name, param in body.fields.items()},
        "additionalProperties": False,
    }


def _command_reply() -> Json:
    schema = _reference("schemas", StatusReply.__name__)
    return {"description": "The states after the command.", "content": {XML: {"schema": schema}}}


def _endpoint_path(endpoint: EndpointDescription, schema: Json) -> Json:
    content = {} if endpoint.reply is None else {"schema": schema}
    ok = {"description": endpoint.doc, "content": {endpoint.content_type: content}}
    name = _operation_name(endpoint.path)
    refusals = set(REFUSALS if "POST" in endpoint.methods else _READING_REFUSALS)
    if endpoint.query:
        refusals.add(400)
    if endpoint.ends_with_client:
        refusals.add(422)
    operation: Json = {"x-role": endpoint.role}
    if endpoint.query:
        operation["parameters"] = _query_parameters(endpoint.query)
    bodies: Json = {}
    if endpoint.body is not None:
        ((of_body,), _) = reply_schemas([endpoint.body])
        bodies[endpoint.body_content_type] = {"schema": of_body}
    if endpoint.takes_form and endpoint.query:
        bodies[FORM] = {"schema": _form_of(endpoint.query)}
    if bodies:
        needs_body = endpoint.body is not None and not endpoint.body_is_optional
        operation["requestBody"] = {"required": needs_body, "content": bodies}
    return {
        method: _operation(f"{method}{name}", endpoint.doc, ok, sorted(refusals)) | operation
        for method in (name.lower() for name in endpoint.methods if name != "HEAD")
    }


def _form_of(parameters: Sequence[QueryParameter]) -> Json:
    schemas, _ = reply_schemas(parameter.type for parameter in parameters)
    names = (parameter.name for parameter in parameters)
    return {"type": "object", "properties": dict(zip(names, schemas, strict=True))}


def _query_parameters(parameters: Sequence[QueryParameter]) -> list[Json]:
    schemas, _ = reply_schemas(parameter.type for parameter in parameters)
    return [
        {
            "name": parameter.name,
            "in": "query",
            "required": False,
            "description": parameter.doc,
            "schema": schema,
        }
        for parameter, schema in zip(parameters, schemas, strict=True)
    ]


def _refusal_name(status: int) -> str:
    return f"Refusal{status}"


def _refusal(text: str) -> Json:
    schema = _reference("schemas", Problem.__name__)
    return {"description": text, "content": {PROBLEM: {"schema": schema}}}


def _reference(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}
