"""`leverframe config`: an example to begin with, and where every value comes from."""

import argparse

from leverframe.command_line.configured import add_config, sources_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_group, add_task

_DESCRIPTION = """\
What a controller is told to be: by a TOML file, by environment variables over it, by options over
both.

  leverframe config example > cellar.toml       every key with its default and meaning
  leverframe config check --config cellar.toml  what is in force, and who says so
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    tasks = add_group(commands, "config", "check a configuration, or print one", _DESCRIPTION)
    text = "say what is in force and where each value comes from, or what is wrong"
    add_config(add_task(tasks, "check", _check, text))
    add_task(tasks, "example", _example, "print a complete file with every key")


def _check(options: argparse.Namespace) -> int:
    from leverframe.config.in_force import in_force_table
    from leverframe.config.reading import checked

    sources = sources_of(options)
    print(in_force_table(sources, checked(sources)))
    return 0


def _example(_options: argparse.Namespace) -> int:
    from leverframe.config.example import example

    print(example(), end="")
    return 0
