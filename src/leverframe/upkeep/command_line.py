"""The arguments of `leverframe backup` and `leverframe data`, and what their mistakes end in."""

import argparse
import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

from leverframe.config import BadConfiguration, Config, read_config
from leverframe.profile import UnknownProfile

_BACKUP = """\
Look at a settings backup, compare two, write one in another form or for another version, or put one
into the data folder of a controller that is stopped. A backup is a .bin file as a controller gives
it, or the same as readable .toml or .json.

  leverframe backup show cellar.bin
  leverframe backup diff monday.bin tuesday.bin
  leverframe backup convert cellar.bin cellar.toml
  leverframe backup convert old.bin new.bin --hw 3.9 --sw 1.75
  leverframe backup restore cellar.toml --data cellar
"""
_DATA = """\
Look after the data folder of a controller that is stopped.

  leverframe data check                 is the store sound, and are its snapshots?
  leverframe data repair                put a damaged store right
  leverframe data export > all.json     everything in it but secrets
  leverframe data reset --accounts      factory settings, accounts too
"""


def add_backup(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    tasks = _group(commands, "backup", "show, compare, convert or restore backups", _BACKUP)
    show = tasks.add_parser("show", help="print a backup")
    show.add_argument("file", type=Path)
    show.add_argument("--json", action="store_true", help="as JSON instead of TOML")
    show.set_defaults(command=_careful(_show))
    diff = tasks.add_parser("diff", help="print what differs; ends with 1 if anything does")
    diff.add_argument("first", type=Path)
    diff.add_argument("second", type=Path)
    diff.set_defaults(command=_careful(_diff))
    convert = tasks.add_parser("convert", help="write a backup in another form or version")
    convert.add_argument("file", type=Path)
    convert.add_argument("output", type=Path, help="ends with .bin, .toml or .json")
    convert.add_argument("--hw", help="hardware version to convert to")
    convert.add_argument("--sw", help="software version to convert to")
    _add_passphrase(convert)
    convert.set_defaults(command=_careful(_convert))
    restore = tasks.add_parser("restore", help="restore into a data folder")
    restore.add_argument("file", type=Path)
    _add_folder(restore)
    _add_passphrase(restore)
    restore.set_defaults(command=_careful(_restore))


def add_data(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    tasks = _group(commands, "data", "check, repair, export or reset a data folder", _DATA)
    for name, run, text in (
        ("check", _check, "say whether store and snapshots are sound"),
        ("repair", _repair, "put a damaged store right"),
        ("export", _export, "print everything in the store as JSON, secrets masked"),
        ("reset", _reset, "go back to the factory settings"),
    ):
        task = tasks.add_parser(name, help=text)
        _add_folder(task)
        if name == "reset":
            task.add_argument("--accounts", action="store_true", help="reset the accounts, too")
        task.set_defaults(command=_careful(run))


def _group(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    text: str,
    description: str,
) -> "argparse._SubParsersAction[argparse.ArgumentParser]":
    group = commands.add_parser(
        name,
        help=text,
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return group.add_subparsers(title="tasks", metavar="TASK", required=True)


def _add_folder(task: argparse.ArgumentParser) -> None:
    task.add_argument("--data", metavar="DIR", help=f"data folder (default ./{Config().data})")
    task.add_argument("--config", metavar="FILE", type=Path, help="TOML file of the controller")


def _add_passphrase(task: argparse.ArgumentParser) -> None:
    task.add_argument(
        "--passphrase",
        action="store_true",
        help="take the sealed passwords along; the passphrase is asked for",
    )


def _careful(run: Callable[[argparse.Namespace], int]) -> Callable[[argparse.Namespace], int]:
    """The task, with mistakes told in one line."""

    def carried_out(options: argparse.Namespace) -> int:
        from leverframe.engine.tree import UnfitSettings
        from leverframe.storage.backup import BackupRefused
        from leverframe.storage.datafolder import FolderInUse, FolderUnusable
        from leverframe.storage.sealed import KeyUnusable
        from leverframe.storage.sqlite_file import StoreDamaged, StoreTooNew
        from leverframe.storage.store import StoreUnavailable
        from leverframe.upkeep.data_commands import NoStore

        try:
            return run(options)
        except (
            BackupRefused,
            BadConfiguration,
            FolderInUse,
            FolderUnusable,
            KeyUnusable,
            NoStore,
            StoreDamaged,
            StoreTooNew,
            StoreUnavailable,
            UnfitSettings,
            UnknownProfile,
        ) as error:
            print(f"leverframe: {error}", file=sys.stderr)
            return 2

    return carried_out


def _config(options: argparse.Namespace) -> Config:
    return read_config(options.config, {"data": options.data})


def _folder(options: argparse.Namespace) -> Path:
    return Path(_config(options).data)


def _show(options: argparse.Namespace) -> int:
    from leverframe.upkeep.backup_commands import show

    show(options.file, ".json" if options.json else ".toml")
    return 0


def _diff(options: argparse.Namespace) -> int:
    from leverframe.upkeep.backup_commands import diff

    return int(diff(options.first, options.second))


def _convert(options: argparse.Namespace) -> int:
    from leverframe.upkeep.backup_commands import convert

    convert(options.file, options.output, options.hw, options.sw, sealed=options.passphrase)
    return 0


def _restore(options: argparse.Namespace) -> int:
    from leverframe.upkeep.backup_commands import restore

    asyncio.run(restore(options.file, _config(options), sealed=options.passphrase))
    return 0


def _check(options: argparse.Namespace) -> int:
    from leverframe.upkeep.data_commands import check_data

    return 0 if check_data(_folder(options)) else 1


def _repair(options: argparse.Namespace) -> int:
    from leverframe.upkeep.data_commands import repair_data

    asyncio.run(repair_data(_folder(options)))
    return 0


def _export(options: argparse.Namespace) -> int:
    from leverframe.upkeep.data_commands import export_data

    asyncio.run(export_data(_folder(options)))
    return 0


def _reset(options: argparse.Namespace) -> int:
    from leverframe.upkeep.data_commands import reset_data

    asyncio.run(reset_data(_folder(options), accounts=options.accounts))
    return 0
