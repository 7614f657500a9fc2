"""`leverframe run`: a controller, until it is stopped."""

import argparse
import asyncio
from collections.abc import Coroutine
from typing import Any

from leverframe.command_line.configured import add_config, config_of
from leverframe.command_line.parser import OneLineParser, Tasks, add_task

_DESCRIPTION = """\
Run one controller. It answers the HTTP commands of its version on the given address, keeps its
settings in a data folder, and simulates its board unless told otherwise.

  leverframe run                                  http://127.0.0.1:8080/, newest version
  leverframe run --port 8081 --data cellar        a second one, with a memory of its own
  leverframe run --config cellar.toml             the same, told by a file
  leverframe run --hw 3.0 --sw 1.58a --data old   an older unit
  leverframe run --virtual-time                   time stands still until /sim.cgi?advance=SECONDS

Every option is also a key of the file (--virtual-time: virtual_time = true) and an environment
variable (LEVERFRAME_VIRTUAL_TIME=true). Options win over variables, variables over the file.
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    parser = add_task(commands, "run", _run, "run a controller", _DESCRIPTION)
    add_config(parser)
    parser.add_argument(
        "--verbose",
        dest="log_level",
        action="store_const",
        const="debug",
        help="the same as --log-level debug",
    )


def _run(options: argparse.Namespace) -> int:
    config = config_of(options)
    # Imported here: the other commands need no server.
    from leverframe.process.logs import set_up as set_up_logs
    from leverframe.process.serve import serve

    set_up_logs(config.log_level, config.log_format, config.syslog)
    _run_loop(serve(config))
    return 0


def _run_loop(main_task: Coroutine[Any, Any, None]) -> None:
    try:
        import uvloop
    except ImportError:
        asyncio.run(main_task)
    else:
        uvloop.run(main_task)
