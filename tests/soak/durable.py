"""Changes that are counted: what was answered with 200 is there, whatever happens afterwards."""

import asyncio
from typing import Any

from tests.soak.controller import Client, Gone, SoakedController

#: The last one is a pair of names that are set in one request and must always be equal.
COUNTERS = ("dword0", "dword1", "dword2", "names")


class Counters:
    """Each counts up; the number on disk is never less than the last one that was confirmed."""

    def __init__(self, controller: SoakedController) -> None:
        self._controller = controller
        self.tried = dict.fromkeys(COUNTERS, 0)
        self.confirmed = dict.fromkeys(COUNTERS, 0)

    async def count(self, name: str, client: Client) -> bool:
        """Count one up; was it confirmed?"""
        self.tried[name] += 1
        number = self.tried[name]
        target = f"/eeprom.cgi?{name}={number}"
        if name == "names":
            target = f"/stm.cgi?oname=0n{number}&oname=5n{number}"
        if (await client.get(target)).status != 200:
            return False
        self.confirmed[name] = number
        self._controller.ledger.counts["changes confirmed"] += 1
        return True

    async def keep_counting(self, name: str, over: asyncio.Event, pause_s: float) -> None:
        client = Client(self._controller)
        while not over.is_set():
            try:
                await self.count(name, client)
            except Gone:
                continue
            await asyncio.sleep(pause_s)
        client.close()

    async def check(self, client: Client) -> None:
        """Nothing confirmed is missing, and there is nothing that was never requested."""
        confirmed = dict(self.confirmed)
        settings = await client.json("/api/settings")
        require = self._controller.ledger.require
        for name, stored in _numbers(settings).items():
            require(
                confirmed[name] <= stored <= self.tried[name],
                f"{name} is {stored}, confirmed was {confirmed[name]} of {self.tried[name]}",
            )
        names = [settings["outputs"][place]["name"] for place in (0, 5)]
        require(names[0] == names[1], f"half a request was stored: {names}")


def _numbers(settings: dict[str, Any]) -> dict[str, int]:
    dwords = settings["variables"]["dwords"]
    numbers = {name: dwords[place] for place, name in enumerate(COUNTERS[:3])}
    # As the controller comes, the outputs have other names.
    name = settings["outputs"][0]["name"].removeprefix("n")
    return numbers | {"names": int(name) if name.isdigit() else 0}
