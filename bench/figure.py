"""What a benchmark gives: figures, each with its reference and its goal.

Every benchmark is a module with a function `measure(quick)` that gives a list of figures. The
reference is measured in the same run, in turns with ours, because the speed of machines drifts and
only ratios travel. `quick` is a short form to see that everything works.
"""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    what: str
    measured: str
    reference: str = ""
    goal: str = ""
    #: None where there is no goal.
    met: bool | None = None


def better(rounds: Sequence[float], *, higher: bool = False) -> float:
    """What a quarter of the rounds was better than, or at least as good as.

    A machine that others share slows down for moments, which makes rounds worse and never better;
    half of the rounds may have such a moment in them. The same goes for the reference.
    """
    ordered = sorted(rounds, reverse=higher)
    return ordered[len(ordered) // 4]


class Skipped(Exception):
    """This machine lacks something that the benchmark needs."""


def need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Skipped(f"{' and '.join(missing)} not installed")


def progress(text: str = ".") -> None:
    print(text, end="", file=sys.stderr, flush=True)
