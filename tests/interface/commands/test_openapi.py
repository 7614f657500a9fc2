"""The OpenAPI document: valid, and in agreement with what the servers do."""

import json
from functools import lru_cache
from typing import Any, get_type_hints
from urllib.parse import unquote

import pytest
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from leverframe.core.profile import Profile
from leverframe.devices.simulated.simulated_board import SETTABLE
from leverframe.interface import status_files
from leverframe.interface.descriptions.listing import fill
from leverframe.interface.descriptions.openapi import openapi
from leverframe.interface.descriptions.schemas import JSON, REFUSALS, text_pattern, value_schema
from leverframe.interface.table.lookup import COMMAND_PATHS, TABLE
from leverframe.interface.table.params import Text
from leverframe.interface.table.refusals import Refusal
from leverframe.interface.table.row import Row
from leverframe.interface.table.shape import Item
from leverframe.server.http.messages import AnyReply, Reply, StreamReply
from leverframe.server.routes.endpoints import ENDPOINTS, VALUES, Endpoint
from leverframe.server.routes.history import CSV
from leverframe.server.routes.sim import SENSED
from leverframe.testing import LoopTwin
from tests.cases import for_each

NEWEST = Profile()
PROFILES = [NEWEST, Profile("3.5", "1.44"), Profile("3.0", "1.36")]


@lru_cache
def document(profile: Profile = NEWEST) -> dict[str, Any]:
    return openapi(profile, "Leverframe", "0.1.0", ENDPOINTS)


def parameters(path: str, profile: Profile = NEWEST) -> dict[str, dict[str, Any]]:
    item = document(profile)["paths"][path]
    found = item.get("parameters") or item["post"]["parameters"]
    return {parameter["name"]: parameter for parameter in found}


def value(parameter: dict[str, Any]) -> dict[str, Any]:
    """The schema of one value of a parameter that may be a list."""
    schema: dict[str, Any] = parameter["schema"]
    return schema["items"] if schema.get("type") == "array" else schema


def alternatives(parameter: dict[str, Any]) -> list[dict[str, Any]]:
    schema = value(parameter)
    return list(schema.get("anyOf", [schema]))


@pytest.mark.thorough
def test_document_is_valid_openapi() -> None:
    assert list(OpenAPIV31SpecValidator(document()).iter_errors()) == []


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_document_is_plain_data(profile: Profile) -> None:
    assert json.loads(json.dumps(document(profile))) == document(profile)


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_every_schema_of_a_parameter_is_a_valid_one(profile: Profile) -> None:
    for path in COMMAND_PATHS:
        for parameter in parameters(path, profile).values():
            Draft202012Validator.check_schema(parameter["schema"])


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_every_form_that_the_version_offers_is_in_the_document(profile: Profile) -> None:
    described = {
        form["x-form"]
        for path in COMMAND_PATHS
        for parameter in parameters(path, profile).values()
        for form in alternatives(parameter)
    }
    assert described == {row.line for row in TABLE if row.is_offered(profile) and row.form.items}


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_every_example_fits_its_schema(profile: Profile) -> None:
    for path in COMMAND_PATHS:
        for parameter in parameters(path, profile).values():
            for form in alternatives(parameter):
                for example in form.get("examples", ()):
                    assert Draft202012Validator(form).is_valid(example), (form, example)


@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_accepted_values_of_a_command_fit_its_schema(profile: Profile) -> None:
    """Each field at each of its examples, while the other fields are as in the row's example."""
    for row in TABLE:
        if not row.is_offered(profile):
            continue
        for item in row.form.items:
            schema = Draft202012Validator(value_schema(item, row.params, profile))
            for text in _values_to_send(row, item, profile):
                number = int(text) if schema.schema["type"] == "integer" else text
                assert schema.is_valid(number), (item.text, text)


def _values_to_send(row: Row, item: Item, profile: Profile) -> list[str]:
    base = fill(row.params, row.example, profile)
    sent = []
    for letter in item.value.holes if item.value else ():
        if letter not in base.texts:
            continue
        for text in row.params[letter].examples(profile, base.values):
            texts = fill(row.params, {**base.texts, letter: text}, profile).texts
            sent.append(unquote(item.write(texts).partition("=")[2]))
    return sent


def test_indices_in_names_are_written_out() -> None:
    names = parameters("/outs.cgi")
    assert {f"out{n}" for n in range(6)} | {f"pwm{n}" for n in range(4)} <= set(names)
    assert "out6" not in names
    assert {f"onewirename{a}{b}" for a in range(3) for b in range(3)} <= set(parameters("/stm.cgi"))


def test_forms_with_the_same_name_are_alternatives() -> None:
    forms = alternatives(parameters("/outs.cgi")["out"])
    assert [form["x-form"] for form in forms] == [
        "GET /outs.cgi?out=out<A>",
        "GET /outs.cgi?out=<A>",
    ]
    assert forms[0]["pattern"] == "^out[0-5]$"


def test_value_of_several_fields_has_a_pattern_and_the_schema_of_each_field() -> None:
    parameter = parameters("/stm.cgi")["oname"]
    (form,) = alternatives(parameter)
    assert form["pattern"] == "^[0-5].{0,15}$"
    assert form["x-fields"]["A"] == {"type": "integer", "minimum": 0, "maximum": 5}
    assert parameter["schema"]["type"] == "array"


def test_separators_are_to_be_sent_as_they_are() -> None:
    names = parameters("/inpa.cgi")
    assert names["event"]["allowReserved"] is True
    assert "allowReserved" not in names["eventdel"]


def test_trailing_fields_may_be_left_out_from_the_end_on() -> None:
    (form,) = alternatives(parameters("/inpa.cgi")["event"])
    fits = Draft202012Validator(form).is_valid
    shortest = "0*10*1*2150*50*0*0*0*0*0*0*0"
    assert [fits(text) for text in (shortest, f"{shortest}*1", f"{shortest}*1*0*0*0")] == [True] * 3
    assert not fits(f"{shortest}*")
    assert not fits("0*10*1")


def test_command_without_value_is_sent_empty() -> None:
    assert parameters("/stm.cgi")["gsmsendsms"]["allowEmptyValue"] is True


def test_every_body_is_in_the_document() -> None:
    content = document()["paths"]["/post.cgi"]["post"]["requestBody"]["content"]
    forms = {
        kind: {schema["x-form"].partition("?")[2] for schema in body["schema"]["anyOf"]}
        for kind, body in content.items()
    }
    assert forms == {
        "text/plain": {
            *("mod_custom_save", "modbus_readings_save"),
            *("sched_save", "users_save"),
        },
        "application/x-www-form-urlencoded": {"oled_save", "signin", "passwd"},
        "application/octet-stream": {"wwwfileupload", "settingsupload", "pictureupload"},
        "multipart/form-data": {"wwwfileupload", "settingsupload", "pictureupload"},
    }


def test_list_body_fits_its_schema_whatever_stands_around_it() -> None:
    content = document()["paths"]["/post.cgi"]["post"]["requestBody"]["content"]
    for schema in content["text/plain"]["schema"]["anyOf"]:
        fits = Draft202012Validator(schema).is_valid
        assert fits(schema["x-example"])
        assert fits("{" + schema["x-example"] + "}")
        assert not fits("no list")


def test_secrets_are_masked_in_the_schema_of_the_settings() -> None:
    schemas = document()["components"]["schemas"]
    assert schemas["Email"]["properties"]["password"]["type"] == ["string", "null"]
    assert schemas["ControlUser"]["properties"]["password"]["type"] == ["string", "null"]
    assert schemas["Email"]["properties"]["host"]["type"] == "string"


def test_document_has_the_paths_that_the_server_answers() -> None:
    downloads = {row.form.path for row in TABLE if not row.form.items}
    others = {endpoint.path for endpoint in ENDPOINTS}
    assert {*downloads, *status_files.PATHS} < others
    assert len(others) == len(ENDPOINTS)
    assert set(document()["paths"]) == {*COMMAND_PATHS, *others}


@for_each("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
def test_function_gives_what_the_table_says(endpoint: Endpoint) -> None:
    if endpoint.function.__name__ == "<lambda>":
        return
    given = get_type_hints(endpoint.function, include_extras=True)["return"]
    assert given in (endpoint.reply, Reply, StreamReply, AnyReply)


@for_each("endpoint", ENDPOINTS, ids=lambda endpoint: endpoint.path)
async def test_another_method_is_refused_with_those_that_are_taken(endpoint: Endpoint) -> None:
    twin = await LoopTwin.start()
    operations = {name.lower() for name in endpoint.methods if name != "HEAD"}
    assert operations == set(document()["paths"][endpoint.path])
    for method in {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"} - set(endpoint.methods):
        reply = await twin.ask(endpoint.path, method)
        assert reply.status == 405
        assert dict(reply.headers)["Allow"] == ", ".join(endpoint.methods)


def test_bench_takes_what_the_simulated_board_feels() -> None:
    assert set(SENSED) == SETTABLE


@pytest.mark.parametrize("profile", PROFILES, ids=str)
@for_each(
    "endpoint", [x for x in VALUES if x.content_type != CSV], ids=lambda endpoint: endpoint.path
)
async def test_responses_of_the_server_fit_their_schema(
    profile: Profile, endpoint: Endpoint
) -> None:
    twin = await LoopTwin.start(profile)
    await twin.ok("/inpa.cgi?event=0*0*0*0*0*0*0*0*0*0*0*0")
    await twin.ok("/outs.cgi?ortime=060")
    await twin.ok("/outs.cgi?out0=1")
    await twin.ok("/stm.cgi?em4=secret")
    reply = await twin.ok(endpoint.path)
    assert reply.content_type == endpoint.content_type
    description = document(profile)
    ok = description["paths"][endpoint.path]["get"]["responses"]["200"]
    schema = {
        "components": description["components"],
        **ok["content"][endpoint.content_type]["schema"],
    }
    shown = json.loads(reply.body) if endpoint.content_type == JSON else reply.body.decode()
    errors = Draft202012Validator(schema).iter_errors(shown)
    assert [error.message for error in errors] == []


async def test_refusal_fits_its_schema() -> None:
    twin = await LoopTwin.start()
    reply = await twin.ask("/stm.cgi?oname=7Pump")
    schema = document()["components"]["schemas"]["Problem"]
    assert reply.status == 400
    assert reply.content_type == "application/problem+json"
    assert Draft202012Validator(schema).is_valid(json.loads(reply.body))


def all_refusals(kind: type[Refusal] = Refusal) -> set[int]:
    return {kind.status}.union(*(all_refusals(below) for below in kind.__subclasses__()))


def test_every_refusal_status_is_documented() -> None:
    assert all_refusals() <= set(REFUSALS)


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ({"type": "integer", "minimum": 0, "maximum": 5}, "[0-5]"),
        ({"type": "integer", "minimum": -5, "maximum": 100}, "-?[0-9]{1,3}"),
        ({"type": "integer", "enum": [1, 2, 24]}, "(?:1|2|24)"),
        ({"type": "string", "minLength": 1, "maxLength": 3}, ".{1,3}"),
        (Text(9, pattern="a|b").schema(NEWEST), "(?:a|b)"),
        ({"oneOf": [{"enum": ["0", "="]}, {"enum": ["0", "="]}]}, "[0=]"),
    ],
)
def test_pattern_of_a_schema(schema: dict[str, Any], pattern: str) -> None:
    assert text_pattern(schema) == pattern


def test_requester_is_described_by_its_own_schema() -> None:
    schemas = document()["components"]["schemas"]
    assert "role" in schemas["AccountReport"]["properties"]
    assert "password" not in schemas["AccountReport"]["properties"]
    assert schemas["Start"]["properties"]["account"]["$ref"].endswith("/AccountReport")
