"""All complete runs of the benchmarks, a line each in `bench/history.jsonl`, to compare commits.

The file only grows. A line contains the medians of a run, and the time of the reference (a dict and
twenty comparisons) around each part. In units of this reference, times can be compared between
machines. The lines up to bda7a976 were converted from the tables of their time, which have fewer
digits and a reference for only a few parts. `python -m docs._ext` writes the page in the docs from
this file.
"""

import os
import platform
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from bench.figure import Figure, Record
from bench.python_build import python_build

HISTORY = Path(__file__).parent / "history.jsonl"
#: Units of times.
_IN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}


class Machine(Record, frozen=True):
    cores: int
    processor: str
    #: Version and build.
    python: str
    kernel: str
    architecture: str

    def __str__(self) -> str:
        return f"{self.cores} cores ({self.processor}), {self.python}, {self.kernel}"


class Run(Record, frozen=True):
    """One complete run; all its figures by the name of the part, such as HTTP."""

    commit: str
    date: Annotated[datetime, Meta(tz=True)]
    machine: Machine
    is_quiet: bool
    #: By part: the mean time of one change of the reference, before and after the part.
    reference_us: dict[str, float]
    figures: dict[str, list[Figure]]


class DamagedLine(Exception):
    """A line of the history is not a run."""


def this_machine() -> Machine:
    kernel = f"{platform.system()} {platform.release()}"
    return Machine(os.cpu_count() or 1, _processor(), python_build(), kernel, platform.machine())


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def encode(run: Run) -> bytes:
    """Encode a run as a line, without the rounds behind its medians."""
    medians = {
        part: [msgspec.structs.replace(figure, rounds={}) for figure in figures]
        for part, figures in run.figures.items()
    }
    return msgspec.json.encode(msgspec.structs.replace(run, figures=medians)) + b"\n"


def decode(lines: Iterable[bytes]) -> list[Run]:
    runs = []
    for number, line in enumerate(lines, start=1):
        try:
            runs.append(msgspec.json.decode(line, type=Run))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise DamagedLine(f"line {number}: {error}") from None
    return runs


def read(path: Path = HISTORY) -> list[Run]:
    try:
        return decode(path.read_bytes().splitlines())
    except DamagedLine as damage:
        raise DamagedLine(f"{path.name}, {damage}") from None


def append(run: Run, path: Path = HISTORY) -> None:
    with path.open("ab") as file:
        file.write(encode(run))


def compare(figure: Figure, round_us: float | None) -> tuple[float | None, str]:
    """Return a figure in the unit in which commits are compared."""
    if figure.reference and figure.reference.ratio is not None:
        return figure.reference.ratio, f"of {figure.reference.name}"
    if figure.value is not None and round_us:
        if figure.unit in _IN_US:
            return figure.value * _IN_US[figure.unit] / round_us, "rounds"
        if figure.unit == "/s":
            return figure.value * round_us / 1e6, "per round"
    return figure.value, figure.unit
