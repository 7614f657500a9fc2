"""Run a command line and report errors.

This is the one place where an error for people becomes a line on standard error and an exit status.
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

from leverframe.core.errors import (
    DONE,
    INTERRUPTED,
    NOT_DONE,
    OUTPUT_CLOSED,
    ErrorForPeople,
    print_lines,
    print_warnings,
)
from leverframe.host.command_line.parser import (
    OneLineParser,
    command_line_parser,
    config_of,
    folder_of,
    sources_of,
)
from leverframe.host.command_line.task import Task


def _client_of(options: Namespace) -> Any:
    client = _load("fleet.client:CommandLineClient")
    return client(options.node, options.user, options.ca_file)


#: Parameters that are built from several options.
BUILT: dict[str, Callable[[Namespace], Any]] = {
    "config": config_of,
    "sources": sources_of,
    "data_folder": folder_of,
    "client": _client_of,
}
#: Values that the parser sets itself, and values from which a client is built.
_NOT_ARGUMENTS = ("parser", "task", "is_help", "node", "user", "ca_file")
_ADVICE = {
    errno.ENOENT: "check the name",
    errno.EACCES: "use an account with access, or choose another path",
    errno.EPERM: "use an account with access, or choose another path",
    errno.EEXIST: "choose another name, or remove it first",
    errno.ENOSPC: "free some space there, or choose another path",
    errno.EDQUOT: "free some space there, or choose another path",
    errno.EROFS: "choose a writable path",
    errno.EISDIR: "use the path of a file",
    errno.ENOTDIR: "use the path of a folder",
    errno.ELOOP: "the symbolic links form a loop; use the path of the file itself",
}
#: Errors of the disk: not faults of the program, even if the exception names no file.
_OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)


def carry_out(arguments: Sequence[str] | None) -> int:
    """Run a command line; return the exit status."""
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
        # Flush here, where a full disk can still be reported.
        _flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except ErrorForPeople as error:
        return _print_mistake(_in_arguments(error, options.parser))
    except ModuleNotFoundError as error:
        return _print_mistake(_load("core.runtime.installation:explain_missing_extra")(error))
    except BrokenPipeError:
        _drop_output()
        return OUTPUT_CLOSED
    except OSError as error:
        if not _is_for_people(error):
            raise
        _drop_output()
        return _print_mistake(_describe_file_error(error))
    return result


def _run(task: Task, options: Namespace) -> int:
    """Call the function of a task with the options that its parameters name."""
    function = _load(task.function)
    if "logging" in sys.modules:
        _load("host.logs:make_unconfigured_logs_printable")()
    parameters = inspect.signature(function).parameters
    values = {
        **vars(options),
        **{name: build(options) for name, build in BUILT.items() if name in parameters},
    }
    remaining = {
        name: value
        for name, value in vars(options).items()
        if name not in parameters and name not in _NOT_ARGUMENTS
    }
    try:
        result = function(**{name: values.get(name, remaining) for name in parameters})
    finally:
        if "client" in parameters:
            values["client"].close()
    if inspect.iscoroutine(result):
        # Imported here: it would add half to the run time of a command that does not need it.
        import asyncio

        result = asyncio.run(result)
    return DONE if result is None else int(result)


def _load(place: str) -> Any:
    """Import and return `package.module:name` below `leverframe`."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"leverframe.{module}"), name)


def _in_arguments(error: ErrorForPeople, parser: OneLineParser) -> str:
    """Return the text of an error with its field in the spelling of the command line."""
    text, about = str(error), f"Field {error.field}: "
    if error.field is None or not text.startswith(about):
        return text
    # Lists in the API have plural names; repeatable options have singular names.
    spelled = parser.spell(error.field) or parser.spell(error.field.removesuffix("s"))
    return text if spelled is None else f"{spelled}: {text.removeprefix(about)}"


def _show_help(parser: OneLineParser, options: Namespace) -> int:
    """Show the requested help, or the help for a command line without a command or task."""
    if not options.is_help:
        options.parser.print_help(sys.stderr)
        return NOT_DONE
    parser.parse_args([*options.words, "--help"])
    return DONE


def _is_for_people(error: OSError) -> bool:
    return error.strerror is not None and (
        error.filename is not None or error.errno in _OF_THE_DISK
    )


def _describe_file_error(error: OSError) -> str:
    advice = _ADVICE.get(error.errno or 0)
    tail = f"; {advice}." if advice else "."
    return f"{error.filename or 'Writing failed'}: {error.strerror}{tail}"


def _drop_output() -> None:
    """Discard output that cannot be written: Python would retry at exit and print an error."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    # `sys.stdout` is None if the program was started with standard output closed.
    if sys.stdout is not None:
        sys.stdout.flush()


def _print_fault(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print the traceback as printable text, because error messages may quote a unit."""
    import traceback

    for part in traceback.format_exception(kind, error, trace):
        print_lines(part.rstrip("\n").split("\n"), file=sys.stderr)


def _print_mistake(lines: str) -> int:
    print_warnings(lines.split("\n"))
    return NOT_DONE
