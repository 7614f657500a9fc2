"""Figures of the benchmarks, each with its reference, its goal and all of its rounds.

Every benchmark is a module with a function `measure(quick)` that returns a list of figures. The
reference is measured in the same run, in alternation with the program, because the speed of
machines drifts and only ratios can be compared between machines. `quick` is a short run that only
shows that everything works.

A figure contains numbers; this module formats them.
"""

import shutil
import sys

from msgspec import Struct


class Record(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A record of `history.jsonl`; unknown fields are an error."""


class Reference(Record, frozen=True):
    name: str
    value: float | None = None
    unit: str = ""
    #: The ratio of the program to the reference, or its inverse; compared with the goal.
    ratio: float | None = None
    #: Further results of the reference.
    more: str = ""

    def __str__(self) -> str:
        beside = _join(self.value, self.unit, self.more)
        if self.ratio is None:
            return f"{self.name}: {beside}" if beside else self.name
        ratio = f"{format_number(self.ratio)} of {self.name}"
        return f"{ratio} ({beside})" if beside else ratio


class Figure(Record, frozen=True):
    what: str
    #: The median of all rounds, if there are any; None if the result is not a number.
    value: float | None = None
    unit: str = ""
    #: Further results, such as the p99.
    more: str = ""
    reference: Reference | None = None
    goal: str = ""
    #: None if there is no goal.
    met: bool | None = None
    #: Every round behind the median, in the order of the run, by name and unit.
    rounds: dict[str, list[float]] = {}

    @property
    def measured(self) -> str:
        return _join(self.value, self.unit, self.more)


def _join(value: float | None, unit: str, more: str) -> str:
    amounts = [] if value is None else [format_amount(value, unit)]
    return ", ".join([*amounts, more] if more else amounts)


def format_amount(value: float, unit: str) -> str:
    """Format a number with its unit: `4,228/s`, `65.9 us`."""
    space = "" if not unit or unit.startswith("/") else " "
    return f"{format_number(value)}{space}{unit}"


def format_number(value: float) -> str:
    """Format three significant digits, or all digits of a whole number."""
    is_whole = abs(value) >= 99.95 or value == int(value)
    return f"{value:,.0f}" if is_whole else f"{value:.3g}"


def format_rounds(rounds: dict[str, list[float]]) -> str:
    return "; ".join(
        f"{name} {' '.join(map(format_number, values))}" for name, values in rounds.items()
    )


class Skipped(Exception):
    """This machine lacks something that the benchmark needs."""


def need(*programs: str) -> None:
    missing = [program for program in programs if shutil.which(program) is None]
    if missing:
        raise Skipped(f"{' and '.join(missing)} not installed")


def progress(text: str = ".") -> None:
    print(text, end="", file=sys.stderr, flush=True)
