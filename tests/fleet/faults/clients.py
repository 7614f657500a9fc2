"""Clients of the controllers of a fleet, which note the answer to every change.

A client asks by any open door. The answer is one of three: done; refused, which says that nothing
was changed; or not known, where it says so, or where there is no answer.
"""

import asyncio
import json
import re
import time
from random import Random
from typing import Any

from msgspec import Struct, field

from leverframe.server.problems import NotKnownYet
from tests.fleet.faults.processes import FaultedFleet
from tests.soak.controller import Gone
from tests.soak.ledger import Ledger

#: Longer than any node holds a request.
ANSWER_S = 12.0
#: What clients count, by its place among the numbers of a controller.
CHANGES, MESSAGES, BULK, DIRECT = range(4)
_NOT_KNOWN = NotKnownYet.title.encode()
#: What a node may answer that does nothing, besides refusals of the change itself.
_REFUSALS = (421, 503, 507)
_LENGTH = re.compile(r"\r\ncontent-length: (\d+)", re.IGNORECASE)


class DoorAnswer(Struct, frozen=True):
    status: int
    head: str
    body: bytes


class GivenUp(Struct, frozen=True):
    """A change without an answer: the door it was sent to, and when, by the machine's clock."""

    port: int
    asked_at: float
    given_up_at: float


class Promise(Struct, frozen=True):
    """A message that must be stored, and when its client was sending it, by the machine's clock."""

    since: float
    until: float


class CountedChanges(Struct):
    """The answers to changes of one number of a controller."""

    last: int = 0
    acknowledged: set[int] = field(default_factory=set)
    doubtful: set[int] = field(default_factory=set)
    #: Those of them without an answer: they may still be on their way.
    unanswered: dict[int, GivenUp] = field(default_factory=dict)
    refused: set[int] = field(default_factory=set)
    #: When the newest acknowledged change was asked for.
    newest_at: float = 0.0

    def note(self, number: int, asked_at: float, answer: DoorAnswer) -> bool:
        """Sort a change by its answer; return whether it is acknowledged."""
        if answer.status == 200:
            self.acknowledged.add(number)
            self.newest_at = asked_at
            return True
        if answer.status == 503 and _NOT_KNOWN in answer.body:
            self.doubtful.add(number)
        else:
            self.refused.add(number)
        return False


class DoorClient:
    """One connection through any open door, or through one door alone.

    Without the name of a controller it asks a node itself.
    """

    def __init__(
        self, fleet: FaultedFleet, name: str, chance: Random, door: int | None = None
    ) -> None:
        self._host = f"{name}.localhost" if name else "localhost"
        self._fleet = fleet
        self._chance = chance
        self._door = door
        self.port = 0
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        fleet.clients.add(self)

    def leave(self, port: int) -> None:
        if self.port == port and self._door is None:
            self.close()

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    async def connect(self) -> None:
        """Find an open door; nothing has been asked before that."""
        while self._streams is None:
            doors = self._fleet.doors() if self._door is None else [self._door]
            try:
                self.port = self._chance.choice(doors)
                async with asyncio.timeout(ANSWER_S):
                    self._streams = await asyncio.open_connection("127.0.0.1", self.port)
            except (OSError, IndexError, TimeoutError):
                await asyncio.sleep(0.05)

    async def ask(self, target: str, method: str = "GET", body: bytes = b"") -> DoorAnswer:
        """Raise Gone if there is no answer: it may have been done."""
        await self.connect()
        assert self._streams is not None
        reader, writer = self._streams
        head = f"{method} {target} HTTP/1.1\r\nHost: {self._host}:{self.port}\r\n"
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        try:
            async with asyncio.timeout(ANSWER_S):
                writer.write(f"{head}{length}\r\n".encode() + body)
                answered = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                found = _LENGTH.search(answered)
                content = await reader.readexactly(int(found[1]) if found else 0)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            self.close()
            await asyncio.sleep(0.02)
            raise Gone from None
        if "\r\nconnection: close" in answered.lower():
            self.close()
        return DoorAnswer(int(answered.split(" ", 2)[1]), answered, content)

    async def json(self, target: str) -> Any:
        answer = await self.ask(target)
        if answer.status != 200:
            raise Gone
        return json.loads(answer.body)


class CountingClient:
    """Counts in one controller, one change after the other."""

    def __init__(self, fleet: FaultedFleet, name: str, ledger: Ledger, seed: int) -> None:
        self.name = name
        self.ledger = ledger
        self.changes = tuple(CountedChanges() for _ in range(4))
        #: Messages that must arrive, by number.
        self.promised: dict[int, Promise] = {}
        #: Those whose readings have no answer: they may still be on their way.
        self.unanswered_readings: set[int] = set()
        self._fired = 0
        self.client = DoorClient(fleet, name, Random(f"{seed} {name}"))
        #: A change of many settings has the controller for itself.
        self.lock = asyncio.Lock()

    @property
    def last_asked(self) -> float:
        """When the newest acknowledged change was asked for."""
        return self.changes[CHANGES].newest_at

    async def count(self, place: int, client: DoorClient | None = None) -> bool:
        """Count a number up; return whether that is acknowledged."""
        client = client or self.client
        await client.connect()
        changes = self.changes[place]
        changes.last += 1
        number, asked_at, clock_at = changes.last, time.monotonic(), time.time()
        try:
            answer = await client.ask(f"/eeprom.cgi?dword{place}={number}")
        except Gone:
            changes.doubtful.add(number)
            changes.unanswered[number] = GivenUp(client.port, clock_at, time.time())
            return False
        self._judge_status(answer)
        return changes.note(number, asked_at, answer)

    def _judge_status(self, answer: DoorAnswer) -> None:
        self.ledger.counts[f"answered {answer.status}"] += 1
        if answer.status not in (200, *_REFUSALS):
            self.ledger.violation(f"{self.name} answered {answer.status}: {answer.body[:200]!r}")

    async def send_message(self) -> None:
        """Let a rule send a numbered message; it is promised if nothing interfered."""
        since, state = time.time(), await self.client.json("/api/state")
        started = time.monotonic() - state["uptime"]
        self._fired += 1
        number = self._fired
        sign = 1 if state["m10"] is None or state["m10"] < 0 else -1
        was_troubled = self.ledger.is_troubled("database")
        fired = await self._set_reading(sign * number)
        # A setting is acknowledged when everything before it is stored as well.
        stored = await self.count(MESSAGES)
        state = await self.client.json("/api/state")
        # A takeover, or a start, begins another life, which may not know of the message.
        is_same_life = abs(time.monotonic() - state["uptime"] - started) < 0.5
        is_troubled = was_troubled or self.ledger.is_troubled("database")
        if fired and stored and is_same_life and not is_troubled:
            self.promised[number] = Promise(since, time.time())

    async def _set_reading(self, value: int) -> bool:
        try:
            return (await self.client.ask(f"/sim.cgi?m10={value}")).status == 200
        except Gone:
            self.unanswered_readings.add(abs(value))
            raise

    async def keep_counting(self, over: asyncio.Event, pause_s: float, message_every: int) -> None:
        number = 0
        while not over.is_set():
            number += 1
            async with self.lock:
                try:
                    await self.count(CHANGES)
                    if number % message_every == 0:
                        await self.send_message()
                except Gone:
                    pass
            await asyncio.sleep(pause_s)
        self.client.close()
