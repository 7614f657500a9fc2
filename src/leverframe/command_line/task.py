"""What a command of the program is, as data: its arguments, its words of help, who does the work.

The parameters of a function are the arguments of its task, by name. Some are made for it: `config`
is the whole configuration, `sources` what it was read from, `data_folder` the folder it names,
`client` asks the node that the options name, and `given` is whatever no other parameter takes: what
a node is told under the same names.
"""

import argparse
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from msgspec import Struct

from leverframe.durations import DAY_S, BadDuration, seconds_from_text
from leverframe.profile import Profile


class TakenConfig(Struct, frozen=True):
    """How a task takes a configuration."""

    #: The keys that are options, too; None is all of them.
    keys: tuple[str, ...] | None = None
    #: Whether a file has to be named.
    is_file_required: bool = False


ALL_KEYS = TakenConfig()
DATA = TakenConfig(("data",))
ONLY_FILE = TakenConfig((), is_file_required=True)


class Argument(Struct, frozen=True):
    """One argument, as argparse takes it."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]


def argument(*names: str, **settings: Any) -> Argument:
    return Argument(names, MappingProxyType(settings))


def several(name: str, metavar: str, help: str, **settings: Any) -> Argument:
    """Declare an option that may be given again, for a list."""
    return argument(
        name, action="append", default=[], metavar=metavar, type=filled, help=help, **settings
    )


class Needed(Struct, frozen=True):
    """Arguments of which at least one has to be given."""

    #: The names that argparse keeps their values under.
    names: tuple[str, ...]
    #: Whether they exclude each other.
    only_one: bool = False


class Task(Struct, frozen=True):
    """Something that the program does when it is told to."""

    name: str
    #: `package.module:function` below `leverframe`. It may return an exit code.
    function: str
    #: What it does, in half a sentence.
    help: str
    arguments: tuple[Argument, ...] = ()
    description: str = ""
    config: TakenConfig | None = None
    needed: Needed | None = None


class Group(Struct, frozen=True):
    """A command that consists of tasks, such as `backup show`."""

    name: str
    help: str
    description: str
    tasks: tuple[Task, ...]


def filled(text: str) -> str:
    """Refuse an empty text: a variable of a script that is not set must not choose everybody."""
    if not text.strip(", "):
        raise argparse.ArgumentTypeError("this is empty")
    return text


def duration(text: str) -> float:
    try:
        return seconds_from_text(text)
    except BadDuration as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def step(text: str) -> float:
    seconds = duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError("A step takes time; write it like 60s.")
    return seconds


def count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("Write a whole number such as 1.")
    return int(text)


def canary(text: str) -> int | str:
    if text == "versions":
        return text
    if not text.isdecimal():
        raise argparse.ArgumentTypeError("Write a whole number such as 1, or versions.")
    return int(text)


def at_least_one(text: str) -> int:
    if count(text) < 1:
        raise argparse.ArgumentTypeError("At least one unit at a time.")
    return count(text)


#: What becomes of the secrets of a backup; at most one is given.
SECRETS = (
    argument(
        "--passphrase",
        action="store_true",
        help="open or seal the secrets; the passphrase is asked for, or read from standard input",
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
        help="software version, like 1.49d (default the newest of the hardware)",
    ),
)
FOR_HOW_LONG = argument(
    "--for",
    dest="for_s",
    metavar="TIME",
    type=duration,
    default=DAY_S,
    help="how long, like 90s, 1h30m or 7d (default 24h)",
)
IMAGE = argument("image", metavar="IMAGE", type=Path)
CA_FILE = argument(
    "--ca-file", metavar="FILE", help="further certificate authorities to trust (PEM)"
)
AS_JSON = argument(
    "--json", dest="as_json", action="store_true", help="tell scripts, one JSON object a line"
)
