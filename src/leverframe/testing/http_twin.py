"""A twin that a test reaches by HTTP alone, also for its snapshots and faults."""

import time
from abc import abstractmethod
from collections.abc import Callable
from urllib.parse import quote

import httpx
from msgspec import Struct

from leverframe.hardware.fault_catalogue import Fault, time_unreachable_s
from leverframe.testing.any_twin import AnyTwin
from leverframe.testing.misuse import BadCall, check_snapshot
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


class HttpSnapshot(Struct, frozen=True):
    """A snapshot that a twin keeps itself: it ends with its process."""

    #: What it is called there.
    label: str
    #: Where the twin was when it was taken.
    url: str


class HttpTwin(AnyTwin):
    """A controller that is asked by HTTP for whatever a test does to it."""

    @abstractmethod
    def _new_label(self) -> str:
        """Return a name for a snapshot that none has yet."""

    @property
    @abstractmethod
    def _first_label(self) -> str:
        """The snapshot that `reset` goes back to."""

    def snapshot(self) -> HttpSnapshot:
        label = self._new_label()
        self._operate(f"/api/sim/snapshots?take={label}", "POST")
        return HttpSnapshot(label, self.url)

    def restore(self, snapshot: HttpSnapshot) -> None:
        check_snapshot(snapshot, HttpSnapshot, "twin that is reached by HTTP")
        if snapshot.url != self.url:
            raise BadCall(
                f"This snapshot was taken of the twin at {snapshot.url}, which keeps it until its"
                f" process ends; this one is at {self.url}."
            )
        self._restore(snapshot.label)

    def _restore(self, label: str) -> None:
        self._operate(f"/api/sim/snapshots?restore={label}", "POST")
        self.clock.was_moved()

    def reset(self) -> None:
        """Go on from the start; what was requested and sent is forgotten.

        Uploads, sessions, the history and the audit trail stay.
        """
        self._restore(self._first_label)
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
