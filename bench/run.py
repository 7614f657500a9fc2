"""Every benchmark, one after the other, in one table: `bench/RESULTS.md`.

Each runs in a process of its own. Only a whole run is written to the file; one that is quick, or
of some of the benchmarks, is printed.

    make bench [ARGS="[--quick] [NAME ...]"]
"""

import argparse
import importlib
import multiprocessing
import os
import platform
import subprocess
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.figure import Figure, Skipped, progress
from bench.noise import Noise, listen
from bench.python_build import python_build

HERE = Path(__file__).parent
RESULTS = HERE / "RESULTS.md"
#: Module, and what it is called in the table.
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


def machine() -> str:
    return (
        f"{os.cpu_count()} cores ({_processor()}), {python_build()}, "
        f"{platform.system()} {platform.release()}, commit {_commit()}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    models = [line.partition(": ")[2] for line in lines if line.startswith("model name")]
    return models[0] if models else platform.machine()


def _commit() -> str:
    name = _git("rev-parse", "--short", "HEAD") or "unknown"
    changed = _git("status", "--porcelain", "--untracked-files=no", "--", "../src")
    return f"{name} with changes" if changed else name


def _git(*arguments: str) -> str:
    reported = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True)
    return reported.stdout.strip()


def figures_of(name: str, quick: bool) -> list[Figure]:
    progress(f"{BENCHMARKS[name]} ")
    fresh = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=fresh) as process:
            return process.submit(_measure, name, quick).result()
    except Skipped as reason:
        return [Figure("-", f"skipped: {reason}")]
    finally:
        progress("\n")


def _measure(name: str, quick: bool) -> list[Figure]:
    try:
        figures: list[Figure] = importlib.import_module(f"bench.{name}").measure(quick)
    except Skipped:
        raise
    except Exception as error:
        # The others are worth measuring all the same.
        traceback.print_exc()
        return [Figure("-", f"failed: {error}", met=False)]
    return figures


def table(results: dict[str, list[Figure]]) -> str:
    lines = ["| part | what | measured | reference | goal | met |", "|---|---|---|---|---|---|"]
    for name, figures in results.items():
        for figure in figures:
            met = {None: "", True: "yes", False: "**no**"}[figure.met]
            cells = (figure.what, figure.measured, figure.reference, figure.goal, met)
            lines.append(f"| {BENCHMARKS[name]} | {' | '.join(cells)} |")
    return "\n".join(lines)


def list_rounds(results: dict[str, list[Figure]]) -> str:
    return "\n".join(
        f"- {BENCHMARKS[name]}, {figure.what}: {figure.rounds}"
        for name, figures in results.items()
        for figure in figures
        if figure.rounds
    )


def report(before: Noise, after: Noise, results: dict[str, list[Figure]]) -> str:
    met = [figure.met for figures in results.values() for figure in figures]
    parts = [
        "# Results",
        "Written by `make bench`. A reference is measured in the same run, in turns with ours;"
        " servers have one core, their clients the other. HTTP is reported as processor time of "
        "the server per request, and as the ratio of the reference's time to ours; figures are"
        " medians of all rounds, which are listed at the end.",
        f"- machine: {machine()}\n- before: {before}\n- after: {after}",
    ]
    if not (before.is_quiet and after.is_quiet):
        parts.append(
            "**The machine was busy with other things:** read the ratios, and take no p99, lag or"
            " start-up time here for that of the program."
        )
    parts += [table(results), f"{met.count(True)} goals met, {met.count(False)} not."]
    if rounds := list_rounds(results):
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
    listen_s = LISTEN_QUICKLY_S if options.quick else LISTEN_S
    before = listen(listen_s)
    print(before, file=sys.stderr)
    wanted = [name for name in BENCHMARKS if name in options.names or not options.names]
    results = {name: figures_of(name, options.quick) for name in wanted}
    text = report(before, listen(listen_s), results)
    if not options.quick and not options.names:
        RESULTS.write_text(text)
    print(text, end="")


if __name__ == "__main__":
    main()
