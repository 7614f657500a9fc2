"""The man page `leverframe(1)`, built from the table of commands."""

from collections.abc import Iterator

from docs._ext.command_line_page import EXIT_CODES, sentence
from leverframe import __version__
from leverframe.host.command_line.listings import list_tasks
from leverframe.host.command_line.table import COMMANDS
from leverframe.host.command_line.task import Group

_OPENING = """\
.SH NAME
leverframe \\- a networked controller in software
.SH SYNOPSIS
.B leverframe
.I COMMAND
.RI [ OPTION ...]
.SH DESCRIPTION
Leverframe runs relay outputs, PWM, inputs, sensors, meters, rules and a schedule behind a complete
HTTP command interface, on a simulated board or on the pins and buses of a Linux computer.
.PP
.B leverframe help
.I COMMAND
shows the help of a command."""
_CLOSING = """\
.SH FILES
.TP
.I data/
The default data folder of a controller; --data selects another folder.
.TP
.I /etc/leverframe/NAME.toml
The configuration of the service leverframe@NAME.
.SH ENVIRONMENT
Every option of
.B leverframe run
is also an environment variable: LEVERFRAME_PORT for --port."""


def man_page() -> str:
    """Write the page in troff format."""
    lines = [f'.TH LEVERFRAME 1 "" "leverframe {__version__}" "User Commands"', _OPENING]
    lines.append(".SH COMMANDS")
    for command in COMMANDS:
        if isinstance(command, Group):
            lines += [f".SS leverframe {command.name}", *_paragraphs(command.description)]
        for task in list_tasks(command):
            lines.append(f".SS leverframe {escape(task.words)}")
            lines += _paragraphs(task.task.description or sentence(task.task.help))
            for option in task.options:
                lines += [".TP", f".B {escape(option.usage)}", escape(option.help) or "\\&"]
            if task.task.exit_status:
                lines += [".PP", escape(f"Exit status: {task.task.exit_status}.")]
    lines.append(".SH EXIT STATUS")
    for number, text in EXIT_CODES.items():
        lines += [".TP", f".B {number}", escape(text)]
    return "\n".join([*lines, _CLOSING, ""])


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in text.strip("\n").split("\n\n"):
        if paragraph.startswith("  "):
            yield from (".PP", ".EX", escape(paragraph), ".EE")
        else:
            yield from (".PP", escape(paragraph))


def escape(text: str) -> str:
    """Escape text so that troff reads neither requests nor dashes in it."""
    marked = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join(
        f"\\&{line}" if line[:1] in (".", "'") else line for line in marked.split("\n")
    )
