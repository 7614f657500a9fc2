"""`leverframe commands`: the commands of a version, in the terminal."""

import argparse

from leverframe.command_line.parser import OneLineParser, Tasks, add_task
from leverframe.profile import Profile


def add(commands: "Tasks[OneLineParser]") -> None:
    newest = Profile()
    parser = add_task(commands, "commands", _list_commands, "list the commands of a version")
    parser.add_argument("word", nargs="?", help="only commands that contain this word")
    parser.add_argument(
        "--hw",
        metavar="VERSION",
        default=newest.hw,
        help=f"hardware version, 3.0 to 3.9 (default {newest.hw})",
    )
    parser.add_argument(
        "--sw",
        metavar="VERSION",
        default=newest.sw,
        help=f"software version, like 1.49d (default {newest.sw})",
    )


def _list_commands(options: argparse.Namespace) -> int:
    from rich.console import Console

    from leverframe.reference.terminal import print_commands

    print_commands(Profile(options.hw, options.sw), options.word, Console())
    return 0
