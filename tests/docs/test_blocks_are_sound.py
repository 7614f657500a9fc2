"""Blocks of code are well-formed, and every name in the text exists."""

import argparse
import functools
import json
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

import pytest
import yaml

from leverframe.core.errors import DONE
from leverframe.core.profile import Profile
from leverframe.fleet.fleet_file import read_fleet
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.host.command_line.entry import carry_out
from leverframe.host.command_line.parser import command_line_parser
from leverframe.host.configuration import read_config
from leverframe.host.configuration.reader import Sources
from leverframe.host.scenario import read_scenario
from leverframe.interface.descriptions.openapi import openapi
from leverframe.interface.descriptions.schemas import item_names
from leverframe.interface.table.lookup import TABLE
from leverframe.server.routes.endpoints import ENDPOINTS, SIM_PATH
from leverframe.units.watch_web import ENDPOINTS as WATCHED
from tests.cases import for_each
from tests.docs.blocks import (
    DOCS,
    DOCUMENTS,
    PROJECT,
    SHELL,
    WRITTEN,
    Block,
    blocks,
    blocks_in,
    name_of,
)

#: Of unit files and inventories.
UNIT_KEYS = {"access", "hardware", "rules", "outputs", "units"}
SCENARIO_KEYS = {"start", "record", "sim", "commands", "plants", "at"}
INTERFACE = openapi(Profile(), "", "", ENDPOINTS)["paths"]
BENCH = {parameter["name"] for parameter in INTERFACE[SIM_PATH]["get"]["parameters"]}
PATHS = (
    {endpoint.path for endpoint in (*ENDPOINTS, *OPERATIONS)}
    | {row.form.path for row in TABLE}
    | {endpoint.path for endpoint in WATCHED}
)
_SHELL_ENDS = {"|", "||", "&", "&&", ";", ">", "<", "2>"}


@for_each("document", DOCUMENTS, ids=name_of)
def test_every_block_says_its_language(document: Path) -> None:
    assert [str(block) for block in blocks(document) if not block.language] == []


@for_each("block", blocks_in(SHELL), ids=str)
def test_shell_is_shell(block: Block) -> None:
    checked = subprocess.run(
        ["sh", "-n"], input=block.text, text=True, capture_output=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    if not block.is_hidden:
        assert only_in_bash(block.text) == []


def only_in_bash(shell: str) -> list[str]:
    """Return constructs that other shells do not know."""
    return re.findall(r"\{\w+\.\.\w+\}|\[\[|\(\(|<\(|\$'|\bfunction\b|&>", shell)


def test_bash_only_construct_is_found() -> None:
    assert only_in_bash("echo {1..28}") == ["{1..28}"]
    assert only_in_bash("[[ -f x ]] &> y") == ["[[", "&>"]
    assert only_in_bash("rest=$(printf '*00%.0s' $(seq 28)); [ -f x ] && curl \"$c/x\"") == []


def find_early_calls(shell: str) -> list[str]:
    """Return lines directly after the start of a controller that does not answer yet."""
    return re.findall(r"^leverframe run .*&\n(?!leverframe run )(\S.*)", shell, re.MULTILINE)


@for_each("block", blocks_in(SHELL, WRITTEN), ids=str)
def test_pasted_block_waits_for_the_controller(block: Block) -> None:
    assert block.is_hidden or find_early_calls(block.text) == []


def test_call_directly_after_the_start_is_found() -> None:
    start = "leverframe run --port 8081 &\n"
    assert find_early_calls(start + "curl http://127.0.0.1:8081/") == [
        "curl http://127.0.0.1:8081/"
    ]
    assert find_early_calls(start + start) == []
    assert find_early_calls("leverframe run & sleep 2\ncurl http://127.0.0.1:8080/") == []


@pytest.mark.parametrize("block", blocks_in(("toml",)), ids=str)
def test_program_reads_every_toml_block(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text(block.text, encoding="utf-8")
    values = tomllib.loads(block.text)
    if values.keys() & SCENARIO_KEYS:
        read_scenario(file)
        return
    if values.keys() & {"controllers", "cluster"}:
        backup = tmp_path / "cellar.toml"
        backup.write_text('hw = "3.5"\nsw = "1.49"\n[settings]\n', encoding="utf-8")
        with chdir(tmp_path):
            carry_out(["firmware", "keygen", "owner"])
        assert read_fleet(Sources(file, {}, {})).mistakes == []
        return
    if values.keys() & UNIT_KEYS:
        shutil.copytree(PROJECT / "examples" / "units", tmp_path, dirs_exist_ok=True)
        (tmp_path / "secrets.toml").touch(mode=0o600)
        assert carry_out(["unit", "check", str(file)]) == DONE
        return
    with chdir(tmp_path):
        carry_out(["firmware", "keygen", "owner"])
        read_config(file, {"board.kind": "linux"} if "board" in values else {})


@pytest.mark.parametrize("block", blocks_in(("json",)), ids=str)
def test_json_is_json(block: Block) -> None:
    json.loads(block.text)


@for_each("block", blocks_in(("yaml",)), ids=str)
def test_yaml_is_yaml(block: Block) -> None:
    yaml.safe_load(block.text)


@pytest.mark.parametrize("block", blocks_in(("python",)), ids=str)
def test_python_is_python(block: Block) -> None:
    compile(block.text, str(block), "exec")


def code_in(document: Path) -> str:
    """Return blocks and `code` of the text, one per line."""
    text = document.read_text(encoding="utf-8")
    shell = [x.text.replace("\\\n", " ") for x in blocks(document) if x.language in SHELL]
    return "\n".join([*shell, *re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)])


def calls_of_the_program(text: str) -> Iterator[list[str]]:
    for call in re.findall(r"(?:^|[\s/(])leverframe ([a-z][^\n#]*)", text):
        words: list[str] = []
        for word in shlex.split(call.replace("'", "").replace('"', "")):
            if word in _SHELL_ENDS or word.startswith((">", "|")):
                break
            words.append(word.rstrip(");"))
        yield words


program_parser = functools.cache(command_line_parser)


def unknown_words(words: list[str]) -> list[str]:
    """Return commands, tasks and options that the program does not have."""
    parser: argparse.ArgumentParser = program_parser()
    rest = list(words)
    while rest and (tasks := _tasks_of(parser)):
        names = rest.pop(0).split("|")
        if unknown := [name for name in names if name not in tasks]:
            return unknown
        parser = tasks[names[0]]
    options = [word.partition("=")[0] for word in rest if word.startswith("-")]
    return [option for option in options if option not in parser._option_string_actions]


def _tasks_of(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


@for_each("document", DOCUMENTS, ids=name_of)
def test_every_command_line_in_the_text_exists(document: Path) -> None:
    calls = calls_of_the_program(code_in(document))
    assert [words for words in calls if unknown_words(words)] == []


def test_command_line_that_does_not_exist_is_found() -> None:
    assert unknown_words(["run", "--port", "1", "--warp"]) == ["--warp"]
    assert unknown_words(["backup", "shew", "x.bin"]) == ["shew"]
    assert unknown_words(["config", "check|example"]) == []


def test_every_command_and_task_of_the_program_is_in_the_reference() -> None:
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    headings = "\n".join(re.findall(r"^## (.*leverframe .*)$", page, re.MULTILINE))
    for command, parser in _tasks_of(command_line_parser()).items():
        if command == "help":
            continue
        assert f"leverframe {command}" in headings
        for task in _tasks_of(parser):
            assert re.search(rf"leverframe {command} \S*\b{task}\b", headings), (command, task)


def names_at(path: str) -> set[str]:
    profiles = (Profile(), Profile("3.0", "1.58a"), Profile("3.5", "1.19"))
    return {
        name
        for row in TABLE
        if row.form.path == path
        for item in row.form.items
        for profile in profiles
        for name in item_names(item, row.params, profile)
    }


def commands_in(text: str) -> Iterator[tuple[str, str]]:
    """Return path and name of every command in a text."""
    for path, query in re.findall(r"(/[a-z]+\.cgi)\?([^\s'\"`]+)", text):
        for item in query.split("&"):
            if name := item.partition("=")[0]:
                yield path, name


@for_each("document", WRITTEN, ids=name_of)
def test_every_command_in_the_text_exists(document: Path) -> None:
    shown = set(commands_in(document.read_text(encoding="utf-8")))
    assert {
        (path, name)
        for path, name in shown
        if name not in (BENCH if path == SIM_PATH else names_at(path))
    } == set()


@for_each("document", WRITTEN, ids=name_of)
def test_every_path_in_the_text_exists(document: Path) -> None:
    named = set(re.findall(r"(?<![\w.])/(?:api|json|xml)/[\w./-]*\w", code_in(document)))
    assert named - PATHS == set()
