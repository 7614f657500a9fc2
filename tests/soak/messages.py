"""Numbered messages by HTTP and MQTT: each promised one arrives, and the numbers in order."""

import asyncio
import json
import time

from tests.notify.broker import Listener
from tests.notify.http_server import Taken
from tests.soak.controller import DISK, Client, Gone, SoakedController
from tests.soak.durable import Counters

PREFIX = "soak"
#: m10 at least 0 does HTTP1, and MQTT, when it starts and when it stops; so a number that is sent
#: with changing sign fires both each time.
RULES = (
    "/inpa.cgi?event=3*45*0*0*0*0*24*0*0*0*0*0*1*0*0*0&eventon=3*1",
    "/inpa.cgi?event=4*45*0*0*0*0*41*0*0*0*0*0*1*0*0*0&eventon=4*1",
)
#: The target of HTTP1; the code stands for m10 without decimals.
TARGET = "/in?n=%250590"
DRAIN_S = 180.0
#: What is written so long after a fault of the disk does not fail by it any more.
SETTLED_S = 2.0


class Messages:
    def __init__(self, controller: SoakedController, listener: Listener) -> None:
        self._controller = controller
        self._listener = listener
        #: Does the HTTP server refuse what comes?
        self.refusing = False
        self._by_http: list[int] = []
        self._number = 0
        self._promised: list[int] = []

    def take(self, request: Taken) -> tuple[int, dict[str, str]]:
        """What the HTTP server answers."""
        if self.refusing:
            return 503, {}
        self._by_http.append(abs(int(request.path.rpartition("=")[2])))
        return 200, {}

    async def keep_firing(self, counters: Counters, over: asyncio.Event, pause_s: float) -> None:
        client = Client(self._controller)
        while not over.is_set():
            try:
                await self._fire(client, counters)
            except Gone:
                continue
            await asyncio.sleep(pause_s)
        client.close()

    async def _fire(self, client: Client, counters: Counters) -> None:
        life, ledger = self._controller.life, self._controller.ledger
        last = (await client.json("/api/state"))["m10"]
        self._number += 1
        number = self._number if last is None or last < 0 else -self._number
        was_troubled = ledger.is_troubled(DISK, aftermath_s=SETTLED_S)
        fired = (await client.get(f"/sim.cgi?m10={number}")).status == 200
        # A setting is answered when it is on disk, and everything before it is there as well.
        durable = await counters.count("dword2", client)
        is_sound = life == self._controller.life and not ledger.is_troubled(
            DISK, aftermath_s=SETTLED_S
        )
        if fired and durable and is_sound and not was_troubled:
            self._promised.append(self._number)
            ledger.counts["messages promised"] += 1

    def list_arrived(self) -> dict[str, list[int]]:
        """Numbers by channel, as they came."""
        notices = map(json.loads, self._listener.of(f"{PREFIX}/notify"))
        return {"HTTP": self._by_http, "MQTT": [abs(int(notice["value"])) for notice in notices]}

    async def check_at_the_end(self) -> None:
        """Wait until every promised one has arrived, then look at the order."""
        ledger = self._controller.ledger
        deadline = time.monotonic() + DRAIN_S
        while True:
            if not any(self._missing().values()) or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.2)
        for channel, numbers in self._missing().items():
            ledger.require(not numbers, f"messages by {channel} are missing: {numbers[:20]}")
        for channel, numbers in self.list_arrived().items():
            first_arrivals = list(dict.fromkeys(numbers))
            ledger.require(
                first_arrivals == sorted(first_arrivals), f"{channel} came out of order: {numbers}"
            )
            ledger.counts[f"messages by {channel}"] = len(first_arrivals)
            ledger.counts[f"messages by {channel} that came again"] = len(numbers) - len(
                first_arrivals
            )

    def _missing(self) -> dict[str, list[int]]:
        arrived = self.list_arrived()
        return {
            channel: sorted(set(self._promised) - set(numbers))
            for channel, numbers in arrived.items()
        }
