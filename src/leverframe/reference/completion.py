"""Shell completion for bash, zsh and fish, built from the table of commands."""

from collections.abc import Callable, Mapping

from leverframe.command_line.table import COMMANDS
from leverframe.command_line.task import Group
from leverframe.plain_text import print_lines
from leverframe.reference.command_line_options import list_all_tasks

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
