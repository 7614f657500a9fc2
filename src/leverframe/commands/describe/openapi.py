"""The interface of one version as an OpenAPI 3.1 document.

OpenAPI describes one operation per path and method, while one command path holds a hundred
commands. So a path has one GET and one POST operation, and each command name is an optional query
parameter of both: the indices inside names are written out (`out0` to `out5`), and forms that share
a name are alternatives of one schema. A name whose value holds an index may be repeated, so it is a
list. `x-form` is the form as it is printed, `x-role` says who may use it.
"""

from collections.abc import Iterable
from itertools import groupby
from typing import Any
from urllib.parse import unquote

from leverframe.commands.describe.api_schemas import api_schemas, form_schema
from leverframe.commands.describe.availability import is_deprecated
from leverframe.commands.describe.endpoints import (
    API,
    BINARY,
    EVENT_STREAM,
    JSON,
    PROBLEM,
    REFUSALS,
    SENSED,
    SIM_PATH,
    STATUS_FILES,
    STREAM_DOC,
    STREAM_PATH,
    TRY_DOC,
    TRY_PATH,
    XML,
    Endpoint,
)
from leverframe.commands.describe.examples import example_body, example_texts
from leverframe.commands.describe.query_schema import (
    is_joined,
    item_names,
    list_body_schema,
    value_schema,
)
from leverframe.commands.table.bodies import FormBody, ListBody, Upload
from leverframe.commands.table.matching import COMMAND_PATHS, TABLE
from leverframe.commands.table.row import ADMIN, CONTROL, Row
from leverframe.commands.table.shape import Item
from leverframe.engine.labels import DIGITAL_INPUTS
from leverframe.profile import Profile

Json = dict[str, Any]

FORM = "application/x-www-form-urlencoded"
TEXT = "text/plain"
POST_PATH = "/post.cgi"
_INTRODUCTION = (
    "Commands of a controller that is {profile}. Several commands may be joined with `&`, also "
    "repeated names; they are carried out in the order of the query, all of them or none. Send "
    "the separators `*` and `:` as they are and percent-encode them inside texts."
)
_NUMBER_OR_NEXT: Json = {"anyOf": [{"type": "number", "minimum": 0}, {"const": "next"}]}
_NUMBER_OR_NONE: Json = {"anyOf": [{"type": "number"}, {"const": "none"}]}
_LEVEL: Json = {"enum": [0, 1, "none"]}
_BENCH: dict[str, tuple[str, Json]] = {
    "advance": ("Move virtual time by seconds, or to the next due moment.", _NUMBER_OR_NEXT),
    "onewire": ("Attach a sensor to the 1-Wire bus; none clears the bus.", {"type": "string"}),
    "i2c": ("The sensor that answers on the I2C bus.", {"type": "string"}),
    "sms": ("NUMBER:TEXT lets an SMS arrive.", {"type": "string"}),
    "barcode": ("What was scanned.", {"type": "string", "maxLength": 64}),
    "plant": ("Wire a plant: KIND*FIELD:VALUE...; none removes all.", {"type": "string"}),
    "ping": (
        "HOST:MILLISECONDS lets a host answer pings, HOST:none no longer.",
        {"type": "string"},
    ),
}
#: Statuses of paths that only show something.
_READING_REFUSALS = (401, 403, 404, 405, 503)


def openapi(profile: Profile, title: str, version: str) -> Json:
    """The whole document, of what this profile offers."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version,
            "description": _INTRODUCTION.format(profile=profile),
        },
        "security": [{}, {"basic": []}],
        "paths": {
            **{path: _command_path(path, profile) for path in sorted(COMMAND_PATHS)},
            **{row.form.path: _download(row) for row in TABLE if not row.form.items},
            **{path: _status_file(path) for path in STATUS_FILES},
            **{endpoint.path: _api_path(endpoint) for endpoint in API},
            STREAM_PATH: _stream_path(),
            TRY_PATH: _try_path(),
            SIM_PATH: _sim_path(),
        },
        "components": {
            "schemas": api_schemas(),
            "responses": {_refusal_name(s): _refusal(text) for s, text in REFUSALS.items()},
            "securitySchemes": {"basic": {"type": "http", "scheme": "basic"}},
        },
    }


def _command_path(path: str, profile: Profile) -> Json:
    rows = [row for row in TABLE if row.form.path == path and row.form.items]
    rows = [row for row in rows if row.offered(profile)]
    name = _operation_name(path)
    get = _operation(f"get{name}", "Carry out the commands of the query.", _command_reply())
    post = _operation(f"post{name}", "The same with POST.", _command_reply())
    parameters = _parameters(rows, profile)
    if path != POST_PATH:
        return {"parameters": parameters, "get": get, "post": post}
    get["summary"] = "The present states; the commands of this path take POST."
    post["summary"] = "Carry out one command that takes a body."
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
    """One parameter for each name, in the order of the table."""
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
        # Or programs would encode the separators.
        parameter["allowReserved"] = True
    if all(item.value is None for _, item in forms):
        parameter["allowEmptyValue"] = True
    if all(is_deprecated(row, profile) for row, _ in forms):
        parameter["deprecated"] = True
    return parameter


def _form_of_value(row: Row, item: Item, profile: Profile) -> Json:
    """The schema of one form's value with what else is known about the form."""
    schema = value_schema(item, row.params, profile)
    known: Json = {"x-form": row.line, "x-role": row.role}
    if len(row.form.items) > 1:
        known["x-together"] = [other.text.partition("=")[0] for other in row.form.items]
    if item.value is not None:
        known["examples"] = [_example_value(row, item, schema, profile)]
    return schema | known


def _alternatives(forms: list[tuple[Row, Item]], schemas: list[Json]) -> Json:
    """The server takes the first form that fits, so more than one may."""
    docs = [{"description": row.doc} for row, _ in forms]
    return {"anyOf": [schema | doc for doc, schema in zip(docs, schemas, strict=True)]}


def _example_value(row: Row, item: Item, schema: Json, profile: Profile) -> str | int:
    text = unquote(item.write(example_texts(row, profile)).partition("=")[2])
    return int(text) if schema["type"] == "integer" else text


def _body_content(rows: list[Row], profile: Profile) -> Json:
    """The bodies of all commands by their content type."""
    kinds: dict[str, list[Json]] = {}
    for row in rows:
        known: Json = {"description": row.doc, "x-form": row.line, "x-role": row.role}
        if (example := example_body(row, profile)) is not None:
            known["x-example"] = example
        match row.body:
            case FormBody():
                kinds.setdefault(FORM, []).append(form_schema(row.body, profile) | known)
            case ListBody():
                schema = list_body_schema(row.body, profile)
                kinds.setdefault("text/plain", []).append(schema | known)
            case Upload(what):
                known["description"] += f" The body is {what}."
                kinds.setdefault(BINARY, []).append(known)
    return {kind: {"schema": {"anyOf": schemas}} for kind, schemas in kinds.items()}


def _command_reply() -> Json:
    schema = _reference("schemas", "Reply")
    return {"description": "The states after the command.", "content": {XML: {"schema": schema}}}


def _download(row: Row) -> Json:
    ok = {"description": row.doc, "content": {BINARY: {}}}
    name = _operation_name(row.form.path)
    return {"get": _shown(f"get{name}", row.doc, ok, row.role)}


def _status_file(path: str) -> Json:
    content_type, doc = STATUS_FILES[path]
    schema = _reference("schemas", "XmlStatus" if content_type == XML else "JsonStatus")
    ok = {"description": doc, "content": {content_type: {"schema": schema}}}
    return {"get": _shown(f"get{_operation_name(path)}", doc, ok)}


def _api_path(endpoint: Endpoint) -> Json:
    schema = _reference("schemas", endpoint.schema)
    ok = {"description": endpoint.doc, "content": {endpoint.content_type: {"schema": schema}}}
    name = _operation_name(endpoint.path)
    operation = _shown(f"get{name}", endpoint.doc, ok, endpoint.role)
    if endpoint.query:
        operation["parameters"] = [_plain_parameter(*field) for field in endpoint.query]
        operation["responses"]["400"] = _reference("responses", _refusal_name(400))
    return {"get": operation}


def _shown(name: str, summary: str, ok: Json, role: str | None = None) -> Json:
    operation = _operation(name, summary, ok, _READING_REFUSALS)
    return operation | {"x-role": role} if role else operation


def _stream_path() -> Json:
    content = {EVENT_STREAM: {"schema": {"type": "string"}}}
    ok = {"description": STREAM_DOC, "content": content}
    return {"get": _shown("getApiStream", STREAM_DOC, ok, CONTROL)}


def _try_path() -> Json:
    schema = _reference("schemas", "RuleTrial")
    ok = {"description": TRY_DOC, "content": {JSON: {"schema": schema}}}
    operation = _operation("postApiRulesTry", TRY_DOC, ok) | {"x-role": ADMIN}
    command = {"type": "string", "pattern": "^event="}
    operation["requestBody"] = {"required": True, "content": {TEXT: {"schema": command}}}
    return {"post": operation}


def _sim_path() -> Json:
    parameters = [_plain_parameter(name, *known) for name, known in _BENCH.items()]
    parameters += [
        _plain_parameter(
            label,
            f"What the board senses as {label}; none unplugs it.",
            _LEVEL if label in DIGITAL_INPUTS else _NUMBER_OR_NONE,
        )
        for label in SENSED
    ]
    summary = "Make the simulated board set_readings something, or move virtual time."
    operations = {
        method: _operation(f"{method}SimCgi", summary, _command_reply()) | {"x-role": ADMIN}
        for method in ("get", "post")
    }
    return {"parameters": parameters, **operations}


def _plain_parameter(name: str, doc: str, schema: Json) -> Json:
    return {"name": name, "in": "query", "required": False, "description": doc, "schema": schema}


def _refusal_name(status: int) -> str:
    return f"Refusal{status}"


def _refusal(text: str) -> Json:
    schema = _reference("schemas", "Problem")
    return {"description": text, "content": {PROBLEM: {"schema": schema}}}


def _reference(kind: str, name: str) -> Json:
    return {"$ref": f"#/components/{kind}/{name}"}
