"""`leverframe board check`: whether the wired hardware is there."""

import argparse

from leverframe.command_line.configured import add_config, config_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task

_DESCRIPTION = """\
Look at the hardware of this machine. Nothing is driven.

  leverframe board check --config cellar.toml
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    tasks = add_group(commands, "board", "check the hardware of this machine", _DESCRIPTION)
    text = "say which wired devices are there and which are missing"
    add_config(add_task(tasks, "check", _check, text), (), required=True)


def _check(options: argparse.Namespace) -> int:
    from rich.console import Console

    from leverframe.maintenance.board import check_board

    config = config_of(options)
    named = {"serial_port": config.serial_port, "serial_modbus": config.serial_modbus}
    ports = {name: path for name, path in named.items() if path is not None}
    return check_board(config.board, ports, Console())
