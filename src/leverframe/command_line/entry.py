"""Takes the command line apart, runs the command, and tells what went wrong.

This is the one place where an error for people becomes a line on the error output and an exit code:
1, or 2 where 1 already means something (`backup diff`: they differ; `data check`: not sound), and
always 2 for a command line that cannot be understood.
"""

import errno
import os
import sys
from collections.abc import Sequence

from leverframe import __version__
from leverframe.command_line import (
    backup,
    board,
    commands,
    config,
    data,
    firmware,
    passwd,
    run,
    simulate,
    site,
)
from leverframe.command_line.parser import OneLineParser
from leverframe.errors import ErrorForPeople

#: In the order of the help.
COMMANDS = (run, simulate, commands, passwd, config, board, site, firmware, backup, data)
INTERRUPTED = 130
#: As of a program that the shell ends because nobody reads on: `leverframe commands | head`.
NOBODY_READS = 141
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
    """Run a command line; returns the exit code."""
    options, unknown = command_line_parser().parse_known_args(arguments)
    if unknown:
        options.parser.refuse(unknown)
    try:
        result: int = options.command(options)
        # Here, where it can still be told that the disk is full.
        _flush()
    except KeyboardInterrupt:
        return INTERRUPTED
    except ErrorForPeople as error:
        return _tell(str(error), options.failure)
    except BrokenPipeError:
        _drop_output()
        return NOBODY_READS
    except OSError as error:
        if not _is_told(error):
            raise
        _drop_output()
        return _tell(_of_a_file(error), options.failure)
    return result


def _is_told(error: OSError) -> bool:
    return error.strerror is not None and (
        error.filename is not None or error.errno in _OF_THE_DISK
    )


def _of_a_file(error: OSError) -> str:
    advice = _ADVICE.get(error.errno or 0)
    tail = f"; {advice}." if advice else "."
    return f"{error.filename or 'Writing failed'}: {error.strerror}{tail}"


def _drop_output() -> None:
    """Whatever could not be written yet: Python would try again at its end, and complain."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _flush() -> None:
    # There is none in a program that was started with it closed.
    if sys.stdout is not None:
        sys.stdout.flush()


def _tell(lines: str, exit_code: int) -> int:
    for line in lines.splitlines():
        print(f"leverframe: {line}", file=sys.stderr)
    return exit_code


def command_line_parser() -> OneLineParser:
    parser = OneLineParser(
        prog="leverframe",
        description="A networked controller in software.",
        epilog="leverframe COMMAND --help tells more about each command.",
    )
    parser.add_argument("--version", action="version", version=f"leverframe {__version__}")
    known = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(known)
    return parser
