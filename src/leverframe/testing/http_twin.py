"""A twin that a test reaches by HTTP alone, also for its snapshots and faults."""

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import httpx

from leverframe.hardware.fault_catalogue import Fault, time_unreachable_s
from leverframe.testing.any_twin import AnyTwin
from leverframe.testing.twin_client import ANSWER_S

#: How long to wait before it is tried again to reach one that is off.
TRY_AGAIN_S = 0.05


def reached(
    ask: Callable[[], httpx.Response], is_off: Callable[[httpx.TransportError], bool]
) -> httpx.Response:
    """Ask, and ask again while it is off by a fault; here that takes real time."""
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            return ask()
        except httpx.TransportError as error:
            if not is_off(error) or time.monotonic() > deadline:
                raise
            time.sleep(TRY_AGAIN_S)


class HttpTwin(AnyTwin):
    """A controller that is asked by HTTP for whatever a test does to it."""

    @abstractmethod
    def _new_label(self) -> str:
        """Return a name for a snapshot that none has yet."""

    @property
    @abstractmethod
    def _first_label(self) -> str:
        """The snapshot that `reset` goes back to."""

    def snapshot(self) -> Any:
        label = self._new_label()
        self._operate(f"/api/sim/snapshots?take={label}", "POST")
        return label

    def restore(self, snapshot: Any) -> None:
        self._operate(f"/api/sim/snapshots?restore={snapshot}", "POST")
        self.clock.was_moved()

    def reset(self) -> None:
        """Go on from the start; what was requested and sent is forgotten.

        Uploads, sessions, the history and the audit trail stay.
        """
        self.restore(self._first_label)
        self._operate("/sim.cgi?requests=clear")

    def _set_fault(self, fault: Fault) -> int:
        # Afterwards it may be off, and could not be asked.
        number: int = self._json("/api/sim")["faults"]["next"]
        try:
            self._operate(f"/sim.cgi?fault={quote(fault.text, safe='')}")
        except httpx.TransportError:
            # One that is off from now on answers nobody, also not who switched it off.
            if time_unreachable_s(fault) is None:
                raise
        return number
