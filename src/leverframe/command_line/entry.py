"""Takes the command line apart, runs the command, and tells what went wrong.

This is the one place where an error for people becomes a line on the error output and an exit code:
1, or 2 where 1 already means something (`backup diff`: they differ; `data check`: not sound), and
always 2 for a command line that cannot be understood.
"""

import errno
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
_ADVICE = {
    errno.ENOENT: "check the name",
    errno.EACCES: "use an account that may, or another place",
    errno.EPERM: "use an account that may, or another place",
    errno.EEXIST: "choose another name, or remove it first",
    errno.ENOSPC: "make room there, or choose another place",
}


def carry_out(arguments: Sequence[str] | None) -> int:
    """Run a command line; returns the exit code."""
    options, unknown = command_line_parser().parse_known_args(arguments)
    if unknown:
        options.parser.refuse(unknown)
    try:
        result: int = options.command(options)
    except KeyboardInterrupt:
        return INTERRUPTED
    except ErrorForPeople as error:
        return _tell(str(error), options.failure)
    except OSError as error:
        if error.filename is None or error.strerror is None:
            raise
        advice = _ADVICE.get(error.errno or 0)
        tail = f"; {advice}." if advice else "."
        return _tell(f"{error.filename}: {error.strerror}{tail}", options.failure)
    return result


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
