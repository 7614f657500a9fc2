"""A twin that a test reaches by HTTP alone, also for its snapshots and faults."""

import time
from abc import abstractmethod
from collections.abc import Callable
from urllib.parse import quote

import httpx

from leverframe.controller.saved_snapshot import BadSnapshot
from leverframe.hardware.fault_catalogue import Fault, time_unreachable_s
from leverframe.testing.any_twin import AnyTwin
from leverframe.testing.misuse import state_of
from leverframe.testing.snapshot import TwinSnapshot
from leverframe.testing.twin_client import ANSWER_S, TwinRefused

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

    def snapshot(self) -> TwinSnapshot:
        label = self._new_label()
        self._operate(f"/api/sim/snapshots?take={label}", "POST")
        return TwinSnapshot(label, self._encode_snapshot, self.url)

    def _encode_snapshot(self, label: str | None = None) -> bytes:
        """Return the file of a snapshot, without a label of the present moment."""
        try:
            return self._operate("/api/sim/snapshot" + (f"?name={label}" if label else ""))
        except TwinRefused as refused:
            raise BadSnapshot(refused.sentence) from None

    def restore(self, snapshot: TwinSnapshot) -> None:
        self._go_back(state_of(snapshot, self.url))

    def _go_back(self, label: str) -> None:
        self._operate(f"/api/sim/snapshots?restore={label}", "POST")
        self.clock.was_moved()

    def reset(self) -> None:
        """Resume from the start; what was requested and sent is forgotten.

        Uploads, sessions, the history and the audit trail stay.
        """
        self._go_back(self._first_label)
        self._operate("/sim.cgi?requests=clear")

    def _set_fault(self, fault: Fault) -> int:
        # Afterwards it may be off, and could not be asked.
        number: int = self._json("/api/sim")["faults"]["next"]
        try:
            # As a body: an own answer may be longer than a query.
            self._operate("/sim.cgi", "POST", f"fault={quote(fault.text, safe='')}".encode())
        except httpx.TransportError:
            # One that is off from now on answers nobody, also not who switched it off.
            if time_unreachable_s(fault) is None:
                raise
        return number
