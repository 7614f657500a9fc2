"""The argparse parser of the table: complains in one line, and names what was probably meant."""

import argparse
import os
from collections.abc import Sequence
from typing import Any, NoReturn, TypeVar

from leverframe import __version__
from leverframe.command_line.configured import add_config
from leverframe.command_line.controller_tasks import RUN
from leverframe.command_line.task import Group, Needed, Task
from leverframe.config.described import nearest
from leverframe.exit_codes import NOT_DONE

_SubParsers = argparse._SubParsersAction
_PROGRAM = "leverframe"
_USUAL_COLUMNS = 80
#: Columns at the right that argparse leaves free.
_MARGIN = 2
_Named = TypeVar("_Named", bound=Task | Group)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help texts; told the width, for which argparse loads `shutil`.

    It makes one of these to check every option: a controller would keep 0.6 MB of programs that
    pack archives.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - _MARGIN)


def _columns() -> int:
    """Return the width of the terminal, by the same rules as `shutil.get_terminal_size`."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(1).columns or _USUAL_COLUMNS
    except OSError:
        # The output is no terminal.
        return _USUAL_COLUMNS


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        # An abbreviation that works today would be ambiguous with the next option.
        super().__init__(
            **{
                "allow_abbrev": False,
                "formatter_class": _HelpFormatter,
                **settings,
            }
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Accept options also behind and between the names; argparse fills names in one run."""
        words = None if args is None else self._options_first(args)
        return super().parse_known_args(words, namespace)

    def _options_first(self, words: Sequence[str]) -> list[str]:
        if self._subparsers is not None:
            # What follows the name of a command is for its own parser.
            return [*words]
        options, names, left = list[str](), list[str](), iter(words)
        for word in left:
            if word == "--":
                names += [word, *left]
            elif word[:1] != "-" or word == "-" or word[1:2].isdigit():
                names.append(word)
            else:
                options.append(word)
                action = self._option_string_actions.get(word)
                if action is not None and action.nargs is None:
                    # Its value; a missing one is reported by argparse.
                    options += [value for value in [next(left, None)] if value is not None]
        return [*options, *names]

    def error(self, message: str) -> NoReturn:
        self.exit(NOT_DONE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def refuse(self, unknown: Sequence[str], arguments: Sequence[str]) -> NoReturn:
        """Exit with an error about arguments, of all that were given, that no option takes."""
        first = unknown[0].partition("=")[0]
        if first in self._option_string_actions:
            if "--" in arguments[: arguments.index(unknown[0])]:
                self.error(f"what follows -- is no option; write {first} before it")
            self.error(f"write {first} behind {self.prog}")
        what = "option" if first.startswith("-") else "argument"
        known = self._option_string_actions if first.startswith("-") else ()
        self.error(f"unknown {what} {first}{_suggestion(first, known)}")

    def check(self, needed: Needed, options: argparse.Namespace) -> None:
        """Exit with an error unless one of the arguments is given, or only one."""
        given = [name for name in needed.names if self._is_given(name, options)]
        if given and not (needed.only_one and given[1:]):
            return
        shown = [self.shown(name) or name for name in needed.names]
        last = "or" if not needed.only_one else "and"
        listed = f"{', '.join(shown[:-1])} {last} {shown[-1]}"
        if not needed.only_one:
            self.error(f"give {listed}")
        together = " and ".join(self.shown(name) or name for name in given)
        wrong = f"{together} exclude each other; " if given else ""
        self.error(f"{wrong}give one of {listed}")

    def _is_given(self, name: str, options: argparse.Namespace) -> bool:
        # Not by its truth: a number may be 0.
        return getattr(options, name) not in (self.get_default(name), [])

    def shown(self, name: str) -> str | None:
        """Return an argument as people write it; None if there is none of this name."""
        for action in self._actions:
            known = {action.dest, str(action.metavar).lower(), *action.option_strings}
            if not known.isdisjoint((name, f"--{name}")):
                return action.option_strings[-1] if action.option_strings else str(action.metavar)
        return None

    def _parse_optional(self, arg_string: str) -> Any:
        """Take what begins like a negative number for a value: an option it can never be."""
        if arg_string[:1] == "-" and arg_string[1:2].isdigit():
            return None
        return super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Report an unknown command with the one probably meant before the full list."""
        if isinstance(action, _SubParsers) and value not in action.choices:
            kind, meant = str(action.metavar).lower(), _suggestion(value, action.choices)
            self.error(f"unknown {kind} {value}{meant}; there are {', '.join(action.choices)}")
        super()._check_value(action, value)


def _suggestion(written: str, known: Any) -> str:
    meant = nearest(written, known)
    return f" (did you mean {meant}?)" if meant else ""


def command_line_parser(words: Sequence[str] = ()) -> OneLineParser:
    """Build the parser of all commands, or of the command and task alone that the words begin with.

    The others would take 30 ms of a controller's time to its first answer.
    """
    first_word, second_word, *_ = (*words, "", "")
    parser = OneLineParser(
        prog=_PROGRAM,
        description="A networked controller in software.",
        epilog="leverframe help COMMAND shows the help of a command.",
    )
    _expect_command(parser)
    parser.add_argument("-V", "--version", action="version", version=f"leverframe {__version__}")
    # Told its name: to find that out it would make a help text.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog=_PROGRAM)
    for command in _commands(first_word):
        if isinstance(command, Task):
            _add_task(commands, command)
        else:
            known = command.name == first_word
            _add_group(commands, command, _named(command.tasks, second_word if known else ""))
    help_parser = commands.add_parser("help", help="show the help of a command", add_help=False)
    help_parser.add_argument("words", nargs="*", metavar="COMMAND")
    help_parser.set_defaults(parser=help_parser, task=None, is_asked=True)
    return parser


def _expect_command(parser: OneLineParser) -> None:
    """Let a command line that ends before its command or task be answered by help."""
    parser.set_defaults(parser=parser, task=None, is_asked=False)


def _commands(first_word: str) -> Sequence[Task | Group]:
    if first_word == RUN.name:
        return (RUN,)
    # Imported here: a controller needs nothing of the others.
    from leverframe.command_line.table import COMMANDS

    return _named(COMMANDS, first_word)


def _named(things: Sequence[_Named], name: str) -> Sequence[_Named]:
    """Return the one of this name; all of them if there is none."""
    return [thing for thing in things if thing.name == name] or things


def _add_group(commands: "_SubParsers[OneLineParser]", group: Group, among: Sequence[Task]) -> None:
    parser = commands.add_parser(group.name, help=group.help, description=group.description)
    _expect_command(parser)
    tasks = parser.add_subparsers(title="tasks", metavar="TASK")
    for task in among:
        _add_task(tasks, task)


def _add_task(tasks: "_SubParsers[OneLineParser]", task: Task) -> None:
    description = task.description or f"{task.help[0].upper()}{task.help[1:]}."
    parser = tasks.add_parser(task.name, help=task.help, description=description)
    for argument in task.arguments:
        parser.add_argument(*argument.names, **argument.settings)
    if task.config is not None:
        add_config(parser, task.config.keys, required=task.config.is_file_required)
    parser.set_defaults(parser=parser, task=task)
