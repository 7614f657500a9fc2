"""Inflict faults many times and print the table: `python -m tests.fleet.faults --fault all`."""

import argparse
import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path

from tests.fleet.faults.judging import Verdict
from tests.fleet.faults.kinds import KINDS, Fault
from tests.fleet.faults.promotion import promote_standby, promote_standby_behind
from tests.fleet.faults.scene import FaultScene, Size, fault_scene
from tests.postgres_server import PostgresServer, postgres_server
from tests.postgres_standby import standby_of
from tests.soak.ledger import Ledger

SYNCHRONOUS, ASYNCHRONOUS = "standby", "standby-behind"
FAULTS: dict[str, Fault] = {
    **KINDS,
    SYNCHRONOUS: promote_standby,
    ASYNCHRONOUS: promote_standby_behind,
}
#: How often each is inflicted by default; what a standby behind has lost is lost only once.
ROUNDS = {"kill": 10, ASYNCHRONOUS: 1}
ROUNDS_OF_OTHERS = 2
#: The pause between two faults.
CALM_S = 1.0
#: The longest time until a change after the fault is acknowledged.
SERVED_WITHIN_S = {"kill": 2.5}


async def run(kind: str, rounds: int, seed: int, size: Size) -> tuple[FaultScene, Verdict]:
    """Inflict one kind of fault many times on one fleet."""
    ledger = Ledger(f"{kind}, seed {seed}")
    with _servers(kind) as (server, standby), tempfile.TemporaryDirectory() as folder:
        async with fault_scene(server, Path(folder), ledger, size, seed, standby) as scene:
            for number in range(1, rounds + 1):
                await scene.bulk_change(number)
                await asyncio.sleep(scene.chance.uniform(0, CALM_S))
                await FAULTS[kind](scene)
                if rounds > 5:
                    print(ledger_line(scene, kind, number), flush=True)
            _require_soon(scene, kind)
            return scene, await scene.end(may_lose=kind == ASYNCHRONOUS)


@contextmanager
def _servers(kind: str) -> Iterator[tuple[PostgresServer, PostgresServer | None]]:
    with postgres_server() as server:
        if kind not in (SYNCHRONOUS, ASYNCHRONOUS):
            yield server, None
            return
        with standby_of(server, synchronous=kind == SYNCHRONOUS) as standby:
            yield server, standby


def _require_soon(scene: FaultScene, kind: str) -> None:
    took_s = max(scene.measured.get("served again", [0.0]))
    is_soon = took_s <= SERVED_WITHIN_S.get(kind, inf)
    scene.ledger.require(is_soon, f"served again after {took_s:.2f} s only")


def ledger_line(scene: FaultScene, kind: str, number: int) -> str:
    last = scene.measured["served again"][-1]
    return (
        f"{kind} {number}: served again after {last:.2f} s,"
        f" {len(scene.ledger.violations)} violations, load {os.getloadavg()[0]:.1f}"
    )


def row(kind: str, rounds: int, scene: FaultScene, verdict: Verdict) -> str:
    """Return a row of the table."""
    times = [
        f"{what} {statistics.median(found):.2f} s (median), {max(found):.2f} s (worst)"
        for what, found in scene.measured.items()
    ]
    counts = scene.ledger.counts
    extra = [
        f"{counts[what]} {what}"
        for what in ("direct requests", "direct requests forwarded to the owner", "answered 507")
        if counts[what]
    ]
    return (
        f"| {kind} | {rounds} | {verdict.acknowledged:,} | {verdict.lost} |"
        f" {verdict.doubtful} ({verdict.doubtful_stored}) |"
        f" {verdict.messages:,} / {verdict.messages_lost} / {verdict.messages_again} |"
        f" {'; '.join((*times, *extra))} | {len(scene.ledger.violations)} |"
    )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--fault", choices=("all", *FAULTS), default="all")
    options.add_argument("--rounds", type=int, default=0, help="default 2, of kill 10")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--nodes", type=int, default=3)
    options.add_argument("--controllers", type=int, default=30)
    chosen = options.parse_args()
    size = Size(chosen.nodes, chosen.controllers)
    rows, violations = [], 0
    for kind in FAULTS if chosen.fault == "all" else (chosen.fault,):
        rounds = chosen.rounds or ROUNDS.get(kind, ROUNDS_OF_OTHERS)
        began = time.monotonic()
        scene, verdict = asyncio.run(run(kind, rounds, chosen.seed, size))
        print(scene.ledger.summary(), f"  {time.monotonic() - began:8.0f} seconds", sep="\n")
        rows.append(row(kind, rounds, scene, verdict))
        violations += len(scene.ledger.violations)
    print("\n| fault | runs | acknowledged | lost | in doubt (stored) | messages / lost / twice |")
    print("\n".join(rows))
    print(f"load {os.getloadavg()}, {os.cpu_count()} cores")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
