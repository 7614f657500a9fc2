"""The options of every task from the parser, for the page, the man page and completion."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from leverframe.command_line.parser import command_line_parser
from leverframe.command_line.table import COMMANDS
from leverframe.command_line.task import Group, Task


class Option(NamedTuple):
    #: As typed: `--port NUMBER`, `FOLDER`.
    usage: str
    #: `-o` and `--output`; empty for a positional argument.
    flags: tuple[str, ...]
    help: str


class Documented(NamedTuple):
    """A task with the words that call it."""

    words: str
    task: Task
    options: tuple[Option, ...]


def list_tasks(command: Task | Group) -> list[Documented]:
    """Return the tasks of a command with all options of its parser."""
    parsers = _choices(command_line_parser([command.name]))
    if isinstance(command, Task):
        return [Documented(command.name, command, tuple(_options(parsers[command.name])))]
    tasks = _choices(parsers[command.name])
    return [
        Documented(f"{command.name} {task.name}", task, tuple(_options(tasks[task.name])))
        for task in command.tasks
    ]


def list_all_tasks() -> Iterator[Documented]:
    for command in COMMANDS:
        yield from list_tasks(command)


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:
        if not isinstance(action, argparse._HelpAction):
            text = (action.help or "") % {"default": action.default}
            yield Option(_usage(action), tuple(action.option_strings), text)


def _usage(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest.upper())
    if not action.option_strings:
        return name
    takes_value = action.nargs != 0
    if isinstance(action, argparse.BooleanOptionalAction):
        takes_value = False
    return ", ".join(action.option_strings) + (f" {name}" if takes_value else "")
