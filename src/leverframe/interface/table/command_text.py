"""Commands as text: outside of HTTP requests, in files, and with confidential values masked."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from leverframe.core.profile import Profile
from leverframe.core.tree import MASK
from leverframe.interface.table.bodies import ON_LOOP_BODY_LIMIT, Upload
from leverframe.interface.table.lookup import (
    COMMAND_PATHS,
    MAX_COMMANDS,
    TABLE,
    Call,
    find,
    items_of,
    may_hold_secret,
    without_value,
)
from leverframe.interface.table.refusals import Malformed, Refusal, TooManyCommands, UnknownCommand
from leverframe.interface.table.stage import Stage

# Commands outside of HTTP requests: `out0=1`, `/outs.cgi?out0=1`, or several joined by `&`.
#
# Commands without a path are searched on every path: first all together, because some forms have
# several items, then each separately.

#: `/outs.cgi` is searched first, because switching is most frequent and has the shortest names.
_PATHS = tuple(sorted(COMMAND_PATHS, key=lambda path: (path != "/outs.cgi", path)))


def calls_in(text: str, profile: Profile) -> list[Call]:
    """Parse the commands of a text; raise the refusal of the first invalid one."""
    text = text.strip()
    path, mark, query = text.partition("?")
    named = "/" + path.lstrip("/")
    if mark and named in COMMAND_PATHS:
        return _calls_on(named, query, profile)
    items = items_of(text)
    refusal: Refusal | None = None
    for path in _PATHS:
        try:
            return _calls_on(path, text, profile)
        except UnknownCommand as unknown:
            refusal = refusal or unknown
        except Refusal as telling:
            # The refusal from a path that has the command is more helpful than that from another
            # path.
            refusal = telling
    assert refusal is not None
    if len(items) < 2 or not isinstance(refusal, UnknownCommand):
        raise refusal
    try:
        return [call for item in items for call in calls_in(item, profile)]
    except Refusal as refused:
        # The text after a secret may be the rest of the secret.
        if any(map(may_hold_secret, items)):
            refused.without_value()
        raise


def _calls_on(path: str, query: str, profile: Profile) -> list[Call]:
    items = [item for item in items_of(query) if item]
    if not items:
        raise Malformed("The text has no command.", allowed=f"1 to {MAX_COMMANDS} commands")
    calls = []
    for call in find("GET", path, items, profile):
        if isinstance(call, Refusal):
            raise call
        calls.append(call)
    return calls


# Commands in a file: one request per line, such as `/outs.cgi?out0=1`.
#
# A body follows its command after a space. Empty lines and lines that begin with `#` are skipped.

#: The maximum size of commands, bodies and comments together.
MAX_TEXT_BYTES = 64 << 10


class WrittenCommand(Struct, frozen=True):
    line: int
    path: str
    query: str
    body: bytes


def parse_commands(text: str) -> list[WrittenCommand]:
    """Parse the commands of a text; raise the refusal of the first invalid one.

    All lines together count as one request, and are limited to the commands of one request.
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
    """Return the body of a command; reject a body that is too large to send to many controllers."""
    if len(body) > ON_LOOP_BODY_LIMIT:
        raise TooManyCommands(
            f"The body of the command in line {line} has {len(body)} bytes.",
            allowed=f"up to {ON_LOOP_BODY_LIMIT} bytes",
        )
    return body


def perform_written(commands: list[WrittenCommand], stage: Stage) -> None:
    """Perform all commands on a stage; a refusal names the line."""
    for command in commands:
        try:
            perform_one(command, stage)
        except Refusal as refusal:
            refusal.detail = f"Line {command.line}: {refusal.detail}"
            raise


def perform_one(command: WrittenCommand, stage: Stage) -> None:
    for call, body in calls_of(command, stage.profile):
        call.perform(stage, body)


def calls_of(command: WrittenCommand, profile: Profile) -> Iterator[tuple[Call, Any]]:
    """Yield the calls of a command, each with the content of its body."""
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


# A query for logs and audit trails: without the values of commands that may contain a secret.
#
# If a query may contain a secret, none of its values is shown, because a secret with an unencoded
# `&` continues in the next item.

#: Names of secret values in commands, answers and other programs.
_SECRET_NAME = (
    r"pass(?!ed|ive)|pwd|secret|token|credential|cookie|authorization"
    r"|api_?key|community|authentication_key|privacy_key"
    r"|^(em4|gsmapn|gsmcode|httpauth\d?|httppost\d?|http\d|mqtt|snmp\w*)$"
)
#: Commands of one item each.
_SINGLE_ROWS = tuple(row for row in TABLE if len(row.form.items) == 1)
_NAME = r"[A-Za-z_]{1,20}\d?"


def names_secret(name: str) -> bool:
    """Return whether a name is that of a secret."""
    return re.search(_SECRET_NAME, name, re.IGNORECASE) is not None


def mask_query(query: str) -> tuple[str, list[str]]:
    """Return a query or form, masked if a value may be secret, and the masked values."""
    items = query.split("&")
    if not any(map(_may_hold_secret, items)):
        return query, []
    shown = [_mask_item(item) for item in items]
    return "&".join(shown), [item for item, mask in zip(items, shown, strict=True) if item != mask]


def _may_hold_secret(item: str) -> bool:
    name, equals, _ = item.partition("=")
    name = name.lower()
    if not (name.startswith("sms") or may_hold_secret(name) or names_secret(name)):
        return False
    if not equals and without_value(name) is not None:
        # A command with a body, such as `signin`, or a command that only returns data.
        return False
    return not _is_open_command(name)


def _is_open_command(name: str) -> bool:
    """Return whether a name is that of a command without a secret, such as `em1` but not `em4`."""
    rows = [row for row in _SINGLE_ROWS if row.form.items[0].match_name(name) is not None]
    return bool(rows) and not any(row.secret for row in rows)


def _mask_item(item: str) -> str:
    name, equals, _ = item.partition("=")
    shown = without_value(item)
    if shown is not None:
        return f"{shown.partition('=')[0]}={MASK}" if equals else item
    if equals and re.fullmatch(_NAME, name):
        return f"{name}={MASK}"
    return MASK if item else ""
