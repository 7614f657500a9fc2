"""The page of the command line, made from the table of commands."""

from collections.abc import Iterator

from leverframe.command_line.table import COMMANDS
from leverframe.command_line.task import Group, Task
from leverframe.exit_codes import DONE, INTERRUPTED, NO, OUTPUT_CLOSED, NOT_DONE
from leverframe.reference.command_line_options import Documented, documented_tasks
from leverframe.reference.markdown import code, prose, table

#: Exit code -> its meaning; the man page has the same.
EXIT_CODES = {
    DONE: "it is done, or the answer is yes",
    NO: "the answer is no: backup diff found a difference, data check damage, board check a device"
    " that cannot be used, config check a wrong configuration, commands WORD nothing",
    NOT_DONE: "it could not be done, or was not understood, also because its configuration is"
    " wrong; one line on the error output says why",
    INTERRUPTED: "it was interrupted from the keyboard",
    OUTPUT_CLOSED: "nobody reads its output any more",
}
_OPENING = """\
# Command line

`leverframe help COMMAND` shows what stands here, and `leverframe -V` the version. A package also
brings a man page and completion for bash, zsh and fish (`share/` of the environment it is in).
"""


def command_line_page() -> str:
    """Write the page: exit codes, then every command with its options."""
    codes = [(code(str(number)), prose(text)) for number, text in EXIT_CODES.items()]
    parts = [_OPENING, "## Exit codes", table(("code", "meaning"), codes)]
    for command in COMMANDS:
        parts += _command(command)
    return "\n\n".join(parts)


def _command(command: Task | Group) -> Iterator[str]:
    tasks = documented_tasks(command)
    if isinstance(command, Group):
        names = "|".join(task.name for task in command.tasks)
        yield f"## `leverframe {command.name} {names}`"
        yield described(command.description)
    for task in tasks:
        depth = "###" if isinstance(command, Group) else "##"
        yield f"{depth} `leverframe {task.words}`"
        yield described(task.task.description or sentence(task.task.help))
        yield from _options(task)


def _options(task: Documented) -> Iterator[str]:
    if task.options:
        lines = [(code(option.usage), prose(option.help)) for option in task.options]
        yield table(("argument", ""), lines)


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def described(text: str) -> str:
    """Show the examples of a description as a block of code."""
    paragraphs = []
    for paragraph in text.strip("\n").split("\n\n"):
        if paragraph.startswith("  "):
            lines = "\n".join(line.removeprefix("  ") for line in paragraph.splitlines())
            paragraphs.append(f"```text\n{lines}\n```")
        else:
            paragraphs.append(prose(paragraph))
    return "\n\n".join(paragraphs)
