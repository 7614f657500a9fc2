"""Runs the soak for a given time: `make soak ARGS="--minutes 10"`.

Four controllers together: one in real time that is killed now and then, one that is not, one in
virtual time, and one with a hostile neighbour. With `--fleet` instead: nodes on one database. Lines
say how far it is; the exit status is 1 if anything happened that must not.
"""

import argparse
import asyncio
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Coroutine
from pathlib import Path

from tests.network_guard import sitecustomize as network_guard
from tests.soak.fleet import soak_fleet
from tests.soak.ledger import Ledger
from tests.soak.neighbours import neighbours
from tests.soak.real_time import real_time
from tests.soak.virtual_time import virtual_time

network_guard.install()

PROGRESS_S = 5.0
MINUTES, FLEET_MINUTES = 10.0, 30.0


async def soak(folder: Path, seconds: float, seed: int, *, progress: bool) -> list[Ledger]:
    """What each of the stories saw."""
    steady, killed, moved, attacked = (
        Path(tempfile.mkdtemp(dir=folder, prefix=name))
        for name in ("steady", "killed", "virtual", "attacked")
    )
    async with (
        real_time(steady, "real time", seed=seed, kills=False) as first,
        real_time(killed, "real time, killed", seed=seed + 1, kills=True) as second,
        virtual_time(moved, "virtual time", seed=seed + 2) as third,
        neighbours(attacked, "hostile neighbour") as fourth,
    ):
        stories = (first, second, third, fourth)
        ledgers = [story.ledger for story in stories]
        showing = asyncio.create_task(show(ledgers, seconds)) if progress else None
        async with asyncio.TaskGroup() as group:
            for story in stories:
                group.create_task(story.run(seconds))
        if showing is not None:
            showing.cancel()
        return ledgers


async def run_until_signal(soaking: Coroutine[None, None, list[Ledger]]) -> list[Ledger]:
    """On a signal, end together with all processes that were started."""
    running = asyncio.ensure_future(soaking)
    for stop_signal in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(stop_signal, running.cancel)
    return await running


async def show(ledgers: list[Ledger], seconds: float) -> None:
    began = time.monotonic()
    while True:
        await asyncio.sleep(PROGRESS_S)
        print(f"--- {time.monotonic() - began:.0f} of {seconds:.0f} s", flush=True)
        for ledger in ledgers:
            print(ledger.line(), flush=True)


def main() -> int:
    options = argparse.ArgumentParser(prog="make soak", description=(__doc__ or "").split("\n")[0])
    options.add_argument("--fleet", action="store_true", help="nodes on one database")
    options.add_argument("--minutes", type=float, help="default 10, of a fleet 30")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    minutes = chosen.minutes or (FLEET_MINUTES if chosen.fleet else MINUTES)
    if not chosen.fleet and shutil.which("mosquitto") is None:
        options.error("it needs the program mosquitto; its package is in requirements/debian.txt")
    with tempfile.TemporaryDirectory() as folder:
        try:
            where = Path(folder), 60 * minutes, chosen.seed
            soaking = soak_fleet(*where) if chosen.fleet else soak(*where, progress=True)
            ledgers = asyncio.run(run_until_signal(soaking))
        except asyncio.CancelledError:
            print("ended before its time")
            return 1
    print("\n" + "\n\n".join(ledger.summary() for ledger in ledgers))
    violations = sum(len(ledger.violations) for ledger in ledgers)
    print(f"\n{minutes:g} minutes, seed {chosen.seed}, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
