"""A parser of arguments that complains in one line, and how commands and their tasks are added."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from leverframe.config.described import nearest

Tasks = argparse._SubParsersAction
CommandFunction = Callable[[argparse.Namespace], int]
MISUSED = 2


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        # An abbreviation that works today would be ambiguous with the next option.
        super().__init__(
            **{
                "allow_abbrev": False,
                "formatter_class": argparse.RawDescriptionHelpFormatter,
                **settings,
            }
        )

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: {message}; see {self.prog} --help\n")

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Complain about arguments that no option takes."""
        first = unknown[0].partition("=")[0]
        meant = nearest(first, self._option_string_actions) if first.startswith("-") else None
        what = "option" if first.startswith("-") else "argument"
        self.error(f"unknown {what} {first}" + (f" (did you mean {meant}?)" if meant else ""))


def add_group(
    commands: "Tasks[OneLineParser]", name: str, text: str, description: str
) -> "Tasks[OneLineParser]":
    """A command that consists of tasks, such as `backup show`."""
    group = commands.add_parser(name, help=text, description=description)
    return group.add_subparsers(title="tasks", metavar="TASK", required=True)


def add_task(
    tasks: "Tasks[OneLineParser]",
    name: str,
    run: CommandFunction,
    text: str,
    description: str | None = None,
    *,
    failure: int = 1,
) -> OneLineParser:
    """A command or task; `failure` is the exit code of an error for people."""
    if description is None:
        description = f"{text[0].upper()}{text[1:]}."
    parser = tasks.add_parser(name, help=text, description=description)
    parser.set_defaults(command=run, parser=parser, failure=failure)
    return parser
