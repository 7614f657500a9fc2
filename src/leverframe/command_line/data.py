"""`leverframe data`: the data folder of a controller that is stopped."""

import argparse
import asyncio
from pathlib import Path

from leverframe.command_line.configured import add_config, folder_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task

_DESCRIPTION = """\
Look after the data folder of a controller that is stopped.

  leverframe data check                 are store, snapshots and history sound?
  leverframe data repair                put a damaged store or history right
  leverframe data show > all.json       everything in the store but secrets
  leverframe data export -o all.csv     the history of all readings and states
  leverframe data reset --accounts      factory settings, accounts too
"""
#: 1 says that a store is not sound.
_FAILURE = 2


def add(commands: "Tasks[OneLineParser]") -> None:
    text = "check, repair, show, export or reset a data folder"
    tasks = add_group(commands, "data", text, _DESCRIPTION)
    for name, run, text in (
        ("check", _check, "say whether store, snapshots and history are sound"),
        ("repair", _repair, "put a damaged store or history right"),
        ("show", _show, "print everything in the store as JSON, secrets masked"),
        ("export", _export, "write the history as CSV"),
        ("reset", _reset, "go back to the factory settings"),
    ):
        task = add_task(tasks, name, run, text, failure=_FAILURE)
        add_config(task, ("data",))
        if name == "reset":
            task.add_argument("--accounts", action="store_true", help="reset the accounts, too")
        elif name == "export":
            _add_span(task)


def _add_span(task: argparse.ArgumentParser) -> None:
    task.add_argument("--labels", metavar="LABELS", help="like DS1,OUT0 (default: all)")
    task.add_argument("--from", dest="first", metavar="TIME", help="like 2026-01-05T12:00, in UTC")
    task.add_argument("--to", dest="last", metavar="TIME", help="until then (default: the end)")
    task.add_argument("-o", "--output", metavar="FILE", type=Path, help="write to this file")


def _check(options: argparse.Namespace) -> int:
    from leverframe.maintenance.data import check_data

    return 0 if check_data(folder_of(options)) else 1


def _repair(options: argparse.Namespace) -> int:
    from leverframe.maintenance.data import repair_data

    asyncio.run(repair_data(folder_of(options)))
    return 0


def _show(options: argparse.Namespace) -> int:
    from leverframe.maintenance.data import show_data

    asyncio.run(show_data(folder_of(options)))
    return 0


def _export(options: argparse.Namespace) -> int:
    from leverframe.maintenance.history_export import export_history

    export_history(folder_of(options), options.labels, options.first, options.last, options.output)
    return 0


def _reset(options: argparse.Namespace) -> int:
    from leverframe.maintenance.data import reset_data

    asyncio.run(reset_data(folder_of(options), accounts=options.accounts))
    return 0
