"""Faults of bytes on their way: cut, delayed, corrupted, or lost in a reset connection.

Modbus answers and what goes to the MQTT broker have them (`hardware/fault_catalogue.py`). A delay
is real time and also holds back what follows: bytes keep their order.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from leverframe.controller.faults import ActiveFault, Faults
from leverframe.hardware import fault_catalogue
from leverframe.servers.http.connection import reset_at_close


def cut_bytes(active: ActiveFault, data: bytes) -> bytes:
    """Return what arrives of bytes that are cut."""
    count = active["bytes"]
    return data[: len(data) // 2 if count is None else int(count)]


def corrupt_bytes(active: ActiveFault, data: bytes, spared: int = 0) -> bytes:
    """Return the bytes with some of them changed, one if no number is given; the first ones not."""
    places = range(spared, len(data))
    count = 1 if active["bytes"] is None else int(active["bytes"])
    corrupted = bytearray(data)
    for place in active.random.sample(places, min(count, len(places))):
        corrupted[place] ^= active.random.randint(1, 255)
    return bytes(corrupted)


def reset_connection(transport: asyncio.Transport) -> None:
    """End a connection without an orderly end."""
    reset_at_close(transport)
    transport.abort()


class FaultyTransport:
    """The transport of a connection to a broker: what is written meets the faults that are set."""

    def __init__(self, transport: asyncio.Transport, faults: Faults) -> None:
        self._transport = transport
        self._faults = faults
        #: What is held back, in its order.
        self._held: deque[bytes] = deque()
        self._release: asyncio.TimerHandle | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        active = self._faults.of_mqtt()
        if active is None:
            self._pass_on(data)
            return
        match active["what"]:
            case fault_catalogue.RESET:
                reset_connection(self._transport)
            case fault_catalogue.CUT:
                self._pass_on(cut_bytes(active, data))
                self.close()
            case fault_catalogue.CORRUPT:
                self._pass_on(corrupt_bytes(active, data))
            case fault_catalogue.DELAY:
                self._held.append(data)
                if self._release is None:
                    loop = asyncio.get_running_loop()
                    self._release = loop.call_later(active["delay"], self._send_held)

    def close(self) -> None:
        self._send_held()
        self._transport.close()

    def _pass_on(self, data: bytes) -> None:
        if self._release is None:
            self._transport.write(data)
        else:
            self._held.append(data)

    def _send_held(self) -> None:
        if self._release is not None:
            self._release.cancel()
            self._release = None
        while self._held and not self._transport.is_closing():
            self._transport.write(self._held.popleft())


def faulty_transport(faults: Faults) -> Callable[[asyncio.Transport], asyncio.Transport]:
    """Return a function that applies the faults of a controller to a transport."""
    return lambda transport: cast(asyncio.Transport, FaultyTransport(transport, faults))
