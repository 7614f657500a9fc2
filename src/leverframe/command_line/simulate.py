"""`leverframe simulate`: a scenario lived on virtual time."""

import argparse
import asyncio
from pathlib import Path

from leverframe.command_line.parser import OneLineParser, Tasks, add_task
from leverframe.durations import DAY_S, BadDuration, seconds_from_text

_DESCRIPTION = """\
Let a controller live through a scenario on virtual time: print what happened and why, and record
readings. The same scenario always gives the same result.

  leverframe simulate examples/greenhouse.toml --for 24h
  leverframe simulate examples/tank.toml --for 7d --csv tank.csv --step 60s
"""


def add(commands: "Tasks[OneLineParser]") -> None:
    parser = add_task(commands, "simulate", _simulate, "live through a scenario", _DESCRIPTION)
    parser.add_argument("scenario", metavar="SCENARIO.toml", type=Path)
    parser.add_argument(
        "--for",
        dest="for_s",
        metavar="TIME",
        type=_duration,
        default=DAY_S,
        help="how long, like 90s, 1h30m or 7d (default 24h)",
    )
    parser.add_argument("--csv", metavar="FILE", type=Path, help="record values to this file")
    parser.add_argument(
        "--step",
        dest="step_s",
        metavar="TIME",
        type=_step,
        help="record at every step instead of at every change",
    )


def _duration(text: str) -> float:
    try:
        return seconds_from_text(text)
    except BadDuration as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _step(text: str) -> float:
    seconds = _duration(text)
    if seconds <= 0:
        raise argparse.ArgumentTypeError("A step takes time; write it like 60s.")
    return seconds


def _simulate(options: argparse.Namespace) -> int:
    from leverframe.simulation.simulate import simulate

    asyncio.run(simulate(options.scenario, options.for_s, options.csv, options.step_s))
    return 0
