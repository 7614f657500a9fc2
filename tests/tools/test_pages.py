"""The check of the pages' code: types from schemas, a locked toolchain, and no node needed."""

import json
import re

import pytest

from tools import pages


def test_without_node_the_check_says_so_and_passes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    assert pages.main() == 0
    said = "The code of the pages is not checked: node and npm are not installed.\n"
    assert capsys.readouterr().out == said


def test_schemas_become_types() -> None:
    reading = {"type": ["number", "null"]}
    schemas = {
        "State": {
            "type": "object",
            "properties": {"DS1": reading, "time": {"type": "number"}, "pid": {"$ref": "#/x/Pid"}},
            "required": ["DS1", "time"],
        },
        "Pid": {"type": "object", "properties": {"on": {"type": "boolean", "default": False}}},
        "Kinds": {"type": "array", "items": {"enum": ["ok", "degraded"]}},
        "Names": {"type": "object", "additionalProperties": {"type": "string"}},
        "Pair": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}]},
    }
    content = {"application/json": {"schema": {"$ref": "#/x/Names"}}}
    get = {"responses": {"200": {"content": content}}}
    document = {"components": {"schemas": schemas}, "paths": {"/api/names": {"get": get}}}
    assert pages.declarations(document).splitlines() == [
        "declare namespace Api {",
        "  type State = { time: number; pid?: Pid } & Record<string, number | null | undefined>;",
        "  type Pid = { on: boolean };",
        '  type Kinds = ("ok" | "degraded")[];',
        "  type Names = Record<string, string>;",
        "  type Pair = [number, string];",
        "  interface Replies {",
        "    '/api/names': Names;",
        "  }",
        "}",
    ]


def test_every_package_is_pinned_and_no_registry_is_named() -> None:
    wanted = json.loads((pages.TOOLS / "package.json").read_text())["devDependencies"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in wanted.values())
    locked = json.loads((pages.TOOLS / "package-lock.json").read_text())["packages"]
    del locked[""]
    assert {name: locked[f"node_modules/{name}"]["version"] for name in wanted} == wanted
    assert all(one["integrity"].startswith("sha512-") for one in locked.values())
    assert all("resolved" not in one for one in locked.values())
