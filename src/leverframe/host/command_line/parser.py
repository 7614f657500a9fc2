"""The argparse parser built from the table; it reports a mistake in one line with a suggestion."""

import argparse
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from leverframe import __version__
from leverframe.core.errors import NOT_DONE
from leverframe.host.command_line.controller_tasks import RUN
from leverframe.host.command_line.task import Group, Needed, Task
from leverframe.host.configuration import Config, read_config
from leverframe.host.configuration.keys import Key, keys, nearest
from leverframe.host.configuration.reader import Sources

# The configuration options of commands, built from the configuration keys.

#: The groups of options in the help, each with its keys in order.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "network": (
        *("host", "port", "hosts", "proxies", "redirect_port", "modbus_port", "snmp_port"),
        *("tftp_port", "discovery", "mdns"),
    ),
    "controller and storage": (
        *("hw", "sw", "name", "mac", "data", "history_days", "history_max_mb", "recorded"),
    ),
    "time": ("timezone", "virtual_time", "virtual_start"),
    "board": (
        *("board.kind", "board.sysfs", "board.onewire.extra", "board.i2c.bus", "board.oled.bus"),
        *("board.oled.address", "serial_port", "serial_modbus"),
    ),
    "security": (
        *("tls", "tls_certificate", "tls_key", "cors_origins", "trusted", "trusted_role"),
        *("modbus_writers", "allow_local_targets", "ca_file", "mqtt_certificate", "mqtt_key"),
        *("firmware_key", "firmware_check_url", "udp_bootloader"),
    ),
    "tests": ("lenient", "capture"),
    "logs and output": ("log_level", "log_format", "syslog", "json"),
}


def add_config(
    parser: argparse.ArgumentParser, only: Collection[str] | None = None, *, required: bool = False
) -> None:
    """Add `--config` and a flag for every key, or only for the named keys."""
    parser.add_argument(
        "--config",
        metavar="FILE",
        type=Path,
        required=required,
        help="TOML file with the configuration; `leverframe config example` prints an example",
    )
    known = {key.name: key for key in keys()}
    if only is not None:
        for name in only:
            _add_flag(parser, known[name])
        return
    for title, names in SECTIONS.items():
        group = parser.add_argument_group(title)
        for name in names:
            _add_flag(group, known[name])


def _add_flag(options: argparse.ArgumentParser | argparse._ArgumentGroup, key: Key) -> None:
    if key.is_switch:
        options.add_argument(
            key.flag, dest=key.name, action=argparse.BooleanOptionalAction, help=_help(key)
        )
    else:
        options.add_argument(key.flag, dest=key.name, metavar=key.metavar, help=_help(key))


def _help(key: Key) -> str:
    default = f" (default {key.usual})" if key.usual else ""
    return (key.description.removesuffix(".") + default).replace("%", "%%")


def config_of(options: argparse.Namespace) -> Config:
    """Read the configuration from the file, the environment and the flags."""
    return read_config(options.config, _flags(options), os.environ)


def sources_of(options: argparse.Namespace) -> Sources:
    return Sources(options.config, os.environ, _flags(options))


def _flags(options: argparse.Namespace) -> dict[str, Any]:
    """Return the configuration keys set by options; other arguments may have the same names."""
    used = options.task.config.keys
    return {name: value for name, value in vars(options).items() if used is None or name in used}


def folder_of(options: argparse.Namespace) -> Path:
    return Path(config_of(options).data)


_SubParsers = argparse._SubParsersAction
_PROGRAM = "leverframe"
_USUAL_COLUMNS = 80
#: Columns at the right that argparse leaves free.
_MARGIN = 2
_Entry = TypeVar("_Entry", bound=Task | Group)


class _HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help texts with a width computed here; argparse would load `shutil` to find it.

    argparse creates a formatter to check every option. With `shutil`, every controller would hold
    0.6 MB of archive modules that it never uses.
    """

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=_columns() - _MARGIN)


def _columns() -> int:
    """Return the width of the terminal by the rules of `shutil.get_terminal_size`."""
    try:
        columns = int(os.environ.get("COLUMNS", ""))
    except ValueError:
        columns = 0
    if columns > 0:
        return columns
    try:
        return os.get_terminal_size(1).columns or _USUAL_COLUMNS
    except OSError:
        # The output is not a terminal.
        return _USUAL_COLUMNS


class OneLineParser(argparse.ArgumentParser):
    def __init__(self, **settings: Any) -> None:
        # An abbreviation that works today may be ambiguous after the next new option.
        super().__init__(
            **{
                "allow_abbrev": False,
                "formatter_class": _HelpFormatter,
                **settings,
            }
        )

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Accept options anywhere; argparse expects the other arguments together."""
        words = None if args is None else self._options_first(args)
        return super().parse_known_args(words, namespace)

    def _options_first(self, words: Sequence[str]) -> list[str]:
        if self._subparsers is not None:
            # Words after the name of a command are for the parser of that command.
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
                    # The next word is the value; argparse reports a missing value.
                    options += [value for value in [next(left, None)] if value is not None]
        return [*options, *names]

    def error(self, message: str) -> NoReturn:
        self.exit(NOT_DONE, f"{self.prog}: {message.removesuffix('.')}; see {self.prog} --help\n")

    def refuse(self, unknown: Sequence[str], arguments: Sequence[str]) -> NoReturn:
        """Exit with an error about the first of the unknown arguments."""
        first = unknown[0].partition("=")[0]
        if first in self._option_string_actions:
            if "--" in arguments[: arguments.index(unknown[0])]:
                self.error(f"{first} after -- is not read as an option; write {first} before --")
            self.error(f"write {first} after {self.prog}")
        what = "option" if first.startswith("-") else "argument"
        known = self._option_string_actions if first.startswith("-") else ()
        self.error(f"unknown {what} {first}{_suggestion(first, known)}")

    def check(self, needed: Needed, options: argparse.Namespace) -> None:
        """Exit with an error if none of the needed arguments is present, or too many."""
        present = [name for name in needed.names if self._is_present(name, options)]
        if present and not (needed.only_one and present[1:]):
            return
        names = [self.spell(name) or name for name in needed.names]
        last = "or" if not needed.only_one else "and"
        choice = f"{', '.join(names[:-1])} {last} {names[-1]}"
        if not needed.only_one:
            self.error(f"{choice} is required")
        together = " and ".join(self.spell(name) or name for name in present)
        conflict = f"{together} exclude each other; use" if present else "use"
        self.error(f"{conflict} one of {choice}")

    def _is_present(self, name: str, options: argparse.Namespace) -> bool:
        # Compare with the default instead of testing the value: a number may be 0.
        return getattr(options, name) not in (self.get_default(name), [])

    def spell(self, name: str) -> str | None:
        """Return an argument as users write it; None if there is no such argument."""
        for action in self._actions:
            known = {action.dest, str(action.metavar).lower(), *action.option_strings}
            if not known.isdisjoint((name, f"--{name}")):
                return action.option_strings[-1] if action.option_strings else str(action.metavar)
        return None

    def _parse_optional(self, arg_string: str) -> Any:
        """Treat a word that begins like a negative number as a value: no option looks like that."""
        if arg_string[:1] == "-" and arg_string[1:2].isdigit():
            return None
        return super()._parse_optional(arg_string)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Report an unknown command with a suggestion before the full list."""
        if isinstance(action, _SubParsers) and value not in action.choices:
            kind, meant = str(action.metavar).lower(), _suggestion(value, action.choices)
            self.error(f"unknown {kind} {value}{meant}; known {kind}s: {', '.join(action.choices)}")
        if action.choices is not None and value not in action.choices:
            allowed = ", ".join(map(str, action.choices))
            raise argparse.ArgumentError(action, f"unknown value {value!r}; allowed: {allowed}")


def _suggestion(word: str, known: Any) -> str:
    meant = nearest(word, known)
    return f" (did you mean {meant}?)" if meant else ""


def command_line_parser(words: Sequence[str] = ()) -> OneLineParser:
    """Build the parser of all commands, or only of the command and task at the start of `words`.

    Building the whole parser would delay the first answer of a controller by 30 ms.
    """
    first_word, second_word, *_ = (*words, "", "")
    parser = OneLineParser(
        prog=_PROGRAM,
        description="A networked controller in software.",
        epilog="Run leverframe help COMMAND for the help of a command.",
    )
    _expect_command(parser)
    parser.add_argument("-V", "--version", action="version", version=f"leverframe {__version__}")
    # With `prog`, argparse does not build a help text to find the name.
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", prog=_PROGRAM)
    for command in _commands(first_word):
        if isinstance(command, Task):
            _add_task(commands, command)
        else:
            known = command.name == first_word
            _add_group(commands, command, _select(command.tasks, second_word if known else ""))
    help_parser = commands.add_parser("help", help="show the help of a command", add_help=False)
    help_parser.add_argument("words", nargs="*", metavar="COMMAND")
    help_parser.set_defaults(parser=help_parser, task=None, is_help=True)
    return parser


def _expect_command(parser: OneLineParser) -> None:
    """Show the help of this parser if the command line has no command or task."""
    parser.set_defaults(parser=parser, task=None, is_help=False)


def _commands(first_word: str) -> Sequence[Task | Group]:
    if first_word == RUN.name:
        return (RUN,)
    # Imported here: a controller does not need the other commands.
    from leverframe.host.command_line.table import COMMANDS

    return _select(COMMANDS, first_word)


def _select(entries: Sequence[_Entry], name: str) -> Sequence[_Entry]:
    """Return only the entry with this name; all entries if there is none."""
    return [entry for entry in entries if entry.name == name] or entries


def _add_group(
    commands: "_SubParsers[OneLineParser]", group: Group, group_tasks: Sequence[Task]
) -> None:
    parser = commands.add_parser(group.name, help=group.help, description=group.description)
    _expect_command(parser)
    tasks = parser.add_subparsers(title="tasks", metavar="TASK")
    for task in group_tasks:
        _add_task(tasks, task)


def _add_task(tasks: "_SubParsers[OneLineParser]", task: Task) -> None:
    description = task.description or f"{task.help[0].upper()}{task.help[1:]}."
    epilog = f"Exit status: {task.exit_status}." if task.exit_status else None
    parser = tasks.add_parser(task.name, help=task.help, description=description, epilog=epilog)
    for argument in task.arguments:
        parser.add_argument(*argument.names, **argument.settings)
    if task.config is not None:
        add_config(parser, task.config.keys, required=task.config.is_file_required)
    parser.set_defaults(parser=parser, task=task)
