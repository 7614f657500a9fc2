"""Run every benchmark, one after the other, and write one table: `bench/RESULTS.md`.

Each benchmark runs in its own process. Only a complete run is written to that file, and appended as
a line to the history of all runs; a quick run, or a run of some benchmarks, is only printed. A
complete run fails if a figure is worse than in all earlier runs on the same machine (`gate.py`).

    make bench [ARGS="[--quick] [NAME ...]"]
"""

import argparse
import importlib
import multiprocessing
import statistics
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import trend
from bench.figure import Figure, Skipped, format_rounds, progress
from bench.gate import find_worse
from bench.noise import Noise, listen
from bench.trend import Run

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
#: Module -> title in the table.
BENCHMARKS = {
    "startup": "start and idle",
    "twins": "twins in tests",
    "fleet": "many controllers in one process",
    "busy_fleet": "many busy controllers in one process",
    "fleet_isolation": "neighbours in one process",
    "tenant_isolation": "tenants in one process",
    "cluster": "nodes on PostgreSQL",
    "http_load": "HTTP",
    "fleet_changes": "durable changes of many controllers",
    "http_accounts": "HTTP with accounts",
    "http_node_red": "HTTP against Node-RED",
    "engine_speed": "engine",
    "history": "history",
    "history_database": "history in a database",
    "outbox": "outbox",
    "notify": "MQTT",
    "modbus_tcp": "Modbus TCP",
    "first_view": "page",
}
LISTEN_S, LISTEN_QUICKLY_S = 10.0, 2.0
REFERENCE_ROUNDS = 9


def _commit() -> str:
    name = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "../src")
    return f"{name} with changes" if changed else name


def _git(*arguments: str) -> str:
    reported = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True)
    return reported.stdout.strip()


def figures_of(name: str, quick: bool) -> list[Figure]:
    progress(f"{BENCHMARKS[name]} ")
    try:
        figures: list[Figure] = _run_in_process(_measure, name, quick)
        return figures
    except Skipped as reason:
        return [Figure("-", more=f"skipped: {reason}")]
    finally:
        progress("\n")


def _run_in_process(function: Callable[..., Any], *arguments: object) -> Any:
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=fresh) as process:
        return process.submit(function, *arguments).result()


def _reference_us() -> float:
    """Return the present time of one change of the reference."""
    from bench.engine_speed import reference_round_s

    return statistics.median(reference_round_s() for _ in range(REFERENCE_ROUNDS)) * 1e6


def _measure(name: str, quick: bool) -> list[Figure]:
    try:
        figures: list[Figure] = importlib.import_module(f"bench.{name}").measure(quick)
    except Skipped:
        raise
    except (Exception, SystemExit) as error:
        # The other benchmarks can still be run.
        traceback.print_exc()
        return [Figure("-", more=f"failed: {error}", met=False)]
    return figures


def table(run: Run) -> str:
    lines = ["| part | what | measured | reference | goal | met |", "|---|---|---|---|---|---|"]
    for part, figures in run.figures.items():
        for figure in figures:
            met = {None: "", True: "yes", False: "**no**"}[figure.met]
            reference = str(figure.reference or "")
            cells = (figure.what, figure.measured, reference, figure.goal, met)
            lines.append(f"| {part} | {' | '.join(cells)} |")
    return "\n".join(lines)


def list_rounds(run: Run) -> str:
    return "\n".join(
        f"- {part}, {figure.what}: {format_rounds(figure.rounds)}"
        for part, figures in run.figures.items()
        for figure in figures
        if figure.rounds
    )


def report(run: Run, before: Noise, after: Noise) -> str:
    met = [figure.met for figures in run.figures.values() for figure in figures]
    parts = [
        "# Results",
        "Written by `make bench`. A reference is measured in the same run, in turns with ours;"
        " servers have one core, their clients the other. HTTP is reported as processor time of "
        "the server per request, and as the ratio of the reference's time to ours; figures are"
        " medians of all rounds, which are listed at the end.",
        f"- machine: {run.machine}, commit {run.commit}\n- before: {before}\n- after: {after}",
    ]
    if not run.is_quiet:
        parts.append(
            "**The machine was busy with other things:** read the ratios, and take no p99, lag or"
            " start-up time here for that of the program."
        )
    parts += [table(run), f"{met.count(True)} goals met, {met.count(False)} not."]
    if rounds := list_rounds(run):
        parts += ["## All rounds", rounds]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--quick", action="store_true", help="short rounds, to see that it works")
    options = parser.parse_args()
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; known: {', '.join(BENCHMARKS)}")
    is_whole, earlier = not options.quick and not options.names, []
    if is_whole:
        # Report a damaged history now, not after an hour.
        earlier = trend.read()
    listen_s = LISTEN_QUICKLY_S if options.quick else LISTEN_S
    before = listen(listen_s)
    print(before, file=sys.stderr)
    figures, reference_us = {}, {}
    for name, part in BENCHMARKS.items():
        if name in options.names or not options.names:
            around_us = [_run_in_process(_reference_us)]
            figures[part] = figures_of(name, options.quick)
            around_us.append(_run_in_process(_reference_us))
            reference_us[part] = statistics.mean(around_us)
    after = listen(listen_s)
    is_quiet = before.is_quiet and after.is_quiet
    now = datetime.now(UTC).replace(microsecond=0)
    run = Run(_commit(), now, trend.this_machine(), is_quiet, reference_us, figures)
    text = report(run, before, after)
    if is_whole:
        RESULTS.write_text(text)
        trend.append(run)
    print(text, end="")
    if worse := find_worse(run, earlier):
        print("Worse than in all earlier runs on this machine:", *worse, sep="\n", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
