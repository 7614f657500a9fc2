"""The run of a command line, and the report of what went wrong.

This is the one place where an error for people becomes a line on the error output and an exit code.
"""

import errno
import inspect
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any

from leverframe.command_line.configured import config_of, folder_of, sources_of
from leverframe.command_line.parser import OneLineParser, command_line_parser
from leverframe.command_line.task import Task
from leverframe.errors import ErrorForPeople
from leverframe.exit_codes import DONE, INTERRUPTED, NOBODY_READS, NOT_DONE
from leverframe.plain_text import print_lines, print_warnings


def _client_of(options: Namespace) -> Any:
    made = _named("fleet.node_client:CommandLineClient")
    return made(options.node, options.user, options.ca_file)


#: Parameters that are made from several options.
MADE: dict[str, Callable[[Namespace], Any]] = {
    "config": config_of,
    "sources": sources_of,
    "data_folder": folder_of,
    "client": _client_of,
}
#: What the parser notes, and what a client is made from.
_NOT_GIVEN = ("parser", "task", "is_asked", "node", "user", "ca_file")
_ADVICE = {
    errno.ENOENT: "check the name",
    errno.EACCES: "use an account that may, or another place",
    errno.EPERM: "use an account that may, or another place",
    errno.EEXIST: "choose another name, or remove it first",
    errno.ENOSPC: "make room there, or choose another place",
    errno.EDQUOT: "make room there, or choose another place",
    errno.EROFS: "choose a place that can be written",
    errno.EISDIR: "name a file",
    errno.ENOTDIR: "name a folder",
    errno.ELOOP: "the links lead in a circle; name what they should lead to",
}
#: Faults of the disk, not of the program, even where Python does not say of which file.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def carry_out(arguments: Sequence[str] | None) -> int:
    """Run a command line; return the exit code."""
    sys.excepthook = _print_fault
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = command_line_parser(arguments)
    options, unknown = parser.parse_known_args(arguments)
    if unknown:
        options.parser.refuse(unknown, arguments)
    if options.task is None:
        return _show_help(parser, options)
    if options.task.needed is not None:
        options.parser.check(options.task.needed, options)
    try:
        result = _run(options.task, options)
        # Here, where a full disk can still be reported.
        _flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except ErrorForPeople as error:
        return _print_mistake(_in_arguments(error, options.parser))
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except OSError as error:
        if not _is_for_people(error):
            raise
        _drop_output()
        return _print_mistake(_of_a_file(error))
    return result


def _run(task: Task, options: Namespace) -> int:
    """Call the function of a task with the options that its parameters name."""
    function = _named(task.function)
    if "logging" in sys.modules:
        _named("process.logs:make_unconfigured_logs_printable")()
    parameters = inspect.signature(function).parameters
    values = {
        **vars(options),
        **{name: make(options) for name, make in MADE.items() if name in parameters},
        "options": {
            name: value
            for name, value in vars(options).items()
            if name not in parameters and name not in _NOT_GIVEN
        },
    }
    try:
        result = function(**{name: values[name] for name in parameters})
    finally:
        if "client" in parameters:
            values["client"].close()
    if inspect.iscoroutine(result):
        # Imported here: it takes a third of the time of a command that does without.
        import asyncio

        result = asyncio.run(result)
    return DONE if result is None else int(result)


def _named(place: str) -> Any:
    """Return what is at `package.module:name` below `leverframe`, loaded when it is needed."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"leverframe.{module}"), name)


def _in_arguments(error: ErrorForPeople, parser: OneLineParser) -> str:
    """Return the text of an error, with the field that it is about as it is written here."""
    text, about = str(error), f"Field {error.field}: "
    if error.field is None or not text.startswith(about):
        return text
    # Lists of an API have names in the plural; options that are given again have not.
    shown = parser.shown(error.field) or parser.shown(error.field.removesuffix("s"))
    return text if shown is None else f"{shown}: {text.removeprefix(about)}"


def _show_help(parser: OneLineParser, options: Namespace) -> int:
    """Show the help that was asked for, or that of a command line without a command or task."""
    if not options.is_asked:
        options.parser.print_help(sys.stderr)
        return NOT_DONE
    parser.parse_args([*options.words, "--help"])
    return DONE


def _is_for_people(error: OSError) -> bool:
    return error.strerror is not None and (
        error.filename is not None or error.errno in _OF_THE_DISK
    )


def _of_a_file(error: OSError) -> str:
    advice = _ADVICE.get(error.errno or 0)
    tail = f"; {advice}." if advice else "."
    return f"{error.filename or 'Writing failed'}: {error.strerror}{tail}"


def _drop_output() -> None:
    """Discard output that cannot be written: Python would try again at exit, and complain."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    # There is none in a program that was started with it closed.
    if sys.stdout is not None:
        sys.stdout.flush()


def _print_fault(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print where the program failed; the text of an error may be that of a unit."""
    import traceback

    for part in traceback.format_exception(kind, error, trace):
        print_lines(part.rstrip("\n").split("\n"), file=sys.stderr)


def _print_mistake(lines: str) -> int:
    print_warnings(lines.split("\n"))
    return NOT_DONE
