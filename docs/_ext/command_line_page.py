"""The page of the command line, built from the table of commands."""

from collections.abc import Iterator

from docs._ext.markdown import code, prose, table
from leverframe.core.errors import DONE, INTERRUPTED, NO, NOT_DONE, OUTPUT_CLOSED
from leverframe.host.command_line.listings import Documented, list_tasks
from leverframe.host.command_line.table import COMMANDS
from leverframe.host.command_line.task import Group, Task

#: Exit status -> its meaning; the man page has the same.
EXIT_CODES = {
    DONE: "success, or the answer is yes",
    NO: (
        "the answer is no, for example a difference, damage, a rejected command or a device that"
        " does not work; the command describes its own statuses"
    ),
    NOT_DONE: (
        "failed, or the command line or configuration is wrong; one line on standard error gives"
        " the reason"
    ),
    INTERRUPTED: "interrupted from the keyboard",
    OUTPUT_CLOSED: "the reader closed standard output",
}
_OPENING = """\
# Command line

`leverframe help COMMAND` shows this help in the terminal, and `leverframe -V` the version. The
package also installs a man page and completion for bash, zsh and fish (`share/` of its
environment).
"""


def command_line_page() -> str:
    """Write the page: exit statuses, then every command with its options."""
    codes = [(code(str(number)), prose(text)) for number, text in EXIT_CODES.items()]
    parts = [_OPENING, "## Exit statuses", table(("code", "meaning"), codes)]
    for command in COMMANDS:
        parts += _command(command)
    return "\n\n".join(parts)


def _command(command: Task | Group) -> Iterator[str]:
    tasks = list_tasks(command)
    if isinstance(command, Group):
        names = "|".join(task.name for task in command.tasks)
        yield f"## `leverframe {command.name} {names}`"
        yield format_description(command.description)
    for task in tasks:
        depth = "###" if isinstance(command, Group) else "##"
        yield f"{depth} `leverframe {task.words}`"
        yield format_description(task.task.description or sentence(task.task.help))
        yield from _options(task)
        if task.task.exit_status:
            yield f"Exit status: {prose(task.task.exit_status)}."


def _options(task: Documented) -> Iterator[str]:
    if task.options:
        lines = [(code(option.usage), prose(option.help)) for option in task.options]
        yield table(("argument", ""), lines)


def sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def format_description(text: str) -> str:
    """Format the examples of a description as a code block."""
    paragraphs = []
    for paragraph in text.strip("\n").split("\n\n"):
        if paragraph.startswith("  "):
            lines = "\n".join(line.removeprefix("  ") for line in paragraph.splitlines())
            paragraphs.append(f"```text\n{lines}\n```")
        else:
            paragraphs.append(prose(paragraph))
    return "\n\n".join(paragraphs)
