"""The turns of several slaves on one bus, on whatever clock.

Every slave has requests that are made one after the other, again and again, with its own pause in
between; slaves take turns by the request, so that a slow one does not hold up the rest. Time that
is lost waiting for a silent slave is charged to that slave: once it has used up its credit, it is
asked only as often as keeps its losses below `SILENT_SHARE` of the bus, whatever it does in
between. After a silence a slave is left alone for `LATE_S`, so that an answer which comes late
meets no other request to the same slave.
"""

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

#: A slave's requests are all made once in this time, if the bus is fast enough.
PERIOD_S = 1.0
#: How much of the bus's time one silent slave may waste.
SILENT_SHARE = 0.05
#: What a slave may waste before that limit counts: a lost frame or two are no reason to wait.
CREDIT_S = 1.0
LATE_S = 2.0


class Work(NamedTuple):
    """The requests to a slave: how many, and the pause between two of them."""

    requests: int
    delay_s: float = 0.0


class Turn(NamedTuple):
    slave: int
    request: int
    #: Not before this moment.
    at: float


class _Slave(Struct):
    work: Work
    #: The request that is next.
    request: int = 0
    ready_at: float = 0.0
    asked_at: float = float("-inf")
    round_began_at: float = float("-inf")
    credit_s: float = CREDIT_S
    credited_at: float = 0.0

    def may_be_asked_at(self) -> float:
        if self.credit_s >= 0:
            return self.ready_at
        return max(self.ready_at, self.credited_at - self.credit_s / SILENT_SHARE)

    def charge(self, lost_s: float, now: float) -> None:
        earned_s = (now - self.credited_at) * SILENT_SHARE
        self.credit_s = min(CREDIT_S, self.credit_s + earned_s) - lost_s
        self.credited_at = now


class PollPlan:
    def __init__(self, slaves: Mapping[int, Work], now: float) -> None:
        self._slaves = {
            slave: _Slave(work, ready_at=now, credited_at=now)
            for slave, work in slaves.items()
            if work.requests
        }

    def next(self, now: float) -> Turn | None:
        """Choose the next slave and its time: of those due, the one that waited longest."""
        if not self._slaves:
            return None

        def waiting(item: tuple[int, _Slave]) -> tuple[float, float]:
            return max(item[1].may_be_asked_at(), now), item[1].asked_at

        slave, state = min(self._slaves.items(), key=waiting)
        return Turn(slave, state.request, max(state.may_be_asked_at(), now))

    def asked(self, slave: int, now: float) -> None:
        """Note that the slave's next request is on its way."""
        state = self._slaves[slave]
        state.asked_at = now
        if state.request == 0:
            state.round_began_at = now

    def answered(self, slave: int, now: float) -> None:
        self._go_on(self._slaves[slave], now)

    def was_silent(self, slave: int, lost_s: float, now: float) -> None:
        """Note that no answer came, and how long the bus was kept waiting."""
        state = self._slaves[slave]
        self._go_on(state, now)
        state.ready_at = max(state.ready_at, now + LATE_S)
        state.charge(lost_s, now)

    def _go_on(self, state: _Slave, now: float) -> None:
        state.request = (state.request + 1) % state.work.requests
        state.ready_at = now + state.work.delay_s
        if state.request == 0:
            state.ready_at = max(state.ready_at, state.round_began_at + PERIOD_S)
