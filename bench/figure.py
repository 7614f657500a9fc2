"""Figures of the benchmarks, each with its reference, its goal and all of its rounds.

Every benchmark is a module with a function `measure(quick)` that returns a list of figures. The
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
    #: Every round that the median was taken of, in the order of the run; ours, then the reference.
    rounds: str = ""


def list_rounds(rounds: Sequence[float], unit: str = "") -> str:
    """Print all rounds of a figure, as they came."""
    return " ".join(f"{value:.3g}" for value in rounds) + (f" {unit}" if unit else "")


class Skipped(Exception):
    """This machine lacks something that the benchmark needs."""


def need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Skipped(f"{' and '.join(missing)} not installed")


def progress(text: str = ".") -> None:
    print(text, end="", file=sys.stderr, flush=True)
