"""`leverframe passwd`: a new password while the controller is stopped."""

import argparse
import asyncio

from leverframe.command_line.configured import add_config, config_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_task

_DESCRIPTION = """\
Set the password of an account; sign-in is required from then on. The password is asked for, or read
from standard input. The controller must be stopped.
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    text = "set a password while the controller is stopped"
    parser = add_task(commands, "passwd", _passwd, text, _DESCRIPTION)
    parser.add_argument("account", nargs="?", help="its name (default: the administrator)")
    parser.add_argument("--generate", action="store_true", help="make a random password, show it")
    add_config(parser, ("data",))


def _passwd(options: argparse.Namespace) -> int:
    from leverframe.maintenance.passwd import change_password

    asyncio.run(change_password(config_of(options), options.account, generate=options.generate))
    return 0
