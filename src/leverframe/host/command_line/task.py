"""A command of the program as data: its arguments, its help texts, the function that does the work.

The parameters of a function have the names of its task's arguments. Four parameters are built from
the options: `config` is the whole configuration, `sources` are the sources of its values,
`data_folder` is the configured data folder, and `client` sends requests to the named node. A
parameter with any other name receives all remaining arguments, which are sent to a node under the
same names.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from leverframe.core.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.core.profile import Profile


class ConfigUse(Struct, frozen=True):
    """How a task uses the configuration."""

    #: The keys that are also options; None for all keys.
    keys: tuple[str, ...] | None = None
    #: Whether --config is required.
    is_file_required: bool = False


ALL_KEYS = ConfigUse()
DATA = ConfigUse(("data",))
ONLY_FILE = ConfigUse((), is_file_required=True)


def whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a whole number; write one like 1"
        ) from None


def number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"{text[:40]!r} is not a number; write one like 1.5"
        ) from None


#: Replacements for `int` and `float`, because argparse names the Python type in its messages.
_NUMBERS: Mapping[Any, Any] = MappingProxyType({int: whole_number, float: number})


class Argument(Struct, frozen=True):
    """The parameters of `argparse.add_argument`."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def argument(*names: str, **settings: Any) -> Argument:
    if settings.get("type") in _NUMBERS:
        settings["type"] = _NUMBERS[settings["type"]]
    return Argument(names, MappingProxyType(settings))


def several(name: str, metavar: str, help: str, **settings: Any) -> Argument:
    """Declare a repeatable option; its values form a list."""
    return argument(
        name, action="append", default=[], metavar=metavar, type=non_empty, help=help, **settings
    )


class Needed(Struct, frozen=True):
    """A set of arguments; at least one of them is required."""

    #: The names under which argparse stores their values.
    names: tuple[str, ...]
    #: Whether the arguments exclude each other.
    only_one: bool = False


class Task(Struct, frozen=True):
    """An action of the program that a user can call."""

    name: str
    #: `package.module:function` below `leverframe`. It may return an exit status.
    function: str
    #: One imperative line without a full stop.
    help: str
    arguments: tuple[Argument, ...] = ()
    description: str = ""
    config: ConfigUse | None = None
    needed: Needed | None = None
    #: The exit statuses, if they differ from those of other tasks: the last line of the help.
    exit_status: str = ""


class Group(Struct, frozen=True):
    """A command that consists of tasks, such as `backup show`."""

    name: str
    help: str
    description: str
    tasks: tuple[Task, ...]


def non_empty(text: str) -> str:
    """Reject an empty text: an unset variable in a script must not select all controllers."""
    if not text.strip(", "):
        raise argparse.ArgumentTypeError("the value is empty; write a name or leave the option out")
    return text


def duration(text: str) -> float:
    try:
        seconds = seconds_from_text(text)
    except BadDuration as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    bare = text.strip()
    if seconds and not bare[-1].isalpha():
        raise argparse.ArgumentTypeError(
            f"{bare} has no unit; write {bare}s for seconds, {bare}m for minutes, {bare}h for hours"
            f" or {bare}d for days"
        )
    return seconds


def step(text: str) -> float:
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError(f"{text} is too short; write a time above 0, like 60s")
    return seconds


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number; write one like 1")
    return int(text)


def canary(text: str) -> int | str:
    if text == "versions":
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number; write one like 1, or versions"
        )
    return int(text)


def at_least_one(text: str) -> int:
    if count(text) < 1:
        raise argparse.ArgumentTypeError("0 is too small; write a whole number from 1")
    return count(text)


#: Options for the secrets of a backup; they exclude each other.
SECRETS = (
    argument(
        "--passphrase",
        action="store_true",
        help="decrypt or encrypt the secrets; the passphrase is prompted for, or read from standard"
        " input",
    ),
    argument(
        "--passphrase-file",
        metavar="FILE",
        type=Path,
        help="read the passphrase from the first line of this file",
    ),
    argument("--without-secrets", action="store_true", help="leave passwords and keys out"),
)
_NEWEST = Profile()
VERSION = (
    argument(
        "--hw",
        metavar="VERSION",
        default=_NEWEST.hw,
        help=f"hardware version, 3.0 to 3.9 (default {_NEWEST.hw})",
    ),
    argument(
        "--sw",
        metavar="VERSION",
        help="software version, like 1.49d (default: the newest for the hardware)",
    ),
)
FOR_HOW_LONG = argument(
    "--for",
    dest="for_s",
    metavar="TIME",
    type=duration,
    default=DAY_S,
    help="simulated time, like 90s, 1h30m or 7d (default 24h)",
)
IMAGE = argument("image", metavar="IMAGE", type=Path)
CA_FILE = argument(
    "--ca-file", metavar="FILE", help="additional certificate authorities to trust (PEM)"
)
AS_JSON = argument("--json", dest="as_json", action="store_true", help="write JSON Lines")
