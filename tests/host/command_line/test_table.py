"""The table of the command line: every task can be run as it is declared."""

import ast
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from leverframe import __version__
from leverframe.__main__ import main
from leverframe.core.errors import DONE, NOT_DONE
from leverframe.fleet.operations.table import OPERATIONS
from leverframe.fleet.progress import PATHS
from leverframe.host.command_line.entry import BUILT
from leverframe.host.command_line.listings import completions
from leverframe.host.command_line.parser import SECTIONS, command_line_parser
from leverframe.host.command_line.table import COMMANDS
from leverframe.host.command_line.task import Group, Task
from leverframe.host.configuration.keys import keys
from tests.cases import for_each


def tasks() -> Iterator[tuple[str, Task]]:
    for command in COMMANDS:
        if isinstance(command, Group):
            yield from ((f"{command.name} {task.name}", task) for task in command.tasks)
        else:
            yield command.name, command


TASKS = dict(tasks())
#: The arguments that a client is made from.
OF_CLIENT = {"node", "user", "ca_file"}
KNOWN_TO_NODES = {one.name for endpoint in OPERATIONS for one in endpoint.query}
every_task = for_each("task", TASKS.values(), ids=list(TASKS))


def requests_of_commands() -> Iterator[tuple[str, str]]:
    """Find what the work of `leverframe fleet` asks a node: method and path."""
    of_fleet = [task.function for name, task in TASKS.items() if name.startswith("fleet ")]
    for module in {function.partition(":")[0] for function in of_fleet}:
        source = Path(import_module(f"leverframe.{module}").__file__ or "")
        for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    func=ast.Attribute(value=ast.Name(id="client"), attr="get" | "post" as method),
                    args=[ast.Constant(value=str(name)), *_],
                ):
                    yield method.upper(), f"{PATHS}/{name}".rstrip("/")


def test_requests_of_commands_to_a_node_are_declared_as_sent() -> None:
    asked = set(requests_of_commands())
    assert ("GET", f"{PATHS}/list") in asked
    assert asked <= {(one.methods[0], one.path) for one in OPERATIONS}


@pytest.mark.parametrize("words", ["run", "fleet run"])
def test_flag_that_refusals_of_targets_name_is_accepted(words: str) -> None:
    options = command_line_parser().parse_args([*words.split(), "--allow-local-targets"])
    assert options.allow_local_targets


@every_task
def test_parameters_of_a_function_are_the_arguments_of_its_task(task: Task) -> None:
    module, _, name = task.function.partition(":")
    function = getattr(import_module(f"leverframe.{module}"), name)
    arguments = set(BUILT) - {"client"} if task.config is not None else set()
    for argument in task.arguments:
        longest = max(argument.names, key=len).lstrip("-").replace("-", "_")
        arguments.add(argument.settings.get("dest", longest))
    parameters = set(inspect.signature(function).parameters)
    if "client" in parameters:
        assert arguments >= OF_CLIENT
        arguments = (arguments - OF_CLIENT) | {"client"}
        # One parameter may receive the remaining arguments, which are sent under the same names.
        if others := parameters - arguments:
            assert len(others) == 1
            remaining = arguments - parameters
            assert remaining <= KNOWN_TO_NODES
            parameters = (parameters - others) | remaining
    assert parameters <= arguments
    # The options of `run` are keys of the configuration, also where they have another name.
    assert arguments - parameters - set(BUILT) <= {"log_level"}


@pytest.mark.parametrize("words", [[], ["fleet"], ["unit"], ["config"]])
def test_command_line_without_a_task_prints_its_help_as_an_error(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    asked = help_of([*words, "--help"], capsys)
    assert main(words) == NOT_DONE
    assert capsys.readouterr() == ("", asked)


def test_every_key_stands_in_one_section_of_the_help() -> None:
    assert sorted(sum(SECTIONS.values(), ())) == sorted(key.name for key in keys())


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_that_is_installed(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == DONE
    assert capsys.readouterr().out in completions().values()


def help_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 0
    return capsys.readouterr().out


@for_each("words", TASKS)
def test_help_says_what_a_task_does(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"usage: leverframe {words}" in help_of([*words.split(), "--help"], capsys)


@for_each("words", ["run", "unit", "unit plan"])
def test_help_is_a_command_and_an_option(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    asked = help_of(["help", *words.split()], capsys)
    assert asked == help_of([*words.split(), "--help"], capsys)


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_both_flags_print_the_version(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert help_of([flag], capsys) == f"leverframe {__version__}\n"


def test_help_alone_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    text = help_of(["help"], capsys)
    assert all(f"\n    {command.name} " in text for command in COMMANDS)


@pytest.mark.parametrize(
    "words",
    [
        "unit apply plan.json --yes north --batch 3 south",
        "unit apply --yes --batch 3 plan.json north south",
        "unit apply plan.json north south --batch=3 --yes",
        "unit apply --yes plan.json --batch 3 -- north south",
    ],
)
def test_options_may_stand_before_between_and_behind_names(words: str) -> None:
    given = words.split()
    options = command_line_parser(given).parse_args(given)
    assert (str(options.file), options.units) == ("plan.json", ["north", "south"])
    assert (options.yes, options.batch) == (True, 3)
