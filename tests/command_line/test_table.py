"""The table of the command line: every task can be run as it is declared."""

import inspect
from collections.abc import Iterator
from importlib import import_module

import pytest

from leverframe import __version__
from leverframe.__main__ import main
from leverframe.command_line.entry import MADE
from leverframe.command_line.table import COMMANDS
from leverframe.command_line.task import Group, Task


def tasks() -> Iterator[tuple[str, Task]]:
    for command in COMMANDS:
        if isinstance(command, Group):
            yield from ((f"{command.name} {task.name}", task) for task in command.tasks)
        else:
            yield command.name, command


TASKS = dict(tasks())
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())


@every_task
def test_the_parameters_of_a_function_are_the_arguments_of_its_task(task: Task) -> None:
    module, _, name = task.function.partition(":")
    function = getattr(import_module(f"leverframe.{module}"), name)
    given = set(MADE) if task.takes_config else set()
    for argument in task.arguments:
        longest = max(argument.names, key=len).lstrip("-").replace("-", "_")
        given.add(argument.settings.get("dest", longest))
    taken = set(inspect.signature(function).parameters)
    assert taken <= given
    # The options of `run` are keys of the configuration, also where they have another name.
    assert given - taken - set(MADE) <= {"log_level"}


@every_task
def test_help_says_what_a_task_does(task: Task, capsys: pytest.CaptureFixture[str]) -> None:
    words = next(words for words, known in TASKS.items() if known is task)
    with pytest.raises(SystemExit) as left:
        main(["help", *words.split()])
    assert left.value.code == 0
    assert f"usage: leverframe {words}" in capsys.readouterr().out


@pytest.mark.parametrize("flag", ["-V", "--version"])
def test_both_flags_tell_the_version(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main([flag])
    assert left.value.code == 0
    assert capsys.readouterr().out == f"leverframe {__version__}\n"


def test_help_alone_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["help"])
    assert left.value.code == 0
    text = capsys.readouterr().out
    assert all(f"\n    {command.name} " in text for command in COMMANDS)
