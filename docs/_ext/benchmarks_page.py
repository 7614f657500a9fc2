"""The page of the benchmarks: each figure at the last commits that were measured."""

import statistics
from collections.abc import Iterator, Sequence

from bench.figure import Figure, format_amount, format_number
from bench.trend import Run, compare
from docs._ext.markdown import prose, table

_OPENING = """\
# Benchmarks

This page shows whether the program became faster or slower: a line for each figure, and a column
for each of the last commits that `make bench` measured as a whole, the newest on the right.

- A figure whose reference was measured alternately with it is shown as a ratio to this reference.
  "Of bare" compares with a responder that only parses requests.
- Other times are in *rounds*, so that machines can be compared. A round is the time in which the
  machine updated a dict and made twenty comparisons, measured before and after that part of the
  run. Rates are *per round*. If the round was not measured, times and rates are in their own units.
- Sizes and shares are in their units.
- The goal shows which direction is better. **Bold** figures did not meet the goal of their commit.
  A cell is empty if the figure was not measured, or not in the same way.
- All figures are from single runs on shared machines, so differences below 10 % are not
  significant. `make bench-compare COMMIT=...` measures a commit and the current one alternately on
  one machine.

`bench/RESULTS.md` contains the newest run with all of its rounds, and `bench/history.jsonl` every
run. The figures of runs up to bda7a976 come from older, rounded tables.
"""
_LAST = 6


def benchmarks_page(runs: Sequence[Run]) -> str:
    return "\n\n".join(_sections(runs[-_LAST:]))


def _sections(runs: Sequence[Run]) -> Iterator[str]:
    yield _OPENING.rstrip()
    yield "## Commits"
    heads = ("commit", "measured on", "machine", "busy with other work", "one round")
    yield table(heads, map(_describe, runs))
    commits = [run.commit for run in runs]
    for part in dict.fromkeys(part for run in reversed(runs) for part in run.figures):
        if rows := list(_rows(part, runs)):
            yield f"## {part[0].upper()}{part[1:]}"
            yield table(("figure", *commits, "unit", "newest as measured", "goal"), rows)


def _describe(run: Run) -> tuple[str, ...]:
    us = run.reference_us.values()
    a_round = format_amount(statistics.median(us), "us") if us else "not known"
    busy = "no" if run.is_quiet else "yes"
    return run.commit, f"{run.date:%Y-%m-%d}", prose(str(run.machine)), busy, a_round


def _rows(part: str, runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each figure, in the unit of the newest."""
    by_run = [{figure.what: figure for figure in run.figures.get(part, ())} for run in runs]
    newest = {what: figure for figures in by_run for what, figure in figures.items()}
    for what, last in newest.items():
        found = [
            (figure, compare(figure, run.reference_us.get(part)))
            for run, figures in zip(runs, by_run, strict=True)
            for figure in [figures.get(what, Figure(what))]
        ]
        unit = next((unit for figure, (_, unit) in reversed(found) if figure is last), "")
        cells = [
            _cell(value, figure.met)
            if figure.unit == last.unit and each_unit == unit and value is not None
            else ""
            for figure, (value, each_unit) in found
        ]
        if any(cells):
            measured = "" if last.value is None else format_amount(last.value, last.unit)
            yield prose(what), *cells, prose(unit), measured, prose(last.goal)


def _cell(value: float, met: bool | None) -> str:
    return f"**{format_number(value)}**" if met is False else format_number(value)
