"""Check the code of the pages with eslint, tsc and node's own tests.

`python -m tools.pages` installs the locked packages of `tools/pages/` if the lock has changed,
writes the data for the types and tests of the pages to `build/pages/`, and runs the three checks.
Without node, or if the packages cannot be downloaded, it says so in one sentence and passes: the
pages themselves need neither.
"""

import json
import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from leverframe.core.profile import Profile
from leverframe.core.settings import Settings
from leverframe.host.ports import http_limits
from leverframe.interface.descriptions.listing import command_table
from leverframe.interface.descriptions.openapi import openapi
from leverframe.interface.table.lookup import MAX_COMMANDS
from leverframe.server.routes.api import mask_settings
from leverframe.server.routes.endpoints import ENDPOINTS

PROJECT = Path(__file__).parent.parent
TOOLS = PROJECT / "tools" / "pages"
INSTALLED = TOOLS / "node_modules"
BUILD = PROJECT / "build" / "pages"
OLDEST_NODE = 20
FETCH_SECONDS = 180

#: A version for each dialect of rules, the newest first.
VERSIONS = [("3.9", "1.75"), ("3.5", "1.36"), ("3.0", "1.58a")]

BIN = INSTALLED / ".bin"
RULES = TOOLS / "eslint.config.js"


def _digest(*files: Path) -> str:
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


# eslint skips files that have not changed since its last run. It does not notice when one of our
# own rules changes, so the name of its cache contains their digest.
KNOWN_LINT = BUILD / f"eslint-{_digest(RULES, TOOLS / 'package-lock.json')}"
LOGIC = PROJECT / "tests" / "web" / "logic"
CHECKS: dict[str, list[str | Path]] = {
    "eslint": [
        BIN / "eslint",
        *("--config", RULES, "--max-warnings", "0"),
        *("--cache", "--cache-strategy", "content", "--cache-location", KNOWN_LINT),
        *("src/leverframe/web", "tests/web", "tools/pages", "docs/static/try"),
    ],
    # Several threads would need twice the processor time; the other core is for the tests.
    "tsc": [BIN / "tsc", "--project", TOOLS, "--singleThreaded"],
    "logic": [
        *("node", "--import", LOGIC / "browser.mjs", "--test-reporter=dot", LOGIC / "all.mjs"),
    ],
}


def main() -> int:
    """Run every check; the exit status is 0 if all passed or none could be run."""
    if problem := hindrance():
        print(f"The code of the pages is not checked: {problem}.")
        return 0
    write_facts()
    return max([_run(name) for name in CHECKS])


def hindrance() -> str | None:
    """Return why nothing can be checked here; None once everything needed is installed."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are not installed"
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    if int(version.stdout.lstrip("v").partition(".")[0]) < OLDEST_NODE:
        return f"node {version.stdout.strip()} is older than {OLDEST_NODE}"
    return None if _install() else "npm cannot fetch the packages of tools/pages/package-lock.json"


def _install() -> bool:
    """Install the locked packages unless they are present; return False if the download fails."""
    mark = INSTALLED / f".locked-{_digest(TOOLS / 'package-lock.json')}"
    if mark.exists():
        return True
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        done = subprocess.run(command, cwd=TOOLS, check=False, timeout=FETCH_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    if done.returncode == 0:
        mark.touch()
    return done.returncode == 0


def _run(name: str) -> int:
    print(f"--- {name}", flush=True)
    return subprocess.run(CHECKS[name], cwd=PROJECT, check=False).returncode


def write_facts() -> None:
    """Write the types of the API's replies, and a command table and settings for the tests."""
    newest = Profile(*VERSIONS[0])
    document = openapi(newest, "Leverframe", "", ENDPOINTS)
    limits = {"commands": MAX_COMMANDS, "query_bytes": http_limits().query_bytes}
    facts = {
        "api.d.ts": declarations(document),
        "commands.json": _json(
            {f"{hw} {sw}": command_table(Profile(hw, sw)) for hw, sw in VERSIONS}
        ),
        "settings.json": _json(mask_settings(Settings())),
        "limits.json": _json(limits),
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    for name, text in facts.items():
        path = BUILD / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def declarations(document: dict[str, Any]) -> str:
    """Declare the OpenAPI document's schemas and replies as types of the namespace Api."""
    schemas = document["components"]["schemas"]
    lines = [f"  type {name} = {_type(schema)};" for name, schema in schemas.items()]
    replies = [f"    {path!r}: {_type(schema)};" for path, schema in _replies(document)]
    return "\n".join(
        ["declare namespace Api {", *lines, "  interface Replies {", *replies, "  }", "}", ""]
    )


def _replies(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return path and schema of every JSON reply."""
    read = {path: item["get"] for path, item in document["paths"].items() if "get" in item}
    contents = {path: get["responses"]["200"].get("content", {}) for path, get in read.items()}
    return [
        (path, content["application/json"]["schema"])
        for path, content in contents.items()
        if "application/json" in content
    ]


_PLAIN = {"string": "string", "number": "number", "integer": "number", "boolean": "boolean"}


def _type(schema: dict[str, Any]) -> str:
    """Return the TypeScript type for a JSON schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if alternatives := schema.get("anyOf") or schema.get("oneOf"):
        return _union(_type(one) for one in alternatives)
    if "enum" in schema:
        return _union(json.dumps(value) for value in schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _union(_type(schema | {"type": one}) for one in kind)
    if "prefixItems" in schema:
        return f"[{', '.join(_type(one) for one in schema['prefixItems'])}]"
    if kind == "array":
        return f"({_type(schema.get('items', {}))})[]"
    if kind == "object":
        return _object(schema)
    return "null" if kind == "null" else _PLAIN.get(str(kind), "unknown")


def _union(types: Any) -> str:
    return " | ".join(dict.fromkeys(types))


def _object(schema: dict[str, Any]) -> str:
    properties = schema.get("properties", {})
    if not properties:
        return f"Record<string, {_type(schema.get('additionalProperties', {}))}>"
    # The keys of readings are labels, which differ between versions, so any key is allowed.
    named = {name: one for name, one in properties.items() if re.fullmatch("[a-z_0-9]+", name)}
    labels = "" if named == properties else " & Record<string, number | null | undefined>"
    members = [f"{name}{_mark(name, schema)}: {_type(one)}" for name, one in named.items()]
    return f"{{ {'; '.join(members)} }}{labels}" if members else labels.removeprefix(" & ")


def _mark(name: str, schema: dict[str, Any]) -> str:
    """Mark fields that a reply can omit; fields with a default are always present."""
    required = schema.get("required", [])
    is_sure = not required or name in required or "default" in schema["properties"][name]
    return "" if is_sure else "?"


if __name__ == "__main__":
    sys.exit(main())
