"""`leverframe backup`: a backup in the hand instead of a controller."""

import argparse
import asyncio
from pathlib import Path

from leverframe.command_line.configured import add_config, config_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task

_DESCRIPTION = """\
Look at a settings backup, compare two, write one in another form or for another version, or put one
into the data folder of a controller that is stopped. A backup is a .bin file as a controller gives
it, or the same as readable .toml or .json.

  leverframe backup show cellar.bin
  leverframe backup diff monday.bin tuesday.bin
  leverframe backup convert cellar.bin cellar.toml
  leverframe backup convert old.bin new.bin --hw 3.9 --sw 1.75
  leverframe backup restore cellar.toml --data cellar
"""
#: 1 says that two backups differ.
_FAILURE = 2


def add(commands: "Tasks[OneLineParser]") -> None:
    text = "show, compare, convert or restore backups"
    tasks = add_group(commands, "backup", text, _DESCRIPTION)
    show = add_task(tasks, "show", _show, "print a backup", failure=_FAILURE)
    show.add_argument("file", type=Path)
    show.add_argument("--json", action="store_true", help="as JSON instead of TOML")
    text = "print what differs; ends with 1 if anything does"
    diff = add_task(tasks, "diff", _diff, text, failure=_FAILURE)
    diff.add_argument("first", type=Path)
    diff.add_argument("second", type=Path)
    text = "write a backup in another form or version"
    convert = add_task(tasks, "convert", _convert, text, failure=_FAILURE)
    convert.add_argument("file", type=Path)
    convert.add_argument("output", type=Path, help="ends with .bin, .toml or .json")
    convert.add_argument("--hw", metavar="VERSION", help="hardware version to convert to")
    convert.add_argument("--sw", metavar="VERSION", help="software version to convert to")
    _add_passphrase(convert)
    restore = add_task(tasks, "restore", _restore, "restore into a data folder", failure=_FAILURE)
    restore.add_argument("file", type=Path)
    add_config(restore, ("data",))
    _add_passphrase(restore)


def _add_passphrase(task: argparse.ArgumentParser) -> None:
    task.add_argument(
        "--passphrase",
        action="store_true",
        help="take the sealed passwords along; the passphrase is asked for",
    )


def _show(options: argparse.Namespace) -> int:
    from leverframe.maintenance.backup import show

    show(options.file, ".json" if options.json else ".toml")
    return 0


def _diff(options: argparse.Namespace) -> int:
    from leverframe.maintenance.backup import diff

    return int(diff(options.first, options.second))


def _convert(options: argparse.Namespace) -> int:
    from leverframe.maintenance.backup import convert

    convert(options.file, options.output, options.hw, options.sw, sealed=options.passphrase)
    return 0


def _restore(options: argparse.Namespace) -> int:
    from leverframe.maintenance.backup import restore

    asyncio.run(restore(options.file, config_of(options), sealed=options.passphrase))
    return 0
