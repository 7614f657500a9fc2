"""When the engine of all SNMP agents lives: from the first agent that wants it to the last."""

import asyncio
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leverframe.servers.snmp.agent_engine import AgentEngine


class AgentEngines:
    def __init__(self) -> None:
        self._engine: AgentEngine | None = None
        self._users = 0
        self._making = asyncio.Lock()

    async def take(self) -> "AgentEngine":
        """Return the engine, and keep it until it is given back as often as taken."""
        async with self._making:
            if self._engine is None:
                # Beside the loop, because it lasts longer than a relay may wait.
                self._engine = await asyncio.to_thread(_create_engine)
            self._users += 1
            return self._engine

    def give_back(self) -> None:
        self._users -= 1
        if self._users == 0 and self._engine is not None:
            self._engine.close()
            self._engine = None


def _create_engine() -> "AgentEngine":
    make: Callable[[], AgentEngine] = import_module(
        "leverframe.servers.snmp.agent_engine"
    ).AgentEngine
    return make()
