"""Waiting for what another party does over a real line, as short as it takes, and not for ever."""

import asyncio
from collections.abc import Callable

from tests.patience import PATIENCE_S


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        for _ in iter(condition, True):
            await asyncio.sleep(0.002)
