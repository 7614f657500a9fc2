"""Commands as they are written in a file: one request per line, such as `/outs.cgi?out0=1`.

A command with a body has it behind a space. Empty lines and lines that begin with `#` are left out.
"""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from leverframe.commands.table.bodies import ON_LOOP_BODY_LIMIT, Upload
from leverframe.commands.table.matching import (
    COMMAND_PATHS,
    MAX_COMMANDS,
    Call,
    find,
    items_of,
)
from leverframe.commands.table.refusals import Malformed, Refusal, TooManyCommands, UnknownCommand
from leverframe.commands.table.stage import Stage
from leverframe.profile import Profile

#: Of commands, their bodies, and comments.
MAX_TEXT_BYTES = 64 << 10


class WrittenCommand(Struct, frozen=True):
    line: int
    path: str
    query: str
    body: bytes


def parse_commands(text: str) -> list[WrittenCommand]:
    """Read the commands of a text; raise a refusal of the first that is none.

    All lines together are one request, and hold no more commands than one may.
    """
    if (size := len(text.encode("utf-8", "surrogatepass"))) > MAX_TEXT_BYTES:
        raise TooManyCommands(
            f"The text with the commands has {size} bytes.",
            allowed=f"up to {MAX_TEXT_BYTES} bytes",
        )
    found: list[WrittenCommand] = []
    for number, line in enumerate(text.splitlines(), start=1):
        target, _, body = line.strip().partition(" ")
        if not target or target.startswith("#"):
            continue
        path, _, query = target.partition("?")
        path = "/" + path.lstrip("/")
        if path not in COMMAND_PATHS or not query:
            raise UnknownCommand(
                f"Line {number} is not a command.",
                allowed=f"PATH?COMMAND with one of {', '.join(sorted(COMMAND_PATHS))}",
            )
        found.append(WrittenCommand(number, path, query, _body_of(number, body.strip().encode())))
    if not found:
        raise Malformed("There are no commands.", allowed=f"1 to {MAX_COMMANDS}, one per line")
    items_of("&".join(command.query for command in found))
    return found


def _body_of(line: int, body: bytes) -> bytes:
    """Return the body of a command, unless it is too large to be read for many controllers."""
    if len(body) > ON_LOOP_BODY_LIMIT:
        raise TooManyCommands(
            f"The body of the command in line {line} has {len(body)} bytes.",
            allowed=f"up to {ON_LOOP_BODY_LIMIT} bytes",
        )
    return body


def perform_written(commands: list[WrittenCommand], stage: Stage) -> None:
    """Perform all commands on a stage; a refusal says in which line it is."""
    for command in commands:
        try:
            perform_one(command, stage)
        except Refusal as refusal:
            refusal.detail = f"Line {command.line}: {refusal.detail}"
            raise


def perform_one(command: WrittenCommand, stage: Stage) -> None:
    """Perform one command on a stage."""
    for call, body in calls_of(command, stage.profile):
        call.perform(stage, body)


def calls_of(command: WrittenCommand, profile: Profile) -> Iterator[tuple[Call, Any]]:
    """Give the calls of a command, each with the content of its body."""
    method = "POST" if command.body else "GET"
    for call in find(method, command.path, items_of(command.query), profile):
        if not isinstance(call, Call):
            raise call
        body = call.row.body
        if isinstance(body, Upload):
            raise Malformed(
                "Commands that upload a file cannot be tried.",
                allowed="commands without uploaded files",
            )
        yield call, None if body is None else body.read(command.body, "", profile)
