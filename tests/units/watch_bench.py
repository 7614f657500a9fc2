"""Twins under a watcher whose clock is that of the test."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from leverframe.core.engine.machine import Traced
from leverframe.core.runtime.clock import VirtualClock
from leverframe.testing import Twin, faults
from leverframe.units.unit_health import UnitHealth, UnitNotice
from leverframe.units.watcher import UnitWatcher, WatchedUnit
from tests.patience import PATIENCE_S

LOOK_S = 30.0


def as_real_unit(twin: Twin) -> None:
    """Let a twin know no more paths than a real unit does."""
    twin.fault(faults.status(404), path="/api/state")


class WatchBench:
    """A watcher and its notices."""

    def __init__(self, *units: WatchedUnit, **parameters: Any) -> None:
        self.clock = VirtualClock()
        self.notices: list[UnitNotice] = []
        self.samples: list[Traced] = []
        self.watcher = UnitWatcher(
            units,
            self.clock,
            on_notice=self.notices.append,
            on_values=self.samples.extend,
            paced=False,
            **{"answer_s": PATIENCE_S, **parameters},
        )

    async def look(self, name: str = "cellar", after_s: float = LOOK_S) -> UnitHealth:
        self.clock.move_to(self.clock.now() + after_s)
        return await self.watcher.look(name)

    def wait_for_answers(self, seconds: float) -> None:
        for client in self.watcher._clients.values():
            client._client._answer_s = seconds

    def notice_states(self) -> list[tuple[str, bool]]:
        return [(notice.kind, notice.active) for notice in self.notices]


@asynccontextmanager
async def watching(*units: WatchedUnit, **parameters: Any) -> AsyncIterator[WatchBench]:
    bench = WatchBench(*units, **parameters)
    await bench.watcher.open()
    try:
        yield bench
    finally:
        await bench.watcher.close()
