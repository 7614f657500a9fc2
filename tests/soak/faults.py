"""What goes wrong, by real means and without any option of the product.

A slow disk is one whose write lock another program holds for a while: every commit waits for it,
and beyond a second it is refused. A disk that takes nothing is a limit of zero on the size of
files.
"""

import asyncio
import contextlib
import os
import resource
import signal
import sqlite3
from pathlib import Path
from random import Random

from tests.soak.controller import DISK, SoakedController


async def hold_the_store(data: Path, seconds: float) -> None:
    """Keep every writer of the store waiting."""
    connection = sqlite3.connect(
        data / "store.db", timeout=5.0, isolation_level=None, check_same_thread=False
    )
    try:
        await asyncio.to_thread(connection.execute, "BEGIN IMMEDIATE")
        await asyncio.sleep(seconds)
        connection.execute("ROLLBACK")
    finally:
        connection.close()


async def slow_disk(controller: SoakedController, chance: Random) -> None:
    """Every commit takes a good part of a second for a while."""
    with controller.ledger.fault(DISK):
        for _ in range(chance.randrange(2, 6)):
            await hold_the_store(controller.data, chance.uniform(0.1, 0.8))
            await asyncio.sleep(0.05)


async def hanging_disk(controller: SoakedController, chance: Random) -> None:
    with controller.ledger.fault(DISK):
        await hold_the_store(controller.data, chance.uniform(1.2, 3.0))


async def refusing_disk(controller: SoakedController, chance: Random) -> None:
    with controller.ledger.fault(DISK):
        pid = controller.pid
        before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            await asyncio.sleep(chance.uniform(0.5, 3.0))
        finally:
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


async def hold_up(controller: SoakedController, chance: Random) -> None:
    await controller.hold_up(chance.uniform(0.1, 1.5))


async def kill(controller: SoakedController, chance: Random) -> None:
    with controller.ledger.fault("kill -9"):
        await controller.kill()
        await controller.start()


async def silent(pid: int, seconds: float) -> None:
    """A process beside the controller that is there, and says nothing."""
    os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)
