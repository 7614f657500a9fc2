"""Listings of commands: their options, shell completion, and `leverframe commands` in the
terminal.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from leverframe.core.errors import DONE, NO, print_json, print_lines, print_warnings
from leverframe.core.profile import Profile, existing, newest_software
from leverframe.host.command_line.parser import command_line_parser
from leverframe.host.command_line.table import COMMANDS
from leverframe.host.command_line.task import Group, Task
from leverframe.interface.descriptions.listing import (
    CommandDescription,
    FieldDescription,
    command_table,
)

# The options of every task from the parser, for the page, the man page and completion.


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


# Shell completion for bash, zsh and fish, built from the table of commands.

_BASH = """\
# Completion of leverframe for bash, written by the program itself.
_leverframe() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} words
    local first=${{COMP_WORDS[1]:-}} second=${{COMP_WORDS[2]:-}}
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="{commands} help -V --version -h --help"
    else
        case "$first" in
{tasks}
        esac
        case "$first $second" in
{options}
        esac
    fi
    # As bash and zsh both understand it; no word of ours has a space in it.
    COMPREPLY=( $(compgen -W "$words" -- "$word") )
}}
complete -o default -F _leverframe leverframe
"""
_ZSH = """\
#compdef leverframe
# Completion of leverframe for zsh, by that of bash, written by the program itself.
autoload -U +X bashcompinit && bashcompinit
{bash}"""


def print_completion(shell: str) -> None:
    """Print the script for a shell, which evaluates it at startup."""
    _, write = SCRIPTS[shell]
    print_lines(write().splitlines())


def completions() -> dict[str, str]:
    """Return the scripts by their place below `packaging/completion/`."""
    return {place: write() for place, write in SCRIPTS.values()}


def bash_completion() -> str:
    groups = [command for command in COMMANDS if isinstance(command, Group)]
    tasks = [
        f'            {group.name}) words="{" ".join(task.name for task in group.tasks)}" ;;'
        for group in groups
    ]
    tasks.append(f'            help) words="{_names()}" ;;')
    options = []
    for documented in list_all_tasks():
        flags = " ".join(flag for option in documented.options for flag in option.flags)
        pattern = f'"{documented.words}"' if " " in documented.words else f'"{documented.words} "*'
        options.append(f'            {pattern}) words="{flags} -h --help" ;;')
    return _BASH.format(commands=_names(), tasks="\n".join(tasks), options="\n".join(options))


def fish_completion() -> str:
    lines = [
        "# Completion of leverframe for fish, written by the program itself.",
        "complete -c leverframe -n __fish_use_subcommand -s V -l version -d 'Show the version'",
    ]
    for command in COMMANDS:
        lines.append(
            f"complete -c leverframe -f -n __fish_use_subcommand -a {command.name}"
            f" -d {_quote(command.help)}"
        )
        if isinstance(command, Group):
            seen = " ".join(task.name for task in command.tasks)
            condition = (
                f"'__fish_seen_subcommand_from {command.name};"
                f" and not __fish_seen_subcommand_from {seen}'"
            )
            lines += [
                f"complete -c leverframe -f -n {condition} -a {task.name} -d {_quote(task.help)}"
                for task in command.tasks
            ]
    for documented in list_all_tasks():
        seen = "; and ".join(
            f"__fish_seen_subcommand_from {word}" for word in documented.words.split()
        )
        for option in documented.options:
            flags = "".join(
                f" -l {flag[2:]}" if flag.startswith("--") else f" -s {flag[1:]}"
                for flag in option.flags
            )
            if flags:
                lines.append(f"complete -c leverframe -n '{seen}'{flags} -d {_quote(option.help)}")
    return "\n".join(lines) + "\n"


def zsh_completion() -> str:
    return _ZSH.format(bash=bash_completion())


#: By shell: the path of its script and the function that writes it.
SCRIPTS: Mapping[str, tuple[str, Callable[[], str]]] = {
    "bash": ("leverframe.bash", bash_completion),
    "zsh": ("_leverframe", zsh_completion),
    "fish": ("leverframe.fish", fish_completion),
}


def _names() -> str:
    return " ".join(command.name for command in COMMANDS)


def _quote(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


# `leverframe commands`: the commands of one version in the terminal.
#
# A table per section shows the form, the purpose and the fields. A word selects the commands that
# contain it: in the form, in the description, in the words of its codes or in its settings. If
# the output is not a terminal, it is plain text with one command after the other, for tools such
# as grep.

Schema = dict[str, Any]


def list_commands(word: str | None, hw: str, sw: str | None, as_json: bool = False) -> int:
    """Print the commands of a version, or those that contain a word."""
    profile = existing(hw, sw or newest_software(hw))
    return print_commands(profile, word, Console(), as_json=as_json)


def print_commands(
    profile: Profile, word: str | None, console: Console, *, as_json: bool = False
) -> int:
    """Print the commands that contain a word; return the exit status, as grep does."""
    found = [row for row in command_table(profile) if _is_about(row, word or "")]
    if not found:
        message = f"{profile} has no command with {word!r}."
        if as_json:
            print_warnings([message])
        else:
            console.print(message, markup=False)
        return NO
    if as_json:
        for row in found:
            print_json(row)
        return DONE
    for section, rows in groupby(found, key=lambda row: row["section"]):
        if console.is_terminal:
            console.print(_section_table(section, list(rows)))
        else:
            _print_plainly(section, list(rows), console)
    return DONE


def _is_about(row: CommandDescription, word: str) -> bool:
    parts = [row["section"], row["line"], row["doc"]]
    parts += [path for paths in row["sets"].values() for path in paths]
    parts += [codes for field in _fields(row) for codes in _codes(field["schema"])]
    return any(word.lower() in part.lower() for part in parts)


def _fields(row: CommandDescription) -> list[FieldDescription]:
    """Return the fields of the query and of the body."""
    body_fields: list[FieldDescription] = (row["body"] or {}).get("fields", [])
    return [*row["fields"], *body_fields]


def _section_table(title: str, rows: list[CommandDescription]) -> Table:
    table = Table(title=title, title_justify="left", expand=True, show_lines=True)
    table.add_column("command", ratio=4, overflow="fold")
    table.add_column("what it does", ratio=4)
    table.add_column("fields", ratio=5, overflow="fold")
    for row in rows:
        # As Text, because its brackets are not markup.
        table.add_row(
            Text(row["line"]), Text(_sentence(row)), Text("\n".join(map(_field_line, _fields(row))))
        )
    return table


def _sentence(row: CommandDescription) -> str:
    return f"{row['doc']} (Deprecated.)" if row["deprecated"] else row["doc"]


def _field_line(field: FieldDescription) -> str:
    line = f"{field['letter']}: {field['allowed']}"
    if codes := "; or ".join(_codes(field["schema"])):
        line += f" ({codes})"
    return f"{line}, may be left out" if field["optional"] else line


def _codes(schema: Schema) -> Iterator[str]:
    """Yield `0 OFF, 1 SDM120` for every code table in a schema."""
    if words := schema.get("x-words"):
        yield ", ".join(f"{number} {word}" for number, word in words.items())
    inner = [*schema.get("oneOf", ()), *schema.get("properties", {}).values()]
    for part in [*inner, schema["items"]] if "items" in schema else inner:
        yield from _codes(part)


def _print_plainly(title: str, rows: list[CommandDescription], console: Console) -> None:
    lines = [title, ""]
    for row in rows:
        lines += [row["line"], f"    {_sentence(row)}"]
        lines += [f"    {_field_line(field)}" for field in _fields(row)]
        lines.append("")
    console.print("\n".join(lines), markup=False, highlight=False, soft_wrap=True)
